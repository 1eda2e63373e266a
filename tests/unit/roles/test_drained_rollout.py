# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rollouts that drain, with ansible-playbook, the real roles and an HTTP server as API server."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import annotation
from tests.sim.api.handlers import Request
from tests.sim.api.kinds import KINDS
from tests.sim.api.refusal import Refusal
from tests.sim.played import LEASES, PlayedCluster, played_ansible
from tests.sim.switched import SwitchedCluster, switched_ansible
from tests.support.api import objects
from tests.support.api.calls import NODES
from tests.support.plays.ansible import Ansible
from tests.support.plays.permissions import USER, manifest, permissions, used

NAMES = ("n1", "n2", "n3")


class Keeping(PlayedCluster):
    """A cluster that refuses to uncordon the nodes of `kept`."""

    kept: t.Collection[str] = ()

    def serve(self, method: str, url: str, body: t.Any, request: Request) -> tuple[int, t.Any]:
        """Answer one request."""
        name = url.partition("?")[0].rpartition("/")[2]
        if (
            method == "PATCH"
            and name in self.kept
            and self.nodes[name]["spec"].get("unschedulable")
            and "unschedulable" in body.get("spec", {})
        ):
            raise Refusal(403, "nodes is forbidden")
        return super().serve(method, url, body, request)


@pytest.fixture
def fleet() -> t.Iterator[Keeping]:
    """Three nodes with native delivery, whose kubelets follow their source."""
    with Keeping(*NAMES) as made:
        yield made


@pytest.fixture
def ansible(tmp_path: Path, fleet: Keeping) -> Ansible:
    """ansible-playbook with the fleet as its cluster. All nodes are drained."""
    return played_ansible(tmp_path, fleet, kubelet_config={"maxPods": 80}, kubelet_config_drain="always")


def test_each_batch_is_uncordoned(ansible: Ansible, fleet: Keeping) -> None:
    """The user needs no more than the manifests of the playbook and of the option, and all of the latter."""
    option = manifest("option-drain")
    fleet.grant([*manifest("rollout"), *manifest("option-read-proxy"), *option])
    pod = {**objects.pod("web", "n1", owner=("ReplicaSet", "web")), "spec": {"nodeName": "n1", "containers": []}}
    fleet.store.create(KINDS["pods"], "default", pod)
    run = ansible.playbook("rollout", K8S_AUTH_IMPERSONATE_USER=USER)
    assert used(fleet.api.asked[USER], permissions(option)) == {*permissions(option)}
    assert fleet.store.find("pods", "web", "default") is None
    assert run.code == 0, run.output
    assert (fleet.assigned, fleet.cordoned()) == (set(NAMES), set())
    assert run.output.count("Uncordon the drained nodes]") == len(NAMES)


def test_a_node_that_cannot_be_uncordoned_stops_the_rollout(ansible: Ansible, fleet: Keeping) -> None:
    """Otherwise all nodes would be drained one after the other and stay cordoned."""
    fleet.kept = {"n1"}
    run = ansible.playbook("rollout")
    assert (
        run.code != 0
        and "stopped at n1: " in run.output
        and "nodes is forbidden" in run.output
        and "Untouched hosts: n2, n3" in run.output
    ), run.output
    assert (fleet.assigned, fleet.cordoned(), fleet.claims.items) == ({"n1"}, {"n1"}, {})


def test_a_preparation_that_fails_releases_the_lease(ansible: Ansible, fleet: Keeping) -> None:
    """A node that an interrupted run had drained cannot be uncordoned. Another run does not wait for this one."""
    mark = {annotation.CORDONED: annotation.text({"holder": "a run", "time": "2026-01-01T00:00:00Z"})}
    fleet.nodes["n1"]["metadata"]["annotations"] = mark
    fleet.nodes["n1"]["spec"]["unschedulable"] = True
    fleet.kept = {"n1"}
    ansible.variables(all={"kubelet_config": {"maxPods": 90}})
    run = ansible.playbook("rollout")
    assert run.code != 0 and "nodes is forbidden" in run.output, run.output
    assert (fleet.assigned, fleet.cordoned(), fleet.claims.items) == (set(), {"n1"}, {})


DENIED = "ValidatingAdmissionPolicy 'changes' denied request: user ops may not change this Node"


class Denying(PlayedCluster):
    """A cluster whose admission policy denies to write the source of the nodes of `denied`."""

    denied: t.Collection[str] = ()

    def __init__(self, *names: str) -> None:
        super().__init__(*names)
        self.dry_runs: list[str] = []

    def serve(self, method: str, url: str, body: t.Any, request: Request) -> tuple[int, t.Any]:
        """Answer one request."""
        name = request.path.rpartition("/")[2]
        if request.path == f"{NODES}/{name}" and method == "PATCH" and "configSource" in body.get("spec", {}):
            if "dryRun" in request.query:
                self.dry_runs.append(name)
            if name in self.denied:
                raise Refusal(403, f'nodes "{name}" is forbidden: {DENIED}')
        return super().serve(method, url, body, request)


@pytest.mark.parametrize(
    ("playbook", "drain"),
    [
        ("rollout", "always"),
        *(pytest.param(*given, marks=pytest.mark.long) for given in (("reset", "always"), ("rollout", "never"))),
    ],
)
@pytest.mark.fault(case=30)
def test_a_node_whose_assignment_is_denied_is_not_drained(tmp_path: Path, playbook: str, drain: str) -> None:
    """Its pods would move, and nothing could be changed. It is refused with the words of the assignment.

    One request for a node to drain. Where nothing is drained there is none.
    """
    with Denying(*NAMES) as fleet:
        given = {"kubelet_config": {"maxPods": 80}, "kubelet_config_drain": drain}
        ansible = played_ansible(tmp_path, fleet, **given)
        fleet.denied = NAMES
        run = ansible.playbook(playbook)
        assert run.code != 0 and f'Node n1: nodes \\"n1\\" is forbidden: {DENIED}' in run.output, run.output
        assert "Untouched hosts: n2, n3" in run.output, run.output
        assert (fleet.cordons, fleet.assigned, fleet.claims.items) == ([], set(), {})
        assert fleet.dry_runs == (["n1"] if drain == "always" else [])
        fleet.denied = ()
        del fleet.dry_runs[:]
        again = ansible.playbook(playbook, "-e", "kubelet_config_serial=3", "-e", "kubelet_config_max_unavailable=3")
        assert (again.code, fleet.cordoned(), fleet.assigned) == (0, set(), {*NAMES}), again.output
        assert sorted(fleet.dry_runs) == ([*NAMES] if drain == "always" else [])


class Lost(SwitchedCluster):
    """The host of n2 cannot be reached from the moment in which a rollout holds a Lease until it is `found`."""

    found = False

    def serve(self, method: str, url: str, body: t.Any, request: Request) -> tuple[int, t.Any]:
        """Answer one request."""
        if (method, url.partition("?")[0]) == ("POST", LEASES) and not self.found:
            self.lost_after = {"n2": len(self.steps["n2"])}
        return super().serve(method, url, body, request)


@pytest.mark.parametrize("native", ["n1", pytest.param("n3", marks=pytest.mark.long)])
@pytest.mark.fault(case=53)
def test_a_node_whose_host_cannot_be_reached_is_not_drained(tmp_path: Path, native: str) -> None:
    """Its pods would move, and nothing could be changed. The other nodes of the batch continue.

    A host that need not be reached skips the call, before or after the one that is lost.
    """
    with Lost(*NAMES, native=[native]) as fleet:
        ansible = switched_ansible(tmp_path, fleet, kubelet_config_drain="always")
        before = fleet.marked("n2")
        run = ansible.playbook("rollout", "-e", "kubelet_config_serial=3")
        assert run.code != 0 and "Node n2 was not switched: " in run.output, run.output
        assert "No route to host" in run.output, run.output
        assert (sorted(set(fleet.cordons)), fleet.cordoned(), fleet.claims.items) == (["n1", "n3"], set(), {})
        assert fleet.runs() == {"n1": 80, "n2": 90, "n3": 80}
        assert fleet.marked("n2") == before
        fleet.found, fleet.lost_after = True, {}
        again = ansible.playbook("rollout", "-e", "kubelet_config_serial=3")
        assert (again.code, fleet.runs()["n2"], fleet.cordoned()) == (0, 80, set()), again.output


@pytest.mark.long
@pytest.mark.fault(case=53)
def test_a_node_without_python_is_not_drained(tmp_path: Path) -> None:
    """Nor one whose user may not become root: no call succeeds on its host, so nothing could be changed."""
    with SwitchedCluster(*NAMES) as fleet:
        ansible = switched_ansible(tmp_path, fleet, kubelet_config_drain="always")
        ansible.host_variables(n2={"ansible_python_interpreter": "/nowhere/python3"})
        run = ansible.playbook("reset", "-e", "kubelet_config_serial=3")
        assert run.code != 0 and "Node n2 was not switched: " in run.output, run.output
        assert "/nowhere/python3: not found. Correct that there" in run.output, run.output
        assert (sorted(set(fleet.cordons)), fleet.cordoned(), fleet.claims.items) == (["n1", "n3"], set(), {})


def test_each_call_on_a_node_names_its_unit_and_folder(tmp_path: Path) -> None:
    """In another unit the call would find no kubelet."""
    place = {"kubelet_config_unit": "rke2-agent.service", "kubelet_config_dropin_dir": "/var/lib/rancher/conf.d"}
    with SwitchedCluster("n1") as fleet:
        run = switched_ansible(tmp_path, fleet, kubelet_config_drain="always", **place).playbook("rollout")
        assert run.code == 0, run.output
        assert [found[1:] for found in fleet.looked_at] == [tuple(place.values())] * 2
