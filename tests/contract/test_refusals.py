# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Mistakes of users: each has its own error with a remedy, and nothing is written."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
import yaml

from tests.contract.clusters import Contracted
from tests.support.plays.ansible import Ansible

READ = {"nodes": ["n1"]}
ASSIGN = {"nodes": ["n1"], "source": {"name": "some-config"}}
HEADER = "kind: KubeletConfiguration\napiVersion: kubelet.config.k8s.io/v1beta1\n"


@pytest.fixture
def state(around: Contracted) -> t.Iterator[None]:
    """Fail the test if it changed a Node's spec or a ConfigMap."""

    def look() -> tuple[t.Any, t.Any]:
        nodes = around.get("/api/v1/nodes")["items"]
        maps = around.get("/api/v1/configmaps")["items"]
        return [(node["metadata"]["name"], node["spec"]) for node in nodes], [
            (item["metadata"]["name"], item["metadata"]["resourceVersion"]) for item in maps
        ]

    before = look()
    yield
    assert look() == before


def _kubeconfig(around: Contracted, target: Path, **changes: str) -> str:
    """Write a copy of the kubeconfig with some cluster settings changed; return its path."""
    config = yaml.safe_load(around.kubeconfig(target.parent).read_text())
    config["clusters"][0]["cluster"].update(changes)
    target.write_text(yaml.safe_dump(config))
    return str(target)


# Refused before a kubelet has a part in it.
@pytest.mark.long_on_lab
def test_kubeconfig(around: Contracted, ansible: Ansible, tmp_path: Path, state: None) -> None:
    """Absent, garbage, an unknown context, a dead server, another kind of server."""
    garbage = tmp_path / "garbage"
    garbage.write_bytes(b"\x00\x80 not yaml: [")
    for options, texts in (
        ({"kubeconfig": str(tmp_path / "absent")}, ("no kubeconfig at", "absent", "K8S_AUTH_KUBECONFIG")),
        ({"kubeconfig": str(garbage)}, (f"kubeconfig {garbage} cannot be used",)),
        ({"context": "nowhere"}, ("cannot be used", "nowhere")),
        (
            {"kubeconfig": _kubeconfig(around, tmp_path / "dead", server="https://127.0.0.1:1")},
            ("no usable answer from the API server https://127.0.0.1:1",),
        ),
        ({"host": "127.0.0.1:1", "ca_cert": str(tmp_path / "no.crt")}, ("ca_cert: there is no file",)),
    ):
        result = ansible.module("kubelet_configz_facts", {**READ, **options})
        assert result["failed"], result
        for text in texts:
            assert text in result["msg"], result["msg"]


@pytest.mark.fault(case=63)
def test_an_expired_certificate(around: Contracted, ansible: Ansible, tmp_path: Path, state: None) -> None:
    """The API server accepts the connection and refuses its user. The same call with a valid one completes."""
    late = around.user(tmp_path, "late", "system:masters", expired=True)
    for module, options in {"kubelet_configz_facts": READ, "node_config_source": ASSIGN}.items():
        expired = ansible.module(module, {**options, "kubeconfig": str(late)})
        assert expired["failed"], expired
        assert "does not accept these credentials (401" in expired["msg"] and "expired" in expired["msg"]
    valid = around.user(tmp_path, "early", "system:masters")
    again = ansible.module("kubelet_configz_facts", {**READ, "kubeconfig": str(valid)})
    assert not again["failed"], again


# test_permissions.py asks both API servers for each permission.
@pytest.mark.long_on_lab
@pytest.mark.parametrize(
    ("module", "options", "text"),
    [
        ("kubelet_configz_facts", READ, 'cannot list resource "nodes"'),
        ("node_config_source", ASSIGN, 'cannot list resource "nodes"'),
        ("kubelet_configmap", {"variants": {}, "state": "pruned"}, 'cannot create resource "leases"'),
        ("node_config_info", {}, 'cannot list resource "nodes"'),
    ],
    ids=["read", "assign", "prune", "show"],
)
def test_without_permissions(
    around: Contracted,
    ansible: Ansible,
    tmp_path: Path,
    state: None,
    module: str,
    options: dict[str, object],
    text: str,
) -> None:
    """Each module names the permission, the user and the file with the roles."""
    result = ansible.module(module, {**options, "kubeconfig": str(around.user(tmp_path, "powerless"))})
    assert result["failed"], result
    for part in (text, 'User "powerless"', "docs/rbac.yaml"):
        assert part in result["msg"], result["msg"]


# Refused before a kubelet has a part in it.
@pytest.mark.long_on_lab
def test_nodes_and_groups(ansible: Ansible, state: None) -> None:
    """The error names all unknown nodes; a group without hosts is refused."""
    unknown = ansible.module("node_config_source", {"nodes": ["n1", "n8", "n9"], "source": {"name": "some-config"}})
    assert unknown["failed"] and all(f"{name}: the cluster at " in unknown["msg"] for name in ("n8", "n9"))
    none = ansible.module("kubelet_configz_facts", {"nodes": []})
    assert none["failed"] and "nodes is an empty list" in none["msg"]
    missing = ansible.module("node_config_source", ASSIGN)
    assert missing["failed"] and "n1: kube-system/some-config key kubelet: there is no such ConfigMap" in missing["msg"]
    assert "nothing was written to any node" in missing["msg"]
    (ansible.inventory / "empty.yml").write_text('{"empty_group": {"hosts": {}}}')
    run = ansible.playbook("rollout", "-e", "kubelet_config_hosts=empty_group")
    assert run.code != 0 and "No host matches kubelet_config_hosts=empty_group" in run.output


# Refused before a kubelet has a part in it.
@pytest.mark.long_on_lab
@pytest.mark.parametrize(
    ("content", "texts"),
    [
        pytest.param(HEADER.encode() + b"staticPodPath: " + b"x" * 1_153_434 + b"\n", ("1", "MiB"), id="1.1 MiB"),
        pytest.param(HEADER.encode() + b"maxPods: 1\nmaxPods: 2\n", ("maxPods", "line 4"), id="duplicate keys"),
        pytest.param(HEADER.encode() + b"maxPods:\t1\n", ("tab", "line 3"), id="tabs"),
        pytest.param(bytes(range(256)) * 8, ("not UTF-8 text",), id="binary garbage"),
        pytest.param(b"maxPods: 1\n", ("apiVersion is missing",), id="no apiVersion"),
        pytest.param(b"", ("empty",), id="empty"),
    ],
)
def test_content(ansible: Ansible, tmp_path: Path, state: None, content: bytes, texts: tuple[str, ...]) -> None:
    """Only a KubeletConfiguration is pushed; the message for anything else names file and line."""
    path = tmp_path / "kubelet.yaml"
    path.write_bytes(content)
    result = ansible.module("kubelet_configmap", {"src": [str(path)]})
    assert result["failed"], result
    for text in (*texts, str(path)):
        assert text in result["msg"], result["msg"]
