# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a rollback and a reset change, by delivery and by what is known."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.undo import undo_plan
from tests.support.objects import HEADER, live, place, reference

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
    return undo_plan.make({"variants": VARIANTS, "nodes": {"n1": given}}, {}, allow)


DROPIN = {"delivery": "dropin", "kubelet_version": "v1.33.0"}
UNREAD = {"variant": None, "unread": "no answer"}


@pytest.mark.parametrize(
    ("given", "changes", "effect", "warnings"),
    [
        pytest.param(row("old"), {"maxPods": 90, "clusterDNS": None}, "drain", [], id="between two sources"),
        pytest.param(
            row("old", **UNREAD), {"maxPods": 90, "clusterDNS": None}, "drain", ["no-live-config"], id="unread"
        ),
        pytest.param(row("old", None, **UNREAD), {}, "disrupt", ["no-live-config"], id="nothing is known"),
        pytest.param(row("old", None), {"maxPods": 90, "clusterDNS": None}, "drain", [], id="source gone"),
        pytest.param(row(None, own=RECORD), {"maxPods": 70, "clusterDNS": None}, "drain", [], id="own values"),
        pytest.param(row(None, own=UNKNOWN), {"maxPods": 70, "clusterDNS": None}, "drain", [], id="one not known"),
        pytest.param(row(None), {}, "disrupt", ["no-record"], id="no record"),
        pytest.param(row(None, "part", **DROPIN), {"maxPods": None, "clusterDNS": None}, "drain", [], id="drop-in"),
        pytest.param(
            row("empty", "part", own=RECORD, **DROPIN), {"maxPods": 70, "clusterDNS": None}, "drain", [], id="less"
        ),
    ],
)
def test_what_changes(given: dict[str, Any], changes: dict[str, Any], effect: str, warnings: list[str]) -> None:
    made = plan(given, "drain")
    found = made["nodes"]["n1"]
    assert {change["path"]: change["after"] for change in found["changes"]} == changes
    assert (found["effect"], [problem["rule"] for problem in found["problems"]]) == (effect, warnings)
    assert not made["refused"] and made["summary"]["to_change"] == 1


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
    assert made["refused"] and "old: there is no such ConfigMap" in problem["message"]
    assert "kubelet_config_variant" in problem["remedy"]
