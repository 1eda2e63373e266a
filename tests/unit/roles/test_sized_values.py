# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Values that follow the machine, in an inventory of the user's own that does not know the machines."""

from __future__ import annotations

import json
import typing as t
from pathlib import Path

import pytest

from tests.sim.played import PlayedCluster, played_ansible
from tests.support.ansible import Ansible

DECLARED = {"kubeReserved": "{{ kubelet_capacity | livenodes.kubelet.reserved('gke') }}"}
TEXT = "kubeReserved: {{ kubelet_capacity | livenodes.kubelet.reserved('gke') }}"
SIZES = {"n1": (2, "8Gi"), "n2": (2, "8Gi"), "n3": (16, "64Gi")}
RESERVED = {
    "n1": {"cpu": "70m", "memory": "1844Mi", "ephemeral-storage": "41984Mi"},
    "n3": {"cpu": "110m", "memory": "5612Mi", "ephemeral-storage": "41984Mi"},
}


@pytest.fixture
def fleet() -> t.Iterator[PlayedCluster]:
    with PlayedCluster(*SIZES) as made:
        for name, (cpu, memory) in SIZES.items():
            made.nodes[name]["status"]["capacity"] = {
                "cpu": str(cpu),
                "memory": memory,
                "ephemeral-storage": "100Gi",
                "pods": "110",
                "hugepages-2Mi": "0",
            }
        yield made


@pytest.fixture
def ansible(tmp_path: Path, fleet: PlayedCluster) -> Ansible:
    made = played_ansible(tmp_path, fleet)
    made.variables(all={"kubelet_config": DECLARED, "kubelet_config_soak_seconds": 0})
    return made


def test_a_rollout_reserves_by_size(ansible: Ansible, fleet: PlayedCluster) -> None:
    run = ansible.playbook("rollout")
    assert run.code == 0, run.output
    assert {name: fleet.live[name]["kubeReserved"] for name in RESERVED} == RESERVED
    assert fleet.live["n2"] == fleet.live["n1"]
    drift = ansible.playbook("drift")
    assert drift.code == 0 and "0 drifted" in drift.output, drift.output

    fleet.nodes["n3"]["status"]["capacity"]["memory"] = "128Gi"
    drift = ansible.playbook("drift")
    assert "1 difference (capacity changed 1)" in drift.output, drift.output
    assert "(memory 64Gi -> 128Gi)" in drift.output, drift.output


@pytest.mark.parametrize(("strategy", "declared"), [("linear", DECLARED), ("free", TEXT)])
def test_roles_in_a_play_of_the_user(ansible: Ansible, strategy: str, declared: t.Any) -> None:
    """The role dump sets the capacity."""
    ansible.variables(all={"kubelet_config": declared})
    roles = [f"livenodes.kubelet.{name}" for name in ("dump", "edit")]
    (ansible.home / "play.yml").write_text(
        json.dumps([{"hosts": "all", "gather_facts": False, "strategy": strategy, "roles": roles}])
    )
    run = ansible.playbook(str(ansible.home / "play.yml"))
    assert run.code == 0, run.output
    assert "1844Mi" in run.output and "5612Mi" in run.output, run.output


def test_a_reservation_above_the_capacity_is_refused(ansible: Ansible, fleet: PlayedCluster) -> None:
    ansible.variables(all={"kubelet_config": {"kubeReserved": {"memory": "{{ 2 * kubelet_capacity.pods // 2 }}Gi"}}})
    fleet.nodes["n3"]["status"]["capacity"]["memory"] = "256Gi"
    run = ansible.playbook("rollout")
    assert run.code != 0
    assert "2 nodes (n1, n2): kubeReserved: kubeReserved, systemReserved and evictionHard keep back" in run.output
    assert fleet.assigned == set() and set(fleet.configmaps) == {fleet.BEFORE}


def test_a_machine_without_a_class_is_named(ansible: Ansible, fleet: PlayedCluster) -> None:
    classes = [{"up_to": {"memory": "8Gi"}, "reserved": {"memory": "1Gi"}}]
    ansible.variables(
        all={
            "classes": classes,
            "kubelet_config": {"kubeReserved": "{{ kubelet_capacity | livenodes.kubelet.reserved(classes) }}"},
        }
    )
    run = ansible.playbook("plan")
    assert run.code != 0
    assert "kubelet_config of host n3" in run.output, run.output
    assert "no size class is large enough for 16 cores and 64Gi of memory" in run.output, run.output
    assert fleet.assigned == set()
