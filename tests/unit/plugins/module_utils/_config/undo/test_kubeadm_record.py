# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What rollouts have written to kubeadm's ConfigMap, and what undoing leaves."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.undo import changed_by

OWN = {"kind": "K", "eventBurst": 9}
FIRST = {"kind": "K", "eventBurst": 31, "maxPods": 80}
SECOND = {"kind": "K", "eventBurst": 32}


def configmap(notes: dict[str, Any]) -> dict[str, Any]:
    return {"metadata": {"annotations": notes}}


def record(*steps: tuple[str, dict[str, Any], dict[str, Any]]) -> changed_by.Record | None:
    """Return the record after rollouts have written."""
    found = None
    for rollout, before, after in steps:
        found = changed_by.read(configmap(changed_by.written(found, rollout, before, after)))
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
    found, note = changed_by.undone(known, rollout, config)
    assert found == after
    assert (note != {}) == (left is not None) and bool(note.get(changed_by.WRITTEN)) == bool(left)


def test_undoing_step_by_step_leaves_nothing() -> None:
    """Several runs of one rollout are one step."""
    known = record(("one", OWN, {**OWN, "eventBurst": 31}), ("one", {**OWN, "eventBurst": 31}, FIRST))
    assert known
    assert changed_by.undone(known, "one", FIRST) == (OWN, {changed_by.WRITTEN: None})


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "[" * 9999, '{"rollout": "one"}', '{"rollout": "one", "last": {"a": 1}, "all": {}}']
)
def test_a_record_that_cannot_be_used(text: str) -> None:
    assert changed_by.read(configmap({changed_by.WRITTEN: text})) is None
    assert changed_by.read({"metadata": {}}) is None
