# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The whole way of the deliveries `checkpoint` and `dropin` on simulated nodes."""

from __future__ import annotations

import json
import typing as t

import pytest

from tests.contract.node_rules import (  # noqa: F401  # pylint: disable=unused-import  # tests
    REFUSED,
    Nodes,
    plan_refuses,
    test_rollout_again_less_declared_and_reset,
)
from tests.sim.cluster import Cluster
from tests.sim.nodes.node import SimNode
from tests.support.plays.ansible import Ansible


class Simulated:
    """A simulated node, as the rules see it."""

    def __init__(self, cluster: Cluster, node: SimNode) -> None:
        self._cluster, self._node = cluster, node
        self.delivery = "dropin" if node.minor > 30 else "checkpoint"
        self.layout, self.configz = node.layout, node.configz

    def invocation(self) -> str:
        """Ask the stand-in for systemd."""
        return self._node.show("InvocationID")

    def annotations(self) -> dict[str, str]:
        """Look into the API server."""
        return dict(self._cluster.node(self._node.name)["metadata"].get("annotations", {}))

    def pushed(self, place: dict[str, str]) -> dict[str, t.Any]:
        """Look into the API server; and check that the kubelet has its drop-in, or none."""
        folder = self._node.at("/var/lib/kubelet-config/conf.d")
        link = folder / "90-livenodes-kubelet.conf"
        assert link.is_symlink() and link.exists() if self.delivery == "dropin" else not folder.exists()
        found = self._cluster.store.find("configmaps", place["name"], place["namespace"])
        assert found is not None
        return t.cast("dict[str, t.Any]", json.loads(found.item["data"][place["kubeletConfigKey"]]))

    def keeps(self) -> None:
        """Read the store."""
        good = self._node.at("/var/lib/kubelet-config/store/meta/last-known-good")
        self._node.wait(lambda: good.exists() and good.read_text(encoding="utf-8"), 60, "graduation")


@pytest.fixture
def group(cluster: Cluster, nodes: dict[str, SimNode]) -> dict[str, Simulated]:
    """Return the nodes."""
    return {name: Simulated(cluster, node) for name, node in nodes.items()}


@pytest.mark.parametrize(("declared", "words"), REFUSED)
@pytest.mark.fault(case=2)
def test_a_plan_refuses_what_would_end_a_kubelet(
    group: Nodes, ansible: Ansible, declared: dict[str, t.Any], words: str
) -> None:
    plan_refuses(group, ansible, declared, words)


@pytest.mark.parametrize("playbook", ["rollout", "stage"])
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
