# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a node has left, and what its pods use and request: one LIST and one GET a node."""

from __future__ import annotations

import typing as t
from fractions import Fraction

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import ApiError
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.objects import nodes, pod_usage
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.forecast.node_usage import NodeUsage, Observed
from tests.support.api.calls import NODES, Call, Calls
from tests.support.api.objects import items, node, workload

GI = 2**30
STATS = f"{NODES}/n1/proxy/stats/summary"
OF_N1 = [("fieldSelector", "spec.nodeName=n1,status.phase!=Succeeded,status.phase!=Failed")]
DISK = {"availableBytes": 50 * GI, "capacityBytes": 100 * GI, "inodesFree": 5, "inodes": 10}
OF_NODE = {
    "memory": {"availableBytes": 5 * GI, "workingSetBytes": 3 * GI},
    "fs": DISK,
    "runtime": {"imageFs": DISK},
    "rlimit": {"maxpid": 1000, "curproc": 400},
    "systemContainers": [{"name": "kubelet"}, {"name": "pods", "memory": {"workingSetBytes": GI}}],
}
OF_POD = {
    "podRef": {"namespace": "default", "name": "a"},
    "memory": {"workingSetBytes": 7},
    "ephemeral-storage": {"usedBytes": 100, "inodesUsed": 10},
    "process_stats": {"process_count": 3},
    "containers": [{"rootfs": {"usedBytes": 30, "inodesUsed": 2}}, {"rootfs": {"usedBytes": 10}}],
}
SUMMARY: dict[str, t.Any] = {"node": OF_NODE, "pods": [OF_POD]}
DISKS = {"nodefs.available": 100, "nodefs.inodesFree": 10, "imagefs.available": 100, "imagefs.inodesFree": 10}
USAGE = {"memory.available": 7, "allocatableMemory.available": 7, "pid.available": 3, **DISKS}


def _read(*calls: Call) -> NodeUsage:
    shown = node()
    shown["status"]["capacity"] = {"cpu": "4", "memory": "8Gi"}
    with Calls(*calls) as session:
        return pod_usage.read(session, nodes.trim(shown))


def _pods(answer: t.Any) -> Call:
    return Call("GET", "/api/v1/pods", answer, OF_N1)


@pytest.mark.parametrize("answer", [SUMMARY, {"node": 1}, ApiError(503, "away")])
def test_pods_that_the_labels_of_the_node_cost(answer: t.Any) -> None:
    """Also if the statistics cannot be read."""
    listed = items(workload("a", nodeSelector={"zone": "a"}), workload("b", nodeSelector={}), workload("c"))
    found = _read(_pods(listed), Call("GET", STATS, answer))
    assert found.misplaced == {("default", "a"): "zone=a, the node does not have it"}
    assert [one.name for one in found.pods] == ["a", "b", "c"]


def _parse(stats: dict[str, t.Any]) -> NodeUsage:
    return pod_usage.parse({}, [workload("a")], {**SUMMARY, **stats})


def test_one_list_and_one_get() -> None:
    """Pods that the statistics do not name are there without usage."""
    found = _read(_pods(items(workload("a"), workload("b"))), Call("GET", STATS, SUMMARY))
    assert found.capacity == {"cpu": 4, "memory": 8 * GI}
    assert [(one.name, one.usage) for one in found.pods] == [("a", USAGE), ("b", {})]
    disk, inodes = Observed(Fraction(50 * GI), Fraction(100 * GI)), Observed(Fraction(5), Fraction(10))
    memory, pids = Observed(Fraction(5 * GI), Fraction(8 * GI)), Observed(Fraction(600), Fraction(1000))
    disks = {"nodefs.available": disk, "nodefs.inodesFree": inodes, "imagefs.available": disk}
    signals = {"memory.available": memory, "pid.available": pids, **disks, "imagefs.inodesFree": inodes}
    assert found.signals == signals
    assert (found.pods_memory, found.unread) == (GI, "")


def test_requests_that_fail() -> None:
    """Statistics may fail. The list of the pods may not, nor any request by the credentials."""
    listed_a = _pods(items(workload("a")))
    found = _read(listed_a, Call("GET", STATS, ApiError(503, "no route", transient=True)))
    assert ([one.name for one in found.pods], found.signals, found.unread) == (["a"], {}, "no route")
    with pytest.raises(ApiError, match=r"^who$"):
        _read(listed_a, Call("GET", STATS, ApiError(401, "who")))
    with pytest.raises(ApiError, match="its pods cannot be listed \\(words\\); grant the verb list on pods"):
        _read(_pods(ApiError(403, "words")))


def test_what_the_statistics_leave_out_is_left_out() -> None:
    part = {"memory": {"availableBytes": 5}, "rlimit": {"maxpid": 5}}
    for stats in ({"node": {}, "pods": []}, {"node": part, "pods": None}):
        found = _parse(stats)
        assert (found.signals, found.pods[0].usage, found.pods_memory) == ({}, {}, None)


def test_memory_by_container_where_the_pod_has_none() -> None:
    containers = [{"memory": {"workingSetBytes": 2}}, {"memory": {"workingSetBytes": 3}}, {}]
    found = _parse({"pods": [{**OF_POD, "memory": {}, "containers": containers}]})
    assert found.pods[0].usage["memory.available"] == 5


def test_images_on_a_disk_of_their_own() -> None:
    """Writable layers lie there; logs and volumes on the node's."""
    usage = _parse({"node": {**OF_NODE, "runtime": {"imageFs": {**DISK, "availableBytes": 1}}}}).pods[0].usage
    assert (usage["nodefs.available"], usage["imagefs.available"]) == (60, 40)
    assert (usage["nodefs.inodesFree"], usage["imagefs.inodesFree"]) == (8, 2)


def test_pod() -> None:
    asked = {"cpu": "2", "memory": "1Gi"}, {"cpu": "500m", "example.com/gpu": "1"}
    created = "2026-01-01T00:00:00Z"
    shown = workload("web", *asked, priority=7, qos="Burstable", created=created, overhead={"cpu": "250m"})
    found = pod_usage.pod(shown, {})
    assert (found.key, found.uid, found.created) == (("default", "web"), "uid-web", created)
    assert (found.priority, found.static, found.qos) == (7, False, "Burstable")
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
    allocated = {"name": "c0", "allocatedResources": {"cpu": "500m", "memory": "2Gi"}}
    shown["status"]["containerStatuses"] = [allocated, {"name": "c1"}]
    found = pod_usage.pod(shown, {})
    assert (found.requests, found.whole_cpus) == ({"cpu": Fraction(3, 2), "memory": 2 * GI}, True)
