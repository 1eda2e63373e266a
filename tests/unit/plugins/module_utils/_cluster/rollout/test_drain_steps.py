# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The steps of a drain: which pods go, the request and the answer of an eviction, the cordon and its end."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import ApiError, ClusterError
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.objects import nodes
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.rollout import drain_steps
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import annotation
from tests.sim.api.direct import Clock, Direct
from tests.support.calls import DRY, MERGE, NODES, Call, Calls
from tests.support.draining import EVICTIONS, OWNED, cordoned, fail, run
from tests.support.objects import node, pod

pytestmark = pytest.mark.usefixtures("clock")
OURS = {"holder": "ops", "time": "2026-01-01T00:00:00.000000Z"}
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
    with Calls(patch(node(cordoned=OURS, unschedulable=True), OURS, dry_run=dry_run)) as session:
        assert drain_steps.cordoned_by_us(set_cordon(session, node(), dry_run))


def test_a_cordoned_node_is_not_patched() -> None:
    with Calls() as session:
        assert not drain_steps.cordoned_by_us(set_cordon(session, node(unschedulable=True)))


def test_a_conflict_with_the_cordon_of_another_user() -> None:
    """After the conflict the node is read again, and the other cordon is kept."""
    with Calls(patch(CONFLICT, OURS), get(node(revision="2", unschedulable=True))) as session:
        found = set_cordon(session, node())
    assert found.unschedulable and not drain_steps.cordoned_by_us(found)


def test_a_node_that_never_stops_changing() -> None:
    calls = [
        call
        for number in range(1, drain_steps.TRIES + 1)
        for call in (patch(CONFLICT, OURS, str(number)), get(node(revision=str(number + 1))))
    ]
    with Calls(*calls) as session, pytest.raises(ApiError, match="changes faster than it can be patched"):
        set_cordon(session, node())


def test_uncordon_removes_the_mark() -> None:
    """Also from a node that another user has uncordoned; a node without our mark is not patched."""
    for found in (node(cordoned=OURS, unschedulable=True), node(cordoned=OURS)):
        with Calls(patch(node(), None)) as session:
            assert not drain_steps.uncordon(session, nodes.trim(found), False).unschedulable
    with Calls() as session:
        assert drain_steps.uncordon(session, nodes.trim(node(unschedulable=True)), False).unschedulable


@pytest.mark.parametrize(
    ("fields", "ours"),
    [
        ({"cordoned": OURS, "unschedulable": True}, True),
        ({"cordoned": OURS}, False),
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


def test_another_user_cordons_at_the_same_time(clock: Clock) -> None:
    """Our patch is refused, and the cordon is theirs."""
    api = Direct(node("n1"))
    api.before("PATCH *", lambda: api.nodes.add(node("n1", revision="9", unschedulable=True)))
    assert run(api)["nodes"]["n1"] == {
        "ok": True,
        "state": "drained",
        "delivery": "none",
        "source": None,
        "error": "",
        "changed": False,
        "cordoned": True,
        "evicted": [],
        "skipped": [],
        "message": "no pod to evict",
    }
    assert cordoned(api) == (True, False)


def test_something_else_changes_at_the_same_moment(clock: Clock) -> None:
    api = Direct(node("n1"))
    first = [node("n1", revision="9", labels={"a": "b"})]
    api.before("PATCH *", lambda: api.nodes.add(first.pop()) if first else None)
    assert run(api)["changed"]
    assert (cordoned(api), api.nodes["n1"]["metadata"]["labels"]) == ((True, True), {"a": "b"})


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


@pytest.mark.parametrize(
    ("before", "changed", "after", "message"),
    [
        (
            {"cordoned": OURS, "unschedulable": True},
            True,
            (False, False),
            f"uncordoned; it was {drain_steps.cordon_in_words(OURS)}",
        ),
        (
            {"cordoned": OURS},
            True,
            (False, False),
            "already uncordoned by another user or program; our mark was removed",
        ),
        ({"unschedulable": True}, False, (True, False), "cordoned by another user or program; not changed"),
        ({}, False, (False, False), "not cordoned"),
    ],
)
def test_restore(clock: Clock, before: dict[str, t.Any], changed: bool, after: tuple[bool, bool], message: str) -> None:
    """Also after another run's cordon; check mode reports the same without a change; a second run changes nothing."""
    api = Direct(node("n1", **before))
    was = cordoned(api)
    assert run(api, state="restored", check_mode=True)["nodes"]["n1"] == {
        "ok": True,
        "state": "restored",
        "delivery": "none",
        "source": None,
        "error": "",
        "changed": changed,
        "cordoned": after[0],
        "evicted": [],
        "skipped": [],
        "message": message,
    }
    assert cordoned(api) == was
    result = run(api, state="restored")
    assert (result["changed"], result["nodes"]["n1"]["message"], cordoned(api)) == (changed, message, after)
    assert run(api, state="restored")["changed"] is False
    assert cordoned(api) == after


def test_an_uncordon_that_is_not_stored(clock: Clock) -> None:
    api = Direct(node("n1", cordoned=OURS, unschedulable=True))
    api.answers["PATCH *"] = api.nodes["n1"]
    failed = fail(api, state="restored")
    assert (
        "did not store that it was uncordoned: does an admission webhook" in failed.failures["n1"]
        and failed.result["nodes"]["n1"]["cordoned"]
    )
