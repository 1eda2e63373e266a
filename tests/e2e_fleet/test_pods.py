# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pods on lab nodes behave as the tests of rollouts require: they run, survive their kubelet's restart, are evicted or
not, and are removed completely.
"""

from __future__ import annotations

import typing as t

import pytest

from tests.lab.lab import Lab
from tests.lab.processes import wait_for
from tests.support.pods import Pods

RUNNING = "ctr --namespace=k8s.io tasks list | grep RUNNING || true"


@pytest.fixture
def pods(lab: Lab) -> t.Iterator[Pods]:
    """Yield pods; remove them afterwards."""
    with Pods(lab) as made:
        yield made


@pytest.mark.parametrize("node", ["n2", pytest.param("n1", marks=pytest.mark.long)])
def test_same_containers_over_a_kubelet_restart(lab: Lab, pods: Pods, node: str) -> None:
    """A bound pod and a static one, on a node with and on one without cgroups per QoS class."""
    names = (pods.create("bound", node, requests={"cpu": "10m", "memory": "8Mi"}), pods.static("fixed", node))
    before = pods.wait_ready(*names)
    former = lab.node(node).invocation_id()
    lab.node(node).run("systemctl restart kubelet")
    lab.wait_ready()
    # Once the kubelet starts another pod, it has synced the earlier ones.
    pods.create("later", node)
    pods.wait_ready("later")
    assert lab.node(node).invocation_id() != former
    assert {name: pods.see(name) for name in names} == before
    assert lab.node(node).run(RUNNING)
    assert {count for one in before.values() for count in one.restarts.values()} == {0}
    pods.close()
    wait_for("the end of all containers", lambda: not lab.node(node).run(RUNNING), 30)


def test_restarts_and_new_pods_are_seen(lab: Lab, pods: Pods) -> None:
    """A container that ends counts as a restart; a pod that is deleted and created again has another UID.

    A pod that must not restart has ended.
    """
    first = pods.wait_ready(pods.create("one", "n1"))["one"]
    lab.node("n1").run(
        f"ctr --namespace=k8s.io tasks kill --signal SIGKILL {first.containers['main'].removeprefix('containerd://')}"
    )
    wait_for(
        "a restart", lambda: (now := pods.see("one")) is not None and now.restarts == {"main": 1} and now.ready, 30
    )
    pods.delete("one")
    assert pods.wait_ready(pods.create("one", "n1"))["one"].uid != first.uid
    pods.create("done", "n1", restart="Never", command=["true"])
    wait_for("the end", lambda: (now := pods.see("done")) is not None and now.phase == "Succeeded", 30)


# The collection has no part in it; tests of drains and soaks use the same pods.
@pytest.mark.long
def test_readiness_switches(pods: Pods) -> None:
    """Readiness of a bound and of a static pod switches off and on without a restart of a container."""
    names = (pods.create("bound", "n1", probe=True), pods.static("fixed", "n1", probe=True))
    before = pods.wait_ready(*names)
    for name in names:
        pods.set_ready(name, "n1", False)
        pods.wait_unready(name)
        pods.set_ready(name, "n1", True)
    assert pods.wait_ready(*names) == before


# The collection has no part in it; tests of drains and soaks use the same pods.
@pytest.mark.long
def test_budgets_and_priorities(lab: Lab) -> None:
    """429 if no disruption is allowed or the budget is outdated; otherwise as many evictions as are allowed.

    The test's own namespace is removed too.
    """
    with Pods(lab, "lab-budgets") as pods:
        _budgets_and_priorities(lab, pods)
    assert lab.kubectl("get", "namespace", "lab-budgets", "--ignore-not-found") == ""
    assert lab.kubectl("get", "priorityclass", "lab-1000", "--ignore-not-found") == ""


def _budgets_and_priorities(lab: Lab, pods: Pods) -> None:
    names = [
        pods.create(f"web-{number}", "n1", labels={"app": "web"}, priority=1000, owner=("ReplicaSet", "web"))
        for number in range(2)
    ]
    pods.wait_ready(*names)
    assert (
        lab.kubectl(
            "get",
            "pod",
            "web-0",
            "-n",
            pods.namespace,
            "-o",
            "jsonpath={.spec.priority} {.metadata.ownerReferences[0].kind}",
        )
        == "1000 ReplicaSet"
    )
    pods.budget("web", {"app": "web"})
    assert pods.evict("web-0") == 429
    pods.allow("web", 1, known=False)
    assert pods.evict("web-0") == 429
    pods.allow("web", 1)
    assert (pods.evict("web-0"), pods.allowed("web"), pods.evict("web-1")) == (201, 0, 429)
    pods.wait_gone("web-0")
    assert (now := pods.see("web-1")) is not None and now.ready


# The collection has no part in it; tests of drains and soaks use the same pods.
@pytest.mark.long
def test_removed_with_a_dead_kubelet_too(lab: Lab, pods: Pods) -> None:
    """The end of a test does not depend on the node."""
    pods.wait_ready(pods.create("orphan", "n1"))
    assert lab.node("n1").run(RUNNING)
    lab.node("n1").run("systemctl stop kubelet")
    try:
        pods.close()
        assert pods.see("orphan") is None
    finally:
        lab.node("n1").run("systemctl start kubelet")
        lab.wait_ready()
    wait_for("the end of all containers", lambda: not lab.node("n1").run(RUNNING), 30)
