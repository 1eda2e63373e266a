# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Two groups or two rollouts in one run: each host has its own options, and each rollout begins anew."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest

from tests.sim.played import PlayedCluster, played_ansible
from tests.support.plays.ansible import Ansible, extra, playbook_of

DRAIN, DISRUPT = {"clusterDNS": ["192.0.2.1"]}, {"maxPods": 80}
"""Changes by their effect."""


@pytest.fixture
def fleet() -> t.Iterator[PlayedCluster]:
    """One node in each group."""
    with PlayedCluster("n1", "n2") as made:
        yield made


@pytest.fixture
def ansible(tmp_path: Path, fleet: PlayedCluster) -> Ansible:
    made = played_ansible(tmp_path, fleet)
    made.groups(a={"hosts": {"n1": {}}}, b={"hosts": {"n2": {}}})
    return made


def change(fields: dict[str, t.Any], **variables: t.Any) -> tuple[str, str]:
    return extra(kubelet_config=fields, **variables)


@pytest.mark.parametrize(("careful", "node"), [("a", "n1"), pytest.param("b", "n2", marks=pytest.mark.long)])
def test_each_group_has_its_allowed_effect(ansible: Ansible, fleet: PlayedCluster, careful: str, node: str) -> None:
    """A change of the careful group passed, since the other one came first."""
    allow = {"a": "drain", "b": "drain", careful: "safe"}
    ansible.variables(**{name: {"kubelet_config_allow_effect": effect} for name, effect in allow.items()})
    run = ansible.playbook("rollout", *change(DRAIN))
    assert run.code != 0 and not fleet.assigned, run.output
    assert "above the allowed safe" in run.output and "above the allowed drain" not in run.output, run.output


def test_each_group_is_drained_as_it_says(ansible: Ansible, fleet: PlayedCluster) -> None:
    ansible.variables(b={"kubelet_config_drain": "always"})
    run = ansible.playbook("rollout", *change(DISRUPT))
    assert (run.code, fleet.assigned) == (0, {"n1", "n2"}), run.output
    assert (fleet.cordons, fleet.cordoned()) == (["n2"], set()), run.output


def test_a_value_for_all_wins(ansible: Ansible, fleet: PlayedCluster) -> None:
    ansible.variables(b={"kubelet_config_allow_effect": "safe"})
    run = ansible.playbook("plan", *change(DRAIN, kubelet_config_allow_effect="drain"))
    assert run.code == 0, run.output


def test_one_run_for_each_cluster(fleet: PlayedCluster, ansible: Ansible) -> None:
    """The address in the environment is that of neither."""
    with PlayedCluster("n1", "n2") as other:
        ansible.variables(
            a={"kubelet_config_auth": {"host": fleet.url}}, b={"kubelet_config_auth": {"host": other.url}}
        )
        for group in ("a", "b"):
            run = ansible.playbook(
                "rollout", *change(DISRUPT, kubelet_config_hosts=group), K8S_AUTH_HOST="https://127.0.0.1:1"
            )
            assert run.code == 0, run.output
        assert (fleet.assigned, other.assigned) == ({"n1"}, {"n2"})


@pytest.mark.parametrize("strategy", ["free", pytest.param("host_pinned", marks=pytest.mark.long)])
def test_playbooks_set_their_strategy(ansible: Ansible, fleet: PlayedCluster, strategy: str) -> None:
    """Otherwise each host would begin a rollout of its own, and wait for the Lease of the first one."""
    run = ansible.playbook("rollout", *change({"maxPods": 80}), ANSIBLE_STRATEGY=strategy)
    assert run.code == 0, run.output
    assert {*fleet.runs().values()} == {80} and not fleet.claims.items


def test_a_rollout_by_hand_refuses_a_strategy_in_which_each_host_begins_it(
    ansible: Ansible, fleet: PlayedCluster, tmp_path: Path
) -> None:
    """Also one like that of Mitogen, which has the end of the name in common."""
    (tmp_path / "other_free.py").write_text("from ansible.plugins.strategy.free import DOCUMENTATION, StrategyModule\n")
    ansible.environment["ANSIBLE_STRATEGY_PLUGINS"] = str(tmp_path)
    lease = {"state": "held", "group": "all", "nodes": ["n1", "n2"], "holder": "me", "duration": 60}
    task = {"livenodes.kubelet.kubelet_rollout_lease": lease, "delegate_to": "localhost", "run_once": True}
    run = ansible.playbook(playbook_of(tmp_path, {"strategy": "other_free", "tasks": [task]}))
    assert run.code != 0 and "the strategy of this play is other_free" in run.output, run.output
    assert not fleet.claims.items


def imports(*runs: tuple[str, str]) -> list[dict[str, t.Any]]:
    """Return plays that import playbooks of the collection, each for some hosts."""
    return [
        {"import_playbook": f"livenodes.kubelet.{name}", "vars": {"kubelet_config_hosts": hosts}}
        for name, hosts in runs
    ]


def claims(fleet: PlayedCluster) -> int:
    return [method for method, _name in fleet.claims.requests].count("POST")


def test_a_rollout_that_limit_excludes_runs_no_batch(ansible: Ansible, fleet: PlayedCluster, tmp_path: Path) -> None:
    """It ran those of the first rollout again, and ended in a lost Lease."""
    mine = playbook_of(tmp_path, *imports(("rollout", "n1"), ("rollout", "n2")))
    run = ansible.playbook(mine, *change(DISRUPT), "--limit", "n1")
    assert (run.code, fleet.assigned, claims(fleet)) == (0, {"n1"}, 1), run.output
    assert run.output.count("TASK [livenodes.kubelet.rollout : Gate") == 1, run.output


@pytest.mark.parametrize(
    "names",
    [
        ("rollout", "migrate"),
        *(
            pytest.param(pair, marks=pytest.mark.long)
            for pair in (("rollout", "rollout"), ("rollout", "reset"), ("stage", "rollout"))
        ),
    ],
    ids="-".join,
)
@pytest.mark.parametrize(
    "hosts",
    [
        pytest.param(("n1:n2", "n1:n2"), id="one group"),
        # Nothing of the first run is known of their hosts.
        pytest.param(("n1", "n2"), id="two groups", marks=pytest.mark.long),
    ],
)
def test_each_run_begins_anew(
    ansible: Ansible, fleet: PlayedCluster, tmp_path: Path, names: tuple[str, str], hosts: tuple[str, str]
) -> None:
    """What the first one has found out is not an input of the second one."""
    more = {"kubelet_config_delivery": "native"} if "migrate" in names else {}
    run = ansible.playbook(playbook_of(tmp_path, *imports(*zip(names, hosts))), *change(DISRUPT, **more))
    assert run.code == 0 and "roles hand these to each other" not in run.output, run.output
    assert fleet.claims.items == {}
    last = {"rollout": 80, "migrate": 80, "reset": 110}
    assert fleet.runs()["n2"] == last[names[1]], run.output


def test_what_a_rollout_hands_on_ends_with_it(ansible: Ansible, fleet: PlayedCluster, tmp_path: Path) -> None:
    show = {"stages": "{{ hostvars.localhost.__kubelet_config_rollout.stages }}"}
    row = {"row": "{{ __kubelet_config_row | default({}) }}"}
    tasks = [
        {"ansible.builtin.debug": {"msg": "left {{ {'a': stages, 'b': row} | to_json }}"}, "vars": {**show, **row}}
    ]
    mine = playbook_of(tmp_path, *imports(("rollout", "n1:n2")), {"tasks": tasks})
    run = ansible.playbook(mine, *change(DISRUPT))
    assert run.code == 0 and run.output.count('left {\\"a\\": [], \\"b\\": {}}') == 2, run.output
