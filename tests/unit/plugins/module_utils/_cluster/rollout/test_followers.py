# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nodes with a follower: what is written for it, and how its answers are judged."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.objects import nodes
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.rollout import revert
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.stages import assign, assign_step, verdict
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import annotation, following
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values.following import Answer, Orders
from tests.sim.api import roles
from tests.sim.api.direct import Clock, Direct
from tests.support.api.assigning import get, listed, options, refused
from tests.support.api.calls import NODES, Call, Calls
from tests.support.api.followers import RUNS_A, RUNS_B, TRIAL, UNUSED, A, B, followed
from tests.support.api.objects import configmap, live, place

FELL_BACK = {"assigned": {"configMap": A}, "active": {"configMap": B}, "error": "it ended"}
API, AUTO, SSH = following.API, following.AUTO, following.SSH


def trimmed(*given: t.Any, **more: t.Any) -> nodes.Node:
    return nodes.trim(followed(*given, **more)).with_delivery("checkpoint")


@pytest.mark.parametrize(
    ("found", "transport", "expected"),
    [
        (trimmed(answer=None), AUTO, None),
        (trimmed(), AUTO, Orders(API, 1, 60, 90)),
        (trimmed(), SSH, Orders(SSH, 0)),
        (trimmed(B, Orders(attempt=3)), API, Orders(API, 4, 60, 90)),
        # The same again: it waits, it runs, and it is tried again if it was refused or reverted.
        (trimmed(A, Orders(attempt=3)), AUTO, Orders(attempt=3)),
        (trimmed(A, Orders(attempt=3), Answer(configMap=A, attempt=3)), AUTO, Orders(attempt=3)),
        (trimmed(A, Orders(attempt=3), Answer(configMap=A, attempt=2, refused="no")), AUTO, Orders(attempt=3)),
        (trimmed(A, Orders(attempt=3), Answer(configMap=A, attempt=3, refused="no")), AUTO, Orders(API, 4, 60, 90)),
        (
            trimmed(A, Orders(attempt=3), Answer(configMap=A, attempt=3), reported=FELL_BACK),
            AUTO,
            Orders(API, 4, 60, 90),
        ),
        (trimmed(A, Orders(SSH, 3)), AUTO, Orders(API, 4, 60, 90)),
    ],
)
def test_what_a_follower_is_asked_for(found: nodes.Node, transport: str, expected: Orders | None) -> None:
    assert assign_step.orders(found, A, transport, {"trial_seconds": 60, "confirm_seconds": 90}) == expected


@pytest.mark.parametrize(
    ("found", "transport", "words"),
    [
        (trimmed(), API, ""),
        (trimmed(answer=None), AUTO, ""),
        (trimmed(answer=None), API, "no follower reports on it"),
        (trimmed(answer=Answer(format=2)), AUTO, "update the follower"),
        (trimmed(answer=Answer(format=2)), SSH, ""),
    ],
)
def test_which_transports_reach_a_node(found: nodes.Node, transport: str, words: str) -> None:
    problem = assign_step.problem(found, transport)
    assert words in problem and bool(problem) is bool(words)


def may_read(api: Direct, name: str) -> bool:
    """Return whether the node may read a ConfigMap."""
    return roles.may_get(api.store, "system:node:n1", "kube-system", name)


def test_assign() -> None:
    """The node may read its ConfigMap before it is asked for it, and the content is not returned for a copy."""
    api = Direct(followed(), configmaps=[configmap()])
    may: list[bool] = []
    api.before(f"PATCH {NODES}/*", lambda: may.append(may_read(api, "config-a")))
    result = assign.assign(api, options(sources={"n1": place("config-a")}), False)
    assert may == [True]
    assert api.nodes["n1"]["metadata"]["annotations"] == {
        annotation.PREVIOUS: annotation.text({}),
        following.FOLLOW: following.text(Orders(API, 1, 600, 600)),
        following.FOLLOWER: following.text(UNUSED),
        annotation.SOURCE: annotation.text({"configMap": A, "nodeUID": "uid-n1"}),
    }
    assert result["nodes"]["n1"]["transport"] == API and result["nodes"]["n1"]["state"] == "assigned"
    assert result["configmaps"] == {}


@pytest.mark.parametrize("given", ["delivery", "sources"])
def test_a_migration_to_native_delivery_makes_the_follower_stand_off(given: str) -> None:
    """With the same patch: the annotation still names the checkpoint, which the follower would otherwise switch to
    again while Ansible removes it. Written again, it is no change.
    """
    api = Direct(_listening(Orders(API, 3)), configmaps=[configmap()])
    source: dict[str, t.Any] = {**place("config-a"), "delivery": "native"}
    wanted = {"delivery": "native", "sources": {"n1": place("config-a")}} if given == "delivery" else {}
    wanted = {"sources": {"n1": source}, **wanted}
    row = assign.assign(api, options(**wanted), False)["nodes"]["n1"]
    (body,) = api.bodies(f"PATCH {NODES}/n1")
    assert body["spec"]["configSource"] == {"configMap": place("config-a")}
    assert body["metadata"]["annotations"][following.FOLLOW] == following.text(Orders(SSH, 3))
    assert annotation.SOURCE not in body["metadata"]["annotations"]
    assert (row["delivery"], row["transport"]) == ("native", SSH)
    assert not assign.assign(api, options(**wanted), False)["changed"]


@pytest.mark.parametrize(
    "found", [{"answer": None}, {"orders": Orders(SSH, 3)}, {"source": None}], ids=["none", "stands off", "idle"]
)
def test_a_native_source_without_a_follower_that_acts(found: dict[str, t.Any]) -> None:
    """Nothing more is written: there is none, it stands off, or its Node names no checkpoint."""
    api = Direct(_listening(**found), configmaps=[configmap()])
    wanted = {"n1": {**place("config-a"), "delivery": "native"}}
    assign.assign(api, options(sources=wanted), False)
    (body,) = api.bodies(f"PATCH {NODES}/n1")
    assert following.FOLLOW not in body["metadata"].get("annotations", {})


def test_the_removal_of_a_native_source_leaves_the_follower_at_work() -> None:
    """One that was left over: the checkpoint stays."""
    found = _listening(Orders(API, 3))
    found["spec"]["configSource"] = {"configMap": place("config-a")}
    api = Direct(found, configmaps=[configmap()])
    assign.assign(api, options(state="absent", nodes=["n1"], delivery="native"), False)
    assert "configSource" not in api.nodes["n1"]["spec"]
    assert api.nodes["n1"]["metadata"]["annotations"][following.FOLLOW] == following.text(Orders(API, 3))


def _listening(
    orders: Orders | None = None, answer: Answer | None = UNUSED, source: dict[str, str] | None = A
) -> dict[str, t.Any]:
    """Return a Node whose kubelet runs config-a as a checkpoint, and follows Node.spec.configSource."""
    more: dict[str, t.Any] = {"reported": RUNS_A} if source else {}
    found = followed(source, orders, answer, config={}, **more)
    found["status"]["nodeInfo"]["kubeletVersion"] = "v1.20.2"
    return found


def test_a_node_without_a_follower_is_refused_before_anything_is_written() -> None:
    refused(listed(followed(answer=None)), get(), words="no follower reports", transport=API)


@pytest.mark.parametrize(
    ("answer", "reported", "state", "final"),
    [
        (Answer(configMap=B, attempt=1), RUNS_B, "pending", False),
        (Answer(configMap=A, attempt=1), RUNS_B, "pending", False),
        (Answer(configMap=A, attempt=2, refused="it is too large"), RUNS_B, "refused", True),
        (Answer(configMap=A, attempt=2), RUNS_A, "active", False),
        # The guard has reported why it was reverted.
        (Answer(configMap=A, attempt=2, refused="not healthy"), FELL_BACK, "fell_back", True),
    ],
)
def test_how_an_answer_is_judged(answer: Answer, reported: t.Any, state: str, final: bool) -> None:
    found = verdict.judge(trimmed(A, Orders(attempt=2), answer, reported=reported), A)
    assert (found.state, found.final) == (state, final)


def test_a_refused_reset() -> None:
    found = verdict.judge(trimmed(None, Orders(attempt=2), Answer(attempt=2, refused="no"), reported=RUNS_B), None)
    assert (found.state, found.message) == ("refused", "no")


def returned(api: t.Any) -> dict[str, t.Any]:
    """Return the row of a node that is reverted from config-a to config-b."""
    failed = {"changed": True, "delivery": "checkpoint", "source": A, "previous": B, "uid": "uid-n1"}
    asked = {"nodes": {"n1": failed}, "current": None, "lease": None, "wait_timeout": 5, "wait_sleep": 1}
    return t.cast("dict[str, t.Any]", revert.revert(api, asked, False)["nodes"]["n1"])


def test_a_revert_that_is_ordered_needs_no_other_source(clock: Clock) -> None:
    """Another source would restart the kubelet once more, and replace the reason that the guard reports."""
    ordered, seen = Orders(attempt=2, trial=TRIAL, reason="slow"), Answer(configMap=A, attempt=2, trial=TRIAL)
    calls = (
        *[listed(followed(A, ordered, seen, reported=RUNS_A))] * 2,
        listed(followed(A, ordered, seen._replace(judged=TRIAL), reported=FELL_BACK)),
        Call("GET", f"{NODES}/n1/proxy/configz", {"kubeletconfig": {"maxPods": 5}}),
    )
    with Calls(*calls) as session:
        row = returned(session)
    assert (row["state"], row["changed"], row["error"]) == ("reverted", False, "it ended")


def test_a_return_after_a_failure_is_another_attempt(clock: Clock) -> None:
    """The module that reverts a node writes its previous source for its follower, too."""
    start = followed(A, Orders(attempt=2), Answer(configMap=A, attempt=2, refused="no"), reported=RUNS_B)
    api = Direct(start, live={"n1": live(maxPods=5)})
    row = returned(api)
    assert row["ok"] and row["state"] == "refused" and may_read(api, "config-b")
    notes = api.nodes["n1"]["metadata"]["annotations"]
    assert notes[following.FOLLOW] == following.text(Orders(attempt=3))
    assert notes[annotation.SOURCE] == annotation.text({"configMap": B, "nodeUID": "uid-n1"})
