# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A node of a batch that is deleted or cannot be written, with ansible-playbook and an HTTP server as API server.

The other nodes of the batch are assigned, verified and uncordoned as usual. The verdict names the cause.
"""

from __future__ import annotations

import json
import typing as t
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import annotation
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values.annotation import PREFIX
from tests.sim.api.handlers import Request
from tests.sim.api.refusal import Refusal
from tests.sim.played import PlayedCluster, played_ansible
from tests.sim.switched import SwitchedCluster, switched_ansible
from tests.support.api import objects
from tests.support.plays.ansible import Ansible, playbook_of

NAMES = ("n1", "n2", "n3")
BAD = "n2"
DENIED = Refusal(403, 'admission webhook "nodes.example.com" denied the request: frozen')
CONFLICT = Refusal(409, "the object has been modified")
TIMEOUT = Refusal(504, "the request did not complete in time")


class Denying(PlayedCluster):
    """A cluster that answers each write of `denied`'s config source with an error."""

    denied: Refusal | None = None
    times = 0
    """How often it answers so; 0: each time."""
    ends_at = ""
    """A part of the first request before which an autoscaler deletes the node."""
    new: dict[str, t.Any] | None = None
    """The Node that it creates in place of it."""

    def __init__(self, *names: str) -> None:
        super().__init__(*names)
        for name, node in self.nodes.items():
            node["metadata"]["uid"] = f"uid-{name}"

    def serve(self, method: str, url: str, body: t.Any, request: Request) -> tuple[int, t.Any]:
        """Answer one request."""
        if self.denied and method == "PATCH" and f"/nodes/{BAD}" in url and "configSource" in body.get("spec", {}):
            denied = self.denied
            self.denied = None if self.times == 1 else denied
            raise denied
        if self.ends_at and f"{method} {url} {json.dumps(body)}".find(self.ends_at) >= 0:
            self.ends_at = ""
            del self.nodes[BAD]
            if self.new:
                self.nodes[BAD], self.live[BAD] = self.new, self.local
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


@pytest.mark.parametrize("denied", [DENIED, CONFLICT, pytest.param(TIMEOUT, marks=pytest.mark.long)])
@pytest.mark.fault(case=54)
def test_a_write_that_fails_fails_its_node_alone(ansible: Ansible, fleet: Denying, denied: Refusal) -> None:
    fleet.denied = denied
    run = ansible.playbook("rollout")
    assert run.code != 0 and f"Node {BAD}" in run.output, run.output
    assert fleet.runs() == {"n1": 80, BAD: 90, "n3": 80}
    assert (run.recap(BAD)["failed"], run.recap("n3")["failed"]) == (1, 0), run.output
    assert (denied.message if denied is not CONFLICT else "changes faster than it can be patched") in run.output
    assert "another user or program changed it" not in run.output
    assert fleet.claims.items == {}
    fleet.denied = None
    fleet.assigned.clear()
    again = ansible.playbook("rollout")
    assert (again.code, fleet.assigned, fleet.runs()[BAD]) == (0, {BAD}, 80), again.output


# Requests of the gate (renews the lease), the drain, the assignment, the verification and the soak.
STEPS = {
    "gate": "/leases/",
    "drain": f"{PREFIX}cordoned",
    "assign": '"configSource"',
    "verify": f"{BAD}/proxy/configz",
    "soak": f"{BAD}/proxy/metrics",
}


@pytest.mark.parametrize(
    "step", ["gate", "assign", *(pytest.param(one, marks=pytest.mark.long) for one in ("drain", "verify", "soak"))]
)
@pytest.mark.fault(case=51)
def test_a_node_that_is_deleted_fails_alone(ansible: Ansible, fleet: Denying, step: str) -> None:
    """Also in front of the step's own reading of the Nodes: then the next request for it has no answer."""
    begun = fleet.serve

    def serve(method: str, url: str, body: t.Any, request: Request) -> tuple[int, t.Any]:
        # The dump reads /configz, too.
        if not fleet.ends_at and BAD in fleet.nodes and (step not in ("verify", "soak") or BAD in fleet.assigned):
            fleet.ends_at = STEPS[step]
        return begun(method, url, body, request)

    fleet.serve = serve  # type: ignore[method-assign]  # only of this fleet, which ends with the test
    run = ansible.playbook("rollout", "-e", "kubelet_config_drain=always", "-e", "kubelet_config_soak_seconds=1")
    assert run.code != 0 and f"Node {BAD}: the cluster at {fleet.url} has no such Node: " in run.output, run.output
    assert (fleet.runs()["n1"], fleet.runs()["n3"], run.recap("n3")["failed"]) == (80, 80, 0), run.output
    assert (fleet.cordoned(), fleet.claims.items) == (set(), {})


@pytest.mark.fault(case=51)
def test_a_node_that_is_replaced_is_not_assigned_what_was_planned_for_another(ansible: Ansible, fleet: Denying) -> None:
    fleet.new = objects.node(BAD, config={}, revision="99")
    fleet.new["metadata"]["uid"] = "uid-of-another"
    fleet.ends_at = '"configSource"'
    run = ansible.playbook("rollout")
    assert run.code != 0 and f"Node {BAD}: the Node was deleted and created again" in run.output, run.output
    assert fleet.runs() == {"n1": 80, BAD: 110, "n3": 80} and "configSource" not in fleet.nodes[BAD]["spec"]
    fleet.assigned.clear()
    again = ansible.playbook("rollout")
    assert (again.code, fleet.assigned, fleet.runs()[BAD]) == (0, {BAD}, 80), again.output


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


def test_a_lease_that_must_not_be_deleted_leaves_a_finished_rollout(ansible: Ansible, fleet: Denying) -> None:
    """The operator reads that all nodes are done."""
    fleet.faults.add(403, method="DELETE", path="/leases/")
    run = ansible.playbook("rollout")
    assert run.code != 0 and "are done. But the Lease could not be deleted: " in " ".join(run.output.split())
    assert fleet.runs() == dict.fromkeys(NAMES, 80)


@pytest.mark.parametrize("entry_point", ["main", "reset"])
def test_a_rescue_by_hand_tries_a_node_again(
    ansible: Ansible, fleet: Denying, tmp_path: Path, entry_point: str
) -> None:
    """The rows of the role that failed are not a reason to leave the node out."""
    place = {"namespace": "kube-system", "name": fleet.BEFORE, "kubeletConfigKey": "kubelet"}
    fleet.denied, fleet.times = DENIED, 1
    for node in fleet.nodes.values():
        node["spec"] = {} if entry_point == "main" else {"configSource": {"configMap": place}}
    role = {"name": "livenodes.kubelet.assign", "tasks_from": f"{entry_point}.yml"}
    tasks = [{"name": "include_role", "ansible.builtin.include_role": role}]
    given = {"kubelet_config_sources": dict.fromkeys(NAMES, place)} if entry_point == "main" else {}
    run = ansible.playbook(playbook_of(tmp_path, {"vars": given, "tasks": [{"block": tasks, "rescue": tasks}]}))
    assert run.code == 0 and DENIED.message in run.output, run.output
    assert [("configSource" in fleet.nodes[name]["spec"]) for name in NAMES] == [entry_point == "main"] * 3, run.output
