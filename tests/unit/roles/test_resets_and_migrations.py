# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The playbooks reset and migrate pass the same lease, gate, order and batches as a rollout."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import annotation, following
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values.following import API, SSH, Answer, Orders
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.follow import decide
from tests.sim.played import PlayedCluster, played_ansible
from tests.sim.switched import DONE, SwitchedCluster, switched_ansible
from tests.support.api import objects
from tests.support.plays.ansible import Ansible, extra

PLANE = {"node-role.kubernetes.io/control-plane": ""}


class Ordered(PlayedCluster):
    """Remembers in which order the kubelets got their source. m1 is a control-plane node."""

    def __init__(self, *names: str) -> None:
        super().__init__(*names)
        self.order: list[str] = []
        self.nodes["m1"]["metadata"]["labels"] = PLANE

    def follow(self, name: str) -> None:
        if name not in self.assigned:
            self.order.append(name)
        super().follow(name)


@pytest.fixture
def fleet() -> t.Iterator[Ordered]:
    """Three workers and a control-plane node that have a config source."""
    with Ordered("m1", "n1", "n2", "n3") as made:
        yield made


@pytest.fixture
def ansible(tmp_path: Path, fleet: Ordered) -> Ansible:
    """ansible-playbook with the fleet as its cluster."""
    return played_ansible(tmp_path, fleet, kubelet_config_wait_timeout=20, kubelet_config_gate_timeout=0)


def test_a_reset_in_the_batches_of_the_operator(fleet: Ordered, ansible: Ansible) -> None:
    """`serial` as in the README, workers first, the control plane one at a time, and a second run changes nothing."""
    run = ansible.playbook("reset", "-e", "kubelet_config_serial=1,100%")
    assert run.code == 0, run.output
    assert (fleet.order[0], set(fleet.order[1:3]), fleet.order[3]) == ("n1", {"n2", "n3"}, "m1")
    assert run.output.count("Gate | Check whether this batch may begin]") == 3
    assert fleet.runs() == dict.fromkeys(fleet.nodes, 110)
    assert fleet.claims.items == {}
    assert ("POST", "") in fleet.claims.requests, "it held a lease"
    again = ansible.playbook("reset", "-e", "kubelet_config_serial=1,100%")
    assert again.code == 0 and "Gate |" not in again.output, again.output


@pytest.mark.parametrize(
    ("playbook", "given"),
    [
        ("rollout", {"kubelet_config": {"maxPods": 80}}),
        ("reset", {}),
        ("migrate", {"kubelet_config_delivery": "checkpoint"}),
    ],
)
@pytest.mark.fault(case=15)
def test_the_budget_of_the_group(fleet: Ordered, ansible: Ansible, playbook: str, given: dict[str, t.Any]) -> None:
    """A cordoned node counts. The refusal names the untouched hosts and leaves no lease."""
    fleet.nodes["n3"]["spec"]["unschedulable"] = True
    run = ansible.playbook(playbook, *extra(kubelet_config_max_unavailable=1, **given))
    assert run.code != 0 and "n3: cordoned" in run.output and "Untouched hosts: n2, n3, m1" in run.output, run.output
    assert fleet.order == [] and fleet.claims.items == {}


def test_a_reset_is_soaked(fleet: Ordered, ansible: Ansible) -> None:
    """A kubelet that answers no more with its local configuration stops the reset before the next batch."""
    fleet.sick = {"n1": "not ok"}
    run = ansible.playbook("reset", "-e", "kubelet_config_serial=1", "-e", "kubelet_config_soak_seconds=1")
    assert run.code != 0 and "Node n1" in run.output and "healthz" in run.output, run.output
    assert "Untouched hosts: n2, n3, m1" in run.output, run.output
    assert (fleet.order, fleet.runs()["n1"], fleet.claims.items) == (["n1"], 110, {})


class Leaving(SwitchedCluster):
    """A node of 1.20 that runs a checkpoint by its follower, and whose kubelet would follow Node.spec.configSource.

    `orders`: at each call on the node, what its Node orders the follower and what that would do next if it looked.
    `away`: its host cannot be reached.
    """

    def __init__(self, away: bool = False) -> None:
        super().__init__("n1", native=["n1"])
        found = objects.node("n1", config={}, marked=self.before, reported=objects.status(self.before, self.before))
        notes = found["metadata"]["annotations"]
        notes[following.FOLLOW] = following.text(Orders(API, 4))
        self.answer = Answer(configMap=self.before, attempt=4)
        notes[following.FOLLOWER] = following.text(self.answer)
        self.nodes["n1"] = found
        self.orders: list[tuple[str, str]] = []
        self.lost_after = {"n1": 0} if away else {}

    def does(self, has_store: bool) -> tuple[str, str]:
        """Return the transport of the orders, and what a look of the follower would do after a reset of the store."""
        notes = self.nodes["n1"]["metadata"].get("annotations") or {}
        orders = following.orders(notes)[0]
        source = annotation.records(notes, None, None).source
        seen = decide.Seen(source, orders, self.answer, None, None, has_store)
        return orders.transport, decide.action(seen).kind

    def _step(self, name: str, module: str, given: dict[str, t.Any]) -> dict[str, t.Any]:
        if given.get("state") not in ("reset", "removed"):
            return super()._step(name, module, given)
        self.steps[name].append(f"{module} {given['state']}")
        self.orders.append(self.does(True))
        if given["state"] == "removed":
            # The follower is removed with the guard, and takes its annotations along.
            notes = self.nodes[name]["metadata"]["annotations"]
            for key in (annotation.STATUS, following.FOLLOW, following.FOLLOWER):
                notes.pop(key, None)
        return {**DONE, "changed": True, "reasons": []}


TO_NATIVE = {"kubelet_config_delivery": "native"}


def test_a_follower_stands_off_while_its_node_migrates_to_native_delivery(tmp_path: Path) -> None:
    """It would switch to its checkpoint again, which the annotation names until the end, beside spec.configSource."""
    with Leaving() as fleet:
        assert fleet.does(True) == (API, decide.ASSIGN)
        run = switched_ansible(tmp_path, fleet).playbook("migrate", *extra(**TO_NATIVE))
        assert run.code == 0, run.output
        assert fleet.orders == [(SSH, decide.NOTHING)] * 2
        node = fleet.nodes["n1"]
        assert node["spec"]["configSource"] == {"configMap": objects.place(fleet.BEFORE)}
        assert not set(node["metadata"]["annotations"]) & {annotation.SOURCE, following.FOLLOW, following.FOLLOWER}


def test_a_follower_stands_off_where_a_migration_to_native_delivery_ends_early(tmp_path: Path) -> None:
    """Its host cannot be reached: the kubelet follows Node.spec.configSource alone, and a second run goes on."""
    with Leaving(away=True) as fleet:
        ansible = switched_ansible(tmp_path, fleet)
        run = ansible.playbook("migrate", *extra(**TO_NATIVE))
        assert run.code != 0 and "Node n1" in run.output and "No route to host" in run.output, run.output
        assert fleet.does(True) == (SSH, decide.NOTHING)
        assert annotation.SOURCE in fleet.nodes["n1"]["metadata"]["annotations"]
        fleet.lost_after = {}
        again = ansible.playbook("migrate", *extra(**TO_NATIVE))
        assert again.code == 0, again.output
        assert annotation.SOURCE not in fleet.nodes["n1"]["metadata"]["annotations"]
