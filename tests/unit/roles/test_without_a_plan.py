# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A play of one's own that assigns without a plan must not be a success in which nothing was done."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.ansible import Ansible


def test_assign_without_a_plan_is_refused(tmp_path: Path) -> None:
    hosts = tmp_path / "hosts.yml"
    hosts.write_text(json.dumps({"all": {"hosts": {"n1": {}}}}))
    roles = [{"name": "livenodes.kubelet.assign", "tasks_from": name} for name in ("main.yml", "stage.yml")]
    shown = {"name": "Cause", "debug": {"msg": "{{ ansible_failed_result.msg }}"}}
    tasks = [{"name": "Try", "block": [{"import_role": role}], "rescue": [shown]} for role in roles]
    path = tmp_path / "mine.yml"
    path.write_text(json.dumps([{"hosts": "n1", "gather_facts": False, "tasks": tasks}]))
    run = Ansible(tmp_path / "home", tmp_path / "no-kubeconfig", hosts).playbook(str(path))
    assert run.recap("n1")["rescued"] == 2 and "no-kubeconfig" not in run.output, run.output
    for cause in run.output.split("TASK [Cause]")[1:]:
        assert "the role livenodes.kubelet.assign continues what livenodes.kubelet.edit does" in cause, run.output
