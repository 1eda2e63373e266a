# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The gate before a batch, with a real API server and a group of ten Node objects without kubelets."""

from __future__ import annotations

import json
import threading
import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import ClusterError
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.session import Session
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.rollout import gate
from tests.lab.lab import Lab
from tests.support.ansible import Ansible
from tests.support.proxy import Proxy

PREFIX, PAUSE = "gate-", "livenodes-kubelet-rollout"
STRATEGIC = "application/strategic-merge-patch+json"
MASTER = "node-role.kubernetes.io/control-plane"


@pytest.fixture
def group(lab: Lab) -> t.Iterator[list[str]]:
    """Yield ten Ready Nodes, with rollouts not paused; remove them afterwards."""
    _clear(lab)
    yield lab.add_node_objects(10, PREFIX)
    _clear(lab)


def _clear(lab: Lab) -> None:
    lab.kubectl("delete", "pods", "-n", "kube-system", "-l", "livenodes.test=gate", "--force", "--grace-period=0")
    lab.kubectl("delete", "leases", "-n", "kube-node-lease", "-l", "livenodes.test=gate")
    lab.kubectl("delete", "configmap", "-n", "kube-system", PAUSE, "--ignore-not-found")
    lab.remove_node_objects(PREFIX)


def set_status(lab: Lab, name: str, ready: str = "True", error: str = "") -> None:
    """Write a Node's status like its kubelet or the node controller."""
    reason = "KubeletReady" if ready == "True" else "NodeStatusUnknown"
    body = {
        "status": {
            "conditions": [{"type": "Ready", "status": ready, "reason": reason, "message": "set by a test"}],
            "config": {"error": error},
        }
    }
    lab.apiserver.api().call("PATCH", f"/api/v1/nodes/{name}/status", body, STRATEGIC)


def look(session: Session, group: list[str], *batch: str, **options: t.Any) -> dict[str, t.Any]:
    given = {
        "nodes": list(batch),
        "group_nodes": group,
        "max_unavailable": "1",
        "allow_unready": False,
        "pause_configmap": PAUSE,
        "namespace": "kube-system",
        "pause": False,
        "started": False,
        "timeout": 0,
        "lease": None,
        "pods": False,
    }
    return gate.gate(session, {**given, **options}, False)


def refused(session: Session, group: list[str], *batch: str, **options: t.Any) -> ClusterError:
    with pytest.raises(ClusterError) as caught:
        look(session, group, *batch, **options)
    return caught.value


def test_two_of_ten_not_ready_and_a_fifth_starts_none(lab: Lab, group: list[str], ansible: Ansible) -> None:
    """Checked through the module, with strings as from a survey."""
    for name in group[7:9]:
        set_status(lab, name, "Unknown")
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


def test_cordoned_by_another_user(lab: Lab, session: Session, group: list[str]) -> None:
    lab.kubectl("cordon", group[5])
    assert f"{group[5]}: cordoned" in refused(session, group, group[0]).message.splitlines()
    # A node that is down already does not reduce the budget of the others.
    assert look(session, group, group[5])["budget"]["unavailable"] == {group[5]: "cordoned"}
    lab.kubectl("uncordon", group[5])
    assert look(session, group, group[0])["budget"]["unavailable"] == {}


def test_failed_node(lab: Lab, session: Session, group: list[str]) -> None:
    set_status(lab, group[3], error="failed to validate config, see Kubelet log for details")
    assert (
        f"{group[3]}: its configuration failed: failed to validate config" in refused(session, group, group[0]).message
    )


def test_group_larger_than_the_play(lab: Lab, session: Session, group: list[str]) -> None:
    """A play with --limit to three nodes still counts the seven others."""
    set_status(lab, group[9], "False")
    assert group[9] in refused(session, group, group[0]).result["budget"]["unavailable"]
    assert look(session, group[:3], group[0])["budget"]["nodes"] == 3


def test_node_of_the_batch_that_is_not_ready(lab: Lab, session: Session, group: list[str]) -> None:
    set_status(lab, group[0], "False")
    assert f"{group[0]}: in the batch and not Ready" in refused(session, group, group[0]).message
    assert look(session, group, group[0], allow_unready=True)


def test_waits_until_a_node_is_ready_again(lab: Lab, session: Session, group: list[str]) -> None:
    set_status(lab, group[5], "Unknown")
    timer = threading.Timer(3, lambda: set_status(lab, group[5]))
    timer.start()
    try:
        assert look(session, group, group[0], timeout=60)["budget"]["unavailable"] == {}
    finally:
        timer.cancel()
        timer.join()


def test_silent_node(lab: Lab, session: Session, group: list[str]) -> None:
    """Without a node controller, the Node of a dead kubelet stays Ready. The lab's live nodes are not affected."""
    body = {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "spec": {"renewTime": "2026-01-01T00:00:00.000000Z"},
        "metadata": {"name": group[2], "namespace": "kube-node-lease", "labels": {"livenodes.test": "gate"}},
    }
    lab.kubectl("create", "-f", "-", stdin=json.dumps(body))
    assert list(refused(session, [*group, "n1"], "n1").result["budget"]["unavailable"]) == [group[2]]


def test_requests(lab: Lab, group: list[str], proxy: Proxy) -> None:
    """One GET, one LIST of nodes, one of heartbeats (these Nodes are old), and one of pods per node of the batch."""
    through = Session({"host": proxy.url})
    look(through, group, *group[:3], max_unavailable="3")
    assert (proxy.count(), proxy.count("GET", "/api/v1/nodes?"), proxy.count("GET", "/kube-node-lease/")) == (3, 1, 1)
    proxy.forget()
    look(through, group, *group[:3], max_unavailable="3", pods=True)
    assert (proxy.count(), proxy.count("GET", "/api/v1/pods?")) == (6, 3)


def test_pause(lab: Lab, group: list[str], ansible: Ansible) -> None:
    """The pause is set with kubectl and ended by the command in the message."""
    options = {"nodes": [group[0]], "group_nodes": group}
    lab.kubectl("create", "configmap", PAUSE, "-n", "kube-system", "--from-literal=reason=release day")
    assert not ansible.module("kubelet_rollout_gate", options)["failed"]
    lab.kubectl("patch", "configmap", PAUSE, "-n", "kube-system", "--type=merge", "-p", '{"data": {"paused": "true"}}')
    found = ansible.module("kubelet_rollout_gate", {**options, "timeout": 600})
    assert found["failed"]
    item = lab.apiserver.api().call("GET", f"/api/v1/namespaces/kube-system/configmaps/{PAUSE}")
    writer = next(entry for entry in item["metadata"]["managedFields"] if "f:paused" in entry["fieldsV1"]["f:data"])
    assert found["paused"] == {"since": writer["time"], "by": writer["manager"], "reason": "release day"}
    assert f"rollouts are paused since {writer['time']} by {writer['manager']}: release day" in found["msg"]
    remedy = found["msg"].split("`")[1]
    assert remedy.startswith("kubectl -n kube-system patch configmap ")
    lab.kubectl(*remedy.replace("'", "").split()[1:])
    assert not ansible.module("kubelet_rollout_gate", options)["failed"]


def test_control_plane(lab: Lab, session: Session, group: list[str]) -> None:
    """Control-plane nodes change one at a time, and only while the API servers and etcds of the others are Ready."""
    masters = group[:3]
    lab.kubectl("label", "node", *masters, f"{MASTER}=")
    assert "changed one at a time" in refused(session, group, *masters[:2], max_unavailable="100%", timeout=600).message
    for name in masters:
        for component in ("kube-apiserver", "etcd"):
            _static_pod(lab, component, name)
    assert look(session, group, masters[0])
    _pod_ready(lab, f"etcd-{masters[1]}", False)
    assert f"kube-system/etcd-{masters[1]} on {masters[1]} is not Ready" in refused(session, group, masters[0]).message
    assert look(session, group, masters[1])
    assert look(session, group, group[7])
    _pod_ready(lab, f"etcd-{masters[1]}", True)
    rows = look(session, group, masters[0], pods=True)["pods"][masters[0]].values()
    assert sorted((row["name"], row["static"], row["owner"], row["ready"]) for row in rows) == [
        (f"{component}-{masters[0]}", True, f"Node/{masters[0]}", True) for component in ("etcd", "kube-apiserver")
    ]


def _static_pod(lab: Lab, component: str, node: str) -> None:
    """Create the Ready API object of a static pod, as the kubelet of a control-plane node does."""
    api = lab.apiserver.api()
    name = f"{component}-{node}"
    owner = {
        "apiVersion": "v1",
        "kind": "Node",
        "name": node,
        "uid": api.call("GET", f"/api/v1/nodes/{node}")["metadata"]["uid"],
        "controller": True,
    }
    api.call(
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
                "labels": {"component": component, "tier": "control-plane", "livenodes.test": "gate"},
            },
            "spec": {"nodeName": node, "containers": [{"name": component, "image": f"registry.invalid/{component}"}]},
        },
    )
    _pod_ready(lab, name, True)


def _pod_ready(lab: Lab, name: str, ready: bool) -> None:
    body = {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": str(ready)}]}}
    lab.apiserver.api().call("PATCH", f"/api/v1/namespaces/kube-system/pods/{name}/status", body, STRATEGIC)
