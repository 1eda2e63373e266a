# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the contract runs on: the simulation, with `--on lab` kubelets of 1.20, with `--on modern` later ones.

The fixture `cluster` has three nodes with dynamic configuration, which later kubelets do not have. The fixture `site`
has nodes without it.
"""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.session import Session
from tests.contract.clusters import SCALE, Contracted, OnLab, OnSim
from tests.contract.machines import SITES, Site
from tests.sim.cluster import Cluster
from tests.support.api.proxy import Proxy
from tests.support.lab.dynamic_lab import fleet, lab  # noqa: F401  # pylint: disable=unused-import  # fixtures
from tests.support.plays.ansible import Ansible


@pytest.fixture
def around(request: pytest.FixtureRequest) -> t.Iterator[Contracted]:
    """Yield the cluster for a test that assigns nothing to n1, n2 and n3: the lab does not reset them."""
    on = request.config.getoption("on")
    if on == "modern":
        pytest.skip("kubelets from 1.24 on have no dynamic configuration")
    if on == "lab":
        real = request.getfixturevalue("lab")
        yield OnLab(real, Session({"kubeconfig": str(real.kubeconfig)}))
        return
    with Cluster(scale=SCALE) as simulated:
        yield OnSim(simulated)


@pytest.fixture
def cluster(request: pytest.FixtureRequest, around: Contracted) -> Contracted:
    """Return three nodes on their local configuration."""
    if around.kind == "lab":
        request.getfixturevalue("fleet")
    return around


@pytest.fixture(scope="module")
def few() -> bool:
    """Whether two nodes of a lab are enough."""
    return False


@pytest.fixture(scope="module")
def site(request: pytest.FixtureRequest, few: bool, tmp_path_factory: pytest.TempPathFactory) -> t.Iterator[Site]:
    """Yield nodes without dynamic configuration."""
    with SITES[request.config.getoption("on")](tmp_path_factory.mktemp("nodes"), few) as found:
        yield found


@pytest.fixture
def session(around: Contracted) -> Session:
    return around.session


@pytest.fixture
def ansible(around: Contracted, tmp_path: Path) -> Ansible:
    """Return Ansible for the cluster, with n1 and n3 in workers_a and n2 in workers_b."""
    return around.ansible(tmp_path)


@pytest.fixture
def proxy(around: Contracted, tmp_path: Path) -> t.Iterator[Proxy]:
    """Yield a proxy before the API server that counts requests and injects faults."""
    with Proxy(str(around.kubeconfig(tmp_path))) as running:
        yield running


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Let the short tier run what takes minutes once: on the lab, or on the simulation where that shows as much."""
    mark = f"long_on_{config.getoption('on')}"
    for item in items:
        if item.get_closest_marker(mark):
            item.add_marker(pytest.mark.long)
