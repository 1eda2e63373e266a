# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A rollout of drop-ins over nodes with followers, with the real roles on a simulated cluster."""

from __future__ import annotations

import typing as t
from pathlib import Path

from tests.sim.cluster import Cluster
from tests.support.plays.ansible import Ansible

NAMES = ("worker-1", "worker-2")


def test_what_a_rollout_asks_of_each_node(tmp_path: Path) -> None:
    """Its configuration once for the plan and once for the proof; it writes its source, and the confirmation."""
    with Cluster("v1.32.0", scale=20, tls=False) as cluster:
        for name in NAMES:
            cluster.simulate(name, followed=True, flags={})
        hosts: dict[str, t.Any] = {name: {} for name in NAMES}
        ansible = Ansible.of_api(tmp_path, cluster.url, {"all": {"hosts": hosts}})
        ansible.variables(all={"kubelet_config": {"kubeAPIQPS": 77}})
        run = ansible.playbook("rollout")
        assert run.code == 0, run.output
        for name in NAMES:
            assert cluster.kubelet(name).configz()["kubeAPIQPS"] == 77, run.output
            assert cluster.counter.count("GET", f"/nodes/{name}/proxy/configz") == 2, run.output
            assert cluster.counter.count("PATCH", f"/nodes/{name}") == 2, run.output
