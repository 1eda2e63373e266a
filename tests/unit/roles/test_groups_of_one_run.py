# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Two groups in one run: each host has its own options, whichever group comes first."""

from __future__ import annotations

import json
import typing as t
from pathlib import Path

import pytest

from tests.sim.api.handlers import Request
from tests.sim.played import PlayedCluster, played_ansible
from tests.support.ansible import Ansible
from tests.support.calls import NODES

DRAIN, DISRUPT = {"clusterDNS": ["192.0.2.1"]}, {"maxPods": 80}
"""Changes by their effect."""


class Cordoned(PlayedCluster):
    """`cordoned` are the nodes that were, in their order."""

    def __init__(self, *names: str) -> None:
        super().__init__(*names)
        self.cordoned: list[str] = []

    def serve(self, method: str, url: str, body: t.Any, request: Request) -> tuple[int, t.Any]:
        """Answer one request."""
        if method == "PATCH" and url.startswith(NODES) and (body.get("spec") or {}).get("unschedulable"):
            self.cordoned.append(url.partition("?")[0].rpartition("/")[2])
        return super().serve(method, url, body, request)


@pytest.fixture
def fleet() -> t.Iterator[Cordoned]:
    """One node in each group."""
    with Cordoned("n1", "n2") as made:
        yield made


@pytest.fixture
def ansible(tmp_path: Path, fleet: Cordoned) -> Ansible:
    made = played_ansible(tmp_path, fleet)
    groups = {"a": {"hosts": {"n1": {}}}, "b": {"hosts": {"n2": {}}}}
    (made.inventory / "groups.yml").write_text(json.dumps({"all": {"children": groups}}))
    return made


def change(fields: dict[str, t.Any], **variables: t.Any) -> tuple[str, str]:
    return "-e", json.dumps({"kubelet_config": fields, **variables})


@pytest.mark.parametrize(("careful", "node"), [("a", "n1"), ("b", "n2")])
def test_each_group_has_its_allowed_effect(ansible: Ansible, fleet: Cordoned, careful: str, node: str) -> None:
    """A change of the careful group passed, since the other one came first."""
    allow = {"a": "drain", "b": "drain", careful: "safe"}
    ansible.variables(**{name: {"kubelet_config_allow_effect": effect} for name, effect in allow.items()})
    run = ansible.playbook("rollout", *change(DRAIN))
    assert run.code != 0 and not fleet.assigned, run.output
    assert "above the allowed safe" in run.output and "above the allowed drain" not in run.output, run.output


@pytest.mark.parametrize(("group", "node"), [("a", "n1"), ("b", "n2")])
def test_each_group_is_drained_as_it_says(ansible: Ansible, fleet: Cordoned, group: str, node: str) -> None:
    ansible.variables(**{group: {"kubelet_config_drain": "always"}})
    run = ansible.playbook("rollout", *change(DISRUPT))
    assert (run.code, fleet.assigned) == (0, {"n1", "n2"}), run.output
    assert fleet.cordoned == [node], run.output
    assert not any(one["spec"].get("unschedulable") for one in fleet.nodes.values())


def test_a_value_for_all_wins(ansible: Ansible, fleet: Cordoned) -> None:
    ansible.variables(b={"kubelet_config_allow_effect": "safe"})
    run = ansible.playbook("plan", *change(DRAIN, kubelet_config_allow_effect="drain"))
    assert run.code == 0, run.output


@pytest.mark.parametrize("playbook", ["rollout", "drift", "reset", "prune", "dump"])
def test_two_clusters_with_equal_nodes(tmp_path: Path, fleet: Cordoned, ansible: Ansible, playbook: str) -> None:
    """The values of one group reached the node of the other one, which was in no rollout. Nothing is even read."""
    with Cordoned("n1", "n2") as other:
        ansible.variables(
            a={"kubelet_config_auth": {"host": fleet.url}}, b={"kubelet_config_auth": {"host": other.url}}
        )
        run = ansible.playbook(playbook, *change(DISRUPT))
        assert run.code != 0 and "name different clusters" in run.output, run.output
        assert f"group a (n1): host {fleet.url}" in run.output and f"group b (n2): host {other.url}" in run.output
        assert fleet.requests == other.requests == []


def test_one_run_for_each_cluster(fleet: Cordoned, ansible: Ansible) -> None:
    """The address in the environment is that of neither."""
    with Cordoned("n1", "n2") as other:
        ansible.variables(
            a={"kubelet_config_auth": {"host": fleet.url}}, b={"kubelet_config_auth": {"host": other.url}}
        )
        for group in ("a", "b"):
            run = ansible.playbook(
                "rollout", *change(DISRUPT, kubelet_config_hosts=group), K8S_AUTH_HOST="https://127.0.0.1:1"
            )
            assert run.code == 0, run.output
        assert (fleet.assigned, other.assigned) == ({"n1"}, {"n2"})


@pytest.mark.parametrize("strategy", ["free", "host_pinned"])
def test_playbooks_set_their_strategy(ansible: Ansible, fleet: Cordoned, strategy: str) -> None:
    """Otherwise each host would begin a rollout of its own, and wait for the Lease of the first one."""
    run = ansible.playbook("rollout", *change({"maxPods": 80}), ANSIBLE_STRATEGY=strategy)
    assert run.code == 0, run.output
    assert {live["maxPods"] for live in fleet.live.values()} == {80} and not fleet.claims.items


def test_a_rollout_by_hand_refuses_a_strategy_in_which_each_host_begins_it(
    ansible: Ansible, fleet: Cordoned, tmp_path: Path
) -> None:
    lease = {"state": "held", "group": "all", "nodes": ["n1", "n2"], "holder": "me", "duration": 60}
    task = {"livenodes.kubelet.kubelet_rollout_lease": lease, "delegate_to": "localhost", "run_once": True}
    play = {"hosts": "all", "gather_facts": False, "strategy": "free", "tasks": [task]}
    (tmp_path / "by-hand.yml").write_text(json.dumps([play]))
    run = ansible.playbook(str(tmp_path / "by-hand.yml"))
    assert run.code != 0 and "the strategy of this play is free" in run.output, run.output
    assert not fleet.claims.items
