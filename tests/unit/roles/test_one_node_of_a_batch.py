# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A node of a batch that cannot be written: in a migration, and in a play that tries it again."""

from __future__ import annotations

import json
import typing as t
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import annotation
from tests.sim.api.handlers import Request
from tests.sim.api.refusal import Refusal
from tests.sim.played import PlayedCluster, played_ansible
from tests.sim.switched import SwitchedCluster, switched_ansible
from tests.support.plays.ansible import Ansible, playbook_of

NAMES = ("n1", "n2", "n3")
BAD = "n2"
DENIED = Refusal(403, 'admission webhook "nodes.example.com" denied the request: frozen')


class Denying(PlayedCluster):
    """A cluster that answers the first write of a node's config source with an error."""

    denies = True

    def serve(self, method: str, url: str, body: t.Any, request: Request) -> tuple[int, t.Any]:
        """Answer one request."""
        if self.denies and method == "PATCH" and f"/nodes/{BAD}" in url and "configSource" in body.get("spec", {}):
            self.denies = False
            raise DENIED
        return super().serve(method, url, body, request)


@pytest.fixture
def fleet() -> t.Iterator[Denying]:
    """Three nodes with native delivery, whose kubelets follow their source."""
    with Denying(*NAMES) as made:
        yield made


@pytest.fixture
def ansible(tmp_path: Path, fleet: Denying) -> Ansible:
    """ansible-playbook with the fleet as its cluster, all nodes in one batch."""
    made = played_ansible(tmp_path, fleet, kubelet_config={"maxPods": 80})
    quick = {"kubelet_config_serial": 3, "kubelet_config_max_unavailable": "100%", "kubelet_config_soak_seconds": 0}
    (made.inventory / "quick.yml").write_text(json.dumps({"all": {"vars": quick}}))
    return made


class Migrating(SwitchedCluster):
    """Three nodes to migrate from native delivery. The API server denies the annotation that one of them needs."""

    def __init__(self) -> None:
        super().__init__(*NAMES, native=NAMES)

    def serve(self, method: str, url: str, body: t.Any, request: Request) -> tuple[int, t.Any]:
        """Answer one request."""
        if method == "PATCH" and f"/nodes/{BAD}" in url and annotation.SOURCE in json.dumps(body):
            raise DENIED
        return super().serve(method, url, body, request)

    def follow(self, name: str) -> None:
        if not self.nodes[name]["spec"].get("configSource") and self.steps[name]:
            # It restarts with its checkpoint.
            self.nodes[name]["status"]["config"] = {}
        else:
            super().follow(name)


@pytest.mark.fault(case=54)
def test_a_write_that_fails_in_a_migration_fails_its_node_alone(tmp_path: Path) -> None:
    with Migrating() as fleet:
        ansible = switched_ansible(tmp_path, fleet, kubelet_config_delivery="checkpoint", kubelet_config_serial=3)
        run = ansible.playbook("migrate", "-e", "kubelet_config_serial=3")
        assert run.code != 0 and f"Node {BAD}" in run.output and DENIED.message in run.output, run.output
        assert (run.recap(BAD)["failed"], run.recap("n1")["failed"], run.recap("n3")["failed"]) == (1, 0, 0), run.output
        sources = {name: bool(node["spec"].get("configSource")) for name, node in fleet.nodes.items()}
        marks = {
            name: annotation.SOURCE in node["metadata"].get("annotations", {}) for name, node in fleet.nodes.items()
        }
        assert sources == {"n1": False, BAD: True, "n3": False}, run.output
        assert marks == {"n1": True, BAD: False, "n3": True}
        assert fleet.runs() == dict.fromkeys(NAMES, 90) and fleet.steps[BAD] == []
        assert fleet.claims.items == {}


@pytest.mark.parametrize("entry_point", ["main", "reset"])
def test_a_rescue_by_hand_tries_a_node_again(
    ansible: Ansible, fleet: Denying, tmp_path: Path, entry_point: str
) -> None:
    """The rows of the role that failed are not a reason to leave the node out."""
    place = {"namespace": "kube-system", "name": fleet.BEFORE, "kubeletConfigKey": "kubelet"}
    for node in fleet.nodes.values():
        node["spec"] = {} if entry_point == "main" else {"configSource": {"configMap": place}}
    role = {"name": "livenodes.kubelet.assign", "tasks_from": f"{entry_point}.yml"}
    tasks = [{"name": "include_role", "ansible.builtin.include_role": role}]
    given = {"kubelet_config_sources": dict.fromkeys(NAMES, place)} if entry_point == "main" else {}
    run = ansible.playbook(playbook_of(tmp_path, {"vars": given, "tasks": [{"block": tasks, "rescue": tasks}]}))
    assert run.code == 0 and DENIED.message in run.output, run.output
    assert [("configSource" in fleet.nodes[name]["spec"]) for name in NAMES] == [entry_point == "main"] * 3, run.output
