# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pods: one LIST a node, what is kept of each pod, and what it uses."""

from __future__ import annotations

import json
import typing as t
from fractions import Fraction

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import ApiError, NodesFailed
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.objects import nodes, pod_usage, pods
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.forecast.node_usage import NodeUsage, Observed
from tests.support.api.calls import NODES, Call, Calls
from tests.support.api.objects import items, node, pod, workload


def listed(node: str, answer: t.Any) -> Call:
    return Call("GET", pods.PODS, answer, (("fieldSelector", f"spec.nodeName={node}"),))


def test_snapshot() -> None:
    """One request a node, also for a node without pods. Each row has the revision and the time of its LIST."""
    first = {**items(pod("a"), pod("b", restarts={"main": 2, "side": 1})), "metadata": {"resourceVersion": "77"}}
    with Calls(listed("n1", first), listed("n2", items())) as session:
        found = pods.snapshot(session, ["n1", "n2"])
        assert pods.snapshot(session, []) == {}
    assert found == {
        "n1": {
            "uid-a": {
                "namespace": "default",
                "name": "a",
                "ready": True,
                "restarts": 0,
                "containers": {"main": 0},
                "ids": {},
                "emptydir": False,
                "static": False,
                "owner": "",
                "phase": "Running",
                "reason": "",
                "fault": "",
                "disruption": "",
                "tolerates": 0,
                "misplaced": "",
                "revision": "77",
                "at": 1_800_000_000.0,
            },
            "uid-b": {**found["n1"]["uid-a"], "name": "b", "restarts": 3, "containers": {"main": 2, "side": 1}},
        },
        "n2": {},
    }


def test_which_pods_are_misplaced() -> None:
    """By the labels of their own node; without labels it is not known of any."""
    placed = {name: {**pod(name), "spec": {"nodeSelector": {"zone": "a"}}} for name in "ab"}
    calls = listed("n1", items(placed["a"])), listed("n2", items(placed["b"]))
    with Calls(*calls) as session:
        found = pods.snapshot(session, ["n1", "n2"], {"n1": {"zone": "b"}, "n2": {"zone": "a"}})
    assert [row["misplaced"] for rows in found.values() for row in rows.values()] == ["zone=a, the node has b", ""]
    assert (pods.row(placed["a"])["misplaced"], pods.row(placed["a"], labels={})["misplaced"]) == (
        "",
        "zone=a, the node does not have it",
    )


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
    with (
        Calls(listed("n1", ApiError(403, "forbidden")), listed("n2", items(pod("a")))) as session,
        pytest.raises(NodesFailed) as failed,
    ):
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


@pytest.mark.parametrize(
    ("meta", "status", "reason"),
    [
        ({}, {"phase": "Failed", "reason": "Evicted"}, "Evicted"),
        ({"deletionTimestamp": "2026-01-01T00:00:00Z"}, {"reason": "NodeLost"}, "Terminating"),
        (
            {},
            {
                "containerStatuses": [
                    {"name": "a", "state": {"running": {}}},
                    {"name": "b", "state": {"waiting": {"reason": "CrashLoopBackOff"}}},
                ]
            },
            "CrashLoopBackOff",
        ),
        ({}, {"containerStatuses": [{"name": "a", "state": {"waiting": {}}}]}, ""),
    ],
)
def test_reason(meta: dict[str, t.Any], status: dict[str, t.Any], reason: str) -> None:
    made = pod("a")
    assert pods.row({"metadata": {**made["metadata"], **meta}, "status": status})["reason"] == reason


GI = 2**30
STATS = f"{NODES}/n1/proxy/stats/summary"
OF_N1 = [("fieldSelector", "spec.nodeName=n1,status.phase!=Succeeded,status.phase!=Failed")]
DISK = {"availableBytes": 50 * GI, "capacityBytes": 100 * GI, "inodesFree": 5, "inodes": 10}
SUMMARY: dict[str, t.Any] = {
    "node": {
        "memory": {"availableBytes": 5 * GI, "workingSetBytes": 3 * GI},
        "fs": DISK,
        "runtime": {"imageFs": DISK},
        "rlimit": {"maxpid": 1000, "curproc": 400},
        "systemContainers": [{"name": "kubelet"}, {"name": "pods", "memory": {"workingSetBytes": GI}}],
    },
    "pods": [
        {
            "podRef": {"namespace": "default", "name": "a"},
            "memory": {"workingSetBytes": 7},
            "ephemeral-storage": {"usedBytes": 100, "inodesUsed": 10},
            "process_stats": {"process_count": 3},
            "containers": [{"rootfs": {"usedBytes": 30, "inodesUsed": 2}}, {"rootfs": {"usedBytes": 10}}],
        }
    ],
}
USAGE = {
    "memory.available": 7,
    "allocatableMemory.available": 7,
    "pid.available": 3,
    "nodefs.available": 100,
    "nodefs.inodesFree": 10,
    "imagefs.available": 100,
    "imagefs.inodesFree": 10,
}


def _read(*calls: Call) -> NodeUsage:
    shown = node()
    shown["status"]["capacity"] = {"cpu": "4", "memory": "8Gi"}
    with Calls(*calls) as session:
        return pod_usage.read(session, nodes.trim(shown))


@pytest.mark.parametrize("answer", [SUMMARY, {"node": 1}, ApiError(503, "away")])
def test_pods_that_the_labels_of_the_node_cost(answer: t.Any) -> None:
    """Also if the statistics cannot be read."""
    listed = items(workload("a", nodeSelector={"zone": "a"}), workload("b", nodeSelector={}), workload("c"))
    found = _read(Call("GET", "/api/v1/pods", listed, OF_N1), Call("GET", STATS, answer))
    assert found.misplaced == {("default", "a"): "zone=a, the node does not have it"}
    assert [one.name for one in found.pods] == ["a", "b", "c"]


def _parse(stats: dict[str, t.Any]) -> NodeUsage:
    return pod_usage.parse({}, [workload("a")], {**SUMMARY, **stats})


def test_one_list_and_one_get() -> None:
    """Pods that the statistics do not name are there without usage."""
    found = _read(Call("GET", "/api/v1/pods", items(workload("a"), workload("b")), OF_N1), Call("GET", STATS, SUMMARY))
    assert found.capacity == {"cpu": 4, "memory": 8 * GI}
    assert [(one.name, one.usage) for one in found.pods] == [("a", USAGE), ("b", {})]
    disk, inodes = Observed(Fraction(50 * GI), Fraction(100 * GI)), Observed(Fraction(5), Fraction(10))
    assert found.signals == {
        "memory.available": Observed(Fraction(5 * GI), Fraction(8 * GI)),
        "nodefs.available": disk,
        "nodefs.inodesFree": inodes,
        "imagefs.available": disk,
        "imagefs.inodesFree": inodes,
        "pid.available": Observed(Fraction(600), Fraction(1000)),
    }
    assert (found.pods_memory, found.unread) == (GI, "")


def test_requests_that_fail() -> None:
    """Statistics may fail. The list of the pods may not, nor any request by the credentials."""
    listed_a = Call("GET", "/api/v1/pods", items(workload("a")), OF_N1)
    found = _read(listed_a, Call("GET", STATS, ApiError(503, "no route", transient=True)))
    assert ([one.name for one in found.pods], found.signals, found.unread) == (["a"], {}, "no route")
    with pytest.raises(ApiError, match=r"^who$"):
        _read(listed_a, Call("GET", STATS, ApiError(401, "who")))
    with pytest.raises(ApiError, match="its pods cannot be listed \\(words\\); grant the verb list on pods"):
        _read(Call("GET", "/api/v1/pods", ApiError(403, "words"), OF_N1))


def test_what_the_statistics_leave_out_is_left_out() -> None:
    for stats in (
        {"node": {}, "pods": []},
        {"node": {"memory": {"availableBytes": 5}, "rlimit": {"maxpid": 5}}, "pods": None},
    ):
        found = _parse(stats)
        assert (found.signals, found.pods[0].usage, found.pods_memory) == ({}, {}, None)


def test_memory_by_container_where_the_pod_has_none() -> None:
    item = {
        **SUMMARY["pods"][0],
        "memory": {},
        "containers": [{"memory": {"workingSetBytes": 2}}, {"memory": {"workingSetBytes": 3}}, {}],
    }
    assert _parse({"pods": [item]}).pods[0].usage["memory.available"] == 5


def test_images_on_a_disk_of_their_own() -> None:
    """Writable layers lie there; logs and volumes on the node's."""
    usage = _parse({"node": {**SUMMARY["node"], "runtime": {"imageFs": {**DISK, "availableBytes": 1}}}}).pods[0].usage
    assert (usage["nodefs.available"], usage["imagefs.available"]) == (60, 40)
    assert (usage["nodefs.inodesFree"], usage["imagefs.inodesFree"]) == (8, 2)


def test_pod() -> None:
    shown = workload(
        "web",
        {"cpu": "2", "memory": "1Gi"},
        {"cpu": "500m", "example.com/gpu": "1"},
        priority=7,
        qos="Burstable",
        created="2026-01-01T00:00:00Z",
        overhead={"cpu": "250m"},
    )
    found = pod_usage.pod(shown, {})
    assert (found.key, found.uid, found.created, found.priority, found.static, found.qos) == (
        ("default", "web"),
        "uid-web",
        "2026-01-01T00:00:00Z",
        7,
        False,
        "Burstable",
    )
    assert found.requests == {"cpu": Fraction(11, 4), "memory": GI, "example.com/gpu": 1}
    assert (found.whole_cpus, found.devices) == (True, True)
    plain = pod_usage.pod(workload("b", {"cpu": "1500m", "hugepages-2Mi": "2Mi", "x.kubernetes.io/y": "1"}), {})
    assert (plain.whole_cpus, plain.devices) == (False, False)
    assert pod_usage.pod(workload("c", {}), {}).requests == {}
    assert pod_usage.pod(workload("d", annotations={"kubernetes.io/config.mirror": "x"}), {}).static


@pytest.mark.parametrize(
    ("init", "cpu"),
    [
        ([{"cpu": "3"}], 3),
        ([{"cpu": "1"}], 2),
        ([{"cpu": "1", "sidecar": True}], 3),
        ([{"cpu": "1", "sidecar": True}, {"cpu": "4"}], 5),
        ([{"cpu": "4"}, {"cpu": "1", "sidecar": True}], 4),
        ([{"cpu": "1", "sidecar": True}, {"cpu": "1", "sidecar": True}], 4),
    ],
)
def test_init_containers(init: list[dict[str, t.Any]], cpu: int) -> None:
    """They run one after the other before the rest, sidecars beside everything after them."""
    shown = workload("a", {"cpu": "1"}, {"cpu": "1"})
    shown["spec"]["initContainers"] = [
        {"resources": {"requests": {"cpu": one["cpu"]}}, **({"restartPolicy": "Always"} if one.get("sidecar") else {})}
        for one in init
    ]
    assert pod_usage.pod(shown, {}).requests["cpu"] == cpu


@pytest.mark.parametrize("asked", [{}, {"memory": "1Gi", "cpu": "500m", "example.com/gpu": "1"}])
def test_requests_of_the_pod_itself(asked: dict[str, str]) -> None:
    """From 1.34 on a pod may have requests of its own, which count instead of the sum of its containers."""
    shown = workload("a", asked, overhead={"memory": "1Gi"})
    shown["spec"]["resources"] = {"requests": {"memory": "3Gi", "hugepages-2Mi": "4Mi"}, "limits": {"cpu": "2"}}
    found = pod_usage.pod(shown, {}).requests
    assert (found["memory"], found["hugepages-2Mi"]) == (4 * GI, 4 * 2**20)
    assert found.get("cpu", 0) == (Fraction(1, 2) if asked else 0)
    assert found.get("example.com/gpu", 0) == (1 if asked else 0)


def test_requests_that_the_node_has_not_allocated_yet() -> None:
    """From 1.33 on a resize may wait for room, and a restarted kubelet admits the pod with what it had."""
    shown = workload("a", {"cpu": "8", "memory": "1Gi"}, {"cpu": "1"})
    shown["status"]["containerStatuses"] = [
        {"name": "c0", "allocatedResources": {"cpu": "500m", "memory": "2Gi"}},
        {"name": "c1"},
    ]
    found = pod_usage.pod(shown, {})
    assert (found.requests, found.whole_cpus) == ({"cpu": Fraction(3, 2), "memory": 2 * GI}, True)
