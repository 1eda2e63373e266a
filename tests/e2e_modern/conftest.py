# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Four nodes with releases from a folder of binaries: n1 runs 1.28, the others and the API server run 1.36.

LIVENODES_LAB_KUBERNETES may name other versions, such as "v1.33 n1=v1.28" for the tests of drop-ins.
"""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest

from tests.lab import releases
from tests.lab.lab import Lab
from tests.support.lab.borrowed_lab import borrowed, need
from tests.support.lab_node.node_bench import Bench
from tests.support.plays.ansible import Ansible


@pytest.fixture(scope="session")
def lab() -> t.Iterator[Lab]:
    with borrowed(nodes=4, dynamic=False, kubernetes=releases.asked() or releases.UPGRADED) as found:
        yield found


@pytest.fixture
def ansible(lab: Lab, tmp_path: Path) -> Ansible:
    return Ansible(tmp_path, lab.kubeconfig, lab.inventory)


@pytest.fixture
def bench(lab: Lab, ansible: Ansible, request: pytest.FixtureRequest) -> t.Iterator[Bench]:
    """Yield the node that a test names; afterwards restore its version and its own configuration."""
    bench = Bench(lab, request.param)
    version = bench.node.release.version
    try:
        yield bench
    finally:
        if lab.node(bench.node.name).release.version != version:
            lab.upgrade(bench.node.name, version)
            bench.wait(bench.healthy, 60, "healthz of the former version")
        ansible.variables()
        hosts = ("-e", f"kubelet_config_hosts={bench.node.name}")
        run = ansible.playbook("reset", *hosts, "-e", "kubelet_config_allow_effect=reboot")
        assert run.code == 0, run.output
        lab.kubectl("delete", "configmap", "-n", "kube-system", "-l", "app.kubernetes.io/managed-by=livenodes.kubelet")


@pytest.fixture
def earlier(bench: Bench, lab: Lab) -> t.Iterator[str]:
    """Give the node of `bench` the kubelet of an earlier minor, and yield its version; restore version and files."""
    need((releases.EARLIER,))
    name, newest = bench.node.name, bench.node.release.version
    try:
        lab.upgrade(name, releases.EARLIER)
        bench.wait(bench.healthy, 60, "healthz of the earlier version")
        version = lab.node(name).release.version
        bench.reports(version)
        yield version
    finally:
        lab.upgrade(name, newest)
        bench.wait(bench.healthy, 60, "healthz of the newest version")
