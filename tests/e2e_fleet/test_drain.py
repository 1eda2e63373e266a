# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Real pods drained from real nodes, with the API server's own disruption budgets."""

from __future__ import annotations

import json
import time
import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import NodesFailed
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.session import Session
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.rollout import drain
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values.annotation import CORDONED
from tests.lab.lab import Lab
from tests.support.lab.pods import Pods
from tests.support.plays.ansible import Ansible

NODES = ("n1", "n2")
WEB = {"app": "web"}
OWNER = ("ReplicaSet", "web")


@pytest.fixture
def pods(lab: Lab) -> t.Iterator[Pods]:
    """Yield pods; afterwards remove them and uncordon the nodes."""
    try:
        with Pods(lab, "lab-drain") as made:
            yield made
    finally:
        for name in NODES:
            lab.kubectl("uncordon", name)
            lab.kubectl("annotate", "node", name, f"{CORDONED}-")


def cordoned(lab: Lab, name: str) -> tuple[bool, str | None]:
    """Return whether a node is cordoned, and the holder in the collection's mark."""
    found = lab.get(f"/api/v1/nodes/{name}")
    mark = found["metadata"].get("annotations", {}).get(CORDONED)
    return found["spec"].get("unschedulable", False), json.loads(mark)["holder"] if mark else None


def run(session: Session, *names: str, check_mode: bool = False, **options: t.Any) -> dict[str, t.Any]:
    given = {
        "state": "drained",
        "nodes": list(names or NODES),
        "timeout": 120,
        "grace_period": None,
        "delete_emptydir_data": False,
        "force": False,
        "lease": None,
    }
    return drain.drain(session, {**given, **options}, check_mode)


def fail(session: Session, *names: str, **options: t.Any) -> NodesFailed:
    with pytest.raises(NodesFailed) as failed:
        run(session, *names, **options)
    return failed.value


def evicted(row: dict[str, t.Any]) -> set[str]:
    return {pod["name"] for pod in row["evicted"]}


def test_drain_and_restore(lab: Lab, pods: Pods, ansible: Ansible) -> None:
    """As a user runs the module: in check mode, for real, and both again; then the same for the uncordon.

    Static pods and pods of a DaemonSet keep running.
    """
    going = {
        "n1": {pods.create("web-1", "n1", owner=OWNER)},
        "n2": {pods.create("web-2", "n2", owner=OWNER), pods.create("web-3", "n2", owner=OWNER)},
    }
    staying = (pods.create("agent", "n1", owner=("DaemonSet", "agent")), pods.static("fixed", "n2"))
    done = pods.create("done", "n1", restart="Never", command=["true"])
    before = pods.wait_ready(*staying, *going["n1"], *going["n2"])
    options = {"nodes": list(NODES), "lease": {"holder": "awx-17"}, "timeout": "240"}

    forecast = ansible.module("node_drain", options, "--check", "--diff")
    assert (
        forecast["changed"]
        and evicted(forecast["nodes"]["n2"]) == going["n2"]
        and "unschedulable: true" in forecast["diff"]
    )
    assert (cordoned(lab, "n1"), pods.see("web-1")) == ((False, None), before["web-1"])

    result = ansible.module("node_drain", options, "--diff")
    assert not result["failed"], result
    assert {name: evicted(row) for name, row in result["nodes"].items()} == {
        "n1": going["n1"] | {done},
        "n2": going["n2"],
    }
    assert sorted(result["diff"].splitlines()) == sorted(forecast["diff"].splitlines())
    assert {pod["name"] for row in result["nodes"].values() for pod in row["skipped"]} == set(staying)
    assert {name: cordoned(lab, name) for name in NODES} == {"n1": (True, "awx-17"), "n2": (True, "awx-17")}
    assert [pods.see(name) for name in (*going["n1"], *going["n2"], done)] == [None] * 4
    assert {name: pods.see(name) for name in staying} == {name: before[name] for name in staying}

    for arguments in ((), ("--check",)):
        assert ansible.module("node_drain", options, *arguments)["changed"] is False
    back = {"nodes": list(NODES), "state": "restored"}
    assert ansible.module("node_drain", back, "--check")["changed"] and cordoned(lab, "n1") == (True, "awx-17")
    assert ansible.module("node_drain", back)["changed"]
    assert {name: cordoned(lab, name) for name in NODES} == {"n1": (False, None), "n2": (False, None)}
    for arguments in ((), ("--check",)):
        assert ansible.module("node_drain", back, *arguments)["changed"] is False


@pytest.mark.fault(case=27)
def test_a_budget_blocks_until_the_end(lab: Lab, pods: Pods, session: Session) -> None:
    """Other pods are evicted. The node stays cordoned; once the budget allows it, a second run completes the drain."""
    pods.budget("web-budget", WEB)
    blocked, free = pods.create("web-1", "n1", labels=WEB, owner=OWNER), pods.create("other", "n1", owner=OWNER)
    pods.wait_ready(blocked, free)
    forecast = run(session, "n1", check_mode=True)
    assert evicted(forecast["nodes"]["n1"]) == {free} and "web-budget" in forecast["warnings"][0]
    started = time.monotonic()
    failed = fail(session, "n1", timeout=25)
    assert time.monotonic() - started >= 25
    assert (
        "the timeout of 25 s is over, and these pods are left: "
        "lab-drain/web-1: The disruption budget web-budget needs 1 healthy pods" in failed.failures["n1"]
    )
    assert evicted(failed.result["nodes"]["n1"]) == {free} and pods.see(free) is None
    assert pods.wait_ready(blocked) and cordoned(lab, "n1")[0]
    pods.allow("web-budget", 1)
    again = run(session, "n1")
    assert evicted(again["nodes"]["n1"]) == {blocked} and pods.see(blocked) is None


def test_two_budgets_for_one_pod(pods: Pods, session: Session) -> None:
    """The API server refuses permanently, and the drain does not wait."""
    for name in ("one", "two"):
        pods.budget(name, WEB, 1)
    pods.wait_ready(pods.create("web-1", "n1", labels=WEB, owner=OWNER))
    started = time.monotonic()
    assert "lab-drain/web-1: This pod has more than one PodDisruptionBudget" in fail(session, "n1").failures["n1"]
    assert time.monotonic() - started < 10
