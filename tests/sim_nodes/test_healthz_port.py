# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A rollout that changes the port at which a simulated kubelet serves healthz."""

from __future__ import annotations

import socket

import pytest

from tests.contract.test_node import OPTIONS
from tests.sim.nodes.node import SimNode
from tests.support.plays.ansible import Ansible

HOSTS = ("-e", "kubelet_config_hosts=n2")


@pytest.mark.parametrize("taken", [False, pytest.param(True, marks=pytest.mark.long)])
@pytest.mark.fault(case=6)
@pytest.mark.fault(case=8)
def test_another_port_of_healthz(nodes: dict[str, SimNode], ansible: Ansible, taken: bool) -> None:
    """A rollout like any other. As long as another process has the port, the node is reverted."""
    node = nodes["n2"]
    before = node.configz()
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        ansible.variables(all={"kubelet_config": {"healthzPort": port}, **OPTIONS})
        if taken:
            failed = ansible.playbook("rollout", *HOSTS)
            assert failed.code and f"no answer from http://127.0.0.1:{port}/healthz" in failed.output, failed.output
            assert "to its previous configuration: the kubelet runs, but its healthz has failed" in failed.output
            assert node.configz() == before
    run = ansible.playbook("rollout", *HOSTS)
    assert run.code == 0, run.output
    assert node.configz() == {**before, "healthzPort": port}
    reset = ansible.playbook("reset", *HOSTS)
    assert reset.code == 0 and node.configz() == before, reset.output
