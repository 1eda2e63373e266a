# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How trials are settled through the Nodes of followers, and how their first report is awaited."""

from __future__ import annotations

import dataclasses
import json
import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import ApiError, NodesFailed
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.objects import nodes
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.rollout import settle
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.stages import verify
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import annotation, following
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values.following import Answer, Orders
from tests.sim.api.direct import Clock, Direct
from tests.support.api.assigning import listed, options
from tests.support.api.calls import MERGE, NODES, Call, Calls, by_name
from tests.support.api.followers import RUNS_A, TRIAL, UNUSED, A, B, followed
from tests.support.api.objects import configmap, items, live, place


def order(reason: str = "") -> Call:
    orders = Orders(attempt=2, trial=TRIAL, reason=reason)
    body = {"metadata": {"uid": "uid-n1", "annotations": {following.FOLLOW: following.text(orders)}}}
    return Call("PATCH", f"{NODES}/n1", followed(A, orders), (), body, MERGE)


def row_of(session: t.Any, asked: dict[str, t.Any], call: t.Any = settle.settle) -> dict[str, t.Any]:
    """Return the row of n1, also of a call that failed."""
    failures: set[str] = set()
    try:
        result = call(session, asked, False)
    except NodesFailed as error:
        result, failures = error.result, set(error.failures)
    row: dict[str, t.Any] = result["nodes"]["n1"]
    assert failures == (set() if row["ok"] else {"n1"})
    return row


def settled(answer: Answer, *calls: Call, **given: t.Any) -> dict[str, t.Any]:
    """Return the row of a node on which a trial is settled."""
    start = followed(A, Orders(attempt=2), answer, reported=RUNS_A)
    asked = {**options(state="settled", wait_timeout=0, wait_sleep=1, verdicts={"n1": ""}), **given}
    with Calls(listed(start), *calls) as session:
        return row_of(session, asked)


TRIED = Answer(configMap=A, attempt=2, trial=TRIAL)


@pytest.mark.parametrize(
    ("judged", "failed", "ok", "state"),
    [
        (TRIAL, "", True, "confirmed"),
        (TRIAL, "the node reverted it", False, "confirmed"),
        ("", "", False, "unanswered"),
    ],
)
def test_confirm(judged: str, failed: str, ok: bool, state: str) -> None:
    then = followed(A, Orders(attempt=2, trial=TRIAL), Answer(trial=TRIAL, judged=judged, failed=failed))
    row = settled(TRIED, order(), listed(then))
    assert (row["ok"], row["state"], row["changed"]) == (ok, state, True) and failed in row["message"]


def test_a_revert_is_ordered_and_not_waited_for() -> None:
    assert settled(TRIED, order("pods are lost"), verdicts={"n1": "pods are lost"})["state"] == "reverting"


def test_what_is_not_on_trial_is_confirmed() -> None:
    row = settled(Answer(configMap=A, attempt=2))
    assert (row["ok"], row["changed"]) == (True, False)


@pytest.mark.parametrize("reason", ["", "pods are lost"], ids=["confirm", "revert"])
@pytest.mark.parametrize(
    ("verified", "answer", "state"),
    [
        # Another user has assigned another source since, which is on trial now.
        (B, TRIED, "reassigned"),
        # The guard has reverted it since.
        (A, Answer(configMap=A, attempt=2, refused="the kubelet ended"), "refused"),
    ],
    ids=["reassigned", "reverted"],
)
def test_nothing_else_is_settled_than_what_was_verified(
    verified: dict[str, str], answer: Answer, state: str, reason: str
) -> None:
    row = settled(answer, sources={"n1": verified}, verdicts={"n1": reason})
    assert (row["ok"], row["state"], row["changed"]) == (False, state, False)


def test_a_node_that_is_assigned_anew_after_the_order_is_not_confirmed() -> None:
    """Another rollout has crossed, and its follower has never judged a trial."""
    row = settled(TRIED, order(), listed(followed(B, Orders(attempt=3), TRIED)))
    assert (row["ok"], row["state"]) == (False, "unanswered")


OUTAGE = ApiError(503, "the API server is away", transient=True)


def test_an_outage_after_the_order_is_waited_for(clock: Clock) -> None:
    then = followed(A, Orders(attempt=2, trial=TRIAL), Answer(trial=TRIAL, judged=TRIAL))
    away = dataclasses.replace(listed(then), answer=OUTAGE)
    assert settled(TRIED, order(), away, listed(then), wait_timeout=60)["ok"]
    row = settled(TRIED, order(), away)
    assert (row["ok"], row["state"]) == (False, "unanswered") and "the API server is away" in row["message"]


def test_an_outage_before_the_order_is_a_row() -> None:
    """The nodes of the batch to which Ansible logs in can still be confirmed."""
    asked = options(state="settled", wait_timeout=0, wait_sleep=1, verdicts={"n1": ""})
    with Calls(dataclasses.replace(listed(followed()), answer=OUTAGE)) as session:
        row = row_of(session, asked)
    assert not row["ok"] and "the API server is away" in row["message"]


@pytest.mark.parametrize(
    ("looks", "waits", "state"),
    [
        ([UNUSED], 0, "followed"),
        ([None, UNUSED], 60, "followed"),
        ([None, None, None, UNUSED], 60, "followed"),
        ([None, None], 0, "unanswered"),
    ],
    ids=["at once", "later", "much later", "never"],
)
def test_a_rollout_may_begin_once_a_follower_reports(
    looks: list[Answer | None], waits: int, state: str, clock: Clock
) -> None:
    """No more is asked for, and nothing is written. The message names the remedy."""
    asked = options(state="followed", nodes=["n1"], wait_timeout=waits, wait_sleep=1)
    with Calls(*(listed(followed(answer=look)) for look in looks)) as session:
        row = row_of(session, asked, settle.config_source)
    if state == "unanswered":
        assert "not reported within 0 s" in row["message"] and "run the playbook follow again" in row["message"]
    assert (row["ok"], row["state"], row["changed"]) == (state == "followed", state, False)


def test_a_node_that_does_not_exist_has_no_follower_to_wait_for() -> None:
    asked = options(state="followed", nodes=["n1"], wait_timeout=60, wait_sleep=1)
    with Calls(dataclasses.replace(listed(followed()), answer=items())) as session:
        assert "has no such Node" in row_of(session, asked, settle.config_source)["message"]


CREATED_AGAIN = followed(None, Orders(), Answer())
CREATED_AGAIN["metadata"]["uid"] = "uid-of-another"


def asked_for(*names: str) -> dict[str, t.Any]:
    """Return the options that confirm nodes as a verification has seen them."""
    seen = {"uid": "uid-n1", "resourceVersion": "5", "annotations": following.judging(Orders(attempt=2), TRIAL)}
    sources = {name: {**place("config-a"), "seen": annotation.text({**seen, "uid": f"uid-{name}"})} for name in names}
    verdicts = dict.fromkeys(names, "")
    return options(state="settled", wait_timeout=0, wait_sleep=1, sources=sources, verdicts=verdicts)


def test_what_a_verification_has_seen_confirms_a_node(clock: Clock) -> None:
    """By one write, as long as the Node is the same."""
    api = Direct(
        followed(A, Orders(attempt=2), TRIED, reported=RUNS_A), configmaps=[configmap()], live={"n1": live(maxPods=5)}
    )
    given = {**options(state="verified", wait_timeout=0, wait_sleep=1), "nodes": ["n1"]}
    row = verify.verify(api, given)["nodes"]["n1"]
    meta = api.nodes["n1"]["metadata"]
    seen = {"uid": "uid-n1", "resourceVersion": meta["resourceVersion"]}
    assert json.loads(row["seen"]) == {**seen, "annotations": following.judging(Orders(attempt=2), TRIAL)}
    asked = asked_for("n1")
    asked["sources"]["n1"]["seen"] = row["seen"]
    before = len(api.asked)
    with pytest.raises(NodesFailed, match="not confirmed it within 0 s"):
        settle.settle(api, asked, False)
    assert (api.asked[before].method, api.asked[before].url) == ("PATCH", f"{NODES}/n1")
    assert nodes.trim(api.nodes["n1"]).orders.trial == TRIAL


@pytest.mark.parametrize(
    ("now", "state"),
    [
        (followed(A, Orders(attempt=2), TRIED, reported=RUNS_A), "confirmed"),
        (followed(B, Orders(attempt=3), TRIED), "reassigned"),
        (CREATED_AGAIN, "replaced"),
    ],
    ids=["a heartbeat", "another rollout", "created again"],
)
def test_a_node_that_has_changed_since_is_read(now: dict[str, t.Any], state: str) -> None:
    orders = Orders(attempt=2, trial=TRIAL)
    api = Direct(now)

    def judge() -> None:
        """Let the follower judge what it is ordered to."""
        if nodes.trim(api.nodes["n1"]).orders == orders:
            judged = following.text(TRIED._replace(judged=TRIAL))
            api.nodes["n1"]["metadata"]["annotations"][following.FOLLOWER] = judged

    api.before(f"GET {NODES}", judge)
    assert row_of(api, asked_for("n1"))["state"] == state
    assert (nodes.trim(api.nodes["n1"]).orders == orders) == (state == "confirmed")


def test_an_outage_after_orders_costs_only_the_others_their_row(clock: Clock) -> None:
    """n1 is as it was seen, n2 is not, and cannot be read."""
    done = followed(A, Orders(attempt=2, trial=TRIAL), Answer(trial=TRIAL, judged=TRIAL))
    asked = asked_for("n1", "n2")
    writes = [
        Call("PATCH", f"{NODES}/{name}", answer, (), {"metadata": json.loads(asked["sources"][name]["seen"])}, MERGE)
        for name, answer in (("n1", done), ("n2", ApiError(409, "it has changed", "Conflict")))
    ]
    away = Call("GET", NODES, OUTAGE, by_name("n2"))
    with Calls(*writes, away) as session, pytest.raises(NodesFailed, match="the API server is away") as failed:
        settle.settle(session, asked, False)
    assert {name: row["ok"] for name, row in failed.value.result["nodes"].items()} == {"n1": True, "n2": False}


@pytest.mark.parametrize("seen", [False, True])
def test_many_nodes_are_confirmed_with_one_request_each_and_one_for_each_second(clock: Clock, seen: bool) -> None:
    """One read unless all are as they were seen; a node that is deleted meanwhile is a row."""
    names = [f"n{number}" for number in range(9)]

    def named(name: str, *given: t.Any) -> dict[str, t.Any]:
        found = followed(A, *given)
        found["metadata"].update(name=name, uid=f"uid-{name}", resourceVersion="7")
        return found

    def event(kind: str, name: str, judged: str = TRIAL) -> str:
        return json.dumps({"type": kind, "object": named(name, ordered, Answer(trial=TRIAL, judged=judged))})

    def watch(*events: str, since: str) -> Call:
        query = [("watch", "true"), ("allowWatchBookmarks", "true"), ("resourceVersion", since), ("timeoutSeconds", 1)]
        return Call("GET", NODES, "".join(f"{event}\n" for event in events).encode(), query)

    ordered = Orders(attempt=2, trial=TRIAL)
    start = items(*(named(name, Orders(attempt=2), Answer(trial=TRIAL)) for name in names))
    start["metadata"]["resourceVersion"] = "5"
    annotations = {following.FOLLOW: following.text(ordered)}
    writes = [
        Call("PATCH", f"{NODES}/{name}", named(name, ordered, Answer(trial=TRIAL)), (), body, MERGE)
        for name in names
        for body in [{"metadata": {"uid": f"uid-{name}", "annotations": annotations}}]
    ]
    looks = (
        watch(event("MODIFIED", "n1", judged=""), since="5"),
        # Each node changes before it answers, and the watch ends with the last answer.
        watch(
            event("DELETED", "n8"),
            *(event("MODIFIED", name, judged="") for name in names[:-1]),
            *(event("MODIFIED", name) for name in names[:-1]),
            since="7",
        ),
    )
    asked = options(state="settled", wait_timeout=60, wait_sleep=1, verdicts=dict.fromkeys(names, ""))
    reads = [Call("GET", NODES, start, by_name(*names))]
    if seen:
        asked, reads = {**asked_for(*names), "wait_timeout": 60}, []
        for write in writes:
            write.answer["metadata"]["resourceVersion"] = "5"
            write.body["metadata"]["resourceVersion"] = "5"
    with Calls(*reads, *writes, *looks) as session, pytest.raises(NodesFailed) as failed:
        session.nodes_revision = ""
        settle.settle(session, asked, False)
    states = {name: row["state"] for name, row in failed.value.result["nodes"].items()}
    assert states == {**dict.fromkeys(names, "confirmed"), "n8": "gone"}
    assert clock.slept == [1]


def test_a_failed_read_of_the_others_hides_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those with an order may have answered before it."""

    def half(session: Calls, _uids: t.Any) -> t.NoReturn:
        session.nodes_revision = "9"
        raise OUTAGE

    monkeypatch.setattr(settle.node_requests, "find_known", half)
    with Calls() as session:
        session.nodes_revision = "5"
        keeper = settle.Keeper(session, None)
        assert settle._others(session, keeper, ["n2"], {"n1"})[1]["n2"]["ok"] is False
        assert session.nodes_revision == "5"
