# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A secret of a configuration is in the files that a plan and a rollout write, and in none of their output."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.support.ansible import Ansible
from tests.support.served_cluster import ServedCluster

NAMES = ("n1", "n2")
LIVE, DECLARED = "live-secret", "declared-secret"
FILES = ("plan", "dump", "drift")


@pytest.mark.parametrize("playbook", ["plan", "rollout", "drift"])
def test_secrets_are_not_shown(tmp_path: Path, playbook: str) -> None:
    variables = {
        "ansible_connection": "local",
        "ansible_python_interpreter": sys.executable,
        "kubelet_config": {"maxPods": 80, "staticPodURLHeader": {"Authorization": [DECLARED]}},
        "kubelet_config_wait_timeout": 5,
        **{f"kubelet_config_{name}_file": str(tmp_path / f"{name}.json") for name in FILES},
    }
    hosts = tmp_path / "hosts.yml"
    hosts.write_text(json.dumps({"all": {"hosts": {name: {} for name in NAMES}, "vars": variables}}))
    with ServedCluster(*NAMES, local=NAMES) as fleet:
        fleet.local["staticPodURLHeader"] = {"Authorization": [LIVE]}
        ansible = Ansible(tmp_path, tmp_path / "none", hosts)
        del ansible.environment["K8S_AUTH_KUBECONFIG"]
        ansible.environment["K8S_AUTH_HOST"] = fleet.url
        run = ansible.playbook(playbook, "--diff")
    assert "failed=0" in run.output and "********" in run.output, run.output
    assert [secret for secret in (LIVE, DECLARED) if secret in run.output] == [], run.output
    written = {path.stem: path.read_text() for path in tmp_path.glob("*.json")}
    assert [name for name in written if LIVE in written[name] or DECLARED in written[name]] == [
        name for name in written if name != "drift"
    ]
    assert written, "the run wrote files"
    assert {path.stat().st_mode & 0o777 for path in tmp_path.glob("*.json")} == {0o600}
