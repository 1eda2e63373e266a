# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pods: one LIST a node, and what is kept of each pod."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import ApiError, NodesFailed
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.objects import pods
from tests.support.calls import Call, Calls
from tests.support.objects import items, pod


def listed(node: str, answer: t.Any) -> Call:
    return Call("GET", pods.PODS, answer, (("fieldSelector", f"spec.nodeName={node}"),))


def test_snapshot() -> None:
    """One request a node, also for a node without pods."""
    with Calls(
        listed("n1", items(pod("a"), pod("b", restarts={"main": 2, "side": 1}))), listed("n2", items())
    ) as session:
        found = pods.snapshot(session, ["n1", "n2"])
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
            },
            "uid-b": {**found["n1"]["uid-a"], "name": "b", "restarts": 3, "containers": {"main": 2, "side": 1}},
        },
        "n2": {},
    }


def test_nodes_whose_pods_cannot_be_listed() -> None:
    with (
        Calls(listed("n1", ApiError(403, "forbidden")), listed("n2", items(pod("a")))) as session,
        pytest.raises(NodesFailed) as failed,
    ):
        pods.snapshot(session, ["n1", "n2"])
    assert failed.value.message == "listing pods: 1 node failed.\nn1: forbidden"
    assert list(failed.value.result["pods"]) == ["n2"]


def test_nothing_is_asked_for_no_node() -> None:
    with Calls() as session:
        assert pods.snapshot(session, []) == {}


def test_row_of_a_static_pod() -> None:
    found = pods.row(pod("etcd-m1", static=True, owner=("Node", "m1"), ready=False))
    assert (found["static"], found["owner"], found["ready"]) == (True, "Node/m1", False)


def test_init_containers_restart_too() -> None:
    made = pod("a", restarts={"main": 1})
    made["status"]["initContainerStatuses"] = [{"name": "first", "restartCount": 4}]
    assert (pods.row(made)["restarts"], pods.row(made)["containers"]) == (5, {"first": 4, "main": 1})


def test_only_a_controller_is_an_owner() -> None:
    made = pod("a")
    made["metadata"]["ownerReferences"] = [
        {"kind": "Gadget", "name": "x"},
        {"kind": "ReplicaSet", "name": "web", "controller": True},
    ]
    assert pods.row(made)["owner"] == "ReplicaSet/web"


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


def test_a_pod_that_no_kubelet_has_seen_yet() -> None:
    found = pods.row({"metadata": pod("a")["metadata"], "status": {"phase": "Pending"}})
    assert (found["ready"], found["restarts"], found["containers"], found["phase"]) == (False, 0, {}, "Pending")
