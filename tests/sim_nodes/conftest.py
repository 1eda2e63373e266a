# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A simulated cluster with two nodes that need a login: n1 gets delivery `checkpoint` (1.28), n2 `dropin` (1.36)."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest

from tests.sim.cluster import Cluster
from tests.sim.nodes.node import SimNode
from tests.support.plays.ansible import Ansible

VERSIONS = {"n1": "v1.28.7", "n2": "v1.36.2"}
Nodes = dict[str, SimNode]


@pytest.fixture(scope="module")
def cluster() -> t.Iterator[Cluster]:
    with Cluster("v1.36.2") as found:
        yield found


@pytest.fixture(scope="module")
def nodes(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> t.Iterator[Nodes]:
    """Yield the nodes, with kubelets that run."""
    folder = tmp_path_factory.mktemp("nodes")
    with SimNode(cluster, folder, "n1", VERSIONS["n1"]) as n1, SimNode(cluster, folder, "n2", VERSIONS["n2"]) as n2:
        for node in (n1, n2):
            node.wait(node.healthy, 60, "healthz")
        yield {"n1": n1, "n2": n2}


@pytest.fixture
def ansible(cluster: Cluster, nodes: Nodes, tmp_path: Path) -> Ansible:
    """Return Ansible with the nodes as its inventory."""
    hosts = {name: node.variables() for name, node in nodes.items()}
    return Ansible(tmp_path, cluster.kubeconfig(tmp_path / "kubeconfig"), {"workers": {"hosts": hosts}})
