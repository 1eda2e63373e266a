# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The role push and kubeadm's only ConfigMap, for hosts that are not all nodes, with an HTTP server as API server."""

from __future__ import annotations

import json
import typing as t
from pathlib import Path

import pytest

from tests.sim.played import PlayedCluster, played_ansible
from tests.support.api import objects
from tests.support.plays.ansible import Run, extra, playbook_of
from tests.support.plays.permissions import USER, manifest, permissions, used

NAME = "kubelet-config-1.20"
TASK = {"ansible.builtin.import_role": {"name": "livenodes.kubelet.push", "tasks_from": "kubeadm.yml"}}


@pytest.fixture
def fleet() -> t.Iterator[PlayedCluster]:
    """A cluster that kubeadm made."""
    with PlayedCluster("n1", "n2") as made:
        cluster = {"ClusterConfiguration": "kind: ClusterConfiguration\nkubernetesVersion: v1.20.2\n"}
        made.configmaps["kubeadm-config"] = objects.configmap("kubeadm-config", data=cluster)
        made.configmaps[NAME] = objects.configmap(NAME, objects.text(eventBurst=9))
        yield made


def run(fleet: PlayedCluster, home: Path, gpu: dict[str, t.Any], impersonate: str = "") -> Run:
    """Run the tasks for the group of n1; n2 is in another group, and a host of another cluster has n2's name."""
    ansible = played_ansible(home, fleet, {"n1": {}})
    ansible.groups(
        workers={"hosts": {"n1": {}}, "vars": {"kubelet_config": {"eventBurst": 31}}},
        gpu={"hosts": {"h2": {"kubelet_config_node_name": "n2"}}, "vars": {"kubelet_config": gpu}},
        elsewhere={"hosts": {"e9": {"kubelet_config_node_name": "n9"}, "f9": {"kubelet_config_node_name": "n9"}}},
    )
    play = playbook_of(home, {"hosts": "workers", "tasks": [TASK]})
    given = extra(kubelet_config_hosts="workers", kubelet_config_kubeadm="update")
    return ansible.playbook(play, *given, K8S_AUTH_IMPERSONATE_USER=impersonate)


@pytest.mark.fault(case=60)
def test_another_group_that_does_not_share_the_values(fleet: PlayedCluster, tmp_path: Path) -> None:
    before = json.dumps(fleet.configmaps[NAME])
    found = run(fleet, tmp_path, {"eventBurst": 32})
    assert found.code != 0
    assert f"ConfigMap kube-system/{NAME}: eventBurst would get the values of one group" in found.output, found.output
    assert "not declared for n2" in found.output
    assert json.dumps(fleet.configmaps[NAME]) == before


@pytest.mark.fault(case=60)
def test_another_group_that_declares_the_same(fleet: PlayedCluster, tmp_path: Path) -> None:
    """Its user needs no more than the manifest of the option, and all of that."""
    option = manifest("option-kubeadm")
    fleet.grant([*manifest("dump"), *option])
    found = run(fleet, tmp_path, {"eventBurst": 31, "maxPods": 7}, impersonate=USER)
    assert found.code == 0, found.output
    assert used(fleet.api.asked[USER], permissions(option)) == {*permissions(option)}
    assert found.recap("n1")["changed"] == 1
    assert json.loads(fleet.configmaps[NAME]["data"]["kubelet"]) == {**objects.HEADER, "eventBurst": 31}
