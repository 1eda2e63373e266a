# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rows of a batch, who has failed and why, and the verdicts."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.rollout import rows
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.rollout.rows import (
    added,
    added_by_hosts,
    failures,
)

NAMES = ("n1", "m1", "n2", "n3")
HOSTS = {f"host-{name}": name for name in NAMES}
GOOD = {"ok": True, "state": "active", "message": "runs", "changed": False, "delivery": "checkpoint"}
BAD = {**GOOD, "ok": False, "state": "silent", "message": "n1: silent"}
ASSIGNED = {
    **GOOD,
    "state": "assigned",
    "changed": True,
    "source": {"name": "a"},
    "previous": {"name": "b"},
    "uid": "u",
}


def why(found: dict[str, Any], present: Any = HOSTS) -> dict[str, str]:
    return failures(HOSTS, found, present)


def test_the_first_failure_of_a_node_is_its_cause() -> None:
    """A skipped call adds nothing; a row without a verdict is good."""
    first = added({}, {"n1": BAD, "n2": GOOD, "n3": {"message": "no verdict in it"}})
    found = added(added(first, None), {"n1": GOOD, "n2": {**BAD, "message": "a pod was lost"}})
    assert why(found) == {"n1": "silent", "n2": "a pod was lost"}
    assert rows.open_ones(found, NAMES) == ["m1", "n3"]
    assert rows.open_sources(dict.fromkeys(NAMES, 1), found) == {"m1": 1, "n3": 1}


def test_a_revert_gets_the_row_of_the_assignment() -> None:
    """Also after other stages; a node that was not assigned is not reverted."""
    found = added(added({"n2": GOOD}, {"n1": ASSIGNED}), {"n1": {**BAD, "source": None}, "n2": BAD})
    assert found["n1"]["changed"] and found["n1"]["source"] is None
    assert rows.to_revert(found, why(found)) == {
        "n1": {key: ASSIGNED[key] for key in ("changed", "delivery", "source", "previous", "uid")}
    }
    assert rows.lost_sources(found, ["n1"]) == {"n1": {"name": "a"}}
    again = added(found, {"n1": {**ASSIGNED, "source": None}})
    assert again["n1"]["assigned"]["source"] == {"name": "a"}


def test_what_the_steps_on_nodes_return() -> None:
    given = {"n1": BAD, "m1": GOOD, "n2": GOOD, "n3": {**GOOD, "delivery": "native"}}
    own = {"ok": False, "message": "Node host-m1 cannot be reached."}
    hostvars: dict[str, Any] = {
        "host-n1": {rows.HOST_ROW: {"ok": False, "message": "Node n1: the value is refused. Nothing was changed."}},
        "host-m1": {rows.HOST_ROW: own},
        "host-n2": {},
        "host-n3": {rows.HOST_ROW: own},
    }
    found = added_by_hosts(given, HOSTS, hostvars)
    assert why(found) == {
        "n1": "silent; the value is refused. Nothing was changed",
        "m1": "cannot be reached",
    }
    assert added_by_hosts(found, HOSTS, hostvars) == found, "once"
    assert not added_by_hosts(given, HOSTS, hostvars, True)["n3"]["ok"], "migrated to native"


FLAG = {"flag": "--max-pods=61", "file": "/etc/default/kubelet", "line": 1}
DIFFERS = {**BAD, "state": "differs", "message": "maxPods is 61, not 50", "differences": [{"path": "maxPods"}]}


@pytest.mark.parametrize(
    ("facts", "cause"),
    [
        (
            {"shadowed": {"maxPods": FLAG}},
            "maxPods is 61, not 50; maxPods: the flag --max-pods=61 (/etc/default/kubelet, line 1) overrides every "
            "configuration. Remove the flag there and restart the kubelet, or omit the field from kubelet_config",
        ),
        (
            {"shadowed": {"evictionHard": FLAG}, "config_dir_files": ["/etc/kubelet.d/10-ours.conf"]},
            "maxPods is 61, not 50; the drop-in /etc/kubelet.d/10-ours.conf in --config-dir may override maxPods",
        ),
        (
            {"config_dir_files": ["/d/1.conf", "/d/2.conf"]},
            "maxPods is 61, not 50; the drop-ins /d/1.conf, /d/2.conf in --config-dir may override maxPods",
        ),
        ({"shadowed": {}, "config_dir_files": []}, "maxPods is 61, not 50"),
        ({}, "maxPods is 61, not 50"),
    ],
)
def test_what_the_node_shows_names_the_cause_of_a_difference(facts: dict[str, Any], cause: str) -> None:
    hostvars: dict[str, Any] = {host: {} for host in HOSTS}
    hostvars["host-n1"][rows.HOST_ROW] = {"ok": True, "message": "", "kubelet": facts}
    switched = added_by_hosts({"n1": GOOD}, HOSTS, hostvars)
    assert why(added(switched, {"n1": DIFFERS})) == {"n1": cause}
    assert why({"n1": DIFFERS}) == {"n1": "maxPods is 61, not 50"}


def test_hosts_lost_during_the_batch() -> None:
    assert why({"n1": GOOD}, list(HOSTS)[1:]) == {"n1": rows.LOST}


def test_hosts_that_cannot_be_reached_before_the_drain() -> None:
    hostvars: dict[str, Any] = {host: {"seen": {"skipped": True}} for host in HOSTS}
    hostvars["host-n2"]["seen"] = {"state": "unreachable", "msg": "its host cannot be reached: no route"}
    found = rows.unreachable(HOSTS, hostvars, "seen")
    assert why(found) == {"n2": "was not switched: its host cannot be reached: no route"}
    assert rows.open_ones(found, NAMES) == ["n1", "m1", "n3"]


def test_a_node_that_does_not_run_its_source_is_not_migrated() -> None:
    info = {"source": None, "error": "", "settled": True, "delivery": "native"}
    found = rows.unsettled(
        {
            "n1": info,
            "n2": {**info, "settled": False, "error": "refused"},
            "n3": {**info, "settled": False, "delivery": "checkpoint"},
        }
    )
    assert list(found) == ["n2"] and "spec.configSource names (refused), so there is no" in found["n2"]["message"]


def test_a_migration_that_failed_says_where_its_source_is() -> None:
    found = rows.restored({"n1": BAD, "n2": BAD}, {"n1": GOOD, "n2": {**BAD, "message": "forbidden"}})
    assert found["n1"]["message"] == f"n1: silent. {rows.RESTORED}"
    assert found["n2"]["message"].endswith(". Its spec.configSource could not be restored: forbidden")


BATCH = {"hosts": HOSTS, "names": list(NAMES), "group": "workers", "steps": "switch"}
UNTOUCHED = ["h9"]


def test_verdicts() -> None:
    """Lost hosts run no task, so one task speaks for them. A rollout that goes on leaves no host untouched."""
    reasons = {"n1": "silent", "n2": "was lost", "n3": "was lost"}
    found = rows.verdicts(
        {**BATCH, "continues": False}, reasons, ["host-n1", "host-m1"], {"n1": {"message": "reverted"}}, UNTOUCHED
    )
    assert found == {
        "hosts": {"host-n1": "Node n1: silent; reverted. Untouched hosts: h9"},
        "lost": "Node n2, n3 was lost. Untouched hosts: h9",
    }
    found = rows.verdicts({**BATCH, "continues": True}, {"n1": "silent"}, HOSTS, None, UNTOUCHED)
    assert found == {"hosts": {"host-n1": "Node n1: silent"}, "lost": ""}


@pytest.mark.parametrize(
    ("steps", "begun", "text"),
    [
        ("switch", True, "The rollout to workers stopped at n1, m1, n2, n3: why. Run again to complete it."),
        ("switch", False, "The rollout to workers stopped at n1, m1, n2, n3: why. Nothing was changed there."),
        ("reset", True, "The return of workers to its local configuration stopped at n1, m1, n2, n3: why. Run again"),
        ("to_native", True, "The migration of workers stopped at n1, m1, n2, n3: why. Run again to complete it."),
    ],
)
def test_where_a_rollout_stopped(steps: str, begun: bool, text: str) -> None:
    found = rows.stopped({**BATCH, "steps": steps}, "why.", begun, UNTOUCHED)
    assert found.startswith(text) and found.endswith(" Untouched hosts: h9")
    assert rows.stopped(BATCH, "why", True, []).endswith(" Untouched hosts: none")
