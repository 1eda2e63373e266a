# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""After any sequence of assignments and faults a node with a follower runs what was confirmed last or its own file, and
its answer is true.
"""

from __future__ import annotations

import typing as t

import pytest

from tests.support.node.any_followed_sequence import AnyFollowedSequence
from tests.support.node.any_sequence import settings_for

Steps = list[tuple[str, dict[str, t.Any]]]
GOOD: Steps = [("judge", {"reason": "", "looked_at": True}), ("wait", {"seconds": 90.0})]
# Sequences that failed, without the steps that do not matter. Each begins with a good configuration on trial.
PINNED: dict[str, Steps] = {
    "a source is assigned by hand before the follower has seen the verdict on the one before": [
        ("judge", {"reason": "", "looked_at": False}),
        ("point_by_hand", {"behavior": "good", "before": False}),
        ("look", {"cut": None, "steps": None, "power": False}),
    ],
    "a person returns to the configuration before the trial, and the last verdict is an earlier one": [
        *GOOD,
        ("point_by_hand", {"behavior": "good", "before": False}),
        ("look", {"cut": None, "steps": None, "power": False}),
        ("point_by_hand", {"behavior": "good", "before": True}),
        ("look", {"cut": None, "steps": None, "power": False}),
    ],
    "a reset is killed before it has removed the guard": [
        *GOOD,
        ("go_back", {"before": False, "looked_at": False}),
        ("look", {"cut": None, "steps": 5, "power": False}),
    ],
    "a reset is killed before it has removed the store": [
        *GOOD,
        ("go_back", {"before": False, "looked_at": False}),
        ("look", {"cut": None, "steps": 6, "power": False}),
    ],
}

AnyFollowedSequence.TestCase.settings = settings_for(20, 10000)
TestAnyFollowedSequence = AnyFollowedSequence.TestCase


@pytest.mark.parametrize("steps", PINNED.values(), ids=list(PINNED))
def test_a_sequence_that_has_failed_before(steps: Steps) -> None:
    machine = AnyFollowedSequence()
    try:
        for name, options in [("begin", {"seed": 1, "behavior": "good"}), *steps]:
            getattr(machine, name)(**options)
    finally:
        machine.teardown()


def test_a_deadly_configuration_whose_answer_is_lost_is_tried_once() -> None:
    machine = AnyFollowedSequence()
    try:
        machine.begin(seed=1, behavior="good")
        machine.point("dies", "none", False)
        machine.look_without_answer(2)
        machine.wait(400.0)
        tried = machine.node.store().trial()
        machine.look(None, None, False)
        assert machine.node.store().trial() == tried and tried is not None and tried.failed
        assert machine.node.answer().refused == tried.failed
    finally:
        machine.teardown()


def test_a_node_that_is_created_again_during_a_look_is_not_reset() -> None:
    """The answer is about the former Node. On the new one, which names no source, it would be a source removed."""
    machine = AnyFollowedSequence()
    try:
        machine.begin(seed=1, behavior="good")
        machine.judge(reason="", looked_at=True)
        machine.wait(90.0)
        machine.point("good", "none", False)
        machine.node.at_step[4] = machine.node.cluster.create_node
        machine.look(None, None, False)
        assigned = machine.node.store().assigned()
        machine.look(None, None, False)
        assert assigned is not None and machine.node.store().assigned() == assigned
    finally:
        machine.teardown()
