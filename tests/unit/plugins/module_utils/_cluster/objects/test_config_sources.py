# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""ConfigMaps, the source of each node and the patch that writes it, Roles that let nodes read it."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import ApiError, ClusterError
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.session import Session
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.objects import (
    config_sources,
    configmaps,
    nodes,
    readers,
)
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import annotation, following
from tests.sim.api import roles
from tests.sim.api.kinds import KINDS
from tests.sim.cluster import Cluster
from tests.support.api.calls import CONFIGMAPS, DRY, MERGE, NODES, Call, Calls
from tests.support.api.objects import configmap, items, node, place, reference, status

CONFLICT = ApiError(409, "the object has been modified", "Conflict")
A = {"namespace": "s", "name": "a"}


def wanted(**given: t.Any) -> dict[str, config_sources.Wanted]:
    return config_sources.wanted(
        {"state": "present", "nodes": None, "source": None, "sources": None, "delivery": "auto", **given}
    )


@pytest.mark.parametrize(
    ("given", "source", "delivery"),
    [
        ({"nodes": ["n1"], "source": {**A, "kubelet_config_key": "k"}}, {**A, "kubeletConfigKey": "k"}, "auto"),
        ({"sources": {"n1": reference()}}, place(), "auto"),
        ({"sources": {"n1": {**reference(), "delivery": "native"}}, "delivery": "checkpoint"}, place(), "native"),
        ({"sources": {"n1": A}, "delivery": "checkpoint"}, {**A, "kubeletConfigKey": "kubelet"}, "checkpoint"),
        ({"state": "absent", "nodes": ["n1"]}, None, "auto"),
        ({"state": "absent", "sources": {"n1": reference()}}, None, "auto"),
    ],
)
def test_wanted(given: dict[str, t.Any], source: dict[str, str] | None, delivery: str) -> None:
    assert wanted(**given) == {"n1": config_sources.Wanted(source, delivery)}


def test_nodes_that_are_reset_by_different_transports() -> None:
    found = wanted(state="absent", sources={"n1": {"transport": "ssh"}, "n2": {"transport": None}}, transport="api")
    transports = {name: (one.source, one.transport) for name, one in found.items()}
    assert transports == {"n1": (None, "ssh"), "n2": (None, "api")}
    with pytest.raises(ClusterError, match="the unknown transport 'shh'; set one of auto, api, ssh"):
        wanted(state="absent", sources={"n1": {"transport": "shh"}})


INCOMPLETE = r"node n1 is .*; set a mapping with namespace, name and kubeletConfigKey"
NO_NAME = r"^sources: the value of node n1 cannot be used: .* In YAML, put .* quotes"


@pytest.mark.parametrize(
    ("source", "words"),
    [
        *((one, INCOMPLETE) for one in (None, "config-a", {}, {"name": "a"}, {"namespace": "s"}, ["a"])),
        ({"namespace": "", "name": "a"}, INCOMPLETE),
        # A name of digits is a number in YAML.
        ({"namespace": "s", "name": 4711}, NO_NAME),
        ({"namespace": 5, "name": "a"}, NO_NAME),
        ({**A, "kubeletConfigKey": 6}, NO_NAME),
        ({"namespace": "s", "name": "A_b"}, NO_NAME),
        ({**place(), "delivery": "nativ"}, "the unknown delivery 'nativ'; set one of auto, native, checkpoint"),
        ({**place(), "transport": "shh"}, "the unknown transport 'shh'; set one of auto, api, ssh"),
    ],
)
def test_sources_that_cannot_be_used(source: t.Any, words: str) -> None:
    with pytest.raises(ClusterError, match=words):
        wanted(sources={"n1": source})


@pytest.mark.parametrize("state", ["present", "absent", "verified"])
def test_an_empty_list_of_nodes(state: str) -> None:
    with pytest.raises(ClusterError, match="nodes is an empty list"):
        wanted(state=state, nodes=[], source=place())


def one(**fields: t.Any) -> nodes.Node:
    return nodes.trim(node(**fields))


def patch(
    answer: t.Any, source: dict[str, str] | None, revision: str = "1", query: t.Sequence[tuple[str, t.Any]] = ()
) -> Call:
    spec = {"configSource": {"configMap": source} if source else None}
    body = {"metadata": {"resourceVersion": revision}, "spec": spec}
    return Call("PATCH", f"{NODES}/n1", answer, query, body, MERGE)


def again(source: dict[str, str] | None, revision: str = "2") -> Call:
    """The GET after a conflict."""
    return Call("GET", f"{NODES}/n1", node(source=source, revision=revision))


B = place("b")
LATER = patch(node(source=B, revision="3"), B, revision="2")


@pytest.mark.parametrize(
    ("calls", "source", "dry_run", "revision"),
    [
        pytest.param([patch(node(source=B, revision="2"), B)], B, False, "2", id="another"),
        pytest.param([patch(node(revision="2"), None)], None, False, "2", id="none"),
        pytest.param([patch(node(source=B), B, query=DRY)], B, True, "1", id="dry run"),
        pytest.param([patch(CONFLICT, B), again(place("a")), LATER], B, False, "3", id="a heartbeat came in between"),
        pytest.param([patch(CONFLICT, B), again(B)], B, False, "2", id="a lost answer"),
    ],
)
def test_write_source(calls: list[Call], source: dict[str, str] | None, dry_run: bool, revision: str) -> None:
    with Calls(*calls) as session:
        stored = config_sources.write_source(session, one(source=place("a")), source, dry_run=dry_run)
    assert (stored.source, stored.resource_version) == (source, revision)


ENDLESS = [call for n in range(1, 6) for call in (patch(CONFLICT, B, str(n)), again(place("a"), str(n + 1)))]
THEIRS = "another user or program changed spec.configSource to kube-system/theirs key kubelet during the run; run"


@pytest.mark.parametrize(
    ("calls", "words"),
    [
        ([patch(CONFLICT, B), again(place("theirs"))], THEIRS),
        ([patch(CONFLICT, B), again(None)], "changed spec.configSource to the local config during the run"),
        (ENDLESS, "changes faster than it can be patched"),
        ([patch(ApiError(403, "forbidden"), B)], "forbidden"),
    ],
)
def test_a_source_that_is_not_written(calls: list[Call], words: str) -> None:
    """Another writer's change stays."""
    with Calls(*calls) as session, pytest.raises(ApiError, match=words) as caught:
        config_sources.write_source(session, one(source=place("a")), B, dry_run=False)
    assert caught.value.status in (403, 409)


PREVIOUS, OWN = reference("config-b"), {"own": {"maxPods": 110}, "complete": True}


@pytest.mark.parametrize(
    ("source", "sides", "notes"),
    [
        (place("config-a"), (), {annotation.PREVIOUS: annotation.text({})}),
        (None, (), dict.fromkeys((annotation.PREVIOUS, annotation.OWN))),
        (place("config-a"), (), {}),
        (None, ("native", "checkpoint"), dict.fromkeys((annotation.PREVIOUS, annotation.OWN, annotation.STATUS))),
        (reference("config-a"), ("checkpoint",), {}),
        (reference("config-a"), ("dropin",), {annotation.PREVIOUS: None}),
        (reference("config-a"), ("dropin",), following.judging(following.Orders(attempt=3), "boot/1.0")),
    ],
)
def test_an_api_server_without_dry_runs(
    source: dict[str, str] | None, sides: tuple[str, ...], notes: dict[str, str | None]
) -> None:
    """Nothing is sent, and the forecast has what an API server with dry runs answers."""
    ran = status(reference("config-c"))
    begun = {"marked": reference("config-c"), "previous": PREVIOUS, "own": OWN, "config": ran, "reported": ran}
    answers = []
    for server in ("v1.11.10", "v1.20.2"):
        with Cluster(server, tls=False) as cluster:
            found = node(version="v1.11.10", **begun)
            del found["metadata"]["resourceVersion"]
            found["metadata"]["annotations"][annotation.CORDONED] = "{"
            found["metadata"]["uid"] = "u1"
            cluster.store.create(KINDS["nodes"], "", found)
            before = cluster.node("n1")
            session = Session({"host": cluster.url})
            now = nodes.trim(before).with_delivery(sides[0] if sides else "native")
            answers.append(config_sources.write_source(session, now, source, True, sides, notes))
            assert cluster.node("n1") == before
            assert cluster.counter.count("PATCH") == (server != "v1.11.10")
    forecast, answer = (
        (one.native, one.noted, one.noted_delivery, one.own, one.malformed, one.orders) for one in answers
    )
    assert forecast == answer
    assert [one.reimaged for one in answers] == [False, False]
    assert (annotation.PREVIOUS in notes and notes[annotation.PREVIOUS] is None) == (answers[0].previous is None)


ABSENT = ApiError(404, 'configmaps "config-a" not found', "NotFound")
EXISTS = ApiError(409, 'configmaps "config-a" already exists', "AlreadyExists")


def test_paths() -> None:
    """Those without such characters are in every request of the other tests."""
    assert configmaps.path("a b", "c?d#e") == "/api/v1/namespaces/a%20b/configmaps/c%3Fd%23e"
    assert configmaps.path("a", "../secrets/x") == "/api/v1/namespaces/a/configmaps/..%2Fsecrets%2Fx"


def test_read_managed() -> None:
    query = [("labelSelector", "app.kubernetes.io/managed-by=livenodes.kubelet")]
    calls = [Call("GET", CONFIGMAPS, answer, query) for answer in (items(configmap()), {"items": None})]
    with Calls(calls) as session:
        assert configmaps.read_managed(session, "kube-system") == [configmap()]
        assert configmaps.read_managed(session, "kube-system") == []


FOREIGN = configmap(content="theirs")


def post(answer: t.Any, query: t.Sequence[tuple[str, str]] = ()) -> Call:
    return Call("POST", CONFIGMAPS, answer, query, configmap())


@pytest.mark.parametrize(
    ("calls", "dry_run", "stored"),
    [
        ([post(configmap(revision="8"))], False, configmap(revision="8")),
        ([post(configmap(revision="8"), DRY)], True, configmap(revision="8")),
        ([post(EXISTS), Call("GET", f"{CONFIGMAPS}/config-a", FOREIGN)], False, FOREIGN),
        # It was deleted since.
        ([post(EXISTS), Call("GET", f"{CONFIGMAPS}/config-a", ABSENT)], False, EXISTS),
        ([post(ApiError(403, "forbidden"))], False, ApiError(403, "forbidden")),
    ],
)
def test_create(calls: list[Call], dry_run: bool, stored: t.Any) -> None:
    with Calls(*calls) as session:
        if isinstance(stored, ApiError):
            with pytest.raises(ApiError, match=f"^{stored.message}"):
                configmaps.create(session, configmap(), dry_run)
        else:
            assert configmaps.create(session, configmap(), dry_run) == stored


def test_reference() -> None:
    assert configmaps.reference(configmap(), "kubelet") == reference()
    dry = configmap()
    del dry["metadata"]["resourceVersion"]
    assert configmaps.reference(dry, "kubelet") == reference(revision="")


def test_configmaps_without_dry_runs() -> None:
    """Nothing is sent."""
    with Calls(old=True) as session:
        assert configmaps.create(session, configmap(), True) == configmap()
        assert configmaps.write_key(session, configmap(), "kubelet", "x", True) == configmap(content="x")
        configmaps.delete(session, configmap(), True)


PLACE = ("kube-system", "config-a")
READER = "config-a-reader"


@pytest.fixture
def cluster() -> t.Iterator[Cluster]:
    """An API server without nodes."""
    with Cluster(tls=False) as made:
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
    """Its content, and what a binding leads to, stay. The message names the cause, or the permission."""
    cluster.store.create(KINDS["roles"], "kube-system", {"metadata": {"name": READER}, "rules": []})
    changed, failed = readers.grant(session, {PLACE: ["n1"], ("kube-system", "config-b"): ["n1"]}, False)
    assert set(failed) == {PLACE} and "does not let a node get the ConfigMap" in failed[PLACE]
    assert changed == ["Role kube-system/config-b-reader", "RoleBinding kube-system/config-b-reader"]
    other = ("kube-system", "config-c")
    body = {"metadata": {"name": "config-c-reader"}, "roleRef": {"name": "other"}, "subjects": []}
    cluster.store.create(KINDS["rolebindings"], "kube-system", body)
    assert "for another Role" in readers.grant(session, {other: ["n1"]}, False)[1][other]
    last = ("kube-system", "config-d")
    cluster.faults.add(403, method="POST", path="/roles")
    failed = readers.grant(session, {last: ["n1"]}, False)[1]
    assert "create and patch on roles and rolebindings" in failed[last]


def test_our_role_is_repaired(cluster: Cluster, session: Session) -> None:
    readers.grant(session, {PLACE: ["n1"]}, False)
    cluster.store.patch(KINDS["roles"], "kube-system", READER, MERGE, {"rules": []})
    assert readers.grant(session, {PLACE: ["n1"]}, False) == ([f"Role kube-system/{READER}"], {})
    assert readable(cluster) == {"n1"}


def test_two_runs_at_once(cluster: Cluster, session: Session) -> None:
    """Another run has bound its nodes between the read and the patch."""
    readers.grant(session, {PLACE: ["n1"]}, False)
    other = Session({"host": cluster.url})
    race = {PLACE: ["n2"]}
    cluster.faults.add(method="PATCH", path="/rolebindings/", times=1, then=lambda: readers.grant(other, race, False))
    assert readers.grant(session, {PLACE: ["n3"]}, False) == ([f"RoleBinding kube-system/{READER}"], {})
    assert readable(cluster) == {"n1", "n2", "n3"}
