# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The clock of nodes jumps while a rollout has them on trial: modules, guard and kubelet of a node all see the jump.

The clock of controller and API server is right.
"""

from __future__ import annotations

import calendar
import json
import threading
import time
import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values.annotation import PREFIX
from tests.sim.cluster import Cluster
from tests.sim.nodes.node import SimNode
from tests.support.plays import boundaries
from tests.support.plays.ansible import Ansible, Run

STATUS = f"{PREFIX}status"
HOUR = 3600.0
RESTART = "Restart the kubelet and verify the restart"
VERIFY = "Wait until the kubelets of the batch run what they should"
SOAK_SECONDS = 8
DELIVERIES = {"n1": "checkpoint", "n2": "dropin"}
OPTIONS = {"kubelet_config_trial_seconds": 2, "kubelet_config_wait_timeout": 40, "kubelet_config_serial": 2}
Nodes = dict[str, SimNode]


@pytest.fixture
def nodes(nodes: Nodes) -> t.Iterator[Nodes]:
    """Yield the nodes; set their clocks right afterwards."""
    try:
        yield nodes
    finally:
        for node in nodes.values():
            node.set_clock(0)


def status(cluster: Cluster, name: str) -> dict[str, t.Any]:
    """Return the status annotation of a Node, empty without one."""
    text = cluster.node(name)["metadata"].get("annotations", {}).get(STATUS, "{}")
    return t.cast("dict[str, t.Any]", json.loads(text))


def beat(cluster: Cluster, name: str) -> float:
    """Return by how many seconds the last heartbeat of a Node is ahead of this machine's clock."""
    ready = next(each for each in cluster.node(name)["status"]["conditions"] if each["type"] == "Ready")
    return calendar.timegm(time.strptime(ready["lastHeartbeatTime"], "%Y-%m-%dT%H:%M:%SZ")) - time.time()


def set_clocks(cluster: Cluster, nodes: Nodes, ahead: float) -> None:
    """Set the clocks of the nodes, in seconds ahead of this machine's, and wait for a heartbeat by them."""
    for node in nodes.values():
        node.set_clock(ahead)
    for name, node in nodes.items():
        node.wait(lambda name=name: abs(beat(cluster, name) - ahead) < HOUR / 2, 20, "heartbeat by the new clock")


def rollout(
    cluster: Cluster, nodes: Nodes, ansible: Ansible, value: int, jumps: t.Mapping[str, float], **options: t.Any
) -> Run:
    """Roll out a value; before the tasks in `jumps` set the clocks of the nodes, in seconds ahead of this machine's.

    Each task begins once the guard has reported the kubelet's start by the former clock, and the kubelet has sent a
    heartbeat by the new one.
    """
    ansible.variables(all={"kubelet_config": {"maxPods": value}, **OPTIONS, **options})
    ansible.host_variables(**{name: {"kubelet_config_delivery": way} for name, way in DELIVERIES.items()})

    def before(_count: int, task: str) -> bool:
        if task in jumps:
            for name, node in nodes.items():
                if task != RESTART:
                    node.wait(lambda name=name: status(cluster, name).get("started"), 20, "report of the start")
            set_clocks(cluster, nodes, jumps[task])
        return True

    return boundaries.steps(ansible, "rollout", before, "-e", f"kubelet_config_hosts={':'.join(nodes)}")


def outcome(cluster: Cluster, nodes: Nodes, run: Run) -> dict[str, t.Any]:
    """Return what a run leaves and reports once its trials are over, without names of sources and times."""
    for name, node in nodes.items():
        node.wait(lambda name=name: status(cluster, name).get("reason") == "passed its trial", 60, f"end of {name}")
    found = {name: status(cluster, name) for name in nodes}
    return {
        "code": run.code,
        "recap": {name: run.recap(name) for name in nodes},
        "status": {name: sorted(parts) for name, parts in found.items()},
        "same": {name: parts["assigned"] == parts["active"] == parts["lastKnownGood"] for name, parts in found.items()},
    }


# The unit tests of verify, soak and guard have clocks that jump, one decision each.
@pytest.mark.long
@pytest.mark.parametrize(
    "jumps",
    [
        pytest.param({VERIFY: -HOUR}, id="back"),
        pytest.param({VERIFY: HOUR}, id="ahead"),
        pytest.param({RESTART: HOUR, VERIFY: -HOUR}, id="ahead and back"),
    ],
)
@pytest.mark.fault(case=21)
def test_a_rollout_during_which_clocks_jump_ends_as_without_a_jump(
    cluster: Cluster, nodes: Nodes, ansible: Ansible, jumps: dict[str, float]
) -> None:
    before = outcome(cluster, nodes, rollout(cluster, nodes, ansible, 61, {}))
    assert before["code"] == 0 and all(before["same"].values()), before
    run = rollout(cluster, nodes, ansible, 62, jumps)
    assert outcome(cluster, nodes, run) == before, run.output
    assert {node.configz()["maxPods"] for node in nodes.values()} == {62}
    starts = {name: node.show("InvocationID") for name, node in nodes.items()}
    again = rollout(cluster, nodes, ansible, 62, {})
    assert again.code == 0 and not any(again.recap(name)["changed"] for name in nodes), again.output
    assert {name: node.show("InvocationID") for name, node in nodes.items()} == starts


# The unit tests of the soak have its verdict.
@pytest.mark.long
@pytest.mark.fault(case=21)
def test_a_clock_that_jumps_during_the_soak_reverts_nothing(cluster: Cluster, nodes: Nodes, ansible: Ansible) -> None:
    """The kubelets' starts and heartbeats are an hour earlier from then on, but each is the same process."""
    assert rollout(cluster, nodes, ansible, 63, {}).code == 0
    jumper = threading.Thread(target=jump_in_soak, args=(cluster, nodes))
    cluster.counter.forget()
    jumper.start()
    run = rollout(cluster, nodes, ansible, 64, {}, kubelet_config_soak_seconds=SOAK_SECONDS)
    jumper.join()
    assert run.code == 0, run.output
    assert {node.configz()["maxPods"] for node in nodes.values()} == {64}
    starts = {name: node.show("InvocationID") for name, node in nodes.items()}
    set_clocks(cluster, nodes, 0)
    again = rollout(cluster, nodes, ansible, 64, {})
    assert again.code == 0 and not any(again.recap(name)["changed"] for name in nodes), again.output
    assert {name: node.show("InvocationID") for name, node in nodes.items()} == starts


def jump_in_soak(cluster: Cluster, nodes: Nodes) -> None:
    """Set the clocks of the nodes back once a soak has begun, which first asks each kubelet for its start."""
    while cluster.counter.count("GET", "/proxy/metrics") < len(nodes):
        time.sleep(0.1)
    for node in nodes.values():
        node.set_clock(-HOUR)
