# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who stopped a kubelet that does not run, and what the guard does with a unit that does not restart."""

from __future__ import annotations

import subprocess
import typing as t
from pathlib import Path
from unittest import mock

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.guard.guard import Guard
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.store.trial import OrderedStop
from tests.support.node.guard_node import LOCAL, NEW, Node, NoRoom

STOPPED = {"ActiveState": "inactive", "SubState": "dead", "MainPID": "0"}


class Failing(Node):
    """A node whose unit does not start while `fails`: it is masked (and goes on running), or a dependency fails."""

    fails = ""

    def run(self, argv: t.Sequence[str]) -> subprocess.CompletedProcess[str]:
        if argv[1] != "restart" or not self.fails:
            return super().run(argv)
        self.commands.append("systemctl restart")
        if self.fails == "dependency":
            self.properties.update(STOPPED)
        return subprocess.CompletedProcess(list(argv), 1, "", "")

    def watch(self, guard: Guard, seconds: float) -> int:
        """Let the guard's service look for so long; return how often it tried to restart the kubelet."""
        before, end = self.restarts, self.seconds + seconds
        while self.seconds < end:
            wait = guard.tick()
            self.seconds += 10 if wait is None else wait
        return self.restarts - before


@pytest.fixture
def node(tmp_path: Path) -> Failing:
    return Failing(tmp_path)


@pytest.mark.fault(case=70)
def test_a_kubelet_that_the_guards_own_restart_stopped_is_started_when_its_dependency_is_back(node: Failing) -> None:
    """systemd stops it before containerd starts, and leaves it inactive."""
    node.switch()
    node.well, node.fails = False, "dependency"
    guard = node.guard()
    assert 1 < node.watch(guard, 700) < 30
    assert node.properties["ActiveState"] == "inactive" and node.store.running() == LOCAL
    node.fails, node.well = "", True
    node.watch(guard, 100)
    assert (node.properties["ActiveState"], node.ran[-1]) == ("active", LOCAL) and "healthz" in node.error()


@pytest.mark.parametrize("on_trial", [True, False])
@pytest.mark.fault(case=70)
def test_a_kubelet_that_the_controllers_restart_stopped_is_started(node: Failing, on_trial: bool) -> None:
    if on_trial:
        node.assign(extra={"confirm_seconds": 1000})
    guard = node.guard()
    OrderedStop(str(Path(node.started.path).parent)).note("i0")
    assert node.watch(guard, 20) == 0 and guard.tick() is not None, "it has not stopped yet"
    node.properties.update(STOPPED)
    node.fails = "dependency"
    assert node.watch(guard, 100) > 1
    node.fails = ""
    node.watch(guard, 100)
    assert (node.properties["ActiveState"], node.ran) == ("active", [NEW if on_trial else LOCAL])
    assert on_trial or guard.tick() is None


@pytest.mark.fault(case=70)
def test_a_kubelet_that_systemd_could_not_start_again_is_started_when_its_dependency_is_back(node: Failing) -> None:
    """Until what the unit requires has failed, that looks like a stop by an operator."""
    node.switch(extra={"confirm_seconds": 5000})
    node.properties.update(STOPPED)
    node.fails = "dependency"
    guard = node.guard()
    assert node.watch(guard, 90) == 0
    node.journal["dependency"] = "Dependency failed for kubelet."
    assert node.watch(guard, 200) > 1
    node.fails = ""
    node.watch(guard, 100)
    assert (node.properties["ActiveState"], node.ran) == ("active", [NEW, NEW])


@pytest.mark.parametrize("restarted_before", [True, False])
@pytest.mark.fault(case=70)
def test_a_stop_that_nobody_ordered_here_stays_the_operators(node: Failing, restarted_before: bool) -> None:
    if restarted_before:
        OrderedStop(str(Path(node.started.path).parent)).note("i0")
    node.switch()
    node.properties.update(STOPPED)
    assert node.watch(node.guard(), 2000) == 0
    assert len([words for words in node.commands if words.startswith("timeout")]) < 50, "the journal is asked too often"
    assert node.store.running() == LOCAL and "was not confirmed" in node.error()


@pytest.mark.fault(case=74)
def test_a_masked_unit_is_reverted_and_reported_once(node: Failing) -> None:
    """And it is asked to restart with pauses, not once a second."""
    node.switch()
    node.well, node.fails = False, "masked"
    guard = node.guard()
    with mock.patch.object(guard.records, "queue", wraps=guard.records.queue) as queue:
        assert 5 < node.watch(guard, 600) < 40
    events = [call.args[1] for call in queue.call_args_list]
    assert [event for event in events if "healthz" in event] == [events[-1]]


@pytest.mark.fault(case=20)
def test_a_healthy_kubelet_is_not_restarted_again_although_nothing_can_be_written(node: Failing) -> None:
    """Neither to the store's disk nor to /run."""
    memory = NoRoom()
    node.started.file.fs = node.started.fs = memory
    node.switch()
    node.well = False
    guard = node.guard()
    guard.tick()
    node.disk.full = memory.full = True
    assert node.watch(guard, 100) == 1
    node.well = True
    assert node.watch(guard, 600) == 0
    assert node.ran[-1] == LOCAL


@pytest.mark.fault(case=74)
def test_one_unanswered_question_to_systemd_forgets_no_restarts(node: Failing) -> None:
    """PID 1 is busy: the ends that were forgotten, excused or from before the trial are not counted again."""
    node.properties.update(NRestarts="7")
    node.assign()
    node.later()
    answer, node.run = node.run, lambda argv: answer(["systemctl", "x"])  # type: ignore[method-assign]
    node.guard().prestart()
    node.run = answer  # type: ignore[method-assign]
    node.later()
    node.later()
    assert node.store.running() == NEW and node.error() == ""


@pytest.mark.fault(case=73)
def test_what_was_confirmed_without_a_start_does_not_graduate(node: Failing) -> None:
    """By modules alone. The kubelet reads it weeks later, and ends: it is reverted then."""
    node.assign()
    node.confirm()
    node.later(600, times=5)
    assert node.store.last_known_good() is None
    node.start()
    node.start(1)
    node.start(2)
    assert node.ran[-1] == LOCAL and "ended 2 times" in node.error()
