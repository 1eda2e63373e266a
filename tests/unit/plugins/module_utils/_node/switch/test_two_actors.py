# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One actor at a time: a run over ssh within a look of the follower, at any step, and a look between any two calls of a
run over ssh.

The guard needs the store's lock within a switch, so the lock is held for one change only. What a run has found before
its inspection is compared under the lock, and who comes second leaves the node alone.
"""

from __future__ import annotations

import contextlib
import typing as t
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import following
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.switch import one_call, values
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.switch.one_call import StepError
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system.files import StoreError
from tests.support.node.followed_node import FollowedNode
from tests.support.node.simulated_unit import text
from tests.support.node.stored import source

STEPS, SWITCHED = 9, 7
"""So many steps take a look that switches a node: requests, inspections, what is installed; and the switch itself."""


class Actors:
    """A node with a follower, and a run over ssh by the calls of the role."""

    def __init__(self, node: FollowedNode) -> None:
        self.node = node
        self.contents = {name: text("good", name) for name in "ab"}
        for name, content in self.contents.items():
            node.push(source(name), content)
        self.problem = ""

    def by_ssh(self, name: str, between: t.Callable[[int], None] = lambda _call: None) -> None:
        """Assign, restart and confirm. `between` is called before each call."""
        self.node.advance(1.0)
        self.node.point(source(name), following.SSH)
        given = {**self.node.options(), "source": values.option(source(name))}
        try:
            between(0)
            found = one_call.apply({**given, "state": "assigned", "data": {"kubelet": self.contents[name]}}, False)
            between(1)
            if found["restart_needed"]:
                one_call.apply({**given, "state": "restarted", "trial": found["trial"]["name"]}, False)
            between(2)
            one_call.apply({**given, "state": "confirmed"}, False)
        except (StepError, StoreError) as error:
            self.problem = str(error)

    def runs(self) -> str:
        """Return which configuration runs after everything on trial has ended."""
        self.node.advance(1000.0)
        assert self.node.kubelet is not None and self.node.healthy()
        return next(name for name, content in self.contents.items() if content == self.node.kubelet.content)


@pytest.fixture
def actors(tmp_path: Path) -> t.Iterator[Actors]:
    node = FollowedNode(tmp_path, 1)
    with node.standing_in():
        yield Actors(node)


@pytest.mark.parametrize("step", range(STEPS))
def test_a_run_over_ssh_within_a_look(actors: Actors, step: int) -> None:
    """The Node names the source of that run then, and runs it at the end. The follower claims no other one before."""
    node = actors.node
    node.point(source("a"))
    node.at_step = {step: lambda: actors.by_ssh("b")}
    node.look()
    assert not node.at_step, "the look has fewer steps"
    assert actors.problem == ""
    restarts = node.unit.guard_restarts
    node.look()
    assert actors.runs() == "b" and node.unit.guard_restarts == restarts
    answer = node.answer()
    assert answer.source != source("a") or answer.refused or step >= SWITCHED


@pytest.mark.parametrize("call", range(3))
def test_a_look_within_a_run_over_ssh(actors: Actors, call: int) -> None:
    """A person names another source meanwhile. Who comes second reports whose the node is."""
    node = actors.node

    def between(now: int) -> None:
        if now == call:
            node.advance(1.0)
            node.point(source("a"))
            node.look()

    actors.by_ssh("b", between)
    assert node.answer().source == source("a") and not node.answer().refused
    if call:
        assert "the follower of this node" in actors.problem or "the assigned source is ConfigMap" in actors.problem
    node.judge("")
    node.look()
    assert actors.runs() == ("a" if call else "b")


@pytest.mark.parametrize("call", [1, 2])
def test_who_finds_the_work_done_changes_nothing(actors: Actors, call: int) -> None:
    """The follower sees the same source at its own transport within the run."""
    node = actors.node
    seen: list[str] = []

    def between(now: int) -> None:
        if now == call:
            node.point(source("b"))
            node.look()
            seen.append(node.unit.invocation)

    actors.by_ssh("b", between)
    assert actors.problem == "" and not node.answer().refused
    assert actors.runs() == "b" and (call == 1 or node.unit.invocation == seen[0])


def test_a_second_switch_between_inspection_and_switch_is_refused(actors: Actors) -> None:
    """Also of two runs over ssh."""
    options = {**actors.node.options(), "state": "assigned", "standing": values.standing(actors.node.store())}
    actors.by_ssh("b")
    given = {"source": values.option(source("a")), "data": {"kubelet": actors.contents["a"]}}
    with pytest.raises(StepError, match="another run has assigned ConfigMap kube-system/b"):
        one_call.apply({**options, **given}, False)
    with contextlib.suppress(StepError):
        one_call.apply({**options, **given, "source": values.option(source("b"))}, False)
    assert actors.runs() == "b"
