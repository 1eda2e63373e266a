# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Several runs at once on one group, with ansible-playbook, the real roles and an HTTP server as API server."""

from __future__ import annotations

import time
import typing as t
from pathlib import Path

import pytest

from tests.sim.api.refusal import Refusal
from tests.sim.played import PlayedCluster, played_ansible
from tests.support.ansible import Ansible

VALUES = {"n1": 80, "n2": 81}


@pytest.fixture
def fleet() -> t.Iterator[PlayedCluster]:
    """Two nodes with native delivery. The kubelet of n1 does not follow its source until it is woken."""
    with PlayedCluster(*VALUES) as made:
        made.deaf = {"n1"}
        yield made


@pytest.fixture
def ansible(tmp_path: Path, fleet: PlayedCluster) -> Ansible:
    """ansible-playbook with the fleet."""
    return playbooks(tmp_path, fleet)


def playbooks(tmp_path: Path, fleet: PlayedCluster) -> Ansible:
    """ansible-playbook with the fleet as its cluster. Each node has its own variant and batch."""
    given = {
        "kubelet_config_wait_timeout": 500,
        # A run that is refused waits for a renewal of this Lease, at most a third of its duration.
        "kubelet_config_lease_seconds": 24,
    }
    hosts = {name: {"kubelet_config": {"maxPods": value}} for name, value in VALUES.items()}
    return played_ansible(tmp_path, fleet, hosts, **given)


def until(what: t.Callable[[], t.Any]) -> None:
    """Wait for something to become true."""
    end = time.monotonic() + 200
    while not what():
        assert time.monotonic() < end
        time.sleep(0.2)


@pytest.mark.fault(case=23)
@pytest.mark.fault(case=58)
def test_no_other_run_begins_during_a_rollout(ansible: Ansible, fleet: PlayedCluster) -> None:
    """The first batch takes longer than the Lease lasts without a renewal, and --limit shares the group's budget. The
    variant of the second batch is pushed, but not assigned yet.
    """
    rollout = ansible.start("rollout")
    try:
        until(lambda: "n1" in fleet.assigned)
        pushed = set(fleet.configmaps)
        time.sleep(30)
        prune = ansible.playbook("prune")
        limited = ansible.playbook("rollout", "--limit", "n2")
        assert (fleet.assigned, set(fleet.configmaps)) == ({"n1"}, pushed)
        fleet.wake("n1")
        output, _nothing = rollout.communicate(timeout=300)
    finally:
        rollout.kill()
    assert prune.code != 0 and "a rollout is under way" in prune.output, prune.output
    assert limited.code != 0 and "another rollout is running on nodes of all" in limited.output, limited.output
    assert (rollout.returncode, fleet.assigned, fleet.claims.items) == (0, {"n1", "n2"}, {}), output
    assert {fleet.live[name]["maxPods"] for name in VALUES} == set(VALUES.values())


@pytest.mark.fault(case=23)
def test_two_limited_rollouts_at_once(ansible: Ansible, fleet: PlayedCluster) -> None:
    """The Lease covers the group, of which each changes another host."""
    rollout = ansible.start("rollout", "--limit", "n1")
    try:
        until(lambda: "n1" in fleet.assigned)
        second = ansible.playbook("rollout", "--limit", "n2")
        assert fleet.assigned == {"n1"}
        fleet.wake("n1")
        output, _nothing = rollout.communicate(timeout=300)
    finally:
        rollout.kill()
    assert second.code != 0 and "Nodes in both rollouts: n1, n2." in second.output, second.output
    assert (rollout.returncode, fleet.assigned, fleet.claims.items) == (0, {"n1"}, {}), output
    again = ansible.playbook("rollout", "--limit", "n2")
    assert (again.code, fleet.assigned) == (0, {"n1", "n2"}), again.output


@pytest.mark.fault(case=56)
def test_a_rollout_that_loses_its_lease_writes_nothing_more(ansible: Ansible, fleet: PlayedCluster) -> None:
    """Neither a revert nor the next batch: another rollout may be changing the same nodes."""
    rollout = ansible.start("rollout", "-e", "kubelet_config_wait_timeout=60")
    try:
        until(lambda: "n1" in fleet.assigned)
        source = fleet.nodes["n1"]["spec"]["configSource"]
        fleet.claims.items.clear()
        output, _nothing = rollout.communicate(timeout=300)
    finally:
        rollout.kill()
    assert rollout.returncode != 0 and "this rollout lost its Lease kube-system/" in output, output
    assert "stopped at n1: this rollout lost its Lease" in " ".join(output.split()), output
    assert (fleet.assigned, fleet.nodes["n1"]["spec"]["configSource"]) == ({"n1"}, source)
    fleet.wake("n1")
    again = ansible.playbook("rollout")
    assert (again.code, fleet.assigned, fleet.claims.items) == (0, {"n1", "n2"}, {}), again.output
    assert {name: fleet.live[name]["maxPods"] for name in VALUES} == VALUES


class Refusing(PlayedCluster):
    """A cluster that refuses new ConfigMaps; `leases` are the numbers of Leases at that time."""

    def pushing(self, body: dict[str, t.Any]) -> None:
        """Refuse."""
        self.leases = len(self.claims.items)
        raise Refusal(403, "configmaps is forbidden")


def test_what_is_pushed_is_protected_by_the_lease(tmp_path: Path) -> None:
    """It is pushed only under the Lease, so that no prune can come in between. A push that fails releases the Lease."""
    with Refusing(*VALUES) as fleet:
        run = playbooks(tmp_path, fleet).playbook("rollout")
        assert (fleet.leases, fleet.claims.items, fleet.assigned) == (1, {}, set()), run.output
    assert run.code != 0 and "configmaps is forbidden" in run.output and "No node was changed" in run.output
