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
from tests.support.api.objects import pod
from tests.support.plays.ansible import Ansible
from tests.support.plays.doc_commands import blocks, documents, lines
from tests.support.plays.permissions import USER, manifest, permissions, used

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
        "kubelet_config_serial": "100%",
        "kubelet_config": {"maxPods": 80},
    }
    hosts: dict[str, t.Any] = {name: {} for name in VERSIONS}
    return Ansible.of_api(tmp_path, cluster.url, {"workers": {"hosts": hosts, "vars": variables}})


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


def source(cluster: Cluster, name: str) -> str:
    """The ConfigMap that a node is assigned."""
    return str(cluster.node(name)["spec"]["configSource"]["configMapRef"]["name"])


def dumped(table: dict[str, t.Any]) -> None:
    """The dump has the kind and apiVersion that each kubelet demands."""
    found = {name: table["variants"][row["variant"]] for name, row in table["nodes"].items()}
    assert {config["kind"] for config in found.values()} == {"KubeletConfiguration"}
    first, later = "kubeletconfig/v1alpha1", "kubelet.config.k8s.io/v1beta1"
    expected = {"n1": first, "n2": first, "n3": later, "n4": later}
    assert {name: config["apiVersion"] for name, config in found.items()} == expected


def guided(ansible: Ansible, home: Path) -> t.Iterator[str]:
    """Type the commands of the guide, in its order; yield the playbook of each."""
    [page] = [page for page in documents() if page.name == "guide_first_kubelets.rst"]
    for kind, block in blocks(page):
        for command in lines(kind, block) if kind == "console" else ():
            typed = command.replace("dump.json", str(home / "dump.json"))
            program, _inventory, _path, playbook, *rest = shlex.split(typed)
            assert program == "ansible-playbook"
            run = ansible.playbook(playbook.removeprefix("livenodes.kubelet."), *rest)
            assert run.code == 0, run.output
            yield playbook.removeprefix("livenodes.kubelet.")


def test_the_workflow_of_the_guide(cluster: Cluster, ansible: Ansible, tmp_path: Path) -> None:
    """All four get their configuration in one rollout, each in its own form, and return from it.

    The user needs no more than the manifests of these playbooks and the one for these kubelets, and all of the latter.
    """
    option = manifest("option-first-kubelets")
    given = ("dump", "plan", "rollout", "prune", "reset", "option-read-proxy")
    cluster.grant([*option, *(one for name in given for one in manifest(name))])
    ansible.environment["K8S_AUTH_IMPERSONATE_USER"] = USER
    before = max_pods(cluster)
    wanted, readers = 80, [bound(cluster)]
    played = []
    for playbook in guided(ansible, tmp_path):
        played.append(playbook)
        if playbook in ("dump", "plan"):
            assert max_pods(cluster) == before and cluster.counter.count("PATCH", "/api/v1/nodes/") == 0
        if playbook == "dump":
            dumped(json.loads((tmp_path / "dump.json").read_text()))
        if playbook == "rollout":
            assert max_pods(cluster) == dict.fromkeys(VERSIONS, wanted)
            for name in ALPHA:
                assert set(cluster.node(name)["spec"]["configSource"]["configMapRef"]) == {"namespace", "name", "uid"}
            assert set(cluster.node("n4")["spec"]["configSource"]) == {"configMap"}
            readers.append({reader: users for reader, users in bound(cluster).items() if reader not in readers[-1]})
            assert readers[-1] == {f"{source(cluster, name)}-reader": {f"system:node:{name}"} for name in ALPHA}
            assert names(cluster, "roles") == set(bound(cluster))
            wanted = 70
            ansible.variables(workers={"kubelet_config": {"maxPods": wanted}})
        if playbook == "prune" and "reset" not in played:
            assert readers[1]
            assert bound(cluster) == readers[2] and names(cluster, "roles") == set(readers[2])
            former = {reader.removesuffix("-reader") for reader in readers[1]}
            assert former < names(cluster, "configmaps"), "only the access is revoked"
    assert played == ["dump", "plan", "rollout", "rollout", "prune", "reset", "prune"]
    assert max_pods(cluster) == before
    assert not any("configSource" in cluster.node(name)["spec"] for name in VERSIONS)
    assert "using current (init)" in cluster.kubelet("n2").seen[-1]
    assert names(cluster, "roles") == names(cluster, "rolebindings") == names(cluster, "configmaps") == set()
    # Nothing there was changed by another user, and no two nodes share a ConfigMap.
    needless = {*permissions(option)} - used(cluster.api.asked[USER], permissions(option))
    assert {one.verb for one in needless} <= {"patch"}, needless


def test_one_bad_node(cluster: Cluster, ansible: Ansible) -> None:
    """The rollout stops at it: the nodes before keep the new configuration, it has its former one, the rest is named.

    It may read what it refused until it is reset. Then prune revokes that alone, and the ConfigMap stays.
    """
    cluster.kubelet("n2").refuses = "validate"
    run = ansible.playbook("rollout", "-e", "kubelet_config_serial=1", "--limit", "n1,n2,n3")
    assert run.code != 0 and "failed to validate current (UID: " in run.output, run.output
    assert "refused kube-system/livenodes-kubelet-" in run.output and "--init-config-dir" in run.output, run.output
    assert "it contains an invalid value" in run.output and "Untouched hosts: n3" in run.output, run.output
    assert {name: pods for name, pods in max_pods(cluster).items() if name != "n4"} == {"n1": 80, "n2": 110, "n3": 110}
    kept, refused = f"{source(cluster, 'n1')}-reader", f"{source(cluster, 'n2')}-reader"
    granted = {kept: {"system:node:n1"}, refused: {"system:node:n2"}}
    for playbook, *options in (["prune"], ["reset", "--limit", "n2"], ["prune"]):
        assert bound(cluster) == granted and names(cluster, "roles") == set(granted)
        run = ansible.playbook(playbook, *options, "-e", "kubelet_config_prune_access_only=true")
        assert run.code == 0, run.output
    assert bound(cluster) == {kept: {"system:node:n1"}} and names(cluster, "roles") == {kept}
    assert refused.removesuffix("-reader") in names(cluster, "configmaps")


@pytest.mark.long
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
