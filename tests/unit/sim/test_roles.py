# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Roles and ClusterRoles of the simulated API server; the contract compares the answers with those of a real one."""

from __future__ import annotations

import typing as t

import pytest

from tests.sim.api.roles import Asked, allows
from tests.sim.cluster import Cluster

GET = Asked("get", "", "configmaps", "kube-system", "c1")
RULE = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}
GROUP = {"kind": "Group", "name": "operators"}
ACCOUNT = {"kind": "ServiceAccount", "namespace": "kube-system", "name": "op"}


def bound(
    rule: dict[str, t.Any], role: str = "ClusterRole", binding: str = "ClusterRoleBinding", **subject: str
) -> list[dict[str, t.Any]]:
    """A role with one rule, and its binding, in kube-system if they are namespaced."""
    space = {"namespace": "kube-system"}
    return [
        {"kind": role, "metadata": {"name": "r", **(space if role == "Role" else {})}, "rules": [rule]},
        {
            "kind": binding,
            "metadata": {"name": "b", **(space if binding == "RoleBinding" else {})},
            "roleRef": {"kind": role, "name": "r"},
            "subjects": [subject or {"kind": "User", "name": "op"}],
        },
    ]


@pytest.fixture(scope="module")
def cluster() -> t.Iterator[Cluster]:
    """An API server."""
    with Cluster(tls=False) as made:
        yield made


@pytest.mark.parametrize(
    ("objects", "may"),
    [
        ([], False),
        (bound(RULE), True),
        (bound(RULE, binding="RoleBinding"), True),
        (bound(RULE, "Role", "RoleBinding"), True),
        (bound(RULE)[:1], False),
        (bound(RULE)[1:], False),
        (bound({**RULE, "verbs": ["*"]}), True),
        (bound({**RULE, "verbs": ["list"]}), False),
        (bound({**RULE, "apiGroups": ["apps"]}), False),
        (bound({**RULE, "resourceNames": ["c1"]}), True),
        (bound({**RULE, "resourceNames": ["c2"]}), False),
        (bound(RULE, kind="User", name="other"), False),
        (bound(RULE, **GROUP), True),
        (bound(RULE, kind="Group", name="system:authenticated"), True),
    ],
)
def test_rules(cluster: Cluster, objects: list[dict[str, t.Any]], may: bool) -> None:
    cluster.grant(objects)
    assert allows(cluster.store, "op", ["operators"], GET) is may
    # Those of a namespace are not for another one.
    wide = may and objects[1]["kind"] == "ClusterRoleBinding"
    assert allows(cluster.store, "op", ["operators"], Asked("get", "", "configmaps", "default", "c1")) is wide
    cluster.ungrant(objects)


def test_a_service_account(cluster: Cluster) -> None:
    objects = bound(RULE, **ACCOUNT)
    cluster.grant(objects)
    found = [
        allows(cluster.store, user, (), GET)
        for user in ("system:serviceaccount:kube-system:op", "op", "kube-system:op")
    ]
    assert found == [True, False, False]
    cluster.ungrant(objects)
