# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stage assign, alone and with the wait for the kubelets, on requests that are expected and on a cluster in memory."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import (
    ApiError,
    ClusterError,
    NodesFailed,
)
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.stages import verify
from tests.sim.api.direct import Clock, Direct
from tests.support.api.assigning import (
    FROM_LOCAL,
    GONE,
    LISTENS,
    assigned,
    get,
    listed,
    mark,
    patch,
    patiently,
    refused,
)
from tests.support.api.calls import CONFIGMAPS, NODES, Call
from tests.support.api.objects import configmap, live, node, place, reference, status, text

THREE = listed(*(node(name, config=LISTENS) for name in ("n1", "n2", "n3")))


def unchanged(source: t.Any, **more: t.Any) -> dict[str, t.Any]:
    """Return the row of a node with native delivery, by default one that is not changed."""
    shown = {"changed": False, "delivery": "native", "source": source, "previous": source, "uid": "", "error": ""}
    words = f"has kube-system/{source['name']} key kubelet"
    return {**shown, "state": "unchanged", "ok": True, "message": words, **more}


@pytest.mark.parametrize("check_mode", [False, True])
def test_assign(check_mode: bool) -> None:
    """One LIST, one GET a distinct ConfigMap that is assigned, one PATCH a node that changes; dry in check mode."""
    calls = (
        listed(node("n1", config=LISTENS), node("n2", place("old"), LISTENS), node("n3", place("config-b"), LISTENS)),
        get("config-a"),
        patch("n1", place("config-a"), dry_run=check_mode),
        patch("n2", place("config-a"), dry_run=check_mode, notes={}),
    )
    sources = {"n1": place("config-a"), "n2": place("config-a"), "n3": place("config-b")}
    result = assigned(*calls, check_mode=check_mode, sources=sources)
    assert result["changed"]
    done = {"changed": True, "state": "assigned", "message": "assigned kube-system/config-a key kubelet"}
    assert result["nodes"] == {
        "n1": unchanged(place("config-a"), **done, previous=None),
        "n2": unchanged(place("config-a"), **done, previous=place("old")),
        "n3": unchanged(place("config-b")),
    }
    assert result["summary"] == {"nodes": 3, "changed": 2, "failed": 0, "unchanged": 1}
    # No sources cost nothing.
    assert assigned(sources={})["nodes"] == {}
    after = "spec.configSource: kube-system/config-a key kubelet\n"
    assert [(diff["before_header"], diff["before"], diff["after"]) for diff in result["diff"]] == [
        ("Node n1", "spec.configSource: the local config\n", after),
        ("Node n2", "spec.configSource: kube-system/old key kubelet\n", after),
    ]


def test_reset() -> None:
    """Also a node whose kubelet does not listen any more: its spec is tidied."""
    found = listed(node("n1", place(), LISTENS), node("n2", place()), node("n3"))
    result = assigned(found, patch("n1", None), patch("n2", None), state="absent", nodes=["n1", "n2", "n3"])
    states = {name: row["state"] for name, row in result["nodes"].items()}
    assert states == {"n1": "reset", "n2": "reset", "n3": "unchanged"}


@pytest.mark.parametrize(
    ("unfit", "message"),
    [
        (node("n2", version="v1.24.0", config=LISTENS), r"its kubelet v1\.24\.0 does not follow"),
        (node("n2", version="v1.7.0", config=LISTENS), r"its kubelet v1\.7\.0 does not follow"),
        (node("n2"), "n2: its kubelet is not listening: it reports no status.config"),
    ],
)
def test_nothing_is_written_when_any_node_is_unfit(unfit: dict[str, t.Any], message: str) -> None:
    calls = listed(node("n1", config=LISTENS), unfit, node("n3")), get()
    failed = refused(*calls, words=message, nodes=["n1", "n2", "n3"], source=place(), delivery="native")
    assert failed.message.startswith("assigning (nothing was written to any node): 2 nodes failed.")
    assert set(failed.failures) == {"n2", "n3"} and failed.result["stop"] is True
    assert failed.result["summary"] == {"nodes": 3, "changed": 0, "failed": 2, "unchanged": 1}


@pytest.mark.parametrize(
    ("given", "calls"),
    [
        # A new node that has not reported its version is judged by its status.
        ({}, (listed(node("n1", version="", config=LISTENS)), get(), patch("n1", place()))),
        ({"check_source": False}, (listed(node("n1", config=LISTENS)), patch("n1", place()))),
    ],
)
def test_what_an_assignment_does_not_need(given: dict[str, t.Any], calls: tuple[Call, ...]) -> None:
    assert assigned(*calls, **given)["changed"]


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (GONE, "there is no such ConfigMap; push it first"),
        (configmap(data={"other": text()}), r"it has no key kubelet \(it has: other\)"),
        (configmap(data=None), r"it has no key kubelet \(it has: none\)"),
        (configmap(data={}, binaryData={"kubelet": "AAAA"}), "binary data, which kubelets ignore"),
        (configmap(content="maxPods: 1"), "apiVersion is missing"),
        (configmap(content="a: [b"), "key kubelet, line 1"),
        (ApiError(403, "forbidden"), "the ConfigMap could not be read: forbidden"),
    ],
)
def test_sources_that_no_kubelet_could_use(answer: t.Any, message: str) -> None:
    """Each is looked at once and named for each of its nodes; nothing is written, to no node."""
    calls = THREE, get(answer=answer), get("config-b")
    failed = refused(*calls, words=f"n1: .*{message}", sources={"n1": place(), "n2": place(), "n3": place("config-b")})
    assert set(failed.failures) == {"n1", "n2"}
    assert "kube-system/config-a key kubelet" in failed.failures["n2"]


def test_check_mode_allows_for_a_configmap_that_push_would_make() -> None:
    """And for nothing else."""
    found = listed(node("n1", config=LISTENS))
    assert assigned(found, get(answer=GONE), patch("n1", place(), dry_run=True), check_mode=True)["changed"]
    refused(found, get(answer=configmap(content="maxPods: 1")), words="apiVersion is missing", check_mode=True)


@pytest.mark.parametrize("check_mode", [False, True])
def test_field_that_the_api_server_drops(check_mode: bool) -> None:
    """An API server without the feature gate answers 200 and stores nothing: only the answer shows it."""
    calls = listed(node("n1", config=LISTENS)), get(), patch("n1", place(), node("n1", None, LISTENS), check_mode)
    failed = refused(*calls, check_mode=check_mode)
    assert "accepted the patch but stored the local config: its feature gate DynamicKubeletConfig" in failed.message
    dropped = mark("n1", reference(), node("n1"), check_mode, notes=FROM_LOCAL)
    refused(listed(node("n1")), get(), dropped, words="admission webhook", check_mode=check_mode)
    row = failed.result["nodes"]["n1"]
    assert (row["changed"], row["source"], failed.result["changed"]) == (False, None, False)


def test_some_patches_fail() -> None:
    """The others are done; what is not known is called unknown."""
    invalid = patch("n1", place(), ApiError(422, "invalid"))
    cut = patch("n3", place(), ApiError(0, "no usable answer", transient=True))
    failed = refused(THREE, get(), invalid, patch("n2", place()), cut, nodes=["n1", "n2", "n3"], source=place())
    assert failed.failures == {"n1": "invalid", "n3": "no usable answer"}
    rows = failed.result["nodes"]
    assert [(row["state"], row["changed"], row["error"]) for row in rows.values()] == [
        ("unchanged", False, "invalid"),
        ("assigned", True, ""),
        ("unknown", False, "no usable answer"),
    ]
    assert failed.result["changed"] and failed.result["stop"] is False
    assert rows["n3"]["source"] == place(), "it may have been written, so a revert must find it"
    assert failed.result["summary"] == {"nodes": 3, "changed": 1, "failed": 2, "unchanged": 0}


pytestmark = pytest.mark.usefixtures("clock")
A = reference()


@pytest.fixture
def api() -> Direct:
    found = [node(name, config=status()) for name in ("n1", "n2")]
    now = dict.fromkeys(("n1", "n2"), live(maxPods=50))
    return Direct(*found, configmaps=[configmap(content=text(maxPods=50))], live=now)


def run(api: Direct, check_mode: bool = False, **given: t.Any) -> dict[str, t.Any]:
    options = patiently(**{"wait_timeout": 60, "wait_sleep": 2, "lease": None, **given})
    return verify.config_source(api, options, check_mode)


def follow(api: Direct, *names: str) -> t.Callable[[], None]:
    """Nodes whose kubelets have taken up their source."""
    return lambda: api.nodes.update({name: node(name, place(), status(A, A)) for name in names})


def test_assign_and_wait(api: Direct, clock: Clock) -> None:
    clock.at(6, follow(api, "n1", "n2"))
    result = run(api, nodes=["n1", "n2"], source=place())
    assert result["changed"]
    shown = {"changed": True, "previous": None, "source": place(), "ok": True, "state": "active", "active": A}
    assert shown.items() <= result["nodes"]["n1"].items()
    del result["summary"]["waited_seconds"]
    counts = {"nodes": 2, "changed": 2, "failed": 0, "unchanged": 0, "ok": 2}
    assert result["summary"] == {**counts, "states": {"active": 2}}
    assert len(result["diff"]) == 2


@pytest.mark.parametrize(("check", "given"), [(False, {"wait": False}), (True, {})])
def test_assign_without_waiting(api: Direct, clock: Clock, check: bool, given: dict[str, t.Any]) -> None:
    """Check mode waits for nothing."""
    assert run(api, check, nodes=["n1"], source=place(), **given)["nodes"]["n1"]["state"] == "assigned"
    assert api.requests == [("GET", NODES), ("GET", f"{CONFIGMAPS}/config-a"), ("PATCH", f"{NODES}/n1")]
    assert clock.slept == []


def test_reset_and_wait(api: Direct, clock: Clock) -> None:
    follow(api, "n1")()
    clock.at(4, lambda: api.nodes.update(n1=node("n1", config=status())))
    row = run(api, state="absent", nodes=["n1"])["nodes"]["n1"]
    assert (row["state"], row["previous"], row["source"]) == ("local", place(), None)


def test_failed_wait_keeps_what_was_assigned(api: Direct, clock: Clock) -> None:
    clock.at(2, follow(api, "n1"))
    with pytest.raises(NodesFailed, match="verifying: 1 node failed") as caught:
        run(api, nodes=["n1", "n2"], source=place())
    result = caught.value.result
    assert result["changed"] and len(result["diff"]) == 2
    rows = [(row["changed"], row["ok"], row["state"]) for row in result["nodes"].values()]
    assert rows == [(True, True, "active"), (True, False, "pending")]
    assert (result["summary"]["changed"], result["summary"]["failed"]) == (2, 1)


@pytest.mark.parametrize(
    ("lose", "words"),
    [
        (lambda api: api.nodes.pop("n1"), r"n1: the cluster at .* has no such Node"),
        (lambda api: api.answers.update({"*": ApiError(401, "who are you")}), "who are you"),
    ],
)
def test_wait_that_cannot_begin_keeps_what_was_assigned(api: Direct, lose: t.Any, words: str) -> None:
    """The node, or the credentials, end between the assignment and the wait."""
    api.look = lambda: lose(api) if api.requests[-1][0] == "PATCH" else None
    with pytest.raises(ClusterError, match=words) as caught:
        run(api, nodes=["n1"], source=place())
    assert caught.value.result["changed"]
    assert caught.value.result["nodes"]["n1"]["source"] == place()


def test_failed_assignment_is_not_waited_for(api: Direct, clock: Clock) -> None:
    api.configmaps.clear()
    with pytest.raises(NodesFailed, match="nothing was written"):
        run(api, nodes=["n1"], source=place())
    assert clock.slept == []


@pytest.mark.parametrize(
    "given", [{"sources": {"n1": place()}}, {"nodes": ["n1"], "source": place()}, {"nodes": ["n1"]}]
)
def test_verified_writes_nothing(api: Direct, given: dict[str, t.Any]) -> None:
    follow(api, "n1")()
    result = run(api, state="verified", **given)
    assert (result["changed"], result["nodes"]["n1"]["state"]) == (False, "active")
    api.configmaps["config-b"] = configmap("config-b")
    with pytest.raises(NodesFailed, match="names kube-system/config-a key kubelet, not kube-system/config-b"):
        run(api, state="verified", nodes=["n1"], source=place("config-b"))
    assert {method for method, _path in api.requests} == {"GET"}
