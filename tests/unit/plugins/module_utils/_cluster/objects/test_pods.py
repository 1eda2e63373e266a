# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pods: one LIST a node, and what is kept of each pod."""

from __future__ import annotations

import json
import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import ApiError, NodesFailed
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.objects import pods
from tests.support.api.calls import Call, Calls
from tests.support.api.objects import items, pod


def listed(node: str, answer: t.Any) -> Call:
    return Call("GET", pods.PODS, answer, (("fieldSelector", f"spec.nodeName={node}"),))


def test_snapshot() -> None:
    """One request a node, also for a node without pods. Each row has the revision and the time of its LIST."""
    first = {**items(pod("a"), pod("b", restarts={"main": 2, "side": 1})), "metadata": {"resourceVersion": "77"}}
    with Calls(listed("n1", first), listed("n2", items())) as session:
        found = pods.snapshot(session, ["n1", "n2"])
        assert pods.snapshot(session, []) == {}
    empty = dict.fromkeys(("owner", "reason", "fault", "disruption", "misplaced"), "")
    counts = {"restarts": 0, "containers": {"main": 0}, "ids": {}, "tolerates": 0}
    flags = {"ready": True, "emptydir": False, "static": False, "phase": "Running"}
    one = {"namespace": "default", "name": "a", **empty, **counts, **flags, "revision": "77", "at": 1_800_000_000.0}
    other = {**one, "name": "b", "restarts": 3, "containers": {"main": 2, "side": 1}}
    assert found == {"n1": {"uid-a": one, "uid-b": other}, "n2": {}}


def test_which_pods_are_misplaced() -> None:
    """By the labels of their own node; without labels it is not known of any."""
    placed = {name: {**pod(name), "spec": {"nodeSelector": {"zone": "a"}}} for name in "ab"}
    calls = listed("n1", items(placed["a"])), listed("n2", items(placed["b"]))
    with Calls(*calls) as session:
        found = pods.snapshot(session, ["n1", "n2"], {"n1": {"zone": "b"}, "n2": {"zone": "a"}})
    assert [row["misplaced"] for rows in found.values() for row in rows.values()] == ["zone=a, the node has b", ""]
    assert pods.row(placed["a"])["misplaced"] == ""
    assert pods.row(placed["a"], labels={})["misplaced"] == "zone=a, the node does not have it"


PLACED = {"nodeSelector": {"zone": "a"}}


@pytest.mark.parametrize(
    ("meta", "phase", "spec"),
    [
        # Those that end anyway, and static pods.
        ({}, "Failed", PLACED),
        ({}, "Succeeded", PLACED),
        ({"deletionTimestamp": "2026-01-01T00:00:00Z"}, "Running", PLACED),
        ({"annotations": {pods.MIRROR: "hash"}}, "Running", PLACED),
        *(({}, "Pending", spec) for spec in (None, [], {"nodeSelector": "x"}, {"affinity": {"nodeAffinity": []}})),
    ],
)
def test_pods_that_labels_do_not_cost(meta: dict[str, t.Any], phase: str, spec: t.Any) -> None:
    made = {**pod("a"), "spec": PLACED, "status": {"phase": "Pending"}}
    assert pods.misplaced(made, {})
    made = {**made, "metadata": {**made["metadata"], **meta}, "status": {"phase": phase}, "spec": spec}
    assert pods.misplaced(made, {}) == ""


def toleration(taint: str | None, seconds: int | None = None, **more: t.Any) -> dict[str, t.Any]:
    limit = {} if seconds is None else {"tolerationSeconds": seconds}
    return {"operator": "Exists", "effect": "NoExecute", **({"key": taint} if taint else {}), **limit, **more}


NOT_READY, UNREACHABLE = pods.AWAY


@pytest.mark.parametrize(
    ("tolerations", "seconds"),
    [
        ([], 0),
        ([toleration(NOT_READY, 300), toleration(UNREACHABLE, 300)], 300),
        ([toleration(NOT_READY, 300), toleration(UNREACHABLE, 60)], 60),
        ([toleration(NOT_READY, 300)], 0),
        ([toleration(NOT_READY), toleration(UNREACHABLE)], None),
        ([toleration(NOT_READY), toleration(UNREACHABLE, 30)], 30),
        ([toleration(None)], None),
        ([toleration(None, effect="")], None),
        ([toleration(None, effect="NoSchedule")], 0),
        ([toleration(None), toleration(NOT_READY, -5)], 0),
    ],
)
def test_how_long_a_pod_stays_on_a_node_that_is_not_ready(
    tolerations: list[dict[str, t.Any]], seconds: int | None
) -> None:
    """As the taint manager of Kubernetes counts."""
    made = pod("a")
    made["spec"]["tolerations"] = tolerations
    assert pods.row(made)["tolerates"] == seconds


def ended(reason: str) -> dict[str, t.Any]:
    return {"name": "main", "restartCount": 0, "state": {"terminated": {"reason": reason, "exitCode": 137}}}


@pytest.mark.parametrize(
    ("status", "fault"),
    [
        ({"phase": "Failed", "reason": "OutOfcpu"}, "OutOfcpu"),
        ({"phase": "Failed", "containerStatuses": [ended("Error")]}, ""),
        ({"phase": "Failed", "containerStatuses": [ended("ContainerStatusUnknown")]}, "ContainerStatusUnknown"),
        ({"phase": "Running", "reason": "NodeLost"}, ""),
        ({"phase": "Succeeded"}, ""),
    ],
)
def test_why_a_kubelet_ended_a_pod(status: dict[str, t.Any], fault: str) -> None:
    """Also of a pod that is being deleted."""
    made = pod("a")
    made["status"] = status
    made["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert (pods.row(made)["fault"], pods.row(made)["reason"]) == (fault, "Terminating")


@pytest.mark.parametrize(
    ("condition", "reason"),
    [
        ({"status": "True", "reason": "EvictionByEvictionAPI"}, "EvictionByEvictionAPI"),
        ({"status": "True"}, "DisruptionTarget"),
        ({"status": "False", "reason": "EvictionByEvictionAPI"}, ""),
    ],
)
def test_why_a_pod_is_deleted(condition: dict[str, t.Any], reason: str) -> None:
    made = pod("a")
    made["status"]["conditions"].append({"type": "DisruptionTarget", **condition})
    assert pods.row(made)["disruption"] == reason


def event(kind: str, content: t.Any) -> str:
    return json.dumps({"type": kind, "object": content}) + "\n"


def watch(answer: t.Any) -> Call:
    query = [("watch", "true"), ("fieldSelector", "spec.nodeName=n1"), ("resourceVersion", "77"), ("timeoutSeconds", 1)]
    return Call("GET", pods.PODS, answer, query)


@pytest.mark.parametrize(
    ("answer", "names"),
    [
        pytest.param(event("ADDED", pod("a")) + event("MODIFIED", pod("b")), [], id="none"),
        pytest.param(event("DELETED", pod("a")) + event("DELETED", pod("b")), ["a", "b"], id="two"),
        pytest.param(event("DELETED", pod("a")) + event("DELETED", pod("b"))[:40], ["a"], id="cut off"),
        pytest.param(event("ERROR", {"code": 410, "message": "too old resource version"}), [], id="too old"),
        pytest.param("", [], id="no event"),
    ],
)
def test_deleted_pods(answer: str, names: list[str]) -> None:
    """One watch of a second from the LIST on."""
    with Calls(watch(answer.encode())) as session:
        found = pods.deleted_since(session, "n1", "77")
    assert [row["name"] for row in found.values()] == names


def test_nodes_whose_pods_cannot_be_listed() -> None:
    calls = listed("n1", ApiError(403, "forbidden")), listed("n2", items(pod("a")))
    with Calls(*calls) as session, pytest.raises(NodesFailed) as failed:
        pods.snapshot(session, ["n1", "n2"])
    assert failed.value.message == "listing pods: 1 node failed.\nn1: forbidden"
    assert list(failed.value.result["pods"]) == ["n2"]


def test_a_row() -> None:
    """Init containers restart too, and only a controller is an owner."""
    found = pods.row(pod("etcd-m1", static=True, owner=("Node", "m1"), ready=False))
    assert (found["static"], found["owner"], found["ready"]) == (True, "Node/m1", False)
    made = pod("a", restarts={"main": 1})
    made["status"]["initContainerStatuses"] = [{"name": "first", "restartCount": 4}]
    owners = [{"kind": "Gadget", "name": "x"}, {"kind": "ReplicaSet", "name": "web", "controller": True}]
    made["metadata"]["ownerReferences"] = owners
    found = pods.row(made)
    assert (found["restarts"], found["containers"], found["owner"]) == (5, {"first": 4, "main": 1}, "ReplicaSet/web")
    # No kubelet has seen it yet.
    found = pods.row({"metadata": pod("a")["metadata"], "status": {"phase": "Pending"}})
    assert (found["ready"], found["restarts"], found["containers"], found["phase"]) == (False, 0, {}, "Pending")


def containers(*states: dict[str, t.Any]) -> dict[str, t.Any]:
    """Return the status of a pod whose containers are in these states."""
    return {"containerStatuses": [{"name": f"c{number}", "state": state} for number, state in enumerate(states)]}


@pytest.mark.parametrize(
    ("meta", "status", "reason"),
    [
        ({}, {"phase": "Failed", "reason": "Evicted"}, "Evicted"),
        ({"deletionTimestamp": "2026-01-01T00:00:00Z"}, {"reason": "NodeLost"}, "Terminating"),
        ({}, containers({"running": {}}, {"waiting": {"reason": "CrashLoopBackOff"}}), "CrashLoopBackOff"),
        ({}, containers({"waiting": {}}), ""),
    ],
)
def test_reason(meta: dict[str, t.Any], status: dict[str, t.Any], reason: str) -> None:
    made = pod("a")
    assert pods.row({"metadata": {**made["metadata"], **meta}, "status": status})["reason"] == reason
