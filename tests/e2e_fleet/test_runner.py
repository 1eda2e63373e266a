# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rollouts as jobs of AWX that are canceled, or whose pod dies. tests/unit/roles/test_jobs.py has jobs that end."""

from __future__ import annotations

import signal
import time

import pytest

from tests.lab.lab import Lab
from tests.support.lab.fleet import Fleet
from tests.support.plays.ansible import Ansible
from tests.support.plays.runner import Controller, answers

NODES = ("n3", "n4")
ANSWERS = answers(*NODES)
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
