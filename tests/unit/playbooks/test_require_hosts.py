# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What every playbook checks before it begins."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.ansible import ROOT, Ansible

ROLLOUT = {"awx_job_template_name": "Rollout", "awx_workflow_job_name": "Rollout"}


@pytest.fixture
def ansible(tmp_path: Path) -> Ansible:
    """Return Ansible with three hosts in two groups, and no cluster."""
    hosts = tmp_path / "hosts.yml"
    hosts.write_text(
        json.dumps(
            {"workers": {"hosts": {"n1": {}, "n2": {}}}, "others": {"hosts": {"n3": {}}}, "empty": {"hosts": {}}}
        )
    )
    return Ansible(tmp_path / "home", tmp_path / "no-kubeconfig", hosts)


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("-e", "kubelet_config_hosts=workers"),
        ("-e", '{"kubelet_config_hosts": ["n1", "n3"]}'),
        ("-e", '{"kubelet_config_hosts": ["n1,n2", "others:!n2"]}'),
        ("-e", "kubelet_config_hosts=n1,n3"),
        ("-e", "kubelet_config_hosts=n1,n3", "--limit", "n3"),
        ("--limit", "n2"),
        ("-e", "kubelet_config_hosts=workers", "--limit", "n2"),
        ("-e", json.dumps({**ROLLOUT, "awx_workflow_job_name": "Week"})),
    ],
)
def test_accepted_hosts(ansible: Ansible, arguments: tuple[str, ...]) -> None:
    run = ansible.playbook("require_hosts", *arguments)
    assert run.code == 0, run.output


def test_hosts_that_only_the_inventory_names_are_refused(ansible: Ansible) -> None:
    """The playbook would not see them, and would change all hosts."""
    ansible.variables(all={"kubelet_config_hosts": "workers"})
    run = ansible.playbook("require_hosts")
    assert run.code != 0
    assert "kubelet_config_hosts=workers" in run.output and "-e" in run.output and "n3" in run.output, run.output
    assert ansible.playbook("require_hosts", "-e", "kubelet_config_hosts=workers").code == 0


@pytest.mark.parametrize(
    ("text", "variables", "limit"),
    [
        ("No host matches kubelet_config_hosts=empty", {"kubelet_config_hosts": "empty"}, ()),
        ("job_slice_count", ROLLOUT, ()),
        # AWX passes an unanswered question as an empty text.
        ("kubelet_config_hosts is empty. Nothing was changed", {"kubelet_config_hosts": ""}, ()),
        # Each of these would be a success in which nothing was done.
        ("No host matches kubelet_config_hosts=wokers", {"kubelet_config_hosts": "wokers"}, ("--limit", "n1")),
        (
            "No host of kubelet_config_hosts=workers is in --limit n3. Nothing was changed",
            {"kubelet_config_hosts": "workers"},
            ("--limit", "n3"),
        ),
    ],
)
def test_refused(ansible: Ansible, text: str, variables: dict[str, str], limit: tuple[str, ...]) -> None:
    run = ansible.playbook("require_hosts", "-e", json.dumps(variables), *limit)
    assert run.code != 0 and text in run.output, run.output


@pytest.mark.parametrize("arguments", [(), ("--limit", "all")])
def test_a_reset_takes_only_hosts_that_are_named(ansible: Ansible, arguments: tuple[str, ...]) -> None:
    """Without them, it would remove the configurations of the whole cluster."""
    run = ansible.playbook(str(ROOT / "playbooks/reset.yml"), *arguments)
    assert run.code != 0 and ("no-kubeconfig" in run.output) == bool(arguments), run.output
    assert ("Name them with -e kubelet_config_hosts, such as a group or all" in run.output) != bool(arguments)
