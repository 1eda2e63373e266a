# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The role push and kubeadm's only ConfigMap, for hosts that are not all nodes, with an HTTP server as API server."""

from __future__ import annotations

import json
import typing as t
from pathlib import Path

import pytest

from tests.support import objects
from tests.support.ansible import Run
from tests.support.calls import CONFIGMAPS
from tests.support.served_cluster import ServedCluster, served_ansible

NAME = "kubelet-config-1.20"
PLAY = [
    {
        "hosts": "workers",
        "gather_facts": False,
        "tasks": [{"ansible.builtin.import_role": {"name": "livenodes.kubelet.push", "tasks_from": "kubeadm.yml"}}],
    }
]


class Cluster(ServedCluster):
    """Also accepts a PATCH of a ConfigMap's data."""

    def _answer(self, method: str, path: str, query: dict[str, t.Any], body: t.Any) -> t.Any:
        if method == "PATCH" and path.startswith(CONFIGMAPS):
            self.configmaps[NAME]["data"].update(body["data"])
            return self.configmaps[NAME]
        return super()._answer(method, path, query, body)


@pytest.fixture
def fleet() -> t.Iterator[ServedCluster]:
    """A cluster that kubeadm made."""
    with Cluster("n1", "n2") as made:
        cluster = {"ClusterConfiguration": "kind: ClusterConfiguration\nkubernetesVersion: v1.20.2\n"}
        made.configmaps["kubeadm-config"] = objects.configmap("kubeadm-config", data=cluster)
        made.configmaps[NAME] = objects.configmap(NAME, objects.text(eventBurst=9))
        yield made


def run(fleet: ServedCluster, home: Path, gpu: dict[str, t.Any], *arguments: str) -> Run:
    """Run the tasks for the group of n1; n2 is in another group, and a host of another cluster has n2's name."""
    groups = {
        "workers": {"hosts": {"n1": {}}, "vars": {"kubelet_config": {"eventBurst": 31}}},
        "gpu": {"hosts": {"h2": {"kubelet_config_node_name": "n2"}}, "vars": {"kubelet_config": gpu}},
        "elsewhere": {"hosts": {"e9": {"kubelet_config_node_name": "n9"}, "f9": {"kubelet_config_node_name": "n9"}}},
    }
    ansible = served_ansible(home, fleet, {"n1": {}})
    (ansible.inventory / "groups.yml").write_text(json.dumps({"all": {"children": groups}}))
    play = home / "play.yml"
    play.write_text(json.dumps(PLAY))
    given = {"kubelet_config_hosts": "workers", "kubelet_config_kubeadm": "update"}
    return ansible.playbook(str(play), "-e", json.dumps(given), *arguments)


def test_another_group_that_does_not_share_the_values(fleet: ServedCluster, tmp_path: Path) -> None:
    before = json.dumps(fleet.configmaps[NAME])
    found = run(fleet, tmp_path, {"eventBurst": 32})
    assert found.code != 0
    assert f"ConfigMap kube-system/{NAME}: eventBurst would get the values of one group" in found.output, found.output
    assert "not declared for n2" in found.output
    assert json.dumps(fleet.configmaps[NAME]) == before


def test_another_group_that_declares_the_same(fleet: ServedCluster, tmp_path: Path) -> None:
    found = run(fleet, tmp_path, {"eventBurst": 31, "maxPods": 7})
    assert found.code == 0, found.output
    assert found.recap("n1")["changed"] == 1
    assert json.loads(fleet.configmaps[NAME]["data"]["kubelet"]) == {**objects.HEADER, "eventBurst": 31}
