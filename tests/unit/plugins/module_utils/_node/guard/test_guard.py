# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A trial from its switch to its end, and what a node without a whole configuration runs."""

from __future__ import annotations

import subprocess
import typing as t
from pathlib import Path
from unittest import mock

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.report.status_annotation import Report, stamp
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.store import statefiles
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.store.trial import Progress
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system import files
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.unit.unit import Unit
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.unit.unit_reader import Command
from tests.support.node.guard_node import LOCAL, NEW, NONE, OTHER, SOURCE, STATIC, Node, state_file

POLICY = '{"cpuManagerPolicy": "static"}'
"""A configuration with the policy of STATIC."""


def test_the_fields_of_a_drop_in_folder(node: Node, tmp_path: Path) -> None:
    """The guard knows the folder, the kubelet's command line names none; a kubelet without healthz is healthy."""
    node.well = False
    (tmp_path / "50.conf").write_text("healthzPort: 0\n")
    for node.folder, healthy in (("", False), (str(tmp_path), True)):
        guard = node.guard()
        seen = guard.host.kubelet()
        assert seen and guard.observing.facts(seen).healthy is healthy
        assert ("healthzPort" in guard.host.config("active")) is healthy


@pytest.mark.fault(case=7)
def test_a_crash_loop_ends_with_the_start_that_is_one_too_many(node: Node) -> None:
    node.assign()
    for restarts in (0, 1, 2):
        node.start(restarts)
    assert node.ran == [NEW, NEW, LOCAL] and "ended 2 times" in node.error()
    assert node.later() is None
    node.start(3)
    assert node.ran[-1] == LOCAL


def _hangs(node: Node) -> None:
    node.switch()
    node.well = False
    assert node.later() == 1
    node.later(60)
    assert node.ran == [NEW, LOCAL]
    node.well = True


def _is_given_up(node: Node) -> None:
    node.switch()
    node.properties.update(ActiveState="failed", SubState="failed", Result="start-limit-hit")
    node.later()
    node.properties["Result"] = "success"


def _was_broken_before(node: Node) -> None:
    node.assign(extra={"was_healthy": False})
    node.well = False
    node.start(5)
    node.start(9)
    assert node.ran[-1] == NEW
    node.later(60)
    node.well = True


def _lost_its_store(node: Node) -> None:
    node.assign()
    node.store.graduate(SOURCE, "")
    Path(node.store.config_dir, f"{NEW}/kubelet").write_text("torn")
    files.remove_any(node.store.local_folder, files.OS())
    node.start()


@pytest.mark.parametrize(
    ("happen", "words"),
    [
        (_hangs, "healthz has failed"),
        (_is_given_up, "systemd has given up starting the kubelet (start-limit-hit)"),
        (_was_broken_before, "was not confirmed"),
        (_lost_its_store, "does not match"),
    ],
)
@pytest.mark.fault(case=8)
@pytest.mark.fault(case=13)
@pytest.mark.fault(case=14)
@pytest.mark.fault(case=24)
def test_another_configuration_graduates_afterwards(node: Node, happen: t.Callable[[Node], None], words: str) -> None:
    happen(node)
    assert (node.ran[-1], words in node.error()) == (LOCAL, True), node.error()
    # The module names no last-known-good that is damaged.
    node.switch(OTHER, invocation=node.properties["InvocationID"], back=None)
    node.later()
    node.confirm()
    node.later(60)
    assert (node.store.running(), node.store.last_known_good()) == ("store/checkpoints/u2/1", OTHER)
    assert node.error() == ""


def test_an_observation_of_the_former_kubelet_does_not_count_against_the_new_one(node: Node) -> None:
    """The watcher observes, and waits for the lock while the kubelet is restarted with the new configuration."""
    node.properties.update(NRestarts="9")
    node.assign()
    guard, look, looks = node.guard(), node.run, []

    def interrupted(argv: t.Sequence[str]) -> subprocess.CompletedProcess[str]:
        seen = look(argv)
        looks.append(argv)
        if len(looks) == 1:
            node.start()
        return seen

    guard.host.run = interrupted
    assert guard.tick() == 1
    node.later()
    assert (node.ran, node.error()) == ([NEW], "")


def confirmed(node: Node, **trial: t.Any) -> None:
    """Let the controller confirm a configuration whose kubelet is healthy."""
    node.switch(**trial)
    node.confirm()
    node.later()


def test_graduates_without_the_controller(node: Node) -> None:
    confirmed(node, kubelet_version="v1.20.2")
    assert node.store.last_known_good() is None
    node.later(60)
    assert (node.store.last_known_good(), node.store.trial()) == (SOURCE, None)
    assert node.store.graduated_with() == "v1.20.2" and node.later() is None


@pytest.mark.fault(case=9)
def test_waits_for_its_node(node: Node) -> None:
    confirmed(node)
    node.unverified = "Node n1 is not Ready"
    assert [node.later(seconds) for seconds in (60, 10, 3600)] == [10, 10, 10]
    assert node.store.last_known_good() is None and node.ran == [NEW]
    assert "n1 is not Ready" in node.reason() and "error" not in node.status()
    node.unverified = ""
    node.later()
    assert node.store.last_known_good() == SOURCE


def test_asks_for_a_node_more_rarely_the_longer_it_is_not_ready(node: Node) -> None:
    """Not at every look: a thousand unready nodes would send a hundred requests a second."""
    confirmed(node)
    guard, asked = node.guard(), []
    guard.verify = lambda: asked.append(node.seconds) or node.unverified
    node.unverified = "Node n1 is not Ready"
    begun = node.seconds
    while node.seconds < begun + 3600:
        node.seconds += guard.tick() or 0
    assert 3600 / 180 <= len(asked) <= 3600 / 60
    node.unverified = ""
    while guard.tick() is not None:
        node.seconds += 10
        assert node.seconds < begun + 3600 + 200
    assert node.store.last_known_good() == SOURCE


def test_a_kubelet_that_ends_while_its_node_is_asked_for_does_not_graduate(node: Node) -> None:
    confirmed(node)
    guard = node.guard()
    guard.verify = lambda: node.start(1) or ""
    node.seconds += 60
    guard.tick()
    assert node.store.last_known_good() is None and node.ran == [NEW, NEW]


def test_the_start_of_the_kubelet_is_reported_while_it_runs(node: Node) -> None:
    guard = node.guard()
    node.properties["ExecMainStartTimestampMonotonic"] = "5000000"
    guard.host.queue_report("reverted")
    pending = t.cast(Report, guard.records.report())
    assert guard.reportable()
    guard.records.write_report(pending._replace(annotated=True, message=""))
    assert not guard.reportable()
    guard.tick()
    assert guard.reportable() and guard.seen and guard.seen.since()
    # A revert whose restart is still to follow.
    guard.records.remember(Progress(verdict="it ended"))
    assert not guard.reportable()


@pytest.mark.parametrize("looked", [False, True])
@pytest.mark.fault(case=11)
def test_state_files_go_with_the_switch(node: Node, tmp_path: Path, looked: bool) -> None:
    """Also when the watcher has observed before the first start of the trial, as is usual."""
    state = state_file(node, tmp_path, NONE)
    node.texts["u1"] = POLICY
    node.assign(state_files=statefiles.take([str(state)]))
    if looked:
        node.later()
    node.start()
    assert not state.exists()
    state.write_text(STATIC)
    node.start(1)
    assert state.read_text() == STATIC
    node.start(2)
    assert state.read_text() == NONE


@pytest.mark.parametrize("text", ["", "none"])
def test_a_damaged_state_file_gives_way_to_a_switch_that_names_it(node: Node, tmp_path: Path, text: str) -> None:
    state = state_file(node, tmp_path, text)
    node.texts["u1"] = POLICY
    node.switch(state_files=statefiles.take([str(state)]))
    assert not state.exists()


@pytest.mark.parametrize("former", [None, OTHER])
def test_a_trial_whose_switch_never_came_is_forgotten(node: Node, former: dict[str, str] | None) -> None:
    if former:
        node.assign(former)
        node.store.graduate(former, "")
    running = node.store.running()
    node.arm(SOURCE, former)
    node.later(61)
    assert (node.store.trial(), node.store.running(), node.store.error(), node.ran) == (None, running, "", [])
    assert node.later() is None


def test_a_trial_that_is_healthy_for_a_minute_is_looked_at_more_rarely(node: Node) -> None:
    node.switch(deadline_seconds=1000, extra={"confirm_seconds": 1000})
    assert [node.later(seconds) for seconds in (1, 60, 1)] == [1, 1, 10]


def test_a_start_takes_up_a_change_of_the_unit(
    node: Node, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    given: list[tuple[str, str]] = []
    monkeypatch.setattr(Unit, "renew", lambda _self, active, folder: given.append((active, folder)) or True)
    node.folder = "/d"
    node.start()
    assert given == [(f"{node.store.active}/kubelet", "/d")]
    assert "the kubelet's unit has changed" in capsys.readouterr().err


def test_an_unreadable_trial_is_reverted(node: Node) -> None:
    node.switch()
    Path(node.store.trial_path).write_text("torn")
    node.later()
    assert node.store.running() == node.ran[-1] == LOCAL and node.store.trial_path in node.error()


def test_what_is_on_trial_gets_no_state_file_from_before_several_trials(node: Node, tmp_path: Path) -> None:
    """It may reserve other CPUs than what ran with this policy then. The service runs to watch it."""
    state = state_file(node, tmp_path, NONE)
    Path(statefiles.spare(str(state), "static")).write_text(STATIC)
    node.texts["u1"] = POLICY
    node.assign()
    node.properties.update(ActiveState="activating", SubState="start-pre")
    assert node.guard().prestart() and node.store.running() == NEW
    assert not state.exists()


def test_a_start_that_is_killed_does_not_pass_for_the_one_before(node: Node, tmp_path: Path) -> None:
    state = state_file(node, tmp_path, NONE)
    node.start()
    node.texts["u1"] = POLICY
    node.assign()
    with mock.patch.object(node, "run", side_effect=KeyboardInterrupt), pytest.raises(KeyboardInterrupt):
        node.guard().prestart()
    state.write_text(STATIC)
    Path(node.store.trial_path).write_text("torn")
    node.store.point(LOCAL)
    node.start()
    assert not state.exists()


@pytest.mark.parametrize(("flags", "stays"), [(["--cpu-manager-policy=static"], True), ([], False)])
def test_a_flag_that_the_unit_has_got_since_keeps_its_state_file_after_a_boot(
    node: Node, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flags: list[str], stays: bool
) -> None:
    state = state_file(node, tmp_path, STATIC)
    monkeypatch.setattr(Unit, "next_command", lambda _unit: Command([*node.argv, *flags], "systemd"))
    node.reboot(1)
    assert state.exists() is stays


@pytest.mark.parametrize("damaged", ["files/0", "manifest", "config/kubelet"])
def test_with_a_damaged_local_configuration_the_units_own_file_is_run(node: Node, damaged: str) -> None:
    node.switch()
    node.own.write_text("kind: KubeletConfiguration\nmaxPods: 42\n")
    Path(node.store.local_folder, damaged).write_text("torn")
    node.start(2)
    remembered = damaged == "config/kubelet"
    assert node.ran[-1] == LOCAL and ("maxPods: 42" in Path(node.store.active, "kubelet").read_text()) != remembered
    assert "ended 2 times" in node.error()
    node.start()
    assert node.ran[-1] == LOCAL and node.store.usable()


def test_nothing_whole_and_no_file_of_its_own_is_reported(node: Node, capsys: pytest.CaptureFixture[str]) -> None:
    node.own.unlink()
    Path(node.store.local_folder, "files/0").write_text("torn")
    node.start()
    assert "k.yaml: there is no kubelet config file" in capsys.readouterr().err


@pytest.mark.parametrize("jump", [-(10**9), -3600, 3600, 10**9])
@pytest.mark.fault(case=21)
def test_a_jump_of_the_clock_changes_nothing(node: Node, jump: float, monkeypatch: pytest.MonkeyPatch) -> None:
    node.switch()
    node.later()
    node.epoch += jump
    monkeypatch.setattr("time.time", lambda: node.wall)
    node.later()
    assert node.store.running() == NEW
    node.later(60)
    assert node.store.running() == LOCAL and "was not confirmed" in node.error()
    assert not node.guard().records.progress().name


@pytest.mark.parametrize(("jump", "again"), [(-3600.0, True), (3600.0, True), (2.0, True), (1.5, False), (-1.5, False)])
@pytest.mark.fault(case=21)
def test_the_start_of_the_kubelet_is_reported_again_once_the_clock_was_set(
    node: Node, jump: float, again: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The heartbeats of a clock that was set back would else seem older than the start of their kubelet."""
    monkeypatch.setattr("time.time", lambda: node.wall)
    node.switch()
    guard = node.guard()
    for _look in range(3):
        guard.tick()
        node.seconds += 1
    sent = t.cast(Report, guard.records.report())
    assert sent.status["reason"] == "on trial" and sent.message
    guard.records.sent(sent, None)
    node.epoch += jump
    guard.tick()
    found = guard.records.report()
    assert (found is not None) == again
    if found:
        assert found.status == {**sent.status, "time": stamp(node.wall)} and not found.message
        guard.records.sent(found, None)
    node.seconds += 1
    guard.tick()
    assert guard.records.report() is None and node.ran == [NEW]
