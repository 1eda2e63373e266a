# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A field that is removed from the inventory, through two rollouts, with an HTTP server as API server."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import annotation
from tests.sim.played import PlayedCluster, played_ansible
from tests.support.ansible import Ansible


@pytest.fixture
def fleet() -> t.Iterator[PlayedCluster]:
    """n1 has maxPods 110 of its own, n2 has 80."""
    with PlayedCluster("n1", "n2", local=("n1", "n2")) as made:
        made.live["n2"] = {**made.local, "maxPods": 80}
        yield made


@pytest.fixture
def ansible(tmp_path: Path, fleet: PlayedCluster) -> Ansible:
    """ansible-playbook with the fleet as its cluster."""
    return played_ansible(tmp_path, fleet, kubelet_config_forecast="ignore")


def declare(ansible: Ansible, n1: t.Mapping[str, t.Any], n2: t.Mapping[str, t.Any]) -> None:
    """Write the inventory."""
    ansible.host_variables(n1={"kubelet_config": dict(n1)}, n2={"kubelet_config": dict(n2)})


def values(fleet: PlayedCluster, field: str = "maxPods") -> list[t.Any]:
    return [fleet.live[name].get(field) for name in ("n1", "n2")]


@pytest.mark.fault(case=64)
def test_a_deleted_line_reverts_each_node_of_a_shared_variant(fleet: PlayedCluster, ansible: Ansible) -> None:
    """Both nodes run one ConfigMap, but only n1 has a declared maxPods, and n2 has the same value of its own."""
    declare(ansible, {"maxPods": 80, "eventBurst": 7}, {"eventBurst": 7})
    run = ansible.playbook("rollout")
    assert run.code == 0, run.output
    assert len({node["spec"]["configSource"]["configMap"]["name"] for node in fleet.nodes.values()}) == 1
    assert values(fleet) == [80, 80]

    declare(ansible, {"eventBurst": 7}, {"eventBurst": 7})
    drift = ansible.playbook("drift", "-e", "kubelet_config_drift=report")
    assert "no longer declared" in drift.output and "1 drifted, 1 difference" in drift.output, drift.output

    fleet.assigned.clear()
    run = ansible.playbook("rollout")
    assert run.code == 0, run.output
    assert "maxPods: 80 -> 110" in run.output and "(no longer declared)" in run.output, run.output
    assert (values(fleet), fleet.assigned) == ([110, 80], {"n1"})

    fleet.assigned.clear()
    again = ansible.playbook("rollout")
    assert again.code == 0, again.output
    assert fleet.assigned == set()
    assert "0 drifted" in ansible.playbook("drift").output


@pytest.mark.fault(case=64)
def test_a_revert_needs_the_permission_of_its_effect(fleet: PlayedCluster, ansible: Ansible) -> None:
    declare(ansible, {"clusterDNS": ["10.96.0.99"]}, {})
    assert ansible.playbook("rollout", "-e", "kubelet_config_allow_effect=drain").code == 0
    declare(ansible, {}, {})
    run = ansible.playbook("rollout")
    assert run.code != 0 and "allow_effect=drain" in run.output, run.output
    assert values(fleet, "clusterDNS") == [["10.96.0.99"], None]
    run = ansible.playbook("rollout", "-e", "kubelet_config_allow_effect=drain")
    assert run.code == 0, run.output
    assert values(fleet, "clusterDNS") == [None, None]


def test_a_reset_removes_the_record(fleet: PlayedCluster, ansible: Ansible) -> None:
    declare(ansible, {"maxPods": 50}, {"maxPods": 50})
    assert ansible.playbook("rollout").code == 0
    assert annotation.OWN in fleet.nodes["n1"]["metadata"]["annotations"]
    run = ansible.playbook("reset")
    assert run.code == 0, run.output
    assert annotation.OWN not in fleet.nodes["n1"]["metadata"]["annotations"]
