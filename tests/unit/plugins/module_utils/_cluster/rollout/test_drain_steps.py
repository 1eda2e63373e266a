# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a drain does with each pod, the eviction of one pod, the meaning of its answers, and cordons with our mark."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import ApiError, ClusterError
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.objects import nodes
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.rollout import drain_steps
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import annotation
from tests.sim.api.direct import Clock
from tests.support.calls import DRY, MERGE, NODES, Call, Calls
from tests.support.objects import node

MARK = {"holder": "ops", "time": "2026-01-01T00:00:00.000000Z"}
CONFLICT = ApiError(409, "the object has been modified", "Conflict")


@pytest.mark.parametrize(
    ("fields", "options", "action", "reason"),
    [
        pytest.param({}, (), "evict", "", id="of a controller"),
        pytest.param({"owner": ""}, (), "refuse", "(force evicts it", id="without owner"),
        pytest.param({"owner": ""}, ("force",), "evict", "", id="without owner, forced"),
        pytest.param({"emptydir": True}, (), "refuse", "(delete_emptydir_data accepts", id="with data"),
        pytest.param({"emptydir": True}, ("force",), "refuse", "(delete_emptydir_data accepts", id="with data, forced"),
        pytest.param({"emptydir": True}, ("delete_emptydir_data",), "evict", "", id="with data, accepted"),
        pytest.param(
            {"owner": "", "emptydir": True},
            (),
            "refuse",
            "elsewhere (force evicts it anyway) and has an emptyDir",
            id="both",
        ),
        pytest.param({"owner": "", "emptydir": True, "phase": "Succeeded"}, (), "evict", "", id="finished"),
        pytest.param({"owner": "", "emptydir": True, "phase": "Failed"}, (), "evict", "", id="failed"),
        pytest.param({"owner": "", "emptydir": True, "reason": "Terminating"}, (), "wait", "", id="going"),
        pytest.param({"owner": "DaemonSet/proxy"}, ("force",), "skip", "of DaemonSet/proxy", id="of a daemon set"),
        pytest.param(
            {"owner": "DaemonSet/proxy", "reason": "Terminating"},
            (),
            "skip",
            "of DaemonSet/proxy",
            id="of a daemon set, going",
        ),
        pytest.param({"owner": "DaemonSet/proxy", "phase": "Failed"}, (), "evict", "", id="of a daemon set, failed"),
        pytest.param(
            {"owner": "Node/n1", "static": True, "emptydir": True}, ("force",), "skip", "static pod", id="static"
        ),
        pytest.param(
            {"owner": "Node/n1", "static": True, "phase": "Failed"},
            ("force",),
            "skip",
            "static pod",
            id="static, failed",
        ),
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


@pytest.mark.parametrize(
    ("grace_period", "dry_run", "options"),
    [(None, False, {}), (0, False, {"gracePeriodSeconds": 0}), (None, True, {"dryRun": ["All"]})],
)
def test_evict(grace_period: int | None, dry_run: bool, options: dict[str, t.Any]) -> None:
    """By uid, and not repeated."""
    body = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"namespace": "default", "name": "a"},
        "deleteOptions": {"preconditions": {"uid": "u"}, **options},
    }
    with Calls(Call("POST", "/api/v1/namespaces/default/pods/a/eviction", {}, (), body)) as api:
        pod = ("u", {"namespace": "default", "name": "a"})
        drain_steps.evict(api, "policy/v1", pod, grace_period, dry_run)
    assert api.budgets == [0.0]


@pytest.mark.parametrize(
    ("error", "answer"),
    [
        pytest.param(None, drain_steps.Answer(True), id="accepted"),
        pytest.param(ApiError(404, "gone"), drain_steps.Answer(False, "gone"), id="deleted"),
        pytest.param(ApiError(409, "other uid"), drain_steps.Answer(False, "other uid"), id="replaced"),
        pytest.param(
            ApiError(403, "ending", causes={"NamespaceTerminating": "x"}),
            drain_steps.Answer(False, "ending"),
            id="namespace",
        ),
        pytest.param(
            ApiError(429, "no", "", 7.0, True, {"DisruptionBudget": "needs 1"}),
            drain_steps.Answer(False, "needs 1", 7.0),
            id="budget",
        ),
        pytest.param(ApiError(0, "cut", transient=True), drain_steps.Answer(False, "cut", 0.0, True), id="no answer"),
        pytest.param(ApiError(504, "late", transient=True), drain_steps.Answer(False, "late", 0.0, True), id="timeout"),
        pytest.param(
            ApiError(500, f"found {drain_steps.TWO_BUDGETS}", transient=True),
            drain_steps.Answer(False, f"found {drain_steps.TWO_BUDGETS}", None),
            id="two budgets",
        ),
        pytest.param(ApiError(403, "forbidden"), drain_steps.Answer(False, "forbidden", None), id="forbidden"),
        pytest.param(ClusterError("other"), drain_steps.Answer(False, "other", None), id="other error"),
    ],
)
def test_eviction_answer(error: ClusterError | None, answer: drain_steps.Answer) -> None:
    assert drain_steps.eviction_answer(error) == answer


def test_an_eviction_without_dry_runs() -> None:
    """Nothing is sent: the pod would be gone."""
    with Calls(old=True) as session:
        row = {"namespace": "default", "name": "web"}
        drain_steps.evict(session, "policy/v1beta1", ("u1", row), None, True)


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(drain_steps, "time", clock)
    return clock


def patch(answer: t.Any, mark: dict[str, str] | None, revision: str = "1", dry_run: bool = False) -> Call:
    """The patch that sets the cordon and its mark, or removes both (None)."""
    body = {
        "metadata": {
            "annotations": {annotation.CORDONED: annotation.text(mark) if mark else None},
            "resourceVersion": revision,
        },
        "spec": {"unschedulable": True if mark else None},
    }
    return Call("PATCH", f"{NODES}/n1", answer, DRY if dry_run else (), body, MERGE)


def get(answer: dict[str, t.Any]) -> Call:
    return Call("GET", f"{NODES}/n1", answer)


def set_cordon(session: Calls, found: dict[str, t.Any], dry_run: bool = False) -> nodes.Node:
    return drain_steps.cordon(session, nodes.trim(found), "ops", dry_run)


@pytest.mark.parametrize("dry_run", [False, True])
def test_cordon(dry_run: bool) -> None:
    with Calls(patch(node(cordoned=MARK, unschedulable=True), MARK, dry_run=dry_run)) as session:
        assert drain_steps.cordoned_by_us(set_cordon(session, node(), dry_run))


def test_a_cordoned_node_is_not_patched() -> None:
    with Calls() as session:
        assert not drain_steps.cordoned_by_us(set_cordon(session, node(unschedulable=True)))


def test_another_user_cordons_at_the_same_time() -> None:
    """After the conflict the node is read again, and the other cordon is kept."""
    with Calls(patch(CONFLICT, MARK), get(node(revision="2", unschedulable=True))) as session:
        found = set_cordon(session, node())
    assert found.unschedulable and not drain_steps.cordoned_by_us(found)


def test_a_node_that_never_stops_changing() -> None:
    calls = [
        call
        for number in range(1, drain_steps.TRIES + 1)
        for call in (patch(CONFLICT, MARK, str(number)), get(node(revision=str(number + 1))))
    ]
    with Calls(*calls) as session, pytest.raises(ApiError, match="changes faster than it can be patched"):
        set_cordon(session, node())


def test_uncordon_removes_the_mark() -> None:
    """Also from a node that another user has uncordoned; a node without our mark is not patched."""
    for found in (node(cordoned=MARK, unschedulable=True), node(cordoned=MARK)):
        with Calls(patch(node(), None)) as session:
            assert not drain_steps.uncordon(session, nodes.trim(found), False).unschedulable
    with Calls() as session:
        assert drain_steps.uncordon(session, nodes.trim(node(unschedulable=True)), False).unschedulable


@pytest.mark.parametrize(
    ("fields", "ours"),
    [
        ({"cordoned": MARK, "unschedulable": True}, True),
        ({"cordoned": MARK}, False),
        ({"unschedulable": True}, False),
        ({}, False),
    ],
)
def test_cordoned_by_us(fields: dict[str, t.Any], ours: bool) -> None:
    assert drain_steps.cordoned_by_us(nodes.trim(node(**fields))) is ours


def test_a_cordon_without_dry_runs() -> None:
    """Nothing is sent."""
    with Calls(old=True) as session:
        found = set_cordon(session, node(), True)
        assert drain_steps.cordoned_by_us(found)
        back = drain_steps.uncordon(session, found, True)
        assert (back.unschedulable, back.cordoned) == (False, None)
        assert not drain_steps.cordoned_by_us(set_cordon(session, node(unschedulable=True), True))
