# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The five roles in a play of the user's own, and three modules: as on the page, and in other ways to list them."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest

from tests.sim.played import PlayedCluster, played_ansible
from tests.sim.switched import SwitchedCluster, switched_ansible
from tests.support.plays import by_hand
from tests.support.plays.ansible import NO_KUBECONFIG, Ansible, Run, extra, playbook_of

ROLES = [f"livenodes.kubelet.{name}" for name in ("dump", "edit", "push", "assign", "verify")]
CHAIN = ("Finalization of task args", "has no attribute", "is undefined", "caused by")
"""Words of a chain of errors, which no user should have to read."""


def play(
    ansible: Ansible, *arguments: str, roles: t.Sequence[str] = ROLES, include: bool = False, **more: t.Any
) -> Run:
    """Run a play with the roles, listed or included."""
    tasks = [{"ansible.builtin.include_role": {"name": name}} for name in roles]
    content = {"tasks": tasks} if include else {"roles": list(roles)}
    return ansible.playbook(playbook_of(ansible.home, {**content, **more}), *arguments)


def test_the_commands_of_the_page(tmp_path: Path) -> None:
    """Nothing but `kubelet_config` is set. Then the modules, for one node."""
    check, first, rest, modules = by_hand.commands()
    wanted = by_hand.declared()["maxPods"]
    with PlayedCluster("n1", "n2") as fleet:
        ansible = played_ansible(tmp_path, fleet)
        (ansible.inventory / "quick.yml").unlink()
        ansible.groups(workers={"hosts": {"n1": {}, "n2": {}}})
        ansible.variables(workers={"kubelet_config": by_hand.declared()})
        before = fleet.runs()
        checked = by_hand.types(ansible, check, tmp_path)
        assert (checked.code, fleet.runs(), fleet.assigned) == (0, before, set()), checked.output
        assert "maxPods: 90 -> 80" in checked.output, checked.output
        one = by_hand.types(ansible, first, tmp_path)
        assert (one.code, fleet.runs()) == (0, {"n1": wanted, "n2": before["n2"]}), one.output
        fleet.assigned.clear()
        both = by_hand.types(ansible, rest, tmp_path)
        assert (both.code, fleet.runs(), fleet.assigned) == (0, {"n1": wanted, "n2": wanted}, {"n2"}), both.output

        more = by_hand.types(ansible, modules, tmp_path, *extra(fields={"maxPods": 70}))
        assert (more.code, fleet.runs()) == (0, {"n1": 70, "n2": wanted}), more.output


def test_the_rollout_of_the_page(tmp_path: Path) -> None:
    with PlayedCluster("n1", "n2") as fleet:
        ansible = played_ansible(tmp_path, fleet)
        ansible.variables(all={"kubelet_config": by_hand.declared()})
        given = extra(kubelet_config_hosts="n1:n2", kubelet_config_soak_seconds=0)
        command = f"ansible-playbook -i inventory {by_hand.ROLLOUT}"
        run = by_hand.types(ansible, command, tmp_path, *given)
        wanted = by_hand.declared()["maxPods"]
        assert (run.code, fleet.runs()) == (0, {"n1": wanted, "n2": wanted}), run.output
        assert fleet.claims.items == {}


@pytest.mark.parametrize(
    ("delivery", "more"),
    [
        ("checkpoint", {"strategy": "free", "include": True}),
        pytest.param("checkpoint", {"serial": 1, "include": True}, marks=pytest.mark.long),
        pytest.param("native", {"strategy": "host_pinned"}, marks=pytest.mark.long),
        pytest.param("native", {"serial": [1, 2]}, marks=pytest.mark.long),
    ],
)
def test_in_a_row(tmp_path: Path, delivery: str, more: dict[str, t.Any]) -> None:
    """Each host has its own value, which it must not take from another one."""
    names = ("n1", "n2", "n3")
    declared = {name: {"kubelet_config_host": {"maxPods": 80 + int(name[1:])}} for name in names}
    with SwitchedCluster(*names) if delivery == "checkpoint" else PlayedCluster(*names) as fleet:
        made = switched_ansible if isinstance(fleet, SwitchedCluster) else played_ansible
        ansible = made(tmp_path, fleet)
        ansible.host_variables(**declared)
        run = play(ansible, **more)
        assert (run.code, fleet.runs()) == (0, {"n1": 81, "n2": 82, "n3": 83}), run.output
        if isinstance(fleet, SwitchedCluster):
            confirmed = {name: steps[-1] for name, steps in fleet.steps.items()}
            assert confirmed == dict.fromkeys(names, "kubelet_checkpoint confirmed")


@pytest.mark.long
def test_check_mode_of_one_host_with_a_checkpoint(tmp_path: Path) -> None:
    with SwitchedCluster("n1", "n2") as fleet:
        run = play(switched_ansible(tmp_path, fleet), "--check", "--limit", "n2")
        assert (run.code, fleet.runs(), fleet.steps["n1"]) == (0, {"n1": 90, "n2": 90}, []), run.output


@pytest.mark.parametrize("strategy", ["linear", pytest.param("free", marks=pytest.mark.long)])
def test_a_node_that_fails_is_reverted_alone(tmp_path: Path, strategy: str) -> None:
    """The others are verified and confirmed."""
    with SwitchedCluster("n1", "n2") as fleet:
        fleet.refusing = {"n1"}
        run = play(switched_ansible(tmp_path, fleet), strategy=strategy)
        assert (run.code, fleet.runs()) == (2, {"n1": 90, "n2": 80}), run.output
        assert "did not stay up" in run.output and run.recap("n2")["failed"] == 0, run.output
        assert fleet.steps["n2"][-1] == "kubelet_checkpoint confirmed"


def attempt(role: str) -> dict[str, t.Any]:
    """Return a task that includes a role and shows in one line why it fails."""
    shown = {"ansible.builtin.debug": {"msg": "<{{ (ansible_failed_result | default({})).msg | default('') }}>"}}
    included = {"ansible.builtin.include_role": {"name": f"livenodes.kubelet.{role}"}}
    return {"block": [included], "rescue": [shown]}


@pytest.mark.parametrize("strategy", ["linear", pytest.param("free", marks=pytest.mark.long)])
def test_a_role_that_is_missing_is_named_in_one_sentence(tmp_path: Path, strategy: str) -> None:
    order = ("edit", "push", "assign", "dump", "edit", "assign", "verify")
    with PlayedCluster("n1", "n2") as fleet:
        ansible = played_ansible(tmp_path, fleet, kubelet_config={"maxPods": 80})
        run = play(ansible, roles=(), strategy=strategy, tasks=[attempt(role) for role in order])
        output = " ".join(run.output.split())
        # A host that has only followed the first one has no result.
        found = [text.partition(">")[0] for text in output.split('"msg": "<')[1:] if not text.startswith(">")]
        missing = [text.partition(": run livenodes.kubelet.")[2].partition(" first")[0] for text in found]
        assert list(dict.fromkeys(missing)) == ["dump", "edit", "push", "assign"], run.output
        assert not fleet.assigned and not [word for word in CHAIN if word in output], run.output


def test_a_problem_of_the_inventory_is_one_sentence(tmp_path: Path) -> None:
    words = "hosts a, n1 name the same node n1. Nothing was changed. Set a different kubelet_config_node_name for each"
    with PlayedCluster("n1") as fleet:
        run = play(played_ansible(tmp_path, fleet, {"a": {"kubelet_config_node_name": "n1"}, "n1": {}}))
        output = " ".join(run.output.split())
        assert run.code != 0 and words in output and not [word for word in CHAIN if word in output], run.output


def test_assign_without_a_plan_is_refused(tmp_path: Path) -> None:
    """It must not be a success in which nothing was done."""
    ansible = Ansible.without_cluster(tmp_path, {"all": {"hosts": {"n1": {}}}})
    roles = [{"name": "livenodes.kubelet.assign", "tasks_from": name} for name in ("main.yml", "stage.yml")]
    shown = {"name": "Cause", "debug": {"msg": "{{ ansible_failed_result.msg }}"}}
    tasks = [{"name": "Try", "block": [{"import_role": role}], "rescue": [shown]} for role in roles]
    run = ansible.playbook(playbook_of(tmp_path, {"tasks": tasks}))
    assert run.recap("n1")["rescued"] == 2 and NO_KUBECONFIG not in run.output, run.output
    for cause in run.output.split("TASK [Cause]")[1:]:
        assert "the role livenodes.kubelet.assign continues what livenodes.kubelet.edit does" in cause, run.output
