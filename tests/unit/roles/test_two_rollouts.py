# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Two runs in one playbook: the facts of the first one end with it."""

from __future__ import annotations

import json
import typing as t
from pathlib import Path

import pytest

from tests.sim.played import PlayedCluster, played_ansible
from tests.support.ansible import Ansible

CHANGE = {"kubelet_config": {"maxPods": 80}}


@pytest.fixture
def fleet() -> t.Iterator[PlayedCluster]:
    with PlayedCluster("n1", "n2") as made:
        yield made


@pytest.fixture
def ansible(tmp_path: Path, fleet: PlayedCluster) -> Ansible:
    return played_ansible(tmp_path, fleet, {"n1": CHANGE, "n2": CHANGE})


def imported(home: Path, *runs: tuple[str, str]) -> str:
    """Return a playbook that runs playbooks of the collection one after the other, each on some hosts."""
    path = home / "mine.yml"
    plays = [
        {"import_playbook": f"livenodes.kubelet.{name}", "vars": {"kubelet_config_hosts": hosts}}
        for name, hosts in runs
    ]
    path.write_text(json.dumps(plays))
    return str(path)


def claims(fleet: PlayedCluster) -> int:
    return [method for method, _name in fleet.claims.requests].count("POST")


def test_a_rollout_that_limit_excludes_runs_no_batch(ansible: Ansible, fleet: PlayedCluster, tmp_path: Path) -> None:
    """It ran those of the first rollout again, and ended in a lost Lease."""
    run = ansible.playbook(imported(tmp_path, ("rollout", "n1"), ("rollout", "n2")), "--limit", "n1")
    assert (run.code, fleet.assigned, claims(fleet)) == (0, {"n1"}, 1), run.output
    assert run.output.count("TASK [livenodes.kubelet.rollout : Gate") == 1, run.output


@pytest.mark.parametrize("names", [("rollout", "rollout"), ("rollout", "reset"), ("stage", "rollout")], ids="-".join)
@pytest.mark.parametrize("hosts", [("n1", "n2"), ("n1:n2", "n1:n2")], ids=["two groups", "one group"])
def test_each_run_begins_anew(
    ansible: Ansible, fleet: PlayedCluster, tmp_path: Path, names: tuple[str, str], hosts: tuple[str, str]
) -> None:
    """What the first one has found out is not an input of the second one."""
    run = ansible.playbook(imported(tmp_path, *zip(names, hosts)))
    assert run.code == 0 and "roles hand these to each other" not in run.output, run.output
    assert fleet.claims.items == {}
    last = {"rollout": 80, "reset": 110}
    found = {name: live["maxPods"] for name, live in fleet.live.items()}
    assert found["n2"] == last[names[1]], run.output


def test_what_a_rollout_hands_on_ends_with_it(ansible: Ansible, fleet: PlayedCluster, tmp_path: Path) -> None:
    path = Path(imported(tmp_path, ("rollout", "n1:n2")))
    plays = json.loads(path.read_text())
    show = {"stages": "{{ hostvars.localhost.__kubelet_config_rollout.stages }}"}
    row = {"row": "{{ __kubelet_config_row | default({}) }}"}
    tasks = [
        {"ansible.builtin.debug": {"msg": "left {{ {'a': stages, 'b': row} | to_json }}"}, "vars": {**show, **row}}
    ]
    plays.append({"hosts": "n1:n2", "gather_facts": False, "tasks": tasks})
    path.write_text(json.dumps(plays))
    run = ansible.playbook(str(path))
    assert run.code == 0 and run.output.count('left {\\"a\\": [], \\"b\\": {}}') == 2, run.output
