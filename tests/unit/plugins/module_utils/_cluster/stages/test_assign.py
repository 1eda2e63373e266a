# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stage assign."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import ApiError, NodesFailed
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.stages import assign
from tests.support.assigning import GONE, LISTENS, get, listed, options, patch
from tests.support.calls import NODES, Call, Calls
from tests.support.objects import configmap, items, node, place, text


@pytest.mark.parametrize("check_mode", [False, True])
def test_assign(check_mode: bool) -> None:
    """One LIST, one GET a distinct ConfigMap, one PATCH a node that changes; dry in check mode."""
    calls = (
        listed(node("n1", config=LISTENS), node("n2", place("old"), LISTENS), node("n3", place("config-b"), LISTENS)),
        get("config-a"),
        patch("n1", place("config-a"), dry_run=check_mode),
        patch("n2", place("config-a"), dry_run=check_mode, notes={}),
    )
    with Calls(*calls) as session:
        result = assign.assign(
            session,
            options(sources={"n1": place("config-a"), "n2": place("config-a"), "n3": place("config-b")}),
            check_mode,
        )
    assert result["changed"]
    assert result["nodes"] == {
        "n1": {
            "changed": True,
            "delivery": "native",
            "source": place("config-a"),
            "previous": None,
            "uid": "",
            "state": "assigned",
            "ok": True,
            "message": "assigned kube-system/config-a key kubelet",
            "error": "",
        },
        "n2": {
            "changed": True,
            "delivery": "native",
            "source": place("config-a"),
            "previous": place("old"),
            "uid": "",
            "state": "assigned",
            "ok": True,
            "message": "assigned kube-system/config-a key kubelet",
            "error": "",
        },
        "n3": {
            "changed": False,
            "delivery": "native",
            "source": place("config-b"),
            "previous": place("config-b"),
            "uid": "",
            "state": "unchanged",
            "ok": True,
            "message": "has kube-system/config-b key kubelet",
            "error": "",
        },
    }
    assert result["summary"] == {"nodes": 3, "changed": 2, "failed": 0, "unchanged": 1}
    assert [(diff["before_header"], diff["before"], diff["after"]) for diff in result["diff"]] == [
        ("Node n1", "spec.configSource: the local config\n", "spec.configSource: kube-system/config-a key kubelet\n"),
        (
            "Node n2",
            "spec.configSource: kube-system/old key kubelet\n",
            "spec.configSource: kube-system/config-a key kubelet\n",
        ),
    ]


def test_reset() -> None:
    """Also a node whose kubelet does not listen any more: its spec is tidied."""
    with Calls(
        listed(node("n1", place(), LISTENS), node("n2", place()), node("n3")), patch("n1", None), patch("n2", None)
    ) as session:
        result = assign.assign(session, options(state="absent", nodes=["n1", "n2", "n3"]), False)
    assert {name: row["state"] for name, row in result["nodes"].items()} == {
        "n1": "reset",
        "n2": "reset",
        "n3": "unchanged",
    }


def test_unchanged_nodes_cost_one_list() -> None:
    """Not even their ConfigMap is looked at."""
    with Calls(listed(node("n1", place(), LISTENS))) as session:
        result = assign.assign(session, options(sources={"n1": place()}), False)
    assert (result["changed"], result["diff"]) == (False, [])


def test_no_sources_is_nothing_to_do() -> None:
    with Calls() as session:
        assert assign.assign(session, options(sources={}), False)["nodes"] == {}


UNFIT = [
    pytest.param(
        node("n2", version="v1.24.0", config=LISTENS), r"n2: its kubelet v1\.24\.0 does not follow", id="too new"
    ),
    pytest.param(
        node("n2", version="v1.7.0", config=LISTENS), r"n2: its kubelet v1\.7\.0 does not follow", id="too old"
    ),
    pytest.param(node("n2"), "n2: its kubelet is not listening: it reports no status.config", id="not listening"),
]


@pytest.mark.parametrize(("unfit", "message"), UNFIT)
def test_nothing_is_written_when_any_node_is_unfit(unfit: dict[str, t.Any], message: str) -> None:
    calls = listed(node("n1", config=LISTENS), unfit, node("n3")), get()
    with Calls(*calls) as session, pytest.raises(NodesFailed, match=message) as caught:
        assign.assign(session, options(nodes=["n1", "n2", "n3"], source=place(), delivery="native"), False)
    assert caught.value.message.startswith("assigning (nothing was written to any node): 2 nodes failed.")
    assert set(caught.value.failures) == {"n2", "n3"} and caught.value.result["stop"] is True
    assert caught.value.result["summary"] == {"nodes": 3, "changed": 0, "failed": 2, "unchanged": 1}


def test_a_new_node_that_has_not_said_its_version_is_judged_by_its_status() -> None:
    with Calls(listed(node("n1", version="", config=LISTENS)), get(), patch("n1", place())) as session:
        assert assign.assign(session, options(sources={"n1": place()}), False)["changed"]


BAD = [
    pytest.param(GONE, "there is no such ConfigMap; push it first", id="absent"),
    pytest.param(configmap(data={"other": text()}), r"it has no key kubelet \(it has: other\)", id="other key"),
    pytest.param(configmap(data=None), r"it has no key kubelet \(it has: none\)", id="no data"),
    pytest.param(
        configmap(data={}, binaryData={"kubelet": "AAAA"}), "holds binary data, which kubelets ignore", id="binary"
    ),
    pytest.param(configmap(content="maxPods: 1"), "apiVersion is missing", id="no header"),
    pytest.param(configmap(content="a: [b"), "key kubelet, line 1", id="unparsable"),
    pytest.param(ApiError(403, "forbidden"), "the ConfigMap could not be read: forbidden", id="forbidden"),
]


@pytest.mark.parametrize(("answer", "message"), BAD)
def test_sources_that_no_kubelet_could_use(answer: t.Any, message: str) -> None:
    """Each is looked at once and named for each of its nodes; nothing is written, to no node."""
    calls = (
        listed(node("n1", config=LISTENS), node("n2", config=LISTENS), node("n3", config=LISTENS)),
        get(answer=answer),
        get("config-b"),
    )
    with Calls(*calls) as session, pytest.raises(NodesFailed, match=f"n1: .*{message}") as caught:
        assign.assign(session, options(sources={"n1": place(), "n2": place(), "n3": place("config-b")}), False)
    assert set(caught.value.failures) == {"n1", "n2"}
    assert "kube-system/config-a key kubelet" in caught.value.failures["n2"]


def test_check_mode_allows_for_a_configmap_that_push_would_make() -> None:
    with Calls(listed(node("n1", config=LISTENS)), get(answer=GONE), patch("n1", place(), dry_run=True)) as session:
        assert assign.assign(session, options(sources={"n1": place()}), True)["changed"]


def test_check_mode_allows_for_nothing_else() -> None:
    calls = listed(node("n1", config=LISTENS)), get(answer=configmap(content="maxPods: 1"))
    with Calls(*calls) as session, pytest.raises(NodesFailed, match="apiVersion is missing"):
        assign.assign(session, options(sources={"n1": place()}), True)


def test_sources_need_not_be_checked() -> None:
    with Calls(listed(node("n1", config=LISTENS)), patch("n1", place())) as session:
        assert assign.assign(session, options(sources={"n1": place()}, check_source=False), False)["changed"]


def test_unknown_nodes() -> None:
    with (
        Calls(Call("GET", NODES, items(node("n1", place())), [("limit", 12)]), patch("n1", None)) as session,
        pytest.raises(NodesFailed, match=r"n8: the cluster at .* has no such Node: ") as caught,
    ):
        assign.assign(session, options(state="absent", nodes=["n8", "n1", "n9"]), False)
    assert {name: (row["ok"], row["state"]) for name, row in caught.value.result["nodes"].items()} == {
        "n8": (False, "gone"),
        "n1": (True, "reset"),
        "n9": (False, "gone"),
    }
    assert caught.value.result["stop"] is False


@pytest.mark.parametrize("check_mode", [False, True])
def test_field_that_the_api_server_drops(check_mode: bool) -> None:
    """An API server without the feature gate answers 200 and stores nothing: only the answer shows it."""
    calls = listed(node("n1", config=LISTENS)), get(), patch("n1", place(), node("n1", None, LISTENS), check_mode)
    with Calls(*calls) as session, pytest.raises(NodesFailed) as caught:
        assign.assign(session, options(sources={"n1": place()}), check_mode)
    assert (
        "n1: the API server accepted the patch but stored the local config: its feature gate DynamicKubeletConfig is"
        in caught.value.message
    )
    row = caught.value.result["nodes"]["n1"]
    assert (row["changed"], row["source"], caught.value.result["changed"]) == (False, None, False)


def test_some_patches_fail() -> None:
    """The others are done; what is not known is called unknown."""
    calls = (
        listed(node("n1", config=LISTENS), node("n2", config=LISTENS), node("n3", config=LISTENS)),
        get(),
        patch("n1", place(), ApiError(422, "invalid")),
        patch("n2", place()),
        patch("n3", place(), ApiError(0, "no usable answer", transient=True)),
    )
    with Calls(*calls) as session, pytest.raises(NodesFailed) as caught:
        assign.assign(session, options(nodes=["n1", "n2", "n3"], source=place()), False)
    assert caught.value.failures == {"n1": "invalid", "n3": "no usable answer"}
    rows = caught.value.result["nodes"]
    assert {name: (row["state"], row["changed"], row.get("error")) for name, row in rows.items()} == {
        "n1": ("unchanged", False, "invalid"),
        "n2": ("assigned", True, ""),
        "n3": ("unknown", False, "no usable answer"),
    }
    assert caught.value.result["changed"] and caught.value.result["stop"] is False
    assert rows["n3"]["source"] == place(), "it may have been written, so a revert must find it"
    assert caught.value.result["summary"] == {"nodes": 3, "changed": 1, "failed": 2, "unchanged": 0}


def test_another_writer_at_the_same_time() -> None:
    """Wrote the same: fine. Wrote another: not overwritten."""
    conflict = ApiError(409, "modified", "Conflict")
    calls = (
        listed(node("n1", config=LISTENS), node("n2", config=LISTENS)),
        get(),
        patch("n1", place(), conflict),
        Call("GET", f"{NODES}/n1", node("n1", place(), LISTENS, revision="2")),
        patch("n2", place(), conflict),
        Call("GET", f"{NODES}/n2", node("n2", place("theirs"), LISTENS, revision="2")),
    )
    with Calls(*calls) as session, pytest.raises(NodesFailed, match="n2: another user or program changed") as caught:
        assign.assign(session, options(nodes=["n1", "n2"], source=place()), False)
    assert set(caught.value.failures) == {"n2"}
    assert caught.value.result["nodes"]["n1"]["state"] == "assigned"
