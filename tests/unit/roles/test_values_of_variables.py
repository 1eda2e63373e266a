# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Values that Ansible decrypts or renders late, by the version of ansible-core, are those of the plan or an error."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path

from ansible.parsing.vault import VaultLib, VaultSecret

from ansible_collections.livenodes.kubelet.plugins.plugin_utils import host_table
from tests.sim.played import PlayedCluster, played_ansible
from tests.support.ansible import Ansible

PASSWORD, HEADER, SIZE = b"vault-password", "vaulted-header", "20Mi"


def _vaulted(text: str, indent: int) -> str:
    """Return a text as `ansible-vault encrypt_string` prints it, behind the key of a YAML file."""
    encrypted = VaultLib([("default", VaultSecret(PASSWORD))]).encrypt(text).decode()
    return "!vault |\n" + textwrap.indent(encrypted, " " * indent)


def _plan(ansible: Ansible, tmp_path: Path) -> tuple[str, int, str]:
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
                f"  containerLogMaxSize: {_vaulted(SIZE, 4)}",
                "  staticPodURLHeader:",
                "    Authorization:",
                f"    - {_vaulted(HEADER, 6)}",
                f"kubelet_config_host: {_vaulted('maxPods: 77', 2)}",
            ]
        )
        (ansible.inventory / "host_vars").mkdir(exist_ok=True)
        (ansible.inventory / "host_vars/n1.yml").write_text(variables)
        output, code, plan = _plan(ansible, tmp_path)
    assert code == 0, output
    assert HEADER not in output
    (config,) = json.loads(plan)["variants"].values()
    found = (config["staticPodURLHeader"], config["containerLogMaxSize"], config["maxPods"])
    assert found == ({"Authorization": [HEADER]}, SIZE, 77)


def test_an_undefined_variable_in_a_text_field_is_an_error(tmp_path: Path) -> None:
    with PlayedCluster("n1", local=["n1"]) as fleet:
        ansible = played_ansible(tmp_path, fleet)
        ansible.host_variables(n1={"kubelet_config_host": {"clusterDomain": "http://{{ nowhere_set }}/"}})
        output, code, _plan_text = _plan(ansible, tmp_path)
    assert code != 0 and "nowhere_set" in output, output
    if host_table.LENIENT:
        assert "kubelet_config_host of host n1, clusterDomain: {{ nowhere_set }} names an undefined" in output, output
