# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The name of a rollout: which one a run continues, and which one a rollback undoes."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.undo import changed_by
from tests.support.objects import reference

OLD, NEW = "20260101T000000Z-00000000", "20260102T000000Z-00000000"
GOAL = {"maxPods": 80}
BEGAN = 1767225600.0
"""2026-01-01 00:00:00 UTC."""
NAME = changed_by.of_run({}, [], GOAL, BEGAN)


def row(rollout: str = NAME, **more: Any) -> dict[str, Any]:
    """Return the row of a node that a rollout has changed from a to b."""
    about = {"previous": reference("a"), "active": reference("b"), "undone": False, "settled": True, "reason": ""}
    return {"rollout": rollout, **about, **more}


def test_a_name_begins_with_the_time_and_ends_with_the_goal() -> None:
    assert NAME.startswith("20260101T000000Z-") and changed_by.of_run({}, [], {}, BEGAN) != NAME


@pytest.mark.parametrize(
    ("rows", "changing", "continued"),
    [
        pytest.param({"n1": row(), "n2": row(OLD[:-1] + "1")}, ["n2"], True, id="its other nodes"),
        pytest.param({"n1": row(), "n2": row(undone=True)}, ["n2"], True, id="undone in part"),
        pytest.param({"n1": row(undone=True)}, ["n1"], False, id="undone"),
        pytest.param({"n1": row()}, ["n1"], False, id="complete on a node that changes again"),
        pytest.param({"n1": row(active=reference("a"))}, ["n1"], True, id="a node that was reverted"),
        pytest.param({"n1": row(settled=False)}, ["n1"], True, id="a node that failed"),
        pytest.param({"n1": row(reason="on trial; waits")}, ["n1"], True, id="a node that is not confirmed"),
        pytest.param({"n1": row(), "n2": row(NEW)}, ["n3"], False, id="not the newest"),
        pytest.param({"n1": row("20260101T000000Z-00000000")}, ["n3"], False, id="another goal"),
        pytest.param({"n1": row(""), "n2": row("", previous=None)}, ["n3"], False, id="no name"),
    ],
)
def test_a_run_that_continues_a_rollout(rows: dict[str, Any], changing: list[str], continued: bool) -> None:
    found = changed_by.of_run(rows, changing, GOAL, BEGAN + 3600)
    assert found == (NAME if continued else NAME.replace("T00", "T01"))


def test_the_newest_rollout_is_undone_unless_another_one_is_named() -> None:
    rows = {"n1": row(OLD), "n2": row(NEW, undone=True), "n3": row(""), "n4": row("", previous=None)}
    found = {wanted: changed_by.to_undo(rows, wanted) for wanted in ("", None, OLD, f" {NEW} ", "unknown")}
    assert found == {"": NEW, None: NEW, OLD: OLD, f" {NEW} ": NEW, "unknown": ""}
    assert changed_by.to_undo({"n4": rows["n4"]}) is None
    with pytest.raises(
        ValueError, match=f"no node of the group .*{NEW}: 1 node .n2.; {OLD}: 1 node .n1.; unknown: 1 node .n3."
    ):
        changed_by.to_undo(rows, NAME)
    with pytest.raises(ValueError, match="there is none"):
        changed_by.to_undo({"n4": rows["n4"]}, OLD)
