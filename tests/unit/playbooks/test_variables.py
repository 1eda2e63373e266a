# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where users may set variables. There is no cluster: a playbook that tries to connect to it has accepted them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.ansible import Ansible

UNSEEN = "kubelet_config is set in the vars of a play, a role or import_playbook"


@pytest.fixture
def ansible(tmp_path: Path) -> Ansible:
    """Return Ansible with two hosts, and no cluster."""
    hosts = tmp_path / "hosts.yml"
    hosts.write_text(json.dumps({"all": {"hosts": {"n1": {}, "n2": {"kubelet_config_host": {"maxPods": 20}}}}}))
    return Ansible(tmp_path / "home", tmp_path / "no-kubeconfig", hosts)


def test_a_variable_of_the_play_alone_is_refused(ansible: Ansible, tmp_path: Path) -> None:
    """Otherwise a rollout would find no change and succeed."""
    playbook = tmp_path / "mine.yml"
    playbook.write_text(
        json.dumps([{"import_playbook": "livenodes.kubelet.plan", "vars": {"kubelet_config": {"maxPods": 30}}}])
    )
    run = ansible.playbook(str(playbook))
    assert run.code != 0 and UNSEEN in run.output and "group_vars" in run.output, run.output
    assert "no-kubeconfig" not in run.output


@pytest.mark.parametrize("place", ["extra variable", "group", "host", "nowhere"])
def test_variables_of_hosts_are_used(ansible: Ansible, place: str) -> None:
    value = {"kubelet_config": {"maxPods": 30}}
    if place == "group":
        ansible.variables(all=value)
    elif place == "host":
        ansible.host_variables(n2=value)
    run = ansible.playbook("plan", *(["-e", json.dumps(value)] if place == "extra variable" else []))
    assert run.code != 0 and UNSEEN not in run.output and "no-kubeconfig" in run.output, run.output
