# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stage assign: what a node notes of the rollout that changes it, and of a rollback of it."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import ClusterError
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.stages import assign
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import annotation
from tests.support.assigning import get, listed, options, patch
from tests.support.calls import Calls
from tests.support.objects import node, place, reference, status

OLD, NEW = "20260101T000000Z-00000000", "20260102T000000Z-00000000"
RAN = {"configMap": place("config-old")}
RUNS = status(reference("config-now"), reference("config-now"))
FAILED = status(reference("config-now"), reference("config-good"), None, "failed to validate config")
LATE = status(reference("config-x"), reference("config-x"))
NOW = {"configMap": reference("config-now")}


def found(noted: dict[str, t.Any] | None, config: dict[str, t.Any], source: t.Any = None) -> dict[str, t.Any]:
    """Return a Node that should run config-now, with this annotation."""
    made = node("n1", place("config-now") if source is None else source or None, config)
    if noted is not None:
        made["metadata"]["annotations"] = {annotation.PREVIOUS: annotation.text(noted)}
    return made


@pytest.mark.parametrize(
    ("noted", "config", "written"),
    [
        pytest.param(None, RUNS, {**NOW, "rollout": NEW}, id="the first"),
        pytest.param({**RAN, "rollout": OLD, "undone": True}, RUNS, {**NOW, "rollout": NEW}, id="a later one"),
        pytest.param(RAN, RUNS, {**NOW, "rollout": NEW}, id="after one without a name"),
        pytest.param({**RAN, "rollout": NEW}, RUNS, None, id="the same again"),
        pytest.param({"rollout": NEW}, RUNS, None, id="the same again, from its own file"),
        pytest.param({**RAN, "rollout": NEW, "undone": True}, RUNS, {**RAN, "rollout": NEW}, id="undone, and again"),
        pytest.param(
            {**RAN, "rollout": OLD},
            FAILED,
            {"configMap": reference("config-good"), "rollout": NEW},
            id="it runs what it fell back to",
        ),
        pytest.param({**RAN, "rollout": OLD}, LATE, {**RAN, "rollout": NEW}, id="it never ran what it should"),
        pytest.param(None, LATE, None, id="what it ran is not known"),
    ],
)
def test_what_a_rollout_notes(
    noted: dict[str, t.Any] | None, config: dict[str, t.Any], written: dict[str, t.Any] | None
) -> None:
    notes = {} if written is None else {annotation.PREVIOUS: annotation.text(written)}
    calls = (listed(found(noted, config)), get("config-a"), patch("n1", place("config-a"), notes=notes))
    with Calls(*calls) as session:
        result = assign.assign(session, options(sources={"n1": place("config-a")}, rollout=NEW, undo=False), False)
    assert result["changed"]


@pytest.mark.parametrize("undone", [False, True])
def test_a_rollback_to_a_source_marks_the_node(undone: bool) -> None:
    """A second run that finds the source in place marks a node that was not marked yet, and no other."""
    noted = {**RAN, "rollout": NEW}
    marked = {**noted, "undone": True}
    before = found(marked if undone else noted, RUNS, place("config-old"))
    write = patch("n1", place("config-old"), notes={annotation.PREVIOUS: annotation.text(marked)})
    write.answer["metadata"]["annotations"] = {annotation.PREVIOUS: annotation.text(marked)}
    same = [] if undone else [write]
    with Calls(listed(before), *same) as session:
        given = options(sources={"n1": place("config-old")}, undo=True)
        assert assign.assign(session, given, False)["changed"] is not undone


@pytest.mark.parametrize("undo", [False, True])
def test_a_rollback_to_the_own_file_keeps_the_mark_and_a_reset_nothing(undo: bool) -> None:
    marked = {"rollout": NEW, "undone": True}
    notes = {annotation.PREVIOUS: annotation.text(marked) if undo else None}
    write = patch("n1", None, notes=notes)
    write.answer["metadata"]["annotations"] = {annotation.PREVIOUS: annotation.text(marked)} if undo else {}
    with Calls(listed(found({"rollout": NEW}, RUNS)), write) as session:
        result = assign.assign(session, options(state="absent", nodes=["n1"], undo=undo), False)
    assert result["nodes"]["n1"]["state"] == "reset"


def test_a_name_that_is_none() -> None:
    with Calls() as session, pytest.raises(ClusterError, match="rollout is 'x', not the name of a rollout"):
        assign.assign(session, options(sources={"n1": place("config-a")}, rollout="x"), False)
