# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nodes that are not Ready or cordoned before a rollout, with ansible-playbook and an HTTP server as API server."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest

from tests.sim.played import PlayedCluster, played_ansible
from tests.support.ansible import Ansible

NAMES = ("n1", "n2")


class Healed(PlayedCluster):
    """A kubelet that is not Ready becomes so with another configuration."""

    def follow(self, name: str) -> None:
        """Let a kubelet see its Node."""
        super().follow(name)
        if self.live[name]["maxPods"] == 80:
            ready(self, name, "True")


@pytest.fixture
def fleet() -> t.Iterator[Healed]:
    """Two nodes with native delivery."""
    with Healed(*NAMES) as made:
        yield made


@pytest.fixture
def ansible(tmp_path: Path, fleet: Healed) -> Ansible:
    """ansible-playbook with the fleet as its cluster. Each batch has one node."""
    given = {"kubelet_config": {"maxPods": 80}, "kubelet_config_gate_timeout": 0}
    return played_ansible(tmp_path, fleet, **given)


def ready(fleet: PlayedCluster, name: str, status: str) -> None:
    """Set the condition Ready of a Node."""
    (condition,) = (one for one in fleet.nodes[name]["status"]["conditions"] if one["type"] == "Ready")
    condition["status"] = status


def runs(fleet: Healed) -> list[int]:
    """Return maxPods of each kubelet."""
    return [fleet.live[name]["maxPods"] for name in NAMES]


@pytest.mark.fault(case=15)
def test_a_node_of_the_batch_that_is_not_ready(ansible: Ansible, fleet: Healed) -> None:
    """It is skipped. The option includes it, since its kubelet answers."""
    ready(fleet, "n1", "False")
    run = ansible.playbook("rollout")
    assert (run.code, runs(fleet), fleet.assigned) == (0, [90, 80], {"n2"}), run.output
    assert "n1: not Ready" in run.output and not fleet.claims.items, run.output
    again = ansible.playbook("rollout", "-e", "kubelet_config_unready_first=true")
    assert (again.code, runs(fleet)) == (0, [80, 80]), again.output


@pytest.mark.fault(case=15)
def test_a_cordoned_node(ansible: Ansible, fleet: Healed) -> None:
    """In the batch, it is changed and stays cordoned. Outside of it, it counts as unavailable."""
    fleet.nodes["n2"]["spec"]["unschedulable"] = True
    run = ansible.playbook("rollout", "-e", "kubelet_config_max_unavailable=1")
    assert run.code != 0 and "n2: cordoned" in run.output and "Untouched hosts: n2" in run.output, run.output
    assert (fleet.assigned, runs(fleet), fleet.claims.items) == (set(), [90, 90], {})
    again = ansible.playbook("rollout", "-e", "kubelet_config_max_unavailable=2", "-e", "kubelet_config_drain=always")
    assert (again.code, runs(fleet)) == (0, [80, 80]), again.output
    assert [bool(fleet.nodes[name]["spec"].get("unschedulable")) for name in NAMES] == [False, True]
