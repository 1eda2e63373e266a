# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Values of the inventory: fields that are removed, sizes of machines, and what Ansible renders late or decrypts."""

from __future__ import annotations

import json
import re
import textwrap
import typing as t
from pathlib import Path

import pytest
from ansible.parsing.vault import VaultLib, VaultSecret

from ansible_collections.livenodes.kubelet.plugins.plugin_utils import host_table
from tests.sim.played import PlayedCluster, played_ansible
from tests.support.plays.ansible import Ansible, playbook_of

DECLARED = {"kubeReserved": "{{ kubelet_capacity | livenodes.kubelet.reserved('gke') }}"}
TEXT = "kubeReserved: {{ kubelet_capacity | livenodes.kubelet.reserved('gke') }}"
SIZES = {"n1": (2, "8Gi"), "n2": (2, "8Gi"), "n3": (16, "64Gi")}
RESERVED = {
    "n1": {"cpu": "70m", "memory": "1844Mi", "ephemeral-storage": "41984Mi"},
    "n3": {"cpu": "110m", "memory": "5612Mi", "ephemeral-storage": "41984Mi"},
}
PASSWORD, HEADER, SIZE = b"vault-password", "vaulted-header", "20Mi"


@pytest.fixture
def machines() -> t.Iterator[PlayedCluster]:
    """Nodes whose inventory does not know their sizes."""
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
def sized(tmp_path: Path, machines: PlayedCluster) -> Ansible:
    made = played_ansible(tmp_path, machines)
    made.variables(all={"kubelet_config": DECLARED})
    return made


def test_a_rollout_reserves_by_size(sized: Ansible, machines: PlayedCluster) -> None:
    run = sized.playbook("rollout")
    assert run.code == 0, run.output
    assert {name: machines.live[name]["kubeReserved"] for name in RESERVED} == RESERVED
    assert machines.live["n2"] == machines.live["n1"]
    drift = sized.playbook("drift")
    assert drift.code == 0 and "0 drifted" in drift.output, drift.output

    machines.nodes["n3"]["status"]["capacity"]["memory"] = "128Gi"
    drift = sized.playbook("drift")
    assert "1 difference (capacity changed 1)" in drift.output, drift.output
    assert "(memory 64Gi -> 128Gi)" in drift.output, drift.output


@pytest.mark.parametrize(
    ("strategy", "declared"), [("linear", TEXT), pytest.param("free", DECLARED, marks=pytest.mark.long)]
)
def test_roles_in_a_play_of_the_user(sized: Ansible, strategy: str, declared: t.Any) -> None:
    """The role dump sets the capacity."""
    sized.variables(all={"kubelet_config": declared})
    roles = [f"livenodes.kubelet.{name}" for name in ("dump", "edit")]
    run = sized.playbook(playbook_of(sized.home, {"strategy": strategy, "roles": roles}))
    assert run.code == 0, run.output
    assert "1844Mi" in run.output and "5612Mi" in run.output, run.output


def test_a_machine_without_a_class_is_named(sized: Ansible, machines: PlayedCluster) -> None:
    classes = [{"up_to": {"memory": "8Gi"}, "reserved": {"memory": "1Gi"}}]
    sized.variables(
        all={
            "classes": classes,
            "kubelet_config": {"kubeReserved": "{{ kubelet_capacity | livenodes.kubelet.reserved(classes) }}"},
        }
    )
    run = sized.playbook("plan")
    assert run.code != 0
    assert "kubelet_config of host n3" in run.output, run.output
    assert "no size class is large enough for 16 cores and 64Gi of memory" in run.output, run.output
    assert machines.assigned == set()


def vaulted(text: str, indent: int) -> str:
    """Return a text as `ansible-vault encrypt_string` prints it, behind the key of a YAML file."""
    encrypted = VaultLib([("default", VaultSecret(PASSWORD))]).encrypt(text).decode()
    return "!vault |\n" + textwrap.indent(encrypted, " " * indent)


def plan_of(ansible: Ansible, tmp_path: Path) -> tuple[str, int, str]:
    (tmp_path / "password").write_bytes(PASSWORD)
    plan = tmp_path / "plan.json"
    run = ansible.playbook(
        "plan", "--vault-password-file", str(tmp_path / "password"), "-e", f"kubelet_config_plan_file={plan}", "-v"
    )
    return run.output, run.code, plan.read_text() if plan.exists() else ""


def test_vaulted_values_are_planned_as_their_text(tmp_path: Path) -> None:
    """An item of a secret field, a field, and all of a host's overrides."""
    with PlayedCluster("n1", local=["n1"]) as fleet:
        ansible = played_ansible(tmp_path, fleet)
        variables = "\n".join(
            [
                "kubelet_config:",
                f"  containerLogMaxSize: {vaulted(SIZE, 4)}",
                "  staticPodURLHeader:",
                "    Authorization:",
                f"    - {vaulted(HEADER, 6)}",
                f"kubelet_config_host: {vaulted('maxPods: 77', 2)}",
            ]
        )
        (ansible.inventory / "host_vars").mkdir(exist_ok=True)
        (ansible.inventory / "host_vars/n1.yml").write_text(variables)
        output, code, plan = plan_of(ansible, tmp_path)
    assert code == 0, output
    assert HEADER not in output
    (config,) = json.loads(plan)["variants"].values()
    found = (config["staticPodURLHeader"], config["containerLogMaxSize"], config["maxPods"])
    assert found == ({"Authorization": [HEADER]}, SIZE, 77)


def test_an_undefined_variable_in_a_text_field_is_an_error(tmp_path: Path) -> None:
    with PlayedCluster("n1", local=["n1"]) as fleet:
        ansible = played_ansible(tmp_path, fleet)
        ansible.host_variables(n1={"kubelet_config_host": {"clusterDomain": "http://{{ nowhere_set }}/"}})
        output, code, _text = plan_of(ansible, tmp_path)
    assert code != 0 and "nowhere_set" in output, output
    assert re.search(r"Define (the variable|its variables) for this host", " ".join(output.split())), output
    if host_table.LENIENT:
        assert "kubelet_config_host on n1, clusterDomain: {{ nowhere_set }} names an undefined" in output, output
