# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the API server answers to a user who has no rule for a request, and that exactly this rule is enough; and to one
whose certificate has expired.
"""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import ApiError
from tests.contract.clusters import CONFIGMAPS, Contracted
from tests.support.plays.ansible import Ansible

USER = "livenodes-contract"
RBAC = "rbac.authorization.k8s.io/v1"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
ROLES = "/apis/rbac.authorization.k8s.io/v1/namespaces/kube-system/roles"
REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
CORE, LEASE, HERE = 'API group ""', 'API group "coordination.k8s.io"', 'in the namespace "kube-system"'
CLUSTER = "at the cluster scope"
# Request: method, path, rule (API group, resource, verb), and what the message has.
REQUESTS = (
    ("GET", "/api/v1/nodes", ("", "nodes", "list"), f"nodes is forbidden|{CORE} {CLUSTER}"),
    ("GET", "/api/v1/nodes/n1", ("", "nodes", "get"), f'nodes "n1" is forbidden|{CORE} {CLUSTER}'),
    ("PATCH", "/api/v1/nodes/n1", ("", "nodes", "patch"), f'nodes "n1" is forbidden|{CORE} {CLUSTER}'),
    (
        "GET",
        "/api/v1/nodes/n1/proxy/configz",
        ("", "nodes/proxy", "get"),
        f'nodes "n1" is forbidden|"nodes/proxy" in {CORE} {CLUSTER}',
    ),
    ("GET", CONFIGMAPS, ("", "configmaps", "list"), f"configmaps is forbidden|{CORE} {HERE}"),
    ("GET", f"{CONFIGMAPS}/none", ("", "configmaps", "get"), f'configmaps "none" is forbidden|{CORE} {HERE}'),
    ("POST", CONFIGMAPS, ("", "configmaps", "create"), f"configmaps is forbidden|{CORE} {HERE}"),
    ("DELETE", f"{CONFIGMAPS}/none", ("", "configmaps", "delete"), f'configmaps "none" is forbidden|{CORE} {HERE}'),
    (
        "GET",
        LEASES,
        ("coordination.k8s.io", "leases", "list"),
        f"leases.coordination.k8s.io is forbidden|{LEASE} {HERE}",
    ),
    (
        "PATCH",
        f"{LEASES}/none",
        ("coordination.k8s.io", "leases", "patch"),
        f'leases.coordination.k8s.io "none" is forbidden|{LEASE} {HERE}',
    ),
    ("GET", "/api/v1/pods", ("", "pods", "list"), f"pods is forbidden|{CORE} {CLUSTER}"),
    ("GET", "/api/v1/pods?watch=1&timeoutSeconds=1", ("", "pods", "watch"), f"pods is forbidden|{CORE} {CLUSTER}"),
    (
        "POST",
        "/api/v1/namespaces/default/pods/none/eviction",
        ("", "pods/eviction", "create"),
        f'pods "none" is forbidden|"pods/eviction" in {CORE} in the namespace "default"',
    ),
    (
        "POST",
        REVIEWS,
        ("authorization.k8s.io", "subjectaccessreviews", "create"),
        f'subjectaccessreviews.authorization.k8s.io is forbidden|API group "authorization.k8s.io" {CLUSTER}',
    ),
)
BODIES: dict[str, dict[str, t.Any]] = {
    CONFIGMAPS: {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "livenodes-contract"}},
    REVIEWS: {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {"user": USER, "resourceAttributes": {"resource": "nodes", "verb": "get", "name": "n1"}},
    },
}


def allowing(*rules: tuple[str, str, str]) -> list[dict[str, t.Any]]:
    """Return the objects that give the user these rules: API group, resource, verb."""
    meta = {"name": USER}
    given = [{"apiGroups": [group], "resources": [resource], "verbs": [verb]} for group, resource, verb in rules]
    subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": USER}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": USER}
    return [
        {"apiVersion": RBAC, "kind": "ClusterRole", "metadata": meta, "rules": given},
        {"apiVersion": RBAC, "kind": "ClusterRoleBinding", "metadata": meta, "roleRef": role, "subjects": [subject]},
    ]


def refusal(around: Contracted, method: str, path: str) -> str:
    """Send a request as the user; return the message of a 403, empty for every other answer."""
    kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
    url, _mark, query = path.partition("?")
    words = [tuple(pair.split("=")) for pair in query.split("&") if pair]
    # Nothing is stored.
    words += [("dryRun", "All")] if method in ("POST", "PATCH") and url != REVIEWS else []
    body = None if method in ("GET", "DELETE") else BODIES.get(url, {})
    try:
        session = around.as_user(USER)
        if "watch" in query:
            session.text(url, 0.0, words)
        else:
            session.request(method, url, words, body, kind, budget=0.0)
    except ApiError as error:
        return error.message if error.status == 403 else ""
    return ""


@pytest.mark.parametrize(("method", "path", "rule", "words"), REQUESTS, ids=[" ".join(row[2][1:]) for row in REQUESTS])
@pytest.mark.fault(case=30)
def test_a_refusal(around: Contracted, method: str, path: str, rule: tuple[str, str, str], words: str) -> None:
    """Every other rule is not enough; this one is."""
    with around.granted(allowing(*(row[2] for row in REQUESTS if row[2] != rule))):
        message = refusal(around, method, path)
    head, tail = words.split("|")
    resource = rule[1] if '"' in tail.partition(" in ")[0] else f'"{rule[1]}" in '
    assert message.startswith(f'{head}: User "{USER}" cannot {rule[2]} resource '), message
    assert resource.strip('"') in message and f"{tail} (" in message, message
    with around.granted(allowing(rule)):
        assert refusal(around, method, path) == ""


def test_no_more_than_the_user_has(around: Contracted) -> None:
    """A user who may write Roles cannot give away what the user lacks."""
    group = "rbac.authorization.k8s.io"
    rule = {"apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["some"], "verbs": ["get"]}
    role = {"apiVersion": RBAC, "kind": "Role", "metadata": {"name": "livenodes-contract"}, "rules": [rule]}
    query = (("dryRun", "All"),)
    with (
        around.granted(allowing((group, "roles", "create"))),
        pytest.raises(ApiError, match="not currently held") as got,
    ):
        around.as_user(USER).request("POST", ROLES, query, role, budget=0.0)
    assert got.value.status == 403
    with around.granted(allowing((group, "roles", "create"), ("", "configmaps", "get"))):
        assert around.as_user(USER).request("POST", ROLES, query, role, budget=0.0)["rules"] == [rule]


READ = {"nodes": ["n1"]}
ASSIGN = {"nodes": ["n1"], "source": {"name": "some-config"}}


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
