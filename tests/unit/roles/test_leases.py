# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A run beside the Lease of another one. Leases and the pause have one place, wherever a run has its ConfigMaps."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest

from tests.sim.api.handlers import Request
from tests.sim.played import LEASES, PlayedCluster, played_ansible
from tests.sim.switched import SwitchedCluster, switched_ansible
from tests.support.plays.ansible import Ansible, extra

ELSEWHERE = ("-e", "kubelet_config_namespace=apps")


@pytest.fixture
def fleet() -> t.Iterator[PlayedCluster]:
    """A worker and a control-plane node."""
    with PlayedCluster("n1", "m1") as made:
        made.nodes["m1"]["metadata"]["labels"] = {"node-role.kubernetes.io/control-plane": ""}
        yield made


@pytest.fixture
def ansible(tmp_path: Path, fleet: PlayedCluster) -> Ansible:
    return played_ansible(tmp_path, fleet, kubelet_config={"maxPods": 80}, kubelet_config_lease_seconds=24)


def hold(ansible: Ansible, fleet: PlayedCluster, node: str, control_plane: bool = False) -> None:
    """Let another rollout of a node be under way for 600 s."""
    other = {"group": "others", "nodes": [node], "control_plane": control_plane, "holder": "ops@bastion"}
    held = ansible.module("kubelet_rollout_lease", {**other, "duration": 600, "host": fleet.url})
    assert not held["failed"], held


@pytest.mark.parametrize(
    ("playbook", "more"),
    [
        ("rollout", {}),
        pytest.param("reset", {}, marks=pytest.mark.long),
        pytest.param("migrate", {"kubelet_config_delivery": "checkpoint"}, marks=pytest.mark.long),
        ("prune", {}),
    ],
)
@pytest.mark.fault(case=58)
def test_a_run_in_another_namespace_waits_for_a_rollout(
    ansible: Ansible, fleet: PlayedCluster, playbook: str, more: dict[str, str]
) -> None:
    """It ran through the other one, and broke it."""
    hold(ansible, fleet, "n1")
    run = ansible.playbook(playbook, *ELSEWHERE, *extra(**more))
    assert run.code != 0 and "ops@bastion has been rolling out to others" in " ".join(run.output.split()), run.output
    assert not fleet.assigned and len(fleet.claims.items) == 1


@pytest.mark.parametrize(("host", "refused"), [("m1", True), pytest.param("n1", False, marks=pytest.mark.long)])
def test_control_plane_nodes_change_in_one_rollout_at_a_time(
    ansible: Ansible, fleet: PlayedCluster, host: str, refused: bool
) -> None:
    """Also if the groups of the rollouts have no node in common."""
    hold(ansible, fleet, "m9", control_plane=True)
    run = ansible.playbook("rollout", *extra(kubelet_config_hosts=host))
    assert (run.code != 0, fleet.assigned) == (refused, set() if refused else {host}), run.output
    assert ("Both change control-plane nodes" in " ".join(run.output.split())) is refused, run.output


class Migrating(SwitchedCluster):
    """Nodes with native delivery. `lasting`: the seconds of each Lease that was asked for."""

    def __init__(self, *names: str) -> None:
        super().__init__(*names, native=names)
        self.lasting: list[int] = []

    def serve(self, method: str, url: str, body: t.Any, request: Request) -> tuple[int, t.Any]:
        """Answer one request."""
        if (method, url.partition("?")[0]) == ("POST", LEASES):
            self.lasting.append(body["spec"]["leaseDurationSeconds"])
        return super().serve(method, url, body, request)


def test_a_migration_to_checkpoints_is_timed_as_what_has_steps_on_nodes(tmp_path: Path) -> None:
    """No call renews the Lease while they last, and guards wait for their confirmation."""
    to = extra(kubelet_config_delivery="checkpoint", kubelet_config_serial=3)
    with Migrating("n1", "n2", "n3") as fleet:
        ansible = switched_ansible(tmp_path, fleet)
        refused = ansible.playbook("migrate", *to, *extra(kubelet_config_confirm_seconds=60))
        assert refused.code != 0 and "The guards would revert good nodes" in " ".join(refused.output.split())
        assert fleet.lasting == []
        ansible.playbook("migrate", "--forks=1", *to)
        assert fleet.lasting == [590]
