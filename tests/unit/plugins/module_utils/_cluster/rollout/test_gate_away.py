# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The counts of node_config_info, and which nodes of a group are away, by what the cluster reports."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import ApiError, ClusterError
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.rollout import gate
from tests.sim.api.direct import Clock, Direct
from tests.support import gating
from tests.support.calls import NODES, PAGE, Call, Calls
from tests.support.objects import items, live, node, place, status

OPTIONS: dict[str, t.Any] = {"nodes": ["n1", "n2", "n3"], "label_selectors": None, "skip": True, "unready": False}
DEAD = ApiError(503, "dial tcp: connection refused", "ServiceUnavailable")
POSTING = "not Ready (KubeletReady: posting)"


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return gating.simulated_time(monkeypatch)


def info(api: Direct, **options: t.Any) -> dict[str, t.Any]:
    return gate.info(api, {**OPTIONS, **options}, False)  # type: ignore[arg-type]  # by its shape


@pytest.mark.parametrize(
    ("second", "kubelet", "unready", "expected"),
    [
        (node("n2"), live(), False, ""),
        # Ready and not readable: not away. Whatever reads it refuses.
        (node("n2"), DEAD, False, ""),
        (node("n2"), DEAD, True, ""),
        (node("n2", unschedulable=True), live(), False, ""),
        (node("n2", ready="False"), live(), False, POSTING),
        (node("n2", ready="Unknown"), DEAD, False, POSTING),
        (node("n2", ready="False"), live(), True, ""),
        (node("n2", ready="False"), DEAD, True, POSTING),
        (None, DEAD, False, "has no such Node"),
        (None, DEAD, True, "has no such Node"),
    ],
)
def test_who_is_away(second: t.Any, kubelet: t.Any, unready: bool, expected: str) -> None:
    listed = [node("n1"), *([second] if second else []), node("n3")]
    found = info(Direct(*listed, live={"n2": kubelet}), unready=unready)
    assert list(found["nodes"]) == [one["metadata"]["name"] for one in listed]
    assert list(found["away"]) == (["n2"] if expected else [])
    if expected:
        row = found["away"]["n2"]
        assert (row["ok"], row["state"]) == (False, "skipped") and expected in row["message"]


def test_without_the_option_a_missing_node_is_an_error() -> None:
    with pytest.raises(ClusterError, match="has no node named n2, n3"):
        info(Direct(node("n1")), skip=False)
    assert info(Direct(node("n1")), skip=False, nodes=["n1"])["away"] == {}


@pytest.mark.parametrize("options", [{"nodes": None}, {"nodes": []}, {"label_selectors": ["a=b"]}])
def test_nodes_must_be_named(options: dict[str, t.Any]) -> None:
    """Without their names, it is not known who is missing."""
    with pytest.raises(ClusterError, match="skip: name the nodes"):
        info(Direct(node("n1")), **options)


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
        result = gate.info(session, {"nodes": None, "label_selectors": None, "skip": False}, True)
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
