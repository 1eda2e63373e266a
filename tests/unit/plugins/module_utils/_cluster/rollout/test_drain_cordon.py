# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The cordon of a drain, and how it is undone."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.rollout import drain_steps
from tests.sim.api.direct import Clock, Direct
from tests.support.calls import NODES
from tests.support.draining import EVICTIONS, OWNED, cordoned, fail, run, stopped
from tests.support.objects import node, pod

OURS = {"holder": "ops", "time": "2026-01-01T00:00:00.000000Z"}


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return stopped(monkeypatch)


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
