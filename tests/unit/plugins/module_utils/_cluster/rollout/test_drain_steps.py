# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The steps of a drain: the choice of pods, the request and the answer of an eviction, the cordon."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import (
    ApiError,
    ClusterError,
)
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.objects import nodes
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.rollout import drain_steps
from tests.sim.api.direct import Clock, Direct
from tests.support.api.calls import NODES, Call, Calls
from tests.support.api.draining import (
    EVICTIONS,
    OWNED,
    cordoned,
    fail,
    run,
)
from tests.support.api.objects import node, pod

pytestmark = pytest.mark.usefixtures("clock")
OURS = {"holder": "ops", "time": "2026-01-01T00:00:00.000000Z"}


ALONE, DATA, BOTH, PROXY = (
    {"owner": ""},
    {"emptydir": True},
    {"owner": "", "emptydir": True},
    {"owner": "DaemonSet/proxy"},
)
STATIC = {"owner": "Node/n1", "static": True}
GOING = {"reason": "Terminating"}


@pytest.mark.parametrize(
    ("fields", "options", "action", "reason"),
    [
        ({}, (), "evict", ""),
        (ALONE, (), "refuse", "(force evicts it"),
        (ALONE, ("force",), "evict", ""),
        (DATA, (), "refuse", "(delete_emptydir_data accepts"),
        (DATA, ("force",), "refuse", "(delete_emptydir_data accepts"),
        (DATA, ("delete_emptydir_data",), "evict", ""),
        (BOTH, (), "refuse", "elsewhere (force evicts it anyway) and has an emptyDir"),
        ({**BOTH, "phase": "Succeeded"}, (), "evict", ""),
        ({**BOTH, "phase": "Failed"}, (), "evict", ""),
        ({**BOTH, **GOING}, (), "wait", ""),
        (PROXY, ("force",), "skip", "of DaemonSet/proxy"),
        ({**PROXY, **GOING}, (), "skip", "of DaemonSet/proxy"),
        ({**PROXY, "phase": "Failed"}, (), "evict", ""),
        ({**STATIC, **DATA}, ("force",), "skip", "static pod"),
        ({**STATIC, "phase": "Failed"}, ("force",), "skip", "static pod"),
    ],
)
def test_choose(fields: dict[str, t.Any], options: tuple[str, ...], action: str, reason: str) -> None:
    pod = {"phase": "Running", "reason": "", "owner": "ReplicaSet/a", "static": False, "emptydir": False, **fields}
    found = drain_steps.choose(pod, "force" in options, "delete_emptydir_data" in options)
    assert (found.action, reason in found.reason) == (action, True)


@pytest.mark.parametrize(
    ("resource", "version"),
    [({"group": "policy", "version": "v1"}, "policy/v1"), ({}, "policy/v1beta1")],
)
def test_eviction_version(resource: dict[str, str], version: str) -> None:
    """An API server without group and version has policy/v1beta1."""
    with Calls(Call("GET", "/api/v1", {"resources": [{"name": "pods"}, {"name": "pods/eviction", **resource}]})) as api:
        assert drain_steps.eviction_version(api) == version
    with Calls(Call("GET", "/api/v1", {"resources": []})) as api, pytest.raises(ApiError, match="pods/eviction"):
        drain_steps.eviction_version(api)


def test_evict() -> None:
    """By uid, and not repeated. Without dry runs a forecast sends nothing: the pod would be gone."""
    body = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"namespace": "default", "name": "a"},
        "deleteOptions": {"preconditions": {"uid": "u"}},
    }
    evicted = ("u", {"namespace": "default", "name": "a"})
    with Calls(Call("POST", "/api/v1/namespaces/default/pods/a/eviction", {}, (), body)) as api:
        drain_steps.evict(api, "policy/v1", evicted, None, False)
    assert api.budgets == [0.0]
    with Calls(old=True) as api:
        drain_steps.evict(api, "policy/v1", evicted, None, True)


Answer = drain_steps.Answer
BUDGETS = f"found {drain_steps.TWO_BUDGETS}"


@pytest.mark.parametrize(
    ("error", "answer"),
    [
        pytest.param(None, Answer(True), id="accepted"),
        pytest.param(ApiError(404, "gone"), Answer(False, "gone"), id="deleted"),
        pytest.param(ApiError(409, "other uid"), Answer(False, "other uid"), id="replaced"),
        pytest.param(ApiError(403, "end", causes={"NamespaceTerminating": "x"}), Answer(False, "end"), id="namespace"),
        (ApiError(429, "no", "", 7.0, True, {"DisruptionBudget": "needs 1"}), Answer(False, "needs 1", 7.0)),
        pytest.param(ApiError(0, "cut", transient=True), Answer(False, "cut", 0.0, True), id="no answer"),
        pytest.param(ApiError(504, "late", transient=True), Answer(False, "late", 0.0, True), id="timeout"),
        pytest.param(ApiError(500, BUDGETS, transient=True), Answer(False, BUDGETS, None), id="two budgets"),
        pytest.param(ApiError(403, "forbidden"), Answer(False, "forbidden", None), id="forbidden"),
        pytest.param(ClusterError("other"), Answer(False, "other", None), id="other error"),
    ],
)
def test_eviction_answer(error: ClusterError | None, answer: drain_steps.Answer) -> None:
    assert drain_steps.eviction_answer(error) == answer


def set_cordon(session: Calls, found: dict[str, t.Any], dry_run: bool = False) -> nodes.Node:
    return drain_steps.cordon(session, nodes.trim(found), "ops", dry_run)


def test_a_cordon_without_dry_runs() -> None:
    """Nothing is sent."""
    with Calls(old=True) as session:
        found = set_cordon(session, node(), True)
        assert drain_steps.cordoned_by_us(found)
        back = drain_steps.uncordon(session, found, True)
        assert (back.unschedulable, back.cordoned) == (False, None)
        assert not drain_steps.cordoned_by_us(set_cordon(session, node(unschedulable=True), True))
    # A mark on a node that another user has uncordoned is no cordon.
    assert not drain_steps.cordoned_by_us(nodes.trim(node(cordoned=OURS)))


def test_another_user_cordons_at_the_same_time(clock: Clock) -> None:
    """Our patch is refused, and the cordon is theirs."""
    api = Direct(node("n1"))
    api.before("PATCH *", lambda: api.nodes.add(node("n1", revision="9", unschedulable=True)))
    row = run(api)["nodes"]["n1"]
    assert (row["changed"], row["cordoned"], row["message"]) == (False, True, "no pod to evict")
    assert cordoned(api) == (True, False)


def test_something_else_changes_at_the_same_moment(clock: Clock) -> None:
    api = Direct(node("n1"))
    first = [node("n1", revision="9", labels={"a": "b"})]
    api.before("PATCH *", lambda: api.nodes.add(first.pop()) if first else None)
    assert run(api)["changed"]
    assert (cordoned(api), api.nodes["n1"]["metadata"]["labels"]["a"]) == ((True, True), "b")


def test_a_node_that_never_holds_still(clock: Clock) -> None:
    api = Direct(node("n1"), pods=[pod("a", **OWNED)])
    revisions = iter(range(10, 99))
    api.before("PATCH *", lambda: api.nodes.add(node("n1", revision=str(next(revisions)))))
    assert "it was not cordoned and no pod was evicted: the Node object changes faster" in fail(api).failures["n1"]
    assert (api.count("PATCH", f"{NODES}/n1"), api.bodies(EVICTIONS)) == (drain_steps.TRIES, [])


def test_a_cordon_that_is_not_stored(clock: Clock) -> None:
    api = Direct(node("n1"), pods=[pod("a", **OWNED)])
    api.answers["PATCH *"] = node("n1")
    assert "did not store the cordon, and no pod was evicted: does an admission webhook" in fail(api).failures["n1"]
    assert api.bodies(EVICTIONS) == []
