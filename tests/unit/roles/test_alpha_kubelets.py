# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rollouts over kubelets 1.8 to 1.10, alone and beside later ones, with the real roles on a simulated cluster."""

from __future__ import annotations

import json
import shlex
import sys
import typing as t
from pathlib import Path

import pytest

from tests.sim.api.kinds import KINDS
from tests.sim.cluster import Cluster
from tests.support.ansible import Ansible
from tests.support.doc_commands import blocks, documents, lines
from tests.support.objects import pod
from tests.support.permissions import USER, manifest, permissions, used

VERSIONS = {"n1": "v1.8.15", "n2": "v1.9.11", "n3": "v1.10.13", "n4": "v1.20.2"}
ALPHA = [name for name in VERSIONS if name != "n4"]


@pytest.fixture
def cluster() -> t.Iterator[Cluster]:
    """Kubelets 1.8, 1.9 (with an init config), 1.10 and 1.20 on their local configuration."""
    with Cluster("v1.10.13", scale=20, tls=False) as made:
        for name, version in VERSIONS.items():
            made.simulate(name, version, **({"init": True} if name == "n2" else {}))
        yield made


@pytest.fixture
def ansible(tmp_path: Path, cluster: Cluster) -> Ansible:
    """ansible-playbook with the cluster's nodes as hosts; they run their tasks here."""
    variables = {
        "ansible_connection": "local",
        "ansible_python_interpreter": sys.executable,
        "kubelet_config_wait_timeout": 15,
        "kubelet_config_soak_seconds": 0,
        "kubelet_config": {"maxPods": 80},
    }
    path = tmp_path / "hosts.yml"
    path.write_text(json.dumps({"workers": {"hosts": {name: {} for name in VERSIONS}, "vars": variables}}))
    made = Ansible(tmp_path, tmp_path / "none", path)
    del made.environment["K8S_AUTH_KUBECONFIG"]
    made.environment["K8S_AUTH_HOST"] = cluster.url
    return made


def max_pods(cluster: Cluster) -> dict[str, int]:
    return {name: cluster.kubelet(name).configz()["maxPods"] for name in VERSIONS}


def bound(cluster: Cluster) -> dict[str, set[str]]:
    """The nodes in each RoleBinding."""
    found = cluster.store.page(KINDS["rolebindings"], "kube-system", {}).entries
    ours = [entry.item for entry in found if entry.item["metadata"]["name"].endswith("-reader")]
    return {item["metadata"]["name"]: {subject["name"] for subject in item["subjects"]} for item in ours}


def names(cluster: Cluster, plural: str) -> set[str]:
    found = cluster.store.page(KINDS[plural], "kube-system", {}).entries
    return {entry.item["metadata"]["name"] for entry in found if entry.item["metadata"].get("labels")}


def written(cluster: Cluster) -> list[tuple[str, str]]:
    """The requests that would write, with an API server that ignores dry runs."""
    return [(method, path) for method, path in cluster.counter.requests if method != "GET" and "reviews" not in path]


def guided(ansible: Ansible, home: Path) -> t.Iterator[tuple[str, str]]:
    """Type the commands of the guide, in its order; yield the playbook of each and its output."""
    [page] = [page for page in documents() if page.name == "guide_first_kubelets.rst"]
    for kind, block in blocks(page):
        for command in lines(kind, block) if kind == "console" else ():
            typed = command.replace("dump.json", str(home / "dump.json"))
            program, _inventory, _path, playbook, *rest = shlex.split(typed)
            assert program == "ansible-playbook"
            run = ansible.playbook(playbook.removeprefix("livenodes.kubelet."), *rest)
            assert run.code == 0, run.output
            yield playbook.removeprefix("livenodes.kubelet."), run.output


def test_the_workflow_of_the_guide(cluster: Cluster, ansible: Ansible, tmp_path: Path) -> None:
    """All four get their configuration in one rollout, each in its own form, and return from it.

    The user needs no more than the manifests of these playbooks and the one for these kubelets, and all of the latter.
    """
    option = manifest("option-first-kubelets")
    cluster.grant([*option, *(one for name in ("dump", "plan", "rollout", "prune", "reset") for one in manifest(name))])
    ansible.environment["K8S_AUTH_IMPERSONATE_USER"] = USER
    before = max_pods(cluster)
    played = []
    for playbook, _output in guided(ansible, tmp_path):
        played.append(playbook)
        if playbook in ("dump", "plan"):
            assert max_pods(cluster) == before and cluster.counter.count("PATCH", "/api/v1/nodes/") == 0
        if playbook == "rollout":
            assert max_pods(cluster) == dict.fromkeys(VERSIONS, 80)
            for name in ALPHA:
                assert set(cluster.node(name)["spec"]["configSource"]["configMapRef"]) == {"namespace", "name", "uid"}
            assert set(cluster.node("n4")["spec"]["configSource"]) == {"configMap"}
            assert set.union(*bound(cluster).values()) == {f"system:node:{name}" for name in ALPHA}
            assert names(cluster, "roles") == set(bound(cluster))
        if playbook == "prune":
            assert names(cluster, "roles") and names(cluster, "configmaps"), "all of them are in use"
    assert played == ["dump", "plan", "rollout", "prune", "reset"]
    assert max_pods(cluster) == before
    assert not any("configSource" in cluster.node(name)["spec"] for name in VERSIONS)
    assert "using current (init)" in cluster.kubelet("n2").seen[-1]
    pruned = ansible.playbook("prune")
    assert pruned.code == 0, pruned.output
    assert names(cluster, "roles") == names(cluster, "rolebindings") == names(cluster, "configmaps") == set()
    # Nothing there was changed by another user, and no two nodes share a ConfigMap.
    needless = {*permissions(option)} - used(cluster.api.asked[USER], permissions(option))
    assert {one.verb for one in needless} <= {"patch"}, needless


def test_one_bad_node(cluster: Cluster, ansible: Ansible) -> None:
    """The rollout stops at it: the nodes before keep the new configuration, it has its former one, the rest is named.

    Then prune revokes access alone, and the ConfigMap of the failure stays.
    """
    cluster.kubelet("n2").refuses = "validate"
    run = ansible.playbook("rollout", "-e", "kubelet_config_serial=1", "--limit", "n1,n2,n3")
    assert run.code != 0 and "failed to validate current (UID: " in run.output, run.output
    assert "refused kube-system/livenodes-kubelet-" in run.output and "--init-config-dir" in run.output, run.output
    assert "it contains an invalid value" in run.output and "Untouched hosts: n3" in run.output, run.output
    assert {name: pods for name, pods in max_pods(cluster).items() if name != "n4"} == {"n1": 80, "n2": 110, "n3": 110}
    assert bound(cluster).keys() == names(cluster, "roles")
    pruned = ansible.playbook("prune", "-e", "kubelet_config_prune_access_only=true")
    assert pruned.code == 0, pruned.output
    assert set.union(*bound(cluster).values()) <= {"system:node:n1", "system:node:n2"}
    assert names(cluster, "configmaps") >= {name.removesuffix("-reader") for name in bound(cluster)}


def test_check_mode(cluster: Cluster, ansible: Ansible) -> None:
    """API servers of this time ignore dry runs: nothing is sent that would write, evict or delete."""
    web = pod("web", owner=("ReplicaSet", "web"))
    web["spec"]["containers"] = [{"name": "main"}]
    cluster.store.create(KINDS["pods"], "default", web)
    drained = ("-e", "kubelet_config_drain=always")
    run = ansible.playbook("rollout", "--check", *drained)
    assert run.code == 0, run.output
    assert written(cluster) == []
    assert ansible.playbook("rollout", *drained).code == 0
    changed = ansible.playbook("rollout", "-e", json.dumps({"kubelet_config": {"maxPods": 81}}))
    assert changed.code == 0, changed.output
    for playbook in ("reset", "rollback", "prune"):
        cluster.counter.forget()
        run = ansible.playbook(playbook, "--check", *drained)
        assert run.code == 0, run.output
        assert written(cluster) == [], playbook
    assert max_pods(cluster) == dict.fromkeys(VERSIONS, 81)
