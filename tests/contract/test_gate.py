# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The gate before a batch, with a group of ten Node objects without kubelets."""

from __future__ import annotations

import json
import shlex
import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import ClusterError
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.session import Session
from tests.contract.clusters import CONFIGMAPS, NODES, STRATEGIC, Contracted, configmap
from tests.lab.objects import bare_node
from tests.support.api import gating
from tests.support.api.proxy import Proxy
from tests.support.plays.ansible import Ansible

PAUSE, LABEL = "livenodes-kubelet-rollout", "livenodes.test"
PODS, HEARTBEATS = (
    "/api/v1/namespaces/kube-system/pods",
    "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases",
)
MASTER = "node-role.kubernetes.io/control-plane"


@pytest.fixture
def group(around: Contracted) -> t.Iterator[list[str]]:
    """Yield ten Ready Nodes, with rollouts not paused; remove them afterwards."""
    names = [f"gate-{number:05d}" for number in range(10)]
    _clear(around)
    for name in names:
        around.call("POST", NODES, bare_node(name, {LABEL: "gate"}))
    yield names
    _clear(around)


def _clear(cluster: Contracted) -> None:
    for path, options in ((PODS, {"gracePeriodSeconds": 0}), (HEARTBEATS, None), (NODES, None)):
        for item in cluster.get(f"{path}?labelSelector={LABEL}%3Dgate")["items"]:
            cluster.call("DELETE", f"{path}/{item['metadata']['name']}", options)
    if any(item["metadata"]["name"] == PAUSE for item in cluster.get(CONFIGMAPS)["items"]):
        cluster.call("DELETE", f"{CONFIGMAPS}/{PAUSE}")


def set_status(around: Contracted, name: str, ready: str = "True", error: str = "") -> None:
    """Write a Node's status like its kubelet or the node controller."""
    reason = "KubeletReady" if ready == "True" else "NodeStatusUnknown"
    body = {
        "status": {
            "conditions": [{"type": "Ready", "status": ready, "reason": reason, "message": "set by a test"}],
            "config": {"error": error},
        }
    }
    around.call("PATCH", f"/api/v1/nodes/{name}/status", body, STRATEGIC)


def look(session: Session, group: list[str], *batch: str, **options: t.Any) -> dict[str, t.Any]:
    return gating.look(session, group, batch, **{"pause_configmap": PAUSE, **options})


def refused(session: Session, group: list[str], *batch: str, **options: t.Any) -> ClusterError:
    with pytest.raises(ClusterError) as caught:
        look(session, group, *batch, **options)
    return caught.value


# Reads only what the simulation serves alike.
@pytest.mark.long_on_lab
@pytest.mark.fault(case=25)
def test_two_of_ten_not_ready_and_a_fifth_starts_none(around: Contracted, group: list[str], ansible: Ansible) -> None:
    """Checked through the module, with strings as from a survey."""
    for name in group[7:9]:
        set_status(around, name, "Unknown")
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


def test_silent_node(around: Contracted, session: Session, group: list[str]) -> None:
    """Without a node controller, the Node of a dead kubelet stays Ready. The lab's live nodes are not affected."""
    body = {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "spec": {"renewTime": "2026-01-01T00:00:00.000000Z"},
        "metadata": {"name": group[2], "namespace": "kube-node-lease", "labels": {LABEL: "gate"}},
    }
    around.call("POST", HEARTBEATS, body)
    assert list(refused(session, [*group, "n1"], "n1").result["budget"]["unavailable"]) == [group[2]]


def test_requests(around: Contracted, group: list[str], proxy: Proxy) -> None:
    """One GET, one LIST of nodes, one of heartbeats (these Nodes are old), and one of pods per node of the batch."""
    through = Session({"host": proxy.url})
    look(through, group, *group[:3], max_unavailable="3")
    assert (proxy.count(), proxy.count("GET", "/api/v1/nodes?"), proxy.count("GET", "/kube-node-lease/")) == (3, 1, 1)
    proxy.forget()
    look(through, group, *group[:3], max_unavailable="3", pods=True)
    assert (proxy.count(), proxy.count("GET", "/api/v1/pods?")) == (6, 3)


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


def test_control_plane(around: Contracted, session: Session, group: list[str]) -> None:
    """Control-plane nodes change one at a time, and only while the API servers and etcds of the others are Ready."""
    masters = group[:3]
    for name in masters:
        around.call("PATCH", f"{NODES}/{name}", {"metadata": {"labels": {MASTER: ""}}})
    assert "changed one at a time" in refused(session, group, *masters[:2], max_unavailable="100%", timeout=600).message
    for name in masters:
        for component in ("kube-apiserver", "etcd"):
            _static_pod(around, component, name)
    assert look(session, group, masters[0])
    _pod_ready(around, f"etcd-{masters[1]}", False)
    assert f"kube-system/etcd-{masters[1]} on {masters[1]} is not Ready" in refused(session, group, masters[0]).message
    assert look(session, group, masters[1])
    assert look(session, group, group[7])
    _pod_ready(around, f"etcd-{masters[1]}", True)
    rows = look(session, group, masters[0], pods=True)["pods"][masters[0]].values()
    assert sorted((row["name"], row["static"], row["owner"], row["ready"]) for row in rows) == [
        (f"{component}-{masters[0]}", True, f"Node/{masters[0]}", True) for component in ("etcd", "kube-apiserver")
    ]


def _static_pod(around: Contracted, component: str, node: str) -> None:
    """Create the Ready API object of a static pod, as the kubelet of a control-plane node does."""
    name = f"{component}-{node}"
    owner = {
        "apiVersion": "v1",
        "kind": "Node",
        "name": node,
        "uid": around.call("GET", f"/api/v1/nodes/{node}")["metadata"]["uid"],
        "controller": True,
    }
    around.call(
        "POST",
        "/api/v1/namespaces/kube-system/pods",
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": name,
                "namespace": "kube-system",
                "ownerReferences": [owner],
                "annotations": {"kubernetes.io/config.mirror": "hash"},
                "labels": {"component": component, "tier": "control-plane", LABEL: "gate"},
            },
            "spec": {"nodeName": node, "containers": [{"name": component, "image": f"registry.invalid/{component}"}]},
        },
    )
    _pod_ready(around, name, True)


def _pod_ready(around: Contracted, name: str, ready: bool) -> None:
    body = {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": str(ready)}]}}
    around.call("PATCH", f"/api/v1/namespaces/kube-system/pods/{name}/status", body, STRATEGIC)
