# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The playbooks reset and migrate pass the same lease, gate, order and batches as a rollout."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest

from tests.sim.played import PlayedCluster, played_ansible
from tests.support.plays.ansible import Ansible, extra

PLANE = {"node-role.kubernetes.io/control-plane": ""}


class Ordered(PlayedCluster):
    """Remembers in which order the kubelets got their source. m1 is a control-plane node."""

    def __init__(self, *names: str) -> None:
        super().__init__(*names)
        self.order: list[str] = []
        self.nodes["m1"]["metadata"]["labels"] = PLANE

    def follow(self, name: str) -> None:
        if name not in self.assigned:
            self.order.append(name)
        super().follow(name)


@pytest.fixture
def fleet() -> t.Iterator[Ordered]:
    """Three workers and a control-plane node that have a config source."""
    with Ordered("m1", "n1", "n2", "n3") as made:
        yield made


@pytest.fixture
def ansible(tmp_path: Path, fleet: Ordered) -> Ansible:
    """ansible-playbook with the fleet as its cluster."""
    return played_ansible(tmp_path, fleet, kubelet_config_wait_timeout=20, kubelet_config_gate_timeout=0)


def test_a_reset_in_the_batches_of_the_operator(fleet: Ordered, ansible: Ansible) -> None:
    """`serial` as in the README, workers first, the control plane one at a time, and a second run changes nothing."""
    run = ansible.playbook("reset", "-e", "kubelet_config_serial=1,100%")
    assert run.code == 0, run.output
    assert (fleet.order[0], set(fleet.order[1:3]), fleet.order[3]) == ("n1", {"n2", "n3"}, "m1")
    assert run.output.count("Gate | Check whether this batch may begin]") == 3
    assert fleet.runs() == dict.fromkeys(fleet.nodes, 110)
    assert fleet.claims.items == {}
    assert ("POST", "") in fleet.claims.requests, "it held a lease"
    again = ansible.playbook("reset", "-e", "kubelet_config_serial=1,100%")
    assert again.code == 0 and "Gate |" not in again.output, again.output


@pytest.mark.parametrize(
    ("playbook", "given"),
    [
        ("rollout", {"kubelet_config": {"maxPods": 80}}),
        ("reset", {}),
        ("migrate", {"kubelet_config_delivery": "checkpoint"}),
    ],
)
@pytest.mark.fault(case=15)
def test_the_budget_of_the_group(fleet: Ordered, ansible: Ansible, playbook: str, given: dict[str, t.Any]) -> None:
    """A cordoned node counts. The refusal names the untouched hosts and leaves no lease."""
    fleet.nodes["n3"]["spec"]["unschedulable"] = True
    run = ansible.playbook(playbook, *extra(kubelet_config_max_unavailable=1, **given))
    assert run.code != 0 and "n3: cordoned" in run.output and "Untouched hosts: n2, n3, m1" in run.output, run.output
    assert fleet.order == [] and fleet.claims.items == {}


def test_a_reset_is_soaked(fleet: Ordered, ansible: Ansible) -> None:
    """A kubelet that answers no more with its local configuration stops the reset before the next batch."""
    fleet.sick = {"n1": "not ok"}
    run = ansible.playbook("reset", "-e", "kubelet_config_serial=1", "-e", "kubelet_config_soak_seconds=1")
    assert run.code != 0 and "Node n1" in run.output and "healthz" in run.output, run.output
    assert "Untouched hosts: n2, n3, m1" in run.output, run.output
    assert (fleet.order, fleet.runs()["n1"], fleet.claims.items) == (["n1"], 110, {})
