# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The playbook `plan` on nodes whose checkpoint is built on their own file: it shows what a rollout then does.

The API server is an HTTP server, the module on the node a stand-in that counts its calls.
"""

from __future__ import annotations

import json
import typing as t
from pathlib import Path

import pytest

from tests.sim.played import PlayedCluster, played_ansible
from tests.support.api import objects
from tests.support.plays.ansible import Ansible, Run
from tests.support.plays.stubs import LOST, collection

STUB = """#!/usr/bin/python
# WANT_JSON
import json, sys
given = json.load(open(sys.argv[1]))
with open({log!r}, "a") as log:
    log.write(json.dumps(given) + chr(10))
print(json.dumps(dict({answer!r}, changed=False)))
"""
PATH = "/var/lib/kubelet/config.yaml"
OWN = {**objects.HEADER, "clusterDomain": "own.example", "maxPods": 70}
ANSWER = {
    "kubelet": {"local_config": PATH, "config": PATH, "shadowed": {}, "changes_at_restart": False},
    "own": [{"path": PATH, "content": OWN}],
    "disk": {"path": PATH, "content": OWN, "checkpoint": None, "dropins": {}},
}
NEW = ("n1", "n2")


@pytest.fixture
def fleet() -> t.Iterator[PlayedCluster]:
    """n1 and n2 have 1.28 and run their own file, n3 has 1.20 and native delivery."""
    with PlayedCluster("n1", "n2", "n3", local=("n1", "n2", "n3")) as made:
        for name in NEW:
            made.nodes[name] = objects.node(name, version="v1.28.7")
            made.live[name] = {**made.local, **OWN, "kubeAPIQPS": 50}
        yield made


@pytest.fixture
def ansible(tmp_path: Path, fleet: PlayedCluster) -> Ansible:
    """ansible-playbook with the fleet as its cluster; n2 cannot be reached."""
    made = played_ansible(tmp_path, fleet, kubelet_config_forecast="ignore", kubelet_config={"kubeAPIQPS": 9})
    made.host_variables(n2={"ansible_connection": LOST})
    collection(tmp_path, {"kubelet_preflight_info": STUB.format(log=str(tmp_path / "calls"), answer=ANSWER)})
    return made


def calls(home: Path) -> list[dict[str, t.Any]]:
    path = home / "calls"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def planned(home: Path, run: Run) -> dict[str, t.Any]:
    assert run.code == 0, run.output
    return t.cast("dict[str, t.Any]", json.loads((home / "plan.json").read_text()))


def test_the_plan_is_the_one_that_a_rollout_carries_out(tmp_path: Path, ansible: Ansible) -> None:
    file = ("-e", "kubelet_config_plan_file=plan.json")
    run = ansible.playbook("plan", *file)
    plan = planned(tmp_path, run)
    [call] = calls(tmp_path)
    assert (call["delivery"], call["disk"], call["unit"]) == ("dropin", True, "kubelet.service")
    assert plan["variants"][plan["nodes"]["n1"]["variant"]] == {**OWN, "kubeAPIQPS": 9}
    [problem] = [row for row in plan["nodes"]["n2"]["problems"] if row["rule"] == "no-own-file"]
    assert "No route to host" in problem["message"] and "its live configuration" in problem["message"]
    assert plan["nodes"]["n3"]["problems"] == []
    assert plan["summary"]["from_live"] == 1
    assert "1 planned from its live configuration" in run.output, run.output

    # The stand-in ends the rollout after its plan.
    ansible.playbook("rollout", "--check", "--limit", "n1", *file)
    later = json.loads((tmp_path / "plan.json").read_text())
    assert later["variants"][later["nodes"]["n1"]["variant"]] == {**OWN, "kubeAPIQPS": 9}
    assert later["nodes"]["n1"]["configmap"] == plan["nodes"]["n1"]["configmap"]


def test_a_plan_that_reads_no_host_says_so(tmp_path: Path, ansible: Ansible) -> None:
    file = f"kubelet_config_plan_file={tmp_path}/plan.json"
    run = ansible.playbook("plan", "-e", file, "-e", "kubelet_config_drift_hosts=false")
    plan = planned(tmp_path, run)
    assert calls(tmp_path) == []
    assert [row["rule"] for name in NEW for row in plan["nodes"][name]["problems"]] == ["no-own-file"] * 2
    assert "2 planned from their live configuration" in run.output, run.output


def test_a_plan_of_drop_ins_shows_what_the_restart_takes_up(
    tmp_path: Path, fleet: PlayedCluster, ansible: Ansible
) -> None:
    for name in NEW:
        fleet.nodes[name] = objects.node(name, version="v1.36.2")
        fleet.live[name] = {**fleet.local, **OWN, "kubeAPIQPS": 50}
    changed = {**OWN, "maxPods": 60}
    disk = {**t.cast("dict[str, t.Any]", ANSWER["disk"]), "content": changed, "started": 5.0, "changed": 6.0}
    answer = {**ANSWER, "own": [{"path": PATH, "content": changed}], "disk": disk}
    stub = STUB.format(log=str(tmp_path / "calls"), answer=answer)
    modules = tmp_path / "collections" / "ansible_collections" / "livenodes" / "kubelet" / "plugins" / "modules"
    (modules / "kubelet_preflight_info.py").write_text(stub)
    run = ansible.playbook("plan", "-e", "kubelet_config_plan_file=plan.json")
    rows = planned(tmp_path, run)["nodes"]
    found = {row["path"]: row.get("own_file_changed") for row in rows["n1"]["changes"]}
    assert (found["kubeAPIQPS"], found["maxPods"]) == (None, True)
    assert [row["path"] for row in rows["n2"]["changes"]] == ["kubeAPIQPS"]
    [problem] = [row for row in rows["n2"]["problems"] if row["rule"] == "no-own-file"]
    assert "cannot show what its restart takes up" in problem["message"]
    assert "maxPods: 70 -> 60" in run.output and "(the node's own file changed)" in run.output, run.output
