# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The states of node_config_source: assign, reset, wait."""

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
from tests.support.assigning import patiently
from tests.support.calls import CONFIGMAPS, NODES
from tests.support.objects import configmap, live, node, place, reference, status, text
from tests.support.soaking import stopped

A = reference()


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return stopped(monkeypatch)


@pytest.fixture
def api() -> Direct:
    return Direct(
        node("n1", config=status()),
        node("n2", config=status()),
        configmaps=[configmap(content=text(maxPods=50))],
        live={name: live(maxPods=50) for name in ("n1", "n2")},
    )


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
    row = result["nodes"]["n1"]
    assert (row["changed"], row["previous"], row["source"], row["ok"], row["state"], row["active"]) == (
        True,
        None,
        place(),
        True,
        "active",
        A,
    )
    assert result["summary"] | {"waited_seconds": 0} == {
        "nodes": 2,
        "changed": 2,
        "failed": 0,
        "unchanged": 0,
        "ok": 2,
        "states": {"active": 2},
        "waited_seconds": 0,
    }
    assert len(result["diff"]) == 2


def test_assign_without_waiting(api: Direct, clock: Clock) -> None:
    assert run(api, nodes=["n1"], source=place(), wait=False)["nodes"]["n1"]["state"] == "assigned"
    assert api.requests == [("GET", NODES), ("GET", f"{CONFIGMAPS}/config-a"), ("PATCH", f"{NODES}/n1")]


def test_check_mode_waits_for_nothing(api: Direct, clock: Clock) -> None:
    assert run(api, True, nodes=["n1"], source=place())["nodes"]["n1"]["state"] == "assigned"
    assert (len(api.requests), clock.slept) == (3, [])


def test_reset_and_wait(api: Direct, clock: Clock) -> None:
    follow(api, "n1")()
    clock.at(4, lambda: api.nodes.update(n1=node("n1", config=status())))
    result = run(api, state="absent", nodes=["n1"])
    assert (result["nodes"]["n1"]["state"], result["nodes"]["n1"]["previous"], result["nodes"]["n1"]["source"]) == (
        "local",
        place(),
        None,
    )


def test_failed_wait_keeps_what_was_assigned(api: Direct, clock: Clock) -> None:
    clock.at(2, follow(api, "n1"))
    with pytest.raises(NodesFailed, match="verifying: 1 node failed") as caught:
        run(api, nodes=["n1", "n2"], source=place())
    result = caught.value.result
    assert result["changed"] and len(result["diff"]) == 2
    assert {name: (row["changed"], row["ok"], row["state"]) for name, row in result["nodes"].items()} == {
        "n1": (True, True, "active"),
        "n2": (True, False, "pending"),
    }
    assert (result["summary"]["changed"], result["summary"]["failed"]) == (2, 1)


def test_wait_that_cannot_begin_keeps_what_was_assigned(api: Direct) -> None:
    """The node went away between the assignment and the wait."""
    api.look = lambda: api.nodes.pop("n1") if api.requests[-1][0] == "PATCH" else None
    with pytest.raises(ClusterError, match=r"n1: the cluster at .* has no such Node") as caught:
        run(api, nodes=["n1"], source=place())
    assert caught.value.result["changed"]
    assert caught.value.result["nodes"]["n1"]["source"] == place()
    assert caught.value.result["nodes"]["n1"]["state"] == "gone"


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
    assert {method for method, _path in api.requests} == {"GET"}


def test_verified_of_no_nodes(api: Direct) -> None:
    with pytest.raises(ClusterError, match="nodes is an empty list"):
        run(api, state="verified", nodes=[])


def test_verified_of_another_source(api: Direct) -> None:
    follow(api, "n1")()
    api.configmaps["config-b"] = configmap("config-b")
    with pytest.raises(NodesFailed, match="names kube-system/config-a key kubelet, not kube-system/config-b"):
        run(api, state="verified", nodes=["n1"], source=place("config-b"))


def test_credentials_that_end_before_the_wait(api: Direct) -> None:
    refused = {"*": ApiError(401, "who are you")}
    api.look = lambda: api.answers.update(refused) if api.requests[-1][0] == "PATCH" else None
    with pytest.raises(ClusterError, match="who are you") as caught:
        run(api, nodes=["n1"], source=place())
    assert caught.value.result["nodes"]["n1"]["source"] == place()
