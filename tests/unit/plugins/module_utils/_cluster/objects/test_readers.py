# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Roles that let kubelets 1.8 to 1.10 read their ConfigMap."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.session import Session
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.objects import node_requests, readers
from tests.sim.api import roles
from tests.sim.api.kinds import KINDS
from tests.sim.cluster import Cluster

PLACE = ("kube-system", "config-a")
READER = "config-a-reader"


@pytest.fixture
def cluster() -> t.Iterator[Cluster]:
    """An API server of 1.10 without nodes."""
    with Cluster("v1.10.13", tls=False) as made:
        yield made


@pytest.fixture
def session(cluster: Cluster) -> Session:
    """A session of its administrator."""
    return Session({"host": cluster.url})


def readable(cluster: Cluster) -> set[str]:
    """The nodes that may get the ConfigMap."""
    return {name for name in ("n1", "n2", "n3") if roles.may_get(cluster.store, f"system:node:{name}", *PLACE)}


def writes(cluster: Cluster) -> int:
    return sum(method != "GET" for method, _path in cluster.counter.requests)


def test_grant_and_revoke(cluster: Cluster, session: Session) -> None:
    """Each step first in check mode, which writes nothing, and then twice."""
    steps: list[tuple[t.Callable[[bool], list[str]], set[str]]] = [
        (lambda dry: readers.grant(session, {PLACE: ["n1"]}, dry)[0], {"n1"}),
        (lambda dry: readers.grant(session, {PLACE: ["n2", "n3"]}, dry)[0], {"n1", "n2", "n3"}),
        (lambda dry: readers.revoke(session, "kube-system", {PLACE: {"n3"}}, dry), {"n3"}),
        (lambda dry: readers.revoke(session, "kube-system", {}, dry), set()),
    ]
    before: set[str] = set()
    for step, after in steps:
        written = writes(cluster)
        forecast = step(True)
        assert forecast and readable(cluster) == before and writes(cluster) == written
        assert step(False) == forecast and readable(cluster) == after
        written = writes(cluster)
        assert step(True) == step(False) == [] and writes(cluster) == written
        before = after
    assert not cluster.store.tables["roles"] and not cluster.store.tables["rolebindings"]


def test_the_documented_commands(cluster: Cluster, session: Session) -> None:
    """What `kubectl create role` and `rolebinding` of the old page made is used, completed, and never removed."""
    rule = {"apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["config-a"], "verbs": ["get"]}
    ref = {"apiGroup": readers.GROUP, "kind": "Role", "name": READER}
    user = {"apiGroup": readers.GROUP, "kind": "User", "name": "system:node:n1"}
    cluster.store.create(KINDS["roles"], "kube-system", {"metadata": {"name": READER}, "rules": [rule]})
    binding = {"metadata": {"name": READER}, "roleRef": ref, "subjects": [user]}
    cluster.store.create(KINDS["rolebindings"], "kube-system", binding)
    assert readers.grant(session, {PLACE: ["n1"]}, False) == ([], {})
    assert readers.grant(session, {PLACE: ["n2"]}, False)[0] == [f"RoleBinding kube-system/{READER}"]
    assert readable(cluster) == {"n1", "n2"}
    assert readers.revoke(session, "kube-system", {}, False) == []


def test_a_role_of_others(cluster: Cluster, session: Session) -> None:
    cluster.store.create(KINDS["roles"], "kube-system", {"metadata": {"name": READER}, "rules": []})
    changed, failed = readers.grant(session, {PLACE: ["n1"], ("kube-system", "config-b"): ["n1"]}, False)
    assert set(failed) == {PLACE} and "does not let a node get the ConfigMap" in failed[PLACE]
    assert changed == ["Role kube-system/config-b-reader", "RoleBinding kube-system/config-b-reader"]


def test_our_role_is_repaired(cluster: Cluster, session: Session) -> None:
    readers.grant(session, {PLACE: ["n1"]}, False)
    cluster.store.patch(KINDS["roles"], "kube-system", READER, "application/merge-patch+json", {"rules": []})
    assert readers.grant(session, {PLACE: ["n1"]}, False) == ([f"Role kube-system/{READER}"], {})
    assert readable(cluster) == {"n1"}


def test_a_binding_to_another_role(cluster: Cluster, session: Session) -> None:
    body = {"metadata": {"name": READER}, "roleRef": {"name": "other"}, "subjects": []}
    cluster.store.create(KINDS["rolebindings"], "kube-system", body)
    assert "for another Role" in readers.grant(session, {PLACE: ["n1"]}, False)[1][PLACE]


def test_refused(cluster: Cluster, session: Session) -> None:
    """The message names the permission."""
    cluster.faults.add(403, method="POST", path="/roles")
    failed = readers.grant(session, {PLACE: ["n1"]}, False)[1]
    assert "create and patch on roles and rolebindings" in failed[PLACE]


def test_two_runs_at_once(cluster: Cluster, session: Session) -> None:
    """Another run has bound its nodes between the read and the patch."""
    readers.grant(session, {PLACE: ["n1"]}, False)
    other = Session({"host": cluster.url})
    cluster.faults.add(
        method="PATCH",
        path="/rolebindings/",
        times=1,
        then=lambda: readers.grant(other, {PLACE: ["n2"]}, False),
    )
    assert readers.grant(session, {PLACE: ["n3"]}, False) == ([f"RoleBinding kube-system/{READER}"], {})
    assert readable(cluster) == {"n1", "n2", "n3"}


def test_who_needs_one(cluster: Cluster, session: Session) -> None:
    """Kubelets up to 1.10 by their source; later ones, and those on their local config, need none."""
    for name, version in {"n1": "v1.9.11", "n2": "v1.10.13", "n3": "v1.20.2"}.items():
        cluster.add(name, version)
    ref = {"namespace": "kube-system", "name": "config-a", "uid": "a1"}
    cluster.store.patch(
        KINDS["nodes"], "", "n1", "application/merge-patch+json", {"spec": {"configSource": {"configMapRef": ref}}}
    )
    assert readers.in_use(node_requests.read(session).values()) == {PLACE: {"n1"}}
