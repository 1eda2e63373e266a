# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plan, rollout and rollback as jobs of AWX: answers of survey types, small artifacts, cancel, a pod that dies."""

from __future__ import annotations

import json
import signal
import time
import typing as t

import pytest

from tests.lab.lab import Lab
from tests.support.lab.fleet import Fleet, changed
from tests.support.plays.ansible import Ansible
from tests.support.plays.runner import Controller

NODES = ("n3", "n4")
# Text, integer, multiple choice and multiselect: what surveys have.
ANSWERS: dict[str, t.Any] = {
    "kubelet_config_hosts": list(NODES),
    "kubelet_config_allow_effect": "disrupt",
    "kubelet_config_allow_invalid": "false",
    "kubelet_config_kubeadm": "ignore",
    "kubelet_config_serial": "1,50%",
    "kubelet_config_max_unavailable": "100%",
    "kubelet_config_max_failed": 0,
    "kubelet_config_control_plane": "last",
    "kubelet_config_unready_first": "false",
    "kubelet_config_soak_seconds": 2,
    "kubelet_config_allow_pod_loss": "true",
    "kubelet_config_drain": "never",
    "kubelet_config_drain_timeout": 60,
    "kubelet_config_drain_emptydir": "false",
    "kubelet_config_drain_force": "true",
    "kubelet_config_wait_timeout": 120,
    "kubelet_config_pause": "false",
    "kubelet_config_lease_seconds": 5,
}
# The next value of kubeAPIQPS: every test needs a new one.
VALUES = iter(range(301, 400))


@pytest.fixture
def controller(ansible: Ansible) -> Controller:
    """Return a controller like AWX."""
    return Controller(ansible)


def declare(ansible: Ansible) -> int:
    """Declare a new value for the group; return it."""
    qps = next(VALUES)
    ansible.variables(all={"kubelet_config": {"kubeAPIQPS": qps}})
    return qps


def size(artifacts: dict[str, t.Any]) -> int:
    return len(json.dumps(artifacts))


def test_plan_then_rollout_then_rollback(fleet: Fleet, ansible: Ansible, controller: Controller) -> None:
    """Each job accepts the answers of a survey and leaves a short artifact for the next one."""
    qps = declare(ansible)
    before = fleet.look()
    plan = controller.launch("plan.yml", ANSWERS)
    assert plan.code == 0, plan.output
    assert (plan.artifacts["kubelet_plan"]["to_change"], plan.artifacts["kubelet_plan"]["refusals"]) == (2, 0)
    assert size(plan.artifacts) < 500, plan.artifacts
    assert fleet.look() == before

    # The next job of a workflow gets the artifacts as variables.
    rollout = controller.launch("rollout.yml", ANSWERS, **plan.artifacts)
    assert rollout.code == 0, rollout.output
    assert rollout.artifacts["kubelet_rollout"] == {
        "group": "n3:n4",
        "changed": 2,
        "untouched": 0,
        "unchanged": 0,
        "failed": 0,
        "skipped": 0,
        "failures": {},
    }
    after = fleet.look()
    assert changed(before, after) == set(NODES)
    assert {after[name].qps for name in NODES} == {qps}

    ways = {
        **ANSWERS,
        "kubelet_config_variant": "",
        "kubelet_config_serial": ["1", "50%"],
        "kubelet_config_hosts": ":".join(NODES),
    }
    rollback = controller.launch("rollback.yml", ways, **plan.artifacts, **rollout.artifacts)
    assert rollback.code == 0, rollback.output
    assert rollback.artifacts["kubelet_rollout"]["changed"] == 2
    assert {name: fleet.look()[name].qps for name in NODES} == {name: before[name].qps for name in NODES}


@pytest.mark.parametrize(
    ("stop", "at"),
    [
        pytest.param(signal.SIGTERM, "Plan the configurations", id="canceled while planning", marks=pytest.mark.long),
        pytest.param(signal.SIGTERM, "checkpoint : Confirm", id="canceled in the switch"),
        pytest.param(signal.SIGTERM, "Soak the verified nodes", id="canceled in the soak", marks=pytest.mark.long),
        pytest.param(signal.SIGKILL, "checkpoint : Confirm", id="its pod died", marks=pytest.mark.long),
    ],
)
@pytest.mark.fault(case=18)
def test_stopped_and_launched_again(
    lab: Lab, fleet: Fleet, ansible: Ansible, controller: Controller, stop: signal.Signals, at: str
) -> None:
    """The same job again takes over the lease, completes the rollout, and restarts no kubelet twice."""
    qps = declare(ansible)
    before = fleet.look()
    first = controller.launch(
        "rollout.yml", {**ANSWERS, "kubelet_config_serial": "100%", "kubelet_config_soak_seconds": 20}, stop, at
    )
    assert first.code != 0, first.output
    assert first.artifacts == {}
    lab.wait_ready()
    # The guard reports a trial after the kubelet's restart.
    until = time.monotonic() + 30
    while True:
        between = fleet.look()
        rows = ansible.module("node_config_info", {"nodes": list(NODES)})["nodes"]
        agree = [(rows[name]["reason"] == "on trial") == (between[name].qps == qps) for name in NODES]
        if all(agree) or time.monotonic() >= until:
            break
        time.sleep(1)
    for name in NODES:
        assert rows[name]["ready"], rows[name]
        assert not rows[name]["error"], rows[name]
    assert all(agree), ("the live configuration does not match the status", rows, between)
    leases = fleet.leases()
    assert len(leases) == (at != "Plan the configurations")

    again = controller.launch("rollout.yml", {**ANSWERS, "kubelet_config_serial": "100%"})
    assert again.code == 0, again.output
    after = fleet.look()
    for name in NODES:
        assert after[name].qps == qps
        assert (before[name].invocation != between[name].invocation) + (
            between[name].invocation != after[name].invocation
        ) == 1, name
    taken = again.result("Prepare | Lock these nodes against other rollouts")["taken_over"]
    assert ["job 1" in row["holder"] for row in taken] == [True] * len(leases)
    assert fleet.leases() == []
    assert {row["settled"] for row in ansible.module("node_config_info", {"nodes": list(NODES)})["nodes"].values()} == {
        True
    }
