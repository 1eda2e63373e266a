# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each playbook for a user with exactly the manifest in docs/rbac, and without each permission of it."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config import profiles
from tests.sim.played import PlayedCluster, played_ansible
from tests.sim.switched import SwitchedCluster, switched_ansible
from tests.support.api import objects
from tests.support.plays.ansible import Ansible, Run
from tests.support.plays.permissions import PLAYBOOKS, USER, Objects, Permission, manifest, permissions, used, without

NODES, TARGET = ("n1", "n2"), "config-target"
LEASES = "coordination.k8s.io"
# A run without faults does not need it: a GET shows whether a request without an answer created the Lease.
AFTER_A_LOST_ANSWER = Permission("get", "leases", LEASES, "kube-system")
# The inventory of these tests has no soak.
SOAK = ("-e", "kubelet_config_soak_seconds=1", "-e", "kubelet_config_serial=2")
EXCEPTED = {
    item.id: {"owner": "ops", "until": "9999-12-31", "reason": "what is asked of the API counts here"}
    for item in profiles.CIS_1_12
}
OPTIONS = {
    "rollout": SOAK,
    "rollback": (*SOAK, "-e", f"kubelet_config_variant={TARGET}"),
    "reset": SOAK,
    "migrate": SOAK,
    "drift": ("-e", "kubelet_config_drift=report"),
    "comply": ("-e", json.dumps({"kubelet_config_profile": "cis-1.12", "kubelet_config_exceptions": EXCEPTED})),
}
VARIABLES = {"kubelet_config": {"maxPods": 80}}
# Without them a prune succeeds and warns; a check of profiles passes by the exceptions and names what it did not see.
LEFT = {("prune", "delete leases kube-system"), ("comply", "get nodes/proxy")}
# One of every kind in the short tier.
SHORT = {*LEFT, ("plan", "list pods"), ("prune", "delete configmaps kube-system")}
# Nodes that change their delivery, and nodes with delivery checkpoint, play two of these below; follow: test_follow.py.
NATIVE = [name for name in PLAYBOOKS if name not in ("migrate", "seed", "follow")]
# What kubelets from 1.33 on accept; those of this cluster are earlier ones, and are read through the proxy.
AT_KUBELETS = {Permission("get", f"nodes/{sub}") for sub in ("configz", "metrics", "healthz", "stats")}


def given_for(playbook: str) -> Objects:
    """Return what a user of earlier kubelets needs."""
    more = manifest("option-read-proxy") if playbook != "prune" else []
    found = [*manifest(playbook), *more]
    for one in AT_KUBELETS:
        found = without(found, one)
    return found


def populate(fleet: PlayedCluster) -> None:
    """Add a ConfigMap to roll back to and one that no node uses; let a node not be named as its host."""
    fleet.rename_host(NODES[0])
    for name, pods in ((TARGET, 70), ("livenodes-kubelet-0123456789", 60)):
        fleet.configmaps[name] = objects.configmap(name, json.dumps({**fleet.local, "maxPods": pods}))


def played(ansible: Ansible, playbook: str, *more: str) -> Run:
    return ansible.playbook(playbook, *OPTIONS.get(playbook, ()), *more, K8S_AUTH_IMPERSONATE_USER=USER)


def natively(tmp_path: Path, fleet: PlayedCluster) -> Ansible:
    """ansible-playbook with two of the nodes as its hosts, which have a source."""
    populate(fleet)
    return played_ansible(tmp_path, fleet, {name: {} for name in NODES}, **VARIABLES)


def exactly(fleet: PlayedCluster, run: Run, given: list[Permission], playbook: str) -> None:
    """The run succeeded, and needed all that was given."""
    assert run.code == 0, run.output
    needless = {*given} - used(fleet.api.asked[USER], given) - {AFTER_A_LOST_ANSWER}
    if playbook == "migrate":
        # A migration to drop-ins makes new ConfigMaps; one to checkpoints, as here, uses those of the nodes.
        needless -= {Permission("create", "configmaps", "", "kube-system")}
    assert needless == set(), (playbook, needless)


@pytest.mark.parametrize(
    "playbook", [pytest.param(name, marks=pytest.mark.long if name == "rollout" else ()) for name in NATIVE]
)
def test_exactly_the_manifest(tmp_path: Path, playbook: str) -> None:
    """It is enough, and it has nothing that the playbook does not need. Delivery native. In the short tier, the test of
    a rerun has the rollout.
    """
    found = given_for(playbook)
    with PlayedCluster(*NODES) as fleet:
        ansible = natively(tmp_path, fleet)
        fleet.grant(found)
        exactly(fleet, played(ansible, playbook), permissions(found), playbook)


@pytest.mark.long
@pytest.mark.parametrize("playbook", ["rollout", "migrate", "seed"])
def test_exactly_the_manifest_with_checkpoints(tmp_path: Path, playbook: str) -> None:
    """The same for delivery checkpoint."""
    found = given_for(playbook)
    with SwitchedCluster(*NODES, native=NODES if playbook == "migrate" else ()) as fleet:
        populate(fleet)
        if playbook == "seed":
            # Of later kubelets it needs the own files, which these nodes do not have.
            for name in NODES:
                node = fleet.nodes[name]
                node["status"]["nodeInfo"]["kubeletVersion"] = "v1.22.2"
                fleet.nodes[name] = node
        ansible = switched_ansible(tmp_path, fleet, kubelet_config_delivery="checkpoint", **VARIABLES)
        hosts = json.loads((ansible.inventory / "lab.yml").read_text())
        hosts["all"]["hosts"] = {name: {} for name in NODES}
        (ansible.inventory / "lab.yml").write_text(json.dumps(hosts))
        fleet.grant(found)
        exactly(fleet, played(ansible, playbook), permissions(found), playbook)


@pytest.mark.fault(case=30)
@pytest.mark.parametrize(
    ("playbook", "taken"),
    [
        pytest.param(
            playbook,
            taken,
            id=f"{playbook} without {taken}",
            marks=[] if (playbook, str(taken)) in SHORT else [pytest.mark.long],
        )
        for playbook in NATIVE
        for taken in permissions(given_for(playbook))
        if taken != AFTER_A_LOST_ANSWER
    ],
)
def test_without_one_permission(tmp_path: Path, playbook: str, taken: Permission) -> None:
    """The error names verb and resource, and where to find the manifest."""
    with PlayedCluster(*NODES) as fleet:
        ansible = natively(tmp_path, fleet)
        fleet.grant(without(given_for(playbook), taken))
        # A rollout would end because of the drift of its nodes, before it needs its permissions.
        run = played(ansible, playbook, *(("-e", "kubelet_config_drift=fail") if playbook == "drift" else ()))
    text = run.output.replace('\\"', '"').replace("\n", " ")
    assert (run.code == 0) == ((playbook, str(taken)) in LEFT), run.output
    assert f'cannot {taken.verb} resource "{taken.resource}" in API group "{taken.group}"' in text, run.output
    assert "docs/rbac" in text, run.output


@pytest.mark.fault(case=30)
def test_no_node_is_changed_and_a_rerun_completes(tmp_path: Path) -> None:
    """A rollout of a user who may not write Nodes, until the permission is granted. The error names it."""
    found = given_for("rollout")
    (patch,) = (one for one in permissions(found) if str(one) == "patch nodes")
    with PlayedCluster(*NODES) as fleet:
        ansible = natively(tmp_path, fleet)
        fleet.grant(without(found, patch))
        before = {name: copy.deepcopy(fleet.nodes[name]["spec"]) for name in NODES}
        run = played(ansible, "rollout")
        assert run.code != 0 and 'cannot patch resource "nodes"' in run.output.replace('\\"', '"'), run.output
        assert ({name: fleet.nodes[name]["spec"] for name in NODES}, fleet.claims.items) == (before, {}), run.output
        assert {*fleet.runs().values()} == {90}
        fleet.grant(found)
        again = played(ansible, "rollout")
        exactly(fleet, again, permissions(found), "rollout")
        assert {fleet.live[name]["maxPods"] for name in NODES} == {80}, again.output
