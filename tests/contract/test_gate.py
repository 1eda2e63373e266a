# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The gate before a batch, with a group of ten Node objects without kubelets."""

from __future__ import annotations

import json
import shlex
import typing as t

import pytest

from tests.contract.clusters import CONFIGMAPS, NODES, STRATEGIC, Contracted, configmap
from tests.lab.objects import bare_node
from tests.support.plays.ansible import Ansible

PAUSE, LABEL = "livenodes-kubelet-rollout", "livenodes.test"


@pytest.fixture
def group(around: Contracted) -> t.Iterator[list[str]]:
    """Yield ten Ready Nodes, with rollouts not paused; remove them afterwards. One is not named as its host."""
    names = [f"gate-{number:05d}" for number in range(10)]
    bodies = [bare_node(name, {LABEL: "gate"}) for name in names]
    bodies[-1]["metadata"]["labels"]["kubernetes.io/hostname"] = "another"
    _clear(around)
    for body in bodies:
        around.call("POST", NODES, body)
    yield names
    _clear(around)


def _clear(cluster: Contracted) -> None:
    for item in cluster.get(f"{NODES}?labelSelector={LABEL}%3Dgate")["items"]:
        cluster.call("DELETE", f"{NODES}/{item['metadata']['name']}")
    if any(item["metadata"]["name"] == PAUSE for item in cluster.get(CONFIGMAPS)["items"]):
        cluster.call("DELETE", f"{CONFIGMAPS}/{PAUSE}")


def set_unknown(around: Contracted, name: str) -> None:
    """Write a Node's status like the node controller."""
    ready = {"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown", "message": "set by a test"}
    around.call("PATCH", f"/api/v1/nodes/{name}/status", {"status": {"conditions": [ready]}}, STRATEGIC)


# Reads only what the simulation serves alike.
@pytest.mark.long_on_lab
@pytest.mark.fault(case=25)
def test_two_of_ten_not_ready_and_a_fifth_starts_none(around: Contracted, group: list[str], ansible: Ansible) -> None:
    """Checked through the module, with strings as from a survey."""
    for name in group[7:9]:
        set_unknown(around, name)
    options = {"nodes": group[0], "group_nodes": ",".join(group), "max_unavailable": "20%", "timeout": "1"}
    found = ansible.module("kubelet_rollout_gate", options)
    assert found["failed"]
    assert found["budget"] == {
        "nodes": 10,
        "limit": 2,
        "left": 0,
        "unavailable": dict.fromkeys(group[7:9], "not Ready (NodeStatusUnknown: set by a test)"),
    }
    for text in (
        f"{group[0]}: may still not begin",
        "2 outside the batch are",
        *(f"{name}: not Ready (NodeStatusUnknown" for name in group[7:9]),
    ):
        assert text in found["msg"]
    found = ansible.module("kubelet_rollout_gate", {**options, "max_unavailable": "30%"})
    assert (found["failed"], found["changed"], found["budget"]["left"], found["paused"]) == (False, False, 1, None)


def test_pause(around: Contracted, group: list[str], ansible: Ansible) -> None:
    """Set and ended as kubectl does it, by the command in the message. The API server knows who set it."""
    options = {"nodes": [group[0]], "group_nodes": group}
    around.call("POST", CONFIGMAPS, configmap(PAUSE, {"reason": "release day"}))
    assert not ansible.module("kubelet_rollout_gate", options)["failed"]
    around.call("PATCH", f"{CONFIGMAPS}/{PAUSE}", {"data": {"paused": "true"}})
    found = ansible.module("kubelet_rollout_gate", {**options, "timeout": 600})
    assert found["failed"]
    about = around.get(f"{CONFIGMAPS}/{PAUSE}")["metadata"]
    # The simulation does not record who writes a field.
    unknown = {"time": about["creationTimestamp"], "manager": "", "fieldsV1": {"f:data": {"f:paused": {}}}}
    entries = about.get("managedFields", [unknown])
    writer = next(entry for entry in entries if "f:paused" in entry["fieldsV1"]["f:data"])
    assert found["paused"] == {"since": writer["time"], "by": writer["manager"], "reason": "release day"}
    by = f" by {writer['manager']}" if writer["manager"] else ""
    assert f"rollouts are paused since {writer['time']}{by}: release day" in found["msg"]
    remedy = shlex.split(found["msg"].split("`")[1])
    assert remedy[:6] == ["kubectl", "-n", "kube-system", "patch", "configmap", PAUSE]
    around.call("PATCH", f"{CONFIGMAPS}/{PAUSE}", json.loads(remedy[-1]))
    assert not ansible.module("kubelet_rollout_gate", options)["failed"]
