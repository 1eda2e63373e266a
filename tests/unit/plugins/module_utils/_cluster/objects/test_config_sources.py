# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The source that each node must have, from a module's options, and the patch that writes it.

The patch never overwrites another writer's change.
"""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import ApiError, ClusterError
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.session import Session
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.objects import config_sources, nodes
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import annotation
from tests.sim.api.kinds import KINDS
from tests.sim.cluster import Cluster
from tests.support.calls import CONFIGMAPS, DRY, MERGE, NODES, Call, Calls
from tests.support.objects import configmap, node, place, reference, status

CONFLICT = ApiError(409, "the object has been modified", "Conflict")


def wanted(**given: t.Any) -> dict[str, config_sources.Wanted]:
    return config_sources.wanted(
        {"state": "present", "nodes": None, "source": None, "sources": None, "delivery": "auto", **given}
    )


@pytest.mark.parametrize(
    ("given", "source", "delivery"),
    [
        (
            {"nodes": ["n1"], "source": {"namespace": "s", "name": "a", "kubelet_config_key": "k"}},
            {"namespace": "s", "name": "a", "kubeletConfigKey": "k"},
            "auto",
        ),
        ({"sources": {"n1": reference()}}, place(), "auto"),
        ({"sources": {"n1": {**reference(), "delivery": "native"}}, "delivery": "checkpoint"}, place(), "native"),
        (
            {"sources": {"n1": {"namespace": "s", "name": "a"}}, "delivery": "checkpoint"},
            {"namespace": "s", "name": "a", "kubeletConfigKey": "kubelet"},
            "checkpoint",
        ),
        ({"state": "absent", "nodes": ["n1"]}, None, "auto"),
        ({"state": "absent", "sources": {"n1": reference()}}, None, "auto"),
    ],
)
def test_wanted(given: dict[str, t.Any], source: dict[str, str] | None, delivery: str) -> None:
    assert wanted(**given) == {"n1": config_sources.Wanted(source, delivery)}


@pytest.mark.parametrize(
    "source",
    [
        {"namespace": "s", "name": 4711},
        {"namespace": 5, "name": "a"},
        {"namespace": "s", "name": "a", "kubeletConfigKey": 6},
        {"namespace": "s", "name": "A_b"},
    ],
)
def test_sources_with_values_that_no_configmap_has(source: t.Any) -> None:
    """A name of digits is a number in YAML."""
    with pytest.raises(ClusterError, match=r"^sources: the value of node n1 cannot be used: .* In YAML, put .* quotes"):
        wanted(sources={"n1": source})


@pytest.mark.parametrize(
    "source", [None, "config-a", {}, {"name": "a"}, {"namespace": "s"}, {"namespace": "", "name": "a"}, ["a"]]
)
def test_incomplete_sources(source: t.Any) -> None:
    with pytest.raises(ClusterError, match=r"node n1 is .*; set a mapping with namespace, name and kubeletConfigKey"):
        wanted(sources={"n1": source})


def test_an_unknown_delivery() -> None:
    with pytest.raises(
        ClusterError, match="node n1 has the unknown delivery 'nativ'; set one of auto, native, checkpoint"
    ):
        wanted(sources={"n1": {**place(), "delivery": "nativ"}})


@pytest.mark.parametrize("state", ["present", "absent", "verified"])
def test_an_empty_list_of_nodes(state: str) -> None:
    with pytest.raises(ClusterError, match="nodes is an empty list"):
        wanted(state=state, nodes=[], source=place())


def test_each_configmap_is_read_once() -> None:
    with Calls(
        Call("GET", f"{CONFIGMAPS}/config-a", configmap()),
        Call("GET", f"{CONFIGMAPS}/config-b", ApiError(403, "forbidden")),
    ) as session:
        found = config_sources.find(session, [place(), reference(), place("config-b")])
    assert found == {
        "kube-system/config-a key kubelet": config_sources.FoundConfig(configmap(), None),
        "kube-system/config-b key kubelet": config_sources.FoundConfig(
            None, "the ConfigMap could not be read: forbidden"
        ),
    }


def one(**fields: t.Any) -> nodes.Node:
    return nodes.trim(node(**fields))


def patch(
    answer: t.Any, source: dict[str, str] | None, revision: str = "1", query: t.Sequence[tuple[str, t.Any]] = ()
) -> Call:
    body = {
        "metadata": {"resourceVersion": revision},
        "spec": {"configSource": {"configMap": source} if source else None},
    }
    return Call("PATCH", f"{NODES}/n1", answer, query, body, MERGE)


@pytest.mark.parametrize("source", [place("b"), None])
def test_write_source(source: dict[str, str] | None) -> None:
    with Calls(patch(node(source=source, revision="2"), source)) as session:
        stored = config_sources.write_source(session, one(source=place("a")), source, dry_run=False)
    assert (stored.source, stored.resource_version) == (source, "2")


def test_dry_run_is_the_servers() -> None:
    with Calls(patch(node(source=place()), place(), query=DRY)) as session:
        config_sources.write_source(session, one(), place(), dry_run=True)


def test_conflict_about_something_else() -> None:
    """A heartbeat came in between: the source is still what we decided upon."""
    with Calls(
        patch(CONFLICT, place("b")),
        Call("GET", f"{NODES}/n1", node(source=place("a"), revision="2")),
        patch(node(source=place("b"), revision="3"), place("b"), revision="2"),
    ) as session:
        stored = config_sources.write_source(session, one(source=place("a")), place("b"), dry_run=False)
    assert stored.source == place("b")


def test_conflict_with_our_own_lost_answer() -> None:
    with Calls(
        patch(CONFLICT, place("b")), Call("GET", f"{NODES}/n1", node(source=place("b"), revision="2"))
    ) as session:
        stored = config_sources.write_source(session, one(source=place("a")), place("b"), dry_run=False)
    assert stored.resource_version == "2"


@pytest.mark.parametrize(
    ("theirs", "named"), [(place("theirs"), "kube-system/theirs key kubelet"), (None, "the local config")]
)
def test_conflict_with_another_writer(theirs: dict[str, str] | None, named: str) -> None:
    calls = patch(CONFLICT, place("b")), Call("GET", f"{NODES}/n1", node(source=theirs, revision="2"))
    with (
        Calls(*calls) as session,
        pytest.raises(
            ApiError, match=f"another user or program changed spec.configSource to {named} during the run; run again"
        ) as caught,
    ):
        config_sources.write_source(session, one(source=place("a")), place("b"), dry_run=False)
    assert caught.value.status == 409


def test_conflicts_without_end() -> None:
    calls = []
    for revision in range(1, 6):
        calls += [patch(CONFLICT, place(), str(revision)), Call("GET", f"{NODES}/n1", node(revision=str(revision + 1)))]
    with Calls(*calls) as session, pytest.raises(ApiError, match="changes faster than it can be patched"):
        config_sources.write_source(session, one(), place(), dry_run=False)


def test_other_refusals_are_passed_on() -> None:
    with Calls(patch(ApiError(403, "forbidden"), place())) as session, pytest.raises(ApiError, match="forbidden"):
        config_sources.write_source(session, one(), place(), dry_run=False)


PREVIOUS, OWN = reference("config-b"), {"own": {"maxPods": 110}, "complete": True}
BOTH = ("native", "checkpoint")
ALL_GONE = dict.fromkeys((annotation.PREVIOUS, annotation.OWN, annotation.STATUS))


@pytest.mark.parametrize(
    ("version", "source", "sides", "notes"),
    [
        ("v1.11.10", place("config-a"), (), {annotation.PREVIOUS: annotation.text({})}),
        ("v1.11.10", None, (), dict.fromkeys((annotation.PREVIOUS, annotation.OWN))),
        ("v1.11.10", place("config-a"), (), {}),
        ("v1.11.10", None, BOTH, ALL_GONE),
        ("v1.11.10", reference("config-a"), ("checkpoint",), {}),
        ("v1.11.10", reference("config-a"), ("dropin",), {annotation.PREVIOUS: None}),
    ],
)
def test_an_api_server_without_dry_runs(
    version: str, source: dict[str, str] | None, sides: tuple[str, ...], notes: dict[str, str | None]
) -> None:
    """Nothing is sent, and the forecast has what an API server with dry runs answers."""
    begun = {
        "version": version,
        "marked": reference("config-c"),
        "previous": PREVIOUS,
        "own": OWN,
        "config": status(reference("config-c")),
        "reported": status(reference("config-c")),
    }
    answers = []
    for server in ("v1.11.10", "v1.20.2"):
        with Cluster(server, tls=False) as cluster:
            found = node(**begun)
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
    forecast, answer = ((one.native, one.noted, one.noted_delivery, one.own, one.malformed) for one in answers)
    assert forecast == answer
    assert [one.reimaged for one in answers] == [False, False]
    assert (annotation.PREVIOUS in notes and notes[annotation.PREVIOUS] is None) == (answers[0].previous is None)
