# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nodes whose annotations are those of another machine.

A node that was installed again runs its local config: its annotations are not evidence of what it runs.
"""

from __future__ import annotations

import json
import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import NodesFailed
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.objects import config_sources, nodes
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.stages import assign, verify
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import annotation
from tests.sim.api.direct import Direct
from tests.support.api.assigning import options
from tests.support.api.comparing import found_drift, planned
from tests.support.api.objects import HEADER, configmap, live, node, place, reference, status

A = reference("config-a")
REPORTED = {**status(A, A, A), "reason": "passed its trial"}
BEFORE = {"machineID": "machine-1", "nodeUID": "uid-1"}


def installed(machine: str = "machine-1", uid: str = "uid-1", recorded: t.Any = None) -> dict[str, t.Any]:
    """Return a Node whose annotations name config-a, assigned to the machine `recorded` (default: BEFORE)."""
    found = node("n1", reported=REPORTED, previous=reference("old"))
    found["metadata"]["uid"] = uid
    found["status"]["nodeInfo"]["machineID"] = machine
    text = annotation.text({"configMap": A, **(BEFORE if recorded is None else recorded)})
    found["metadata"]["annotations"][annotation.SOURCE] = text
    return found


def reinstalled(found: dict[str, t.Any], pods: int = 110) -> t.Any:
    """Return a cluster with this node, which runs with maxPods `pods`. The ConfigMap has WANTED."""
    content = json.dumps({**HEADER, **live(maxPods=50)})
    return Direct(found, configmaps=[configmap("config-a", content)], live={"n1": live(maxPods=pods)})


OTHERS = [
    pytest.param({"machine": "machine-2"}, id="installed again"),
    pytest.param({"uid": "uid-2"}, id="created again, with the annotations of before"),
    pytest.param({"machine": "machine-2", "uid": "uid-2"}, id="both"),
]
SAME = [
    pytest.param({}, id="the same"),
    pytest.param({"recorded": {}}, id="assigned by an earlier version"),
    pytest.param({"machine": "", "uid": ""}, id="not known yet"),
    pytest.param({"recorded": {"machineID": 3, "nodeUID": None}}, id="malformed"),
]


@pytest.mark.parametrize("now", SAME)
def test_a_node_that_runs_its_source_is_not_planned_again(now: dict[str, t.Any]) -> None:
    api = reinstalled(installed(**now), 50)
    assert planned(api, 50)[1]["n1"]["action"] == "none"
    assert nodes.settled(nodes.trim(api.nodes["n1"]))
    assert assigned(api)["changed"] is False


def assigned(api: t.Any, **more: t.Any) -> dict[str, t.Any]:
    """Assign config-a; return the row."""
    given = options(**{"sources": {"n1": place("config-a")}, **more})
    return t.cast("dict[str, t.Any]", assign.assign(api, given, False)["nodes"]["n1"])


@pytest.mark.parametrize("now", OTHERS)
@pytest.mark.fault(case=52)
def test_it_is_planned_again_and_an_assignment_records_the_new_machine(now: dict[str, t.Any]) -> None:
    """What the former machine has reported is removed: its guard cannot report on this one."""
    api = reinstalled(installed(**now))
    assert planned(api, 50)[1]["n1"]["action"] == "assign"
    row = assigned(api)
    assert (row["changed"], row["state"], row["source"], row["previous"]) == (True, "assigned", A, None)
    notes = api.nodes["n1"]["metadata"]["annotations"]
    machine = {"machineID": now.get("machine", "machine-1"), "nodeUID": now.get("uid", "uid-1")}
    assert json.loads(notes[annotation.SOURCE]) == {"configMap": A, **machine}
    assert (annotation.STATUS in notes, notes[annotation.PREVIOUS]) == (False, "{}")
    assert assigned(api)["changed"] is False


@pytest.mark.parametrize("given", [None, {"n1": config_sources.Wanted(place("config-a"))}])
@pytest.mark.fault(case=52)
def test_a_verification_and_drift_name_the_cause(given: t.Any) -> None:
    """Not a flag of its kubelet."""
    api = reinstalled(installed("machine-2"))
    waits = {"nodes": ["n1"], "delivery": "auto", "wait_timeout": 0, "wait_sleep": 1}
    with pytest.raises(
        NodesFailed, match="was assigned to another machine: this one is new or newly installed"
    ) as caught:
        verify.verify(api, waits, given)
    assert caught.value.result["nodes"]["n1"]["state"] == "replaced"
    assert "flag" not in caught.value.message
    first = found_drift(api, "n1")["n1"]["drift"][0]
    assert "assigned to another machine" in first["message"] and "rollout" in first["remedy"]


def test_a_reset_leaves_nothing_of_the_former_machine() -> None:
    api = reinstalled(installed("machine-2"))
    row = assigned(api, state="absent", nodes=["n1"], sources=None)
    assert (row["changed"], api.nodes["n1"]["metadata"]["annotations"]) == (True, {})


def test_a_kubelet_with_native_delivery_fetches_its_source_on_any_machine() -> None:
    found = installed("machine-2")
    found["spec"]["configSource"], found["status"]["config"] = {"configMap": place("config-a")}, status(A, A)
    assert nodes.trim(found).with_delivery("native").reimaged is False
