# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A soak of real kubelets and real pods while faults occur."""

from __future__ import annotations

import threading
import time
import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import NodesFailed
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.session import Session
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.objects import kubelets
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.objects import pods as snapshots
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.stages import soak
from tests.lab.lab import Lab
from tests.support.lab.pods import Pods
from tests.support.lab.views import eventually
from tests.support.plays.ansible import Ansible

NODES = ("n1", "n2")
CTR = "ctr --namespace=k8s.io"


@pytest.fixture
def pods(lab: Lab) -> t.Iterator[Pods]:
    """Yield pods; remove them afterwards."""
    with Pods(lab, "lab-soak") as made:
        yield made


@pytest.fixture
def later() -> t.Iterator[t.Callable[..., None]]:
    """Yield a function that runs an action after some seconds; wait for all actions at the end."""
    timers: list[threading.Timer] = []

    def start(seconds: float, what: t.Callable[..., t.Any], *arguments: t.Any) -> None:
        timers.append(threading.Timer(seconds, what, arguments))
        timers[-1].start()

    yield start
    for timer in timers:
        timer.join()


def run(session: Session, *names: str, **options: t.Any) -> dict[str, t.Any]:
    given = {
        "nodes": list(names or NODES),
        "source": None,
        "sources": None,
        "delivery": "auto",
        "seconds": 15,
        "pods": None,
        "allow_pod_loss": "0",
        "pods_timeout": 60,
        "lease": None,
    }
    return soak.soak(session, {**given, **options}, False)


def fail(session: Session, *names: str, **options: t.Any) -> NodesFailed:
    with pytest.raises(NodesFailed) as failed:
        run(session, *names, **options)
    return failed.value


def test_the_process_of_a_kubelet(lab: Lab, session: Session) -> None:
    """Its start time, read through the proxy, equals systemd's and changes with a restart."""

    def started() -> float:
        return float(lab.node("n1").run('date -d "$(systemctl show -P ExecMainStartTimestamp kubelet)" +%s'))

    before = kubelets.process(session, "n1").started
    assert abs(before - started()) < 5
    assert kubelets.process(session, "n1").started == pytest.approx(before, abs=kubelets.TOLERANCE)
    # Two starts within the tolerance count as one.
    time.sleep(max(0.0, before + 2 * kubelets.TOLERANCE - time.time()))
    lab.node("n1").run("systemctl restart kubelet")
    eventually(
        lambda: (
            abs(kubelets.process(session, "n1").started - started()) < 5
            and kubelets.process(session, "n1").started - before > kubelets.TOLERANCE
        ),
        30,
        "the new process",
    )
    lab.wait_ready()
    assert kubelets.healthy(session, "n1")


def test_pods_survive_a_safe_restart(lab: Lab, pods: Pods, session: Session, ansible: Ansible) -> None:
    """A bound pod, one with a probe that is briefly not Ready, and a static one; as a user runs the module."""
    names = [
        pods.create("bound", "n1", owner=("ReplicaSet", "web")),
        pods.create("probed", "n1", probe=True),
        pods.static("fixed", "n2"),
    ]
    pods.wait_ready(*names)
    before = snapshots.snapshot(session, NODES)
    for name in NODES:
        lab.node(name).run("systemctl restart kubelet")
    lab.wait_ready()
    result = ansible.module("node_soak", {"nodes": list(NODES), "seconds": "15", "pods": before})
    assert not result["failed"], result
    # Any configuration is accepted: the sources of an earlier test may still be assigned.
    assert (result["summary"]["ok"], result["summary"]["failed"]) == (2, 0) and 15 <= result["summary"][
        "waited_seconds"
    ] < 60
    assert {name: row["pods"] for name, row in result["nodes"].items()} == {
        name: {"lost": [], "restarted": [], "unready": [], "reported": []} for name in NODES
    }


KILLED = f"{CTR} tasks kill --signal SIGKILL {{}}"
REMOVED = f"{CTR} tasks kill --signal SIGKILL {{0}}; sleep 0.3; {CTR} tasks delete {{0}}; {CTR} containers delete {{0}}"


@pytest.mark.parametrize(
    ("static", "kill"),
    [
        pytest.param(False, KILLED, id="bound, killed"),
        pytest.param(True, REMOVED, id="static, removed"),
        pytest.param(False, REMOVED, id="bound, removed", marks=pytest.mark.long),
        pytest.param(True, KILLED, id="static, killed", marks=pytest.mark.long),
    ],
)
def test_a_lost_container(
    lab: Lab, pods: Pods, session: Session, later: t.Callable[..., None], kill: str, static: bool
) -> None:
    """A container is lost during the soak, in a bound pod and in a static one."""
    name = pods.static("fixed", "n1") if static else pods.create("bound", "n1")
    container = pods.wait_ready(name)[name].containers["main"].removeprefix("containerd://")
    before = snapshots.snapshot(session, NODES)
    later(3, lambda: lab.node("n1").run(kill.format(container), check=False))
    failed = fail(session, pods=before, seconds=12)
    assert set(failed.failures) == {"n1"}
    row = failed.result["nodes"]["n1"]
    assert (row["state"], [pod["name"] for pod in row["pods"]["restarted"]]) == ("pods_lost", [name]), row
    assert f"lab-soak/{name}: container main " in row["message"] and failed.result["nodes"]["n2"]["ok"]
    assert run(session, pods=before, seconds=0, allow_pod_loss="1")["summary"]["ok"] == 2
