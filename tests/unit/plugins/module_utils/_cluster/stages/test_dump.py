# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stage dump."""

from __future__ import annotations

import json
import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import (
    ApiError,
    ClusterError,
    NodesFailed,
)
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.stages import dump
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import identity
from tests.support.calls import CONFIGMAPS, NODES, PAGE, Call, Calls
from tests.support.objects import HEADER, configmap, items, node, place, reference, status

ALL: dict[str, t.Any] = {"nodes": None, "label_selectors": None, "facts": True}


def live(name: str, answer: t.Any) -> Call:
    return Call(
        "GET", f"{NODES}/{name}/proxy/configz", answer if isinstance(answer, ApiError) else {"kubeletconfig": answer}
    )


def test_dump() -> None:
    """One LIST and one GET a node; equal configurations stand once."""
    listed = items(node("n1", place(), status(reference())), node("n2", version="v1.22.1"), node("n3"))
    with Calls(
        Call("GET", NODES, listed, PAGE),
        live("n1", {"maxPods": 110}),
        live("n2", {"maxPods": 50}),
        live("n3", {"maxPods": 110}),
    ) as session:
        result = dump.dump(session, ALL, False)
    assert result["changed"] is False
    table = result["ansible_facts"]["kubelet_configz"]
    variants = {name: row["variant"] for name, row in table["nodes"].items()}
    assert variants["n1"] == variants["n3"] != variants["n2"]
    assert set(table["variants"]) == set(variants.values())
    for variant, config in table["variants"].items():
        assert identity.variant(config) == variant
        assert HEADER.items() <= config.items()
    assert table["variants"][variants["n2"]]["maxPods"] == 50
    assert table["nodes"]["n1"] | {"restored": None} == {
        "variant": variants["n1"],
        "kubelet_version": "v1.20.2",
        "machine_specific": [],
        "restored": None,
        "delivery": "native",
        "source": place(),
        "status": status(reference()),
    }
    assert (
        table["nodes"]["n2"]["kubelet_version"],
        table["nodes"]["n2"]["source"],
        table["nodes"]["n2"]["status"],
    ) == ("v1.22.1", None, None)


def test_a_row_contains_the_nodes_own_values() -> None:
    own = {"complete": True, "source": "config-a", "absent": [], "own": {"maxPods": [110]}}
    listed = items(node("n1", place(), status(reference()), own=own))
    with Calls(Call("GET", NODES, listed, PAGE), live("n1", {"maxPods": 50})) as session:
        table = dump.dump(session, ALL, False)["ansible_facts"]["kubelet_configz"]
    assert table["nodes"]["n1"]["own"] == own


def test_a_row_contains_what_the_node_has() -> None:
    has = {"cpu": "4", "memory": "8Gi", "ephemeral-storage": "100Gi"}
    one = node("n1")
    one["status"]["capacity"] = {**has, "pods": "110", "example.com/gpu": "2"}
    with Calls(Call("GET", NODES, items(one), PAGE), live("n1", {"maxPods": 50})) as session:
        table = dump.dump(session, ALL, False)["ansible_facts"]["kubelet_configz"]
    assert table["nodes"]["n1"]["capacity"] == has


@pytest.mark.parametrize(("read", "shown"), [("node", "node"), ("kubelet", None), ("proxy", None), (None, None)])
def test_a_row_says_that_the_host_of_the_node_was_asked(read: str | None, shown: str | None) -> None:
    with Calls(Call("GET", NODES, items(node("n1")), PAGE), live("n1", {"maxPods": 50})) as session:
        table = dump.dump(session, {**ALL, "read": read}, False)["ansible_facts"]["kubelet_configz"]
    assert table["nodes"]["n1"].get("read") == shown


def test_options_choose_the_nodes() -> None:
    with Calls(
        Call("GET", NODES, items(node("n1"), node("n2")), (("labelSelector", "a"), *PAGE)),
        live("n2", {}),
        live("n1", {}),
    ) as session:
        result = dump.dump(session, {"nodes": ["n2", "n1"], "label_selectors": ["a"], "facts": True}, True)
    assert list(result["ansible_facts"]["kubelet_configz"]["nodes"]) == ["n2", "n1"]


def test_no_facts() -> None:
    """For tasks that register the result."""
    calls = (Call("GET", NODES, items(node("n1")), PAGE), live("n1", {"maxPods": 110}))
    with Calls(*calls) as session, Calls(*calls) as other:
        facts, result = dump.dump(session, ALL, False), dump.dump(other, {**ALL, "facts": False}, False)
    assert result == {"changed": False, "kubelet_configz": facts["ansible_facts"]["kubelet_configz"]}


def test_every_node_that_cannot_be_read_is_named() -> None:
    """The result keeps the other nodes."""
    refused = ApiError(403, "words")
    listed = Call("GET", NODES, items(node("n1"), node("n2"), node("n3")), PAGE)
    with (
        Calls(listed, live("n1", refused), live("n2", {"maxPods": 1}), live("n3", refused)) as session,
        pytest.raises(NodesFailed) as caught,
    ):
        dump.dump(session, ALL, False)
    assert caught.value.message.startswith(
        "reading live kubelet configurations: 2 nodes failed.\nn1: reading /configz was refused (words)"
    )
    assert set(caught.value.failures) == {"n1", "n3"}
    assert list(caught.value.result["ansible_facts"]["kubelet_configz"]["nodes"]) == ["n2"]


def test_an_empty_list_is_not_all_nodes() -> None:
    with Calls() as session, pytest.raises(ClusterError, match="nodes is an empty list"):
        dump.dump(session, {**ALL, "nodes": []}, False)


def test_credentials_that_are_refused_are_no_matter_of_nodes() -> None:
    calls = (
        Call("GET", NODES, items(node("n1"), node("n2")), PAGE),
        live("n1", ApiError(401, "who are you")),
        live("n2", {}),
    )
    with pytest.raises(ApiError, match=r"^who are you$"), Calls(*calls) as session:
        dump.dump(session, ALL, False)


SOURCE = {"namespace": "kube-system", "name": "config-a", "kubelet_config_key": "kubelet"}


def test_a_configmap_is_read_first_and_returned() -> None:
    with Calls(
        Call("GET", f"{CONFIGMAPS}/config-a", configmap("config-a", json.dumps({**HEADER, "maxPods": 70}))),
        Call("GET", NODES, items(node("n1")), PAGE),
        live("n1", {"maxPods": 110}),
    ) as session:
        result = dump.dump(session, {**ALL, "facts": False, "configmap": SOURCE}, False)
    assert result["configmap"] == {**HEADER, "maxPods": 70}
    assert list(result["kubelet_configz"]["nodes"]) == ["n1"]


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (ApiError(404, "not found", "NotFound"), "there is no such ConfigMap"),
        (ApiError(403, "forbidden", "Forbidden"), "could not be read: forbidden"),
        (configmap("config-a", data={"other": ""}), "it has no key kubelet"),
        (configmap("config-a", "maxPods: 70"), "apiVersion is missing"),
    ],
)
def test_a_configmap_that_holds_no_configuration_is_named(answer: t.Any, text: str) -> None:
    calls = Call("GET", f"{CONFIGMAPS}/config-a", answer)
    with Calls(calls) as session, pytest.raises(ClusterError) as caught:
        dump.dump(session, {**ALL, "configmap": SOURCE}, False)
    assert "kube-system/config-a" in caught.value.message and text in caught.value.message, caught.value.message
    assert "kubectl get configmaps -n kube-system" in caught.value.message
