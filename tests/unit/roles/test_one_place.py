# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Leases and the pause are in one place, wherever the ConfigMaps of a run are; the control plane has one Lease."""

from __future__ import annotations

import json
import time
import typing as t
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values.annotation import PREFIX
from tests.sim.api.store import stamp
from tests.sim.played import PlayedCluster, played_ansible
from tests.support import objects
from tests.support.ansible import Ansible

ELSEWHERE = ("-e", "kubelet_config_namespace=apps")
CHANGE = ("-e", json.dumps({"kubelet_config": {"maxPods": 80}}))


@pytest.fixture
def fleet() -> t.Iterator[PlayedCluster]:
    """A worker and a control-plane node."""
    with PlayedCluster("n1", "m1") as made:
        made.nodes["m1"]["metadata"]["labels"] = {"node-role.kubernetes.io/control-plane": ""}
        yield made


@pytest.fixture
def ansible(tmp_path: Path, fleet: PlayedCluster) -> Ansible:
    return played_ansible(tmp_path, fleet)


def held(fleet: PlayedCluster, *nodes: str) -> None:
    """Let another rollout of some nodes be under way."""
    now = stamp(time.time(), micro=True)
    fleet.claims.items["other"] = {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {
            "name": "other",
            "namespace": "kube-system",
            "labels": {f"{PREFIX}lease": "rollout"},
            "annotations": {f"{PREFIX}group": "g", f"{PREFIX}state": "held", f"{PREFIX}nodes": json.dumps(nodes)},
        },
        "spec": {
            "holderIdentity": "ops@bastion",
            "leaseDurationSeconds": 3600,
            "renewTime": now,
            "acquireTime": now,
        },
    }


@pytest.mark.parametrize("playbook", ["rollout", "reset", "prune"])
def test_a_run_in_another_namespace_waits_for_a_rollout(ansible: Ansible, fleet: PlayedCluster, playbook: str) -> None:
    """It ran through the other one, and broke it."""
    held(fleet, "n1")
    run = ansible.playbook(playbook, *ELSEWHERE, *CHANGE)
    assert run.code != 0 and "ops@bastion has been rolling out to g" in " ".join(run.output.split()), run.output
    assert not fleet.assigned


def test_a_run_in_another_namespace_is_paused(ansible: Ansible, fleet: PlayedCluster) -> None:
    """By the ConfigMap that the guide names."""
    fleet.configmaps["livenodes-kubelet-rollout"] = objects.configmap(
        "livenodes-kubelet-rollout", data={"paused": "true"}
    )
    run = ansible.playbook("reset", *ELSEWHERE)
    assert run.code != 0 and "rollouts are paused" in run.output and not fleet.assigned, run.output


@pytest.mark.parametrize(("host", "refused"), [("m1", True), ("n1", False)])
def test_control_plane_nodes_change_in_one_rollout_at_a_time(
    ansible: Ansible, fleet: PlayedCluster, host: str, refused: bool
) -> None:
    """Also if the groups of the rollouts have no node in common."""
    held(fleet, "m9", "/control-plane")
    run = ansible.playbook("rollout", "-e", f"kubelet_config_hosts={host}", *CHANGE)
    assert (run.code != 0, fleet.assigned) == (refused, set() if refused else {host}), run.output
    assert ("Both change control-plane nodes" in " ".join(run.output.split())) is refused, run.output
