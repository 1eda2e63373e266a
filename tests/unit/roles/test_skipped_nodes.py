# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nodes that are away or cordoned when a playbook begins, and nodes that fail."""

from __future__ import annotations

import json
import typing as t
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import annotation
from tests.sim.played import PlayedCluster, played_ansible
from tests.sim.switched import SwitchedCluster, switched_ansible
from tests.support.plays.ansible import Ansible, extra

NAMES = ("n1", "n2", "n3", "n4")
ONE = ("-e", "kubelet_config_max_unavailable=1", "-e", "kubelet_config_serial=")
TWO = ("-e", "kubelet_config_max_unavailable=2")


@pytest.fixture
def fleet() -> t.Iterator[PlayedCluster]:
    """Four nodes with native delivery."""
    with PlayedCluster(*NAMES) as made:
        yield made


@pytest.fixture
def ansible(tmp_path: Path, fleet: PlayedCluster) -> Ansible:
    """ansible-playbook with the fleet as its cluster."""
    given = {"kubelet_config": {"maxPods": 80}, "kubelet_config_gate_timeout": 0, "kubelet_config_soak_seconds": 0}
    return played_ansible(tmp_path, fleet, **given)


def dead(fleet: PlayedCluster, name: str) -> None:
    """Let a kubelet die: its Node is not Ready, and it does not answer."""
    fleet.ready(name, "Unknown")
    del fleet.live[name]


@pytest.mark.parametrize(
    ("after", "expected"), [pytest.param("rollback", 90, marks=pytest.mark.long), ("reset", 110)], ids=str
)
@pytest.mark.fault(case=15)
def test_a_dead_node_and_a_deleted_one_do_not_hold_up_the_others(
    ansible: Ansible, fleet: PlayedCluster, after: str, expected: int
) -> None:
    """Each is named at the end."""
    dead(fleet, "n2")
    del fleet.nodes["n4"], fleet.live["n4"]
    run = ansible.playbook("rollout", *TWO)
    assert (run.code, fleet.runs()) == (0, {"n1": 80, "n3": 80}), run.output
    end = run.output.partition("Name the nodes that were skipped")[2]
    assert "n2: not Ready" in end and "n4: the cluster at" in end, run.output
    back = ansible.playbook(after, *TWO)
    assert (back.code, fleet.runs()) == (0, {"n1": expected, "n3": expected}), back.output
    assert fleet.claims.items == {}


@pytest.mark.parametrize(
    "playbook", ["plan", "dump", *(pytest.param(name, marks=pytest.mark.long) for name in ("drift", "stage"))]
)
@pytest.mark.fault(case=15)
def test_what_reads_skips_them_too(ansible: Ansible, fleet: PlayedCluster, playbook: str) -> None:
    dead(fleet, "n2")
    del fleet.nodes["n4"], fleet.live["n4"]
    run = ansible.playbook(playbook, "-e", "kubelet_config_drift=report", *TWO)
    assert run.code == 0 and "n2: not Ready" in run.output and "no such Node" in run.output, run.output


@pytest.mark.parametrize("playbook", ["plan", pytest.param("rollout", marks=pytest.mark.long)])
def test_limit_leaves_out_machines_that_are_no_nodes(ansible: Ansible, fleet: PlayedCluster, playbook: str) -> None:
    """An inventory has other machines, too, and kubelet_config_hosts is all of them by default."""
    ansible.groups(databases={"hosts": {"db1": {}, "db2": {}}})
    run = ansible.playbook(playbook, "--limit", "n1")
    assert run.code == 0, run.output
    assert fleet.runs() == {**dict.fromkeys(NAMES, 90), **({"n1": 80} if playbook == "rollout" else {})}


@pytest.mark.parametrize(
    ("playbook", "given", "why"),
    [
        ("plan", "kubelet_config_max_skipped=0", "at most 0 may be skipped"),
        pytest.param("rollout", "kubelet_config_max_skipped=0", "at most 0 may be skipped", marks=pytest.mark.long),
        ("plan", "kubelet_config_serial=3", "the largest batch has 3 nodes, but at most 2"),
        ("rollback", "kubelet_config_rollout_id=other", "last changed by the rollout other"),
    ],
)
def test_a_refusal_before_anything_is_written(
    ansible: Ansible, fleet: PlayedCluster, playbook: str, given: str, why: str
) -> None:
    """Also by plan, and in the words of the operator, without the template in which it was found."""
    dead(fleet, "n2")
    run = ansible.playbook(playbook, *TWO, "-e", given)
    assert run.code != 0 and why in run.output and "n2: not Ready" in run.output, run.output
    assert "Finalization" not in run.output and "filter plugin" not in run.output, run.output
    assert {method for method, _path in fleet.requests} == {"GET"}


@pytest.mark.fault(case=15)
def test_a_kubelet_that_answers_is_changed_on_request(ansible: Ansible, fleet: PlayedCluster) -> None:
    """Although it is not Ready: the configuration may be why."""

    def follow(name: str) -> None:
        PlayedCluster.follow(fleet, name)
        fleet.ready(name, "True")

    fleet.ready("n1", "False")
    fleet.follow = follow  # type: ignore[method-assign]  # only of this fleet, which ends with the test
    run = ansible.playbook("rollout", *TWO)
    assert (run.code, fleet.runs()["n1"], fleet.assigned) == (0, 90, {"n2", "n3", "n4"}), run.output
    again = ansible.playbook("rollout", *TWO, "-e", "kubelet_config_unready_first=true")
    assert (again.code, fleet.runs()) == (0, dict.fromkeys(NAMES, 80)), again.output


def test_the_rollout_goes_on_after_a_node_that_failed(tmp_path: Path) -> None:
    """With the default batches and the smallest budget: the reverted node is Ready, its status has the error."""
    names = NAMES[:3]
    with SwitchedCluster(*names) as fleet:
        fleet.refusing.add("n1")
        given = {"kubelet_config": {"maxPods": 80}, "kubelet_config_gate_timeout": 0, "kubelet_config_max_failed": 1}
        run = switched_ansible(tmp_path, fleet, **given).playbook("rollout", *ONE)
        assert run.code != 0 and "1 of 3 nodes failed: n1" in " ".join(run.output.split()), run.output
        changed = [name for name in names if "kubelet_checkpoint confirmed" in fleet.steps[name]]
        assert (changed, fleet.claims.items) == (["n2", "n3"], {})


@pytest.mark.parametrize("playbook", ["rollout", pytest.param("reset", marks=pytest.mark.long)])
def test_the_cordon_of_a_killed_run_is_named_and_undone(ansible: Ansible, fleet: PlayedCluster, playbook: str) -> None:
    """Whether the run drains or not; it is no obstacle for the budget. A cordon of an operator stays."""
    mark = {"holder": "ops@bastion", "time": "2026-01-01T00:00:00Z"}
    fleet.nodes["n3"]["metadata"].setdefault("annotations", {})[annotation.CORDONED] = annotation.text(mark)
    for name in ("n3", "n4"):
        fleet.nodes[name]["spec"]["unschedulable"] = True
    run = ansible.playbook(playbook, *TWO)
    assert run.code == 0, run.output
    assert "n3: uncordoned; it was cordoned by this collection for ops@bastion" in run.output, run.output
    assert fleet.cordoned() == {"n4"} and annotation.CORDONED not in json.dumps(fleet.nodes["n3"]["metadata"])


def test_a_name_of_digits(tmp_path: Path) -> None:
    """YAML and an INI inventory make a number of it. Its node is skipped, and rolled out to, as any other."""
    number = 1234567
    with PlayedCluster(str(number), "n2") as fleet:
        hosts = {"h1": {"kubelet_config_node_name": number}, "n2": {}}
        ansible = played_ansible(tmp_path, fleet, hosts, kubelet_config={"maxPods": 80})
        for status, expected in (("False", {"n2"}), ("True", {str(number), "n2"})):
            fleet.ready(str(number), status)
            run = ansible.playbook("rollout")
            assert (run.code, fleet.assigned) == (0, expected), run.output


@pytest.mark.parametrize("playbook", ["rollout", pytest.param("reset", marks=pytest.mark.long)])
def test_hosts_whose_names_are_patterns(tmp_path: Path, playbook: str) -> None:
    """A space, a colon or a comma in a name ends a pattern of Ansible, and a list may have the address of a host."""
    given = {"n1": "worker 1", "n2": "dc1:n4", "n3": "fd00::3", "n4": "fd00::4"}
    with PlayedCluster(*NAMES) as fleet:
        hosts = {host: {"kubelet_config_node_name": name} for name, host in given.items()}
        ansible = played_ansible(tmp_path, fleet, hosts, kubelet_config={"maxPods": 80}, kubelet_config_soak_seconds=0)
        ansible.groups(dc1={"hosts": {"fd00::3": {}}})
        pattern = ["*1", "*n4", "fd00::3", "fd00::4"]
        run = ansible.playbook(playbook, *extra(kubelet_config_hosts=pattern, kubelet_config_max_unavailable=4))
        runs = 80 if playbook == "rollout" else 110
        assert (run.code, fleet.runs()) == (0, dict.fromkeys(NAMES, runs)), run.output
