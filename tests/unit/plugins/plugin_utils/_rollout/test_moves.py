# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The steps of a reset and of a migration: what they call and what they add."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.livenodes.kubelet.plugins.plugin_utils._rollout import rows
from ansible_collections.livenodes.kubelet.plugins.plugin_utils._rollout.moves import STEPS
from ansible_collections.livenodes.kubelet.plugins.plugin_utils._rollout.steps import Step

from .steps_at import BAD, LEASE, WAIT, at, place, row

MOVING = {"n1": place("a")}
WAITING = {"wait": True, "wait_timeout": WAIT}
VERIFYING = {"state": "verified", "wait_timeout": WAIT, "lease": LEASE}
WRITTEN = {"rows": {"n1": row(), "n2": BAD}, "written": ["n1", "n2"]}


@pytest.mark.parametrize(
    ("step", "given", "options"),
    [
        (
            STEPS["reset"],
            at(rows={"n2": BAD}),
            {"sources": {"n1": {}}, "state": "absent", "undo": False, "lease": LEASE},
        ),
        pytest.param(STEPS["reset"], at(rows={"n1": BAD, "n2": BAD}), None, id="all have failed"),
        pytest.param(STEPS["verify_local"], at(check_mode=True), None, id="check mode waits for nothing"),
        pytest.param(STEPS["verify_local"], at(), {**VERIFYING, "nodes": ["n1", "n2"]}, id="verify"),
        pytest.param(STEPS["look_to_native"], at(present=("h2",)), {"nodes": ["n2"]}, id="the hosts that are left"),
        pytest.param(STEPS["look_to_native"], at(rows={"n2": BAD}), {"nodes": ["n1"]}, id="without a deleted node"),
        pytest.param(STEPS["look_to_native"], at(rows={"n1": BAD, "n2": BAD}), None, id="all were deleted"),
        pytest.param(
            STEPS["annotate"],
            at(moving=MOVING),
            {"sources": MOVING, "delivery": "checkpoint", "transport": "ssh", "lease": LEASE},
            id="annotate",
        ),
        pytest.param(STEPS["leave_native"], at(), None, id="none was written"),
        pytest.param(
            STEPS["leave_native"],
            at(**WRITTEN),
            {"nodes": ["n1"], "state": "absent", "delivery": "native", **WAITING, "lease": LEASE},
            id="leave native",
        ),
        pytest.param(STEPS["verify_moved"], at(**WRITTEN), {**VERIFYING, "nodes": ["n1"]}, id="verify what has moved"),
        pytest.param(STEPS["restore"], at(rows={"n1": row()}, written=["n1"]), None, id="nothing to restore"),
        pytest.param(
            STEPS["restore"],
            at(rows={"n1": {**BAD, "assigned": {"source": place("a")}}}, written=["n1"]),
            {"sources": {"n1": place("a")}, "delivery": "native"},
            id="restore",
        ),
        pytest.param(STEPS["restore_all"], at(moving=MOVING), None, id="nothing was removed yet"),
        (STEPS["restore_all"], at(moving=MOVING, attempted=True), {"sources": MOVING, "delivery": "native"}),
        pytest.param(
            STEPS["assign_native"],
            at(moving=MOVING),
            {"sources": MOVING, "delivery": "native", **WAITING, "lease": LEASE},
            id="assign native",
        ),
        pytest.param(
            STEPS["drop_annotation"],
            at(on_hosts={"h1": {rows.HOST_ROW: {"ok": False, "message": "no space"}}}, **WRITTEN),
            None,
            id="its checkpoint is still there",
        ),
        pytest.param(
            STEPS["drop_annotation"],
            at(**WRITTEN),
            {"nodes": ["n1"], "state": "absent", "delivery": "checkpoint", "lease": LEASE},
            id="drop the annotation",
        ),
        (STEPS["verify_native"], at(**WRITTEN), {**VERIFYING, "nodes": ["n1"], "delivery": "native"}),
    ],
)
def test_what_a_step_calls(step: Step, given: Any, options: dict[str, Any] | None) -> None:
    assert step.options(step.begin(given)) == options


def test_who_takes_part_in_a_migration() -> None:
    info = {
        "listening": True,
        "config_source": {"x": 1},
        "settled": True,
        "reason": "",
        "error": "",
        "delivery": "native",
        "kubelet_version": "v1.20.2",
    }
    nodes = {"n1": {**info, "source": place("a")}, "n2": {**info, "source": place("b"), "settled": False}}
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
