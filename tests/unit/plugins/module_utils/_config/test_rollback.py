# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which rollout a rollback undoes, and what nodes that join get then."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config import rollback
from tests.support.api.objects import HEADER, live, place, reference

NEW, OLD = {**HEADER, **live(maxPods=80, clusterDNS=["10.0.0.1"])}, {**HEADER, **live(maxPods=90)}
PART = {**HEADER, "clusterDNS": ["10.0.0.1"], "maxPods": 80}
RECORD = {"complete": True, "source": "new", "absent": [], "own": {"maxPods": [70], "clusterDNS": [None]}}
UNKNOWN = {**RECORD, "own": {"maxPods": [70], "clusterDNS": []}}
VARIANTS = {"live": NEW, "new": NEW, "old": OLD, "part": PART, "empty": {**HEADER}}


def row(goal: str | None, running: str | None = "new", **more: Any) -> dict[str, Any]:
    """Return the row of a node that runs one source and returns to another, or to its own file."""
    return {
        "variant": "live",
        "kubelet_version": "v1.20.2",
        "delivery": "native",
        "source": place("new"),
        "status": {"active": {"configMap": reference("new")}},
        "goal": {"source": place("old") if goal else None, "variant": goal, "running": running, "fault": ""},
        **more,
    }


def plan(given: dict[str, Any], allow: str = "disrupt") -> dict[str, Any]:
    return rollback.make({"variants": VARIANTS, "nodes": {"n1": given}}, {}, allow)


DROPIN = {"delivery": "dropin", "kubelet_version": "v1.33.0"}
UNREAD = {"variant": None, "unread": "no answer"}
BACK, OWN_AGAIN = {"maxPods": 90, "clusterDNS": None}, {"maxPods": 70, "clusterDNS": None}


@pytest.mark.parametrize(
    ("given", "changes", "effect", "warnings"),
    [
        pytest.param(row("old"), BACK, "drain", [], id="between two sources"),
        pytest.param(row("old", **UNREAD), BACK, "drain", ["no-live-config"], id="unread"),
        pytest.param(row("old", None, **UNREAD), {}, "disrupt", ["no-live-config"], id="nothing is known"),
        pytest.param(row("old", None), BACK, "drain", [], id="source gone"),
        pytest.param(row(None, own=RECORD), OWN_AGAIN, "drain", [], id="own values"),
        pytest.param(row(None, own=UNKNOWN), OWN_AGAIN, "drain", [], id="one not known"),
        pytest.param(row(None, own={**RECORD, "complete": False}), OWN_AGAIN, "drain", [], id="some own values"),
        pytest.param(row(None), {}, "disrupt", ["no-record"], id="no record"),
        pytest.param(row(None, None), {}, "disrupt", ["no-record"], id="no record, source gone"),
        pytest.param(row(None, None, **UNREAD), {}, "disrupt", ["no-live-config"], id="no record, nothing is known"),
        pytest.param(row(None, "part", **DROPIN), {"maxPods": None, "clusterDNS": None}, "drain", [], id="drop-in"),
        pytest.param(row("empty", "part", own=RECORD, **DROPIN), OWN_AGAIN, "drain", [], id="less"),
    ],
)
def test_what_changes(given: dict[str, Any], changes: dict[str, Any], effect: str, warnings: list[str]) -> None:
    made = plan(given, "drain")
    found = made["nodes"]["n1"]
    assert {change["path"]: change["after"] for change in found["changes"]} == changes
    assert (found["effect"], [problem["rule"] for problem in found["problems"]]) == (effect, warnings)
    assert not made["refused"] and made["summary"]["to_change"] == 1 and found["action"] == "assign"


@pytest.mark.parametrize(
    ("running", "words"), [("new", "what it was assigned takes its place"), (None, "what changes is not known either")]
)
def test_what_stands_for_a_live_configuration_that_is_not_known(running: str | None, words: str) -> None:
    (problem,) = plan(row("old", running, **UNREAD), "drain")["nodes"]["n1"]["problems"]
    assert problem["message"].startswith("its live configuration is not known (no answer), ")
    assert words in problem["message"]


@pytest.mark.parametrize("given", [["kubelet", "--max-pods=5"], "--v=2 --max-pods='5'"])
def test_a_flag_decides_about_a_value(given: Any) -> None:
    made = rollback.make({"variants": VARIANTS, "nodes": {"n1": row("old")}}, {"n1": given}, "drain")
    flags = {change["path"]: change["shadowed_by"] for change in made["nodes"]["n1"]["changes"]}
    assert flags == {"maxPods": "--max-pods=5", "clusterDNS": None}


@pytest.mark.parametrize(
    ("given", "allow", "words"),
    [
        (row("old"), "disrupt", "Accept it with allow_effect=drain"),
        (row(None, own=RECORD), "disrupt", "Accept it with allow_effect=drain"),
        (row(None), "safe", "Accept it with allow_effect=disrupt"),
        (row("old", None, **UNREAD), "safe", "its effect is not known"),
    ],
)
def test_a_stronger_effect_is_refused(given: dict[str, Any], allow: str, words: str) -> None:
    made = plan(given, allow)
    assert made["refused"] and any(words in line for line in made["text"]), made["text"]


def test_a_source_that_cannot_be_used_is_refused_with_the_ways_out() -> None:
    given = row("old")
    given["goal"].update(variant=None, fault="there is no such ConfigMap")
    made = plan(given, "reboot")
    (problem,) = made["nodes"]["n1"]["problems"]
    assert made["refused"] and "old: there is no such ConfigMap" in problem["message"] and problem["path"] == ""
    assert "kubelet_config_variant" in problem["remedy"]


FORMER, LATTER = "20260101T000000Z-00000000", "20260102T000000Z-00000000"
GOAL = {"maxPods": 80}
BEGAN = 1767225600.0
"""2026-01-01 00:00:00 UTC."""
NAME = rollback.of_run({}, [], GOAL, BEGAN)


def changed_row(rollout: str = NAME, **more: Any) -> dict[str, Any]:
    """Return the row of a node that a rollout has changed from a to b."""
    about = {"previous": reference("a"), "active": reference("b"), "undone": False, "settled": True, "reason": ""}
    return {"rollout": rollout, **about, **more}


def test_a_name_begins_with_the_time_and_ends_with_the_goal() -> None:
    assert NAME.startswith("20260101T000000Z-") and rollback.of_run({}, [], {}, BEGAN) != NAME


@pytest.mark.parametrize(
    ("rows", "changing", "continued"),
    [
        pytest.param({"n1": changed_row(), "n2": changed_row(FORMER[:-1] + "1")}, ["n2"], True, id="its other nodes"),
        pytest.param({"n1": changed_row(), "n2": changed_row(undone=True)}, ["n2"], True, id="undone in part"),
        pytest.param({"n1": changed_row(undone=True)}, ["n1"], False, id="undone"),
        pytest.param({"n1": changed_row()}, ["n1"], False, id="complete on a node that changes again"),
        pytest.param({"n1": changed_row(active=reference("a"))}, ["n1"], True, id="a node that was reverted"),
        pytest.param({"n1": changed_row(settled=False)}, ["n1"], True, id="a node that failed"),
        pytest.param({"n1": changed_row(reason="on trial; waits")}, ["n1"], True, id="a node that is not confirmed"),
        pytest.param({"n1": changed_row(), "n2": changed_row(LATTER)}, ["n3"], False, id="not the newest"),
        pytest.param({"n1": changed_row("20260101T000000Z-00000000")}, ["n3"], False, id="another goal"),
        pytest.param({"n1": changed_row(""), "n2": changed_row("", previous=None)}, ["n3"], False, id="no name"),
    ],
)
def test_a_run_that_continues_a_rollout(rows: dict[str, Any], changing: list[str], continued: bool) -> None:
    found = rollback.of_run(rows, changing, GOAL, BEGAN + 3600)
    assert found == (NAME if continued else NAME.replace("T00", "T01"))


def test_the_newest_rollout_is_undone_unless_another_one_is_named() -> None:
    rows = {"n1": changed_row(FORMER), "n2": changed_row(LATTER, undone=True)}
    rows.update(n3=changed_row(""), n4=changed_row("", previous=None))
    found = {wanted: rollback.to_undo(rows, wanted) for wanted in ("", None, FORMER, f" {LATTER} ", "unknown")}
    assert found == {"": LATTER, None: LATTER, FORMER: FORMER, f" {LATTER} ": LATTER, "unknown": ""}
    assert rollback.to_undo({"n4": rows["n4"]}) is None
    others = f"{LATTER}: 1 node .n2.; {FORMER}: 1 node .n1.; unknown: 1 node .n3."
    with pytest.raises(ValueError, match=f"no node of the group .*{others}"):
        rollback.to_undo(rows, NAME)
    with pytest.raises(ValueError, match="there is none"):
        rollback.to_undo({"n4": rows["n4"]}, FORMER)


OWN = {"kind": "K", "eventBurst": 9}
FIRST = {"kind": "K", "eventBurst": 31, "maxPods": 80}
SECOND = {"kind": "K", "eventBurst": 32}


def configmap(notes: dict[str, Any]) -> dict[str, Any]:
    return {"metadata": {"annotations": notes}}


def record(*steps: tuple[str, dict[str, Any], dict[str, Any]]) -> rollback.Record | None:
    """Return the record after rollouts have written."""
    found = None
    for rollout, before, after in steps:
        found = rollback.read(configmap(rollback.written(found, rollout, before, after)))
    return found


BOTH = (("one", OWN, FIRST), ("two", FIRST, SECOND))


@pytest.mark.parametrize(
    ("rollout", "config", "after", "left"),
    [
        ("two", SECOND, FIRST, True),
        ("one", SECOND, SECOND, None),
        ("all", SECOND, OWN, False),
        ("all", {**SECOND, "maxPods": 5}, {**OWN, "maxPods": 5}, False),
        ("two", {**SECOND, "eventBurst": 5}, {**FIRST, "eventBurst": 5}, True),
    ],
)
def test_undoing(rollout: str, config: dict[str, Any], after: dict[str, Any], left: bool | None) -> None:
    """C(left): whether something is left to undo; None if nothing was."""
    known = record(*BOTH)
    assert known
    found, note = rollback.undone(known, rollout, config)
    assert found == after
    assert (note != {}) == (left is not None) and bool(note.get(rollback.WRITTEN)) == bool(left)


def test_undoing_step_by_step_leaves_nothing() -> None:
    """Several runs of one rollout are one step."""
    known = record(("one", OWN, {**OWN, "eventBurst": 31}), ("one", {**OWN, "eventBurst": 31}, FIRST))
    assert known
    assert rollback.undone(known, "one", FIRST) == (OWN, {rollback.WRITTEN: None})
    edited = rollback.read(configmap({rollback.WRITTEN: '{"rollout": "one", "last": {"a": [null, null]}, "all": {}}'}))
    assert edited and rollback.undone(edited, "one", OWN) == (OWN, {rollback.WRITTEN: None})


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "[" * 9999, '{"rollout": "one"}', '{"rollout": "one", "last": {"a": 1}, "all": {}}']
)
def test_a_record_that_cannot_be_used(text: str) -> None:
    assert rollback.read(configmap({rollback.WRITTEN: text})) is None
    assert rollback.read({"metadata": {}}) is None
