# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The steps of a reset and of a migration: what they add. test_steps.py has what they call."""

from __future__ import annotations

from ansible_collections.livenodes.kubelet.plugins.plugin_utils._rollout.moves import STEPS

from .steps_at import BAD, at, place, row


def test_who_takes_part_in_a_migration() -> None:
    info = {"listening": True, "config_source": {"x": 1}, "reason": "", "error": "", "kubelet_version": "v1.20.2"}
    info |= {"delivery": "native", "source": place("a"), "settled": True}
    nodes = {"n1": info, "n2": {**info, "settled": False}}
    found = STEPS["look_to_checkpoint"].after(at(), {"nodes": nodes})
    assert found.moving == {"n1": place("a")} and found.open(["n1", "n2"]) == ["n1"]
    copied = {name: {**nodes[name], "delivery": "checkpoint"} for name in nodes}
    found = STEPS["look_to_native"].after(at(rows={"n2": BAD}), {"nodes": copied})
    assert found.moving == {"n1": place("a")}


def test_the_hosts_that_come_next() -> None:
    nodes = {"n1": row(delivery="checkpoint"), "n2": row(delivery="checkpoint", ok=False)}
    maps = {"kube-system/a": {"kubelet": "text"}}
    assert STEPS["reset"].more(at(), {"nodes": nodes}) == {"on_hosts": {"h1": {}}}
    assert STEPS["reset"].more(at(), {"nodes": {"n1": row(), "n2": row(delivery="none")}}) == {"on_hosts": {}}
    assert STEPS["reset"].more(at(), {}) == {"on_hosts": {}}
    assert list(STEPS["annotate"].more(at(), {"nodes": nodes, "configmaps": maps})["on_hosts"]) == ["h1"]
    assert STEPS["assign_native"].more(at(), {"nodes": nodes}) == {"on_hosts": {"h1": {}}}


def test_what_a_migration_remembers() -> None:
    for step in (STEPS["annotate"], STEPS["assign_native"]):
        assert step.after(at(), {"nodes": {"n1": row(), "n2": BAD}}).written == ["n1", "n2"]
    assert STEPS["leave_native"].after(at(), {"failed": True}).attempted
    failed = {"n1": {**BAD, "assigned": {"source": place("a")}}}
    found = STEPS["restore"].after(at(rows=failed, written=["n1"]), {"nodes": {"n1": row()}})
    assert found.rows["n1"]["message"].startswith("refused. Its spec.configSource was restored")
