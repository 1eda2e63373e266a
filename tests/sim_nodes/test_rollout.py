# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A rollout that a node leads to another one, on simulated nodes."""

from __future__ import annotations

import json

import pytest

from tests.sim.nodes.node import SimNode
from tests.support.plays.ansible import Ansible


@pytest.mark.parametrize("playbook", ["rollout", pytest.param("stage", marks=pytest.mark.long)])
def test_a_node_with_the_address_of_another_one(nodes: dict[str, SimNode], ansible: Ansible, playbook: str) -> None:
    """A node can write any address into its status, from where the inventory plugin has it. Nothing happens there."""
    ansible.host_variables(n2={**nodes["n1"].variables(), "kubelet_config_delivery": "checkpoint"})
    before, other = nodes["n1"].show("InvocationID"), nodes["n1"].at("/var/lib/kubelet-config/store/meta/assigned")
    assigned = other.read_text(encoding="utf-8") if other.exists() else None
    run = ansible.playbook(
        playbook, "-e", json.dumps({"kubelet_config_hosts": "n2", "kubelet_config": {"maxPods": 66}})
    )
    assert run.code and "this is the host of the node n1" in run.output, run.output
    assert nodes["n1"].show("InvocationID") == before and nodes["n1"].configz()["maxPods"] != 66
    assert (other.read_text(encoding="utf-8") if other.exists() else None) == assigned
