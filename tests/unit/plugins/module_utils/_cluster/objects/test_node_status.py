# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rows and counts of node_config_info."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.objects import node_status, nodes
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import annotation
from tests.support.calls import NODES, PAGE, Call, Calls
from tests.support.objects import items, node, place, reference, status


def row(**fields: t.Any) -> dict[str, t.Any]:
    return node_status.row(nodes.trim(node(**fields)))


def test_row() -> None:
    config = status(reference("b"), reference("a"), reference("a"), "some error")
    assert row(source=place("b"), config=config, unschedulable=True) == {
        "delivery": "native",
        "listening": True,
        "kubelet_version": "v1.20.2",
        "source": place("b"),
        "config_source": place("b"),
        "assigned": reference("b"),
        "active": reference("a"),
        "lastKnownGood": reference("a"),
        "error": "some error",
        "fell_back": True,
        "reason": "",
        "malformed": {},
        "settled": False,
        "ready": True,
        "ready_reason": "KubeletReady: posting",
        "heartbeat": "2026-01-01T00:00:00Z",
        "cordon": None,
        "schedulable": False,
        "previous": None,
        "rollout": "",
        "undone": False,
        "control_plane": False,
    }


@pytest.mark.parametrize(
    ("source", "config", "back"),
    [
        (place("b"), status(reference("b"), reference("a"), reference("a"), "some error"), True),
        (place("b"), status(reference("b"), None, None, "some error"), True),
        (place("b"), status(reference("b"), reference("a"), reference("a")), False),
        (place("b"), status(reference("b"), reference("b"), reference("a"), "some error"), False),
        (place("c"), status(reference("b"), reference("a"), reference("a"), "some error"), False),
        (place("b"), status(reference("b"), reference("a"), None, "failed to sync: some error"), False),
    ],
)
def test_a_node_that_runs_what_it_fell_back_to(source: t.Any, config: dict[str, t.Any], back: bool) -> None:
    """It has refused what it should run for good: no other source is on its way."""
    assert row(source=source, config=config)["fell_back"] is back


@pytest.mark.parametrize(
    ("labels", "control_plane"),
    [
        ({"node-role.kubernetes.io/control-plane": ""}, True),
        ({"node-role.kubernetes.io/master": ""}, True),
        ({"node-role.kubernetes.io/worker": ""}, False),
    ],
)
def test_control_plane(labels: dict[str, str], control_plane: bool) -> None:
    assert row(labels=labels)["control_plane"] is control_plane


@pytest.mark.parametrize(
    ("version", "config", "delivery"),
    [
        ("v1.11.0", {}, "native"),
        ("v1.23.17", {}, "native"),
        ("v1.24.0", {}, "none"),
        ("v1.20.2", None, "none"),
        ("", {}, "native"),
    ],
)
def test_delivery(version: str, config: dict[str, t.Any] | None, delivery: str) -> None:
    assert row(version=version, config=config)["delivery"] == delivery


@pytest.mark.parametrize(
    ("source", "config", "settled"),
    [
        (place(), status(reference(), reference()), True),
        (None, status(), True),
        (None, None, True),
        (place(), None, False),
        (place(), status(), False),
        (place(), status(reference("b"), reference("b")), False),
        (place(), status(reference(), None), False),
        (place(), status(reference(revision="8"), reference(revision="7")), False),
        (place(), status(reference(), reference(), error="some"), False),
        (None, status(reference(), reference()), False),
    ],
)
def test_settled(source: dict[str, str] | None, config: dict[str, t.Any] | None, settled: bool) -> None:
    assert row(source=source, config=config)["settled"] is settled


STALE = status(reference("b"), reference("b"), error="failed to load config")


@pytest.mark.parametrize(
    ("version", "counts"),
    [("v1.23.17", True), ("", True), ("v1.24.0", False), ("v1.36.1", False)],
)
@pytest.mark.fault(case=62)
def test_a_status_of_an_older_kubelet_does_not_count(version: str, counts: bool) -> None:
    """No kubelet has written status.config since 1.24, and none clears it: an upgraded Node keeps the last error."""
    row_of_node = row(source=place("b"), config=STALE, version=version)
    found = {key: row_of_node[key] for key in ("source", "assigned", "active", "error", "settled", "config_source")}
    local = dict.fromkeys(("source", "assigned", "active"))
    native = {"source": place("b"), "assigned": reference("b"), "active": reference("b")}
    assert found == (
        {**native, "error": "failed to load config", "settled": False, "config_source": place("b")}
        if counts
        else {**local, "error": "", "settled": True, "config_source": place("b")}
    )


def test_a_malformed_status_of_an_older_kubelet_does_not_count() -> None:
    broken = nodes.trim(node(config={"error": 1}, version="v1.24.0"))
    assert (broken.fault, node_status.settled(broken)) == ("", True)
    assert nodes.trim(node(config={"error": 1}, version="v1.23.0")).fault.startswith("its status.config is malformed")


def test_a_status_of_an_older_kubelet_still_refers_to_its_configmaps() -> None:
    """Prune keeps them: an operator may still want to read what the node ran before its upgrade."""
    trimmed = nodes.trim(node(source=place("b"), config=STALE, version="v1.24.0"))
    assert trimmed.references == [place("b"), reference("b"), reference("b")]


def test_counts() -> None:
    """A node that is both cordoned and not Ready is unavailable once."""
    listed = items(
        node("n1", config={}),
        node("n2", ready="False", unschedulable=True, config=status(error="bad")),
        node("n3", ready="Unknown"),
        node("n4", unschedulable=True),
        node("a5", place(), status(error="bad")),
    )
    with Calls(Call("GET", NODES, listed, PAGE)) as session:
        result = node_status.info(session, {"nodes": None, "label_selectors": None}, True)
    assert (result["changed"], list(result["nodes"])) == (False, ["n1", "n2", "n3", "n4", "a5"])
    assert result["summary"] == {
        "nodes": 5,
        "ready": 3,
        "unschedulable": 2,
        "unavailable": 3,
        "native": 3,
        "checkpoint": 0,
        "dropin": 0,
        "settled": 3,
        "failed": ["a5", "n2"],
    }


def test_both_deliveries_read_alike() -> None:
    """Once this collection wrote a checkpoint, whatever status the kubelet reports for Node.spec.configSource."""
    config = {
        **status(reference(), reference(), error="some error"),
        "reason": "reverted",
        "started": "2026-01-01T00:00:00Z",
    }
    for kubelet in (None, {}):
        native = row(source=place(), config=status(reference(), reference(), error="some error"))
        mine = row(marked=reference(), reported=config, config=kubelet)
        assert mine == {
            **native,
            "delivery": "checkpoint",
            "listening": kubelet is not None,
            "source": reference(),
            "config_source": None,
            "reason": "reverted",
        }
    assert row(marked=reference())["delivery"] == row(reported={})["delivery"] == "checkpoint"


@pytest.mark.parametrize("text", ["", "{", "[]", '"a"', '{"configMap": "a"}', '{"configMap": {"name": "a"}}'])
def test_damaged_annotations(text: str) -> None:
    broken = node()
    broken["metadata"]["annotations"] = {annotation.SOURCE: text, annotation.STATUS: text}
    trimmed = nodes.trim(broken)
    assert (trimmed.delivery, trimmed.source, trimmed.part("active"), trimmed.references) == (
        "checkpoint",
        None,
        None,
        [],
    )
