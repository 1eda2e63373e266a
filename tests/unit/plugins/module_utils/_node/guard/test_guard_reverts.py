# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reverts under bad conditions: a full disk, a reboot, a second change within a trial. The terms of a trial, which
kubelet still runs what was active before it, and which revert was not reported.
"""

from __future__ import annotations

import os
import typing as t
from pathlib import Path
from unittest import mock

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.guard import decide, evidence, judging
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.guard.decide import Facts, Unit
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.guard.guard import Guard
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.report.status_annotation import Outbox
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.store import local, statefiles
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.store.trial import Moment, Progress, Trial
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system.files import FileError
from tests.support.node.guard_node import LOCAL, NEW, OTHER, SOURCE, Node

THIRD = {**SOURCE, "uid": "u3"}
TRIAL = Trial(SOURCE, OTHER, Moment("b1", 5.0, 1e9), deadline_seconds=60, invocation="i0")
FORMER = "store/checkpoints/u2/1"


@pytest.mark.parametrize("names", [False, True], ids=["nothing can be created", "names can be created"])
def test_a_revert_needs_no_free_block(node: Node, names: bool) -> None:
    node.switch()
    node.disk.full, node.disk.names = True, names
    node.start(2)
    assert node.store.running() == LOCAL


@pytest.mark.fault(case=20)
def test_a_revert_is_reported_once_there_is_room_for_the_report(node: Node) -> None:
    """The note of the trial that went frees a block, which is enough for the record of the revert only."""
    node.switch()
    node.disk.full = True
    node.start(2)

    node.disk.full = False
    full = FileError("/report", "cannot write: No space left on device")
    with mock.patch.object(Outbox, "write_report", side_effect=full):
        for _look in range(3):
            assert node.later() is not None
    failed = node.trial().failed
    assert failed and node.error() == ""
    node.later()
    assert node.error() == failed and node.guard().records.progress() == Progress()
    assert node.restarts == 0


def test_the_revert_of_a_drop_in_needs_no_free_block(node: Node, tmp_path: Path) -> None:
    """The link in the kubelet's folder stays, and leads to an empty override then."""
    folder = tmp_path / "conf.d"
    folder.mkdir()
    link = folder / local.LINK
    link.symlink_to(f"{node.store.active}/kubelet")
    node.store.lay_over(str(link))
    node.folder, node.own = str(folder), link
    node.switch()
    assert link.read_bytes() != local.OVERRIDE
    node.disk.full = True
    node.start(2)
    assert node.store.running() == LOCAL and link.read_bytes() == local.OVERRIDE
    assert [path.name for path in folder.iterdir()] == [local.LINK]


def test_a_kubelet_that_systemd_gave_up_is_started_again_also_if_it_ran_the_former_configuration(node: Node) -> None:
    """Something ended it between the switch of `active` and its restart, and its start limit was reached."""
    node.start()
    node.assign()
    node.properties.update(ActiveState="failed", SubState="failed", Result="signal", MainPID="0")
    node.later(times=2)
    assert node.store.running() == LOCAL
    assert node.commands.count("systemctl reset-failed") == 1 and node.restarts == 1
    assert "given up" in node.error()


@pytest.mark.parametrize("starting", [True, False])
def test_the_kubelet_is_not_restarted_while_the_revert_is_not_possible(node: Node, starting: bool) -> None:
    node.switch()
    node.disk.full, node.disk.renames = True, False
    if starting:
        node.start(2)
    guard, waits = node.guard(), []
    node.well = False
    for _look in range(9):
        node.seconds += 60
        waits.append(guard.tick())
    assert node.store.running() == NEW and not node.restarts
    assert waits == [2, 4, 8, 16, 32, 60, 60, 60, 60]
    node.disk.full = False
    node.later(60)
    assert node.store.running() == LOCAL and node.restarts == 1


def test_a_configuration_that_fails_after_a_reboot_is_reverted_on_a_full_disk(node: Node) -> None:
    """The boot and the ends of the kubelet are counted, although the disk cannot hold the counts."""
    node.switch(confirmed=True)
    node.later()
    node.disk.full = True
    node.boot, node.seconds = "b2", 10.0
    for restarts in range(12):
        node.start(restarts)
        node.seconds += 20
    assert node.store.running() == LOCAL


@pytest.mark.fault(case=31)
def test_a_reboot_before_the_confirmation_restores_the_state_files(node: Node, tmp_path: Path) -> None:
    state = tmp_path / "cpu_manager_state"
    state.write_text("none")
    node.switch(state_files=statefiles.take([str(state)]))
    state.write_text("static")
    node.reboot(5.0)
    assert node.ran[-1] == LOCAL and state.read_text() == "none" and "rebooted" in node.error()
    node.switch(state_files=statefiles.take([str(state)]))
    assert node.ran[-1] == NEW and node.error() == ""


@pytest.mark.fault(case=40)
def test_a_trial_that_was_armed_and_not_switched_does_not_end_the_trial_before(node: Node) -> None:
    """A is on trial, B is armed, and the module is stopped before the switch: A's trial goes on."""
    node.switch(extra={"confirm_seconds": 900}, deadline_seconds=900)
    node.later()
    before = node.store.trial()
    for source in (OTHER, THIRD):
        node.arm(source, deadline_seconds=5, invocation="i1")
    node.later(10)
    assert node.store.trial() == before and node.store.running() == NEW
    assert os.readlink(node.store.links.prepared) == LOCAL
    node.start(1)
    node.start(2)
    assert node.store.running() == LOCAL, "the trial that counts again still reverts"
    node.switch(OTHER)
    assert node.ran[-1] not in (LOCAL, NEW) and node.error() == "", "the interrupted change, made again"


@pytest.mark.parametrize("second", [THIRD, SOURCE], ids=["another one", "back to last-known-good"])
@pytest.mark.fault(case=40)
def test_a_trial_that_counts_again_reverts_on_a_full_disk(node: Node, second: dict[str, str]) -> None:
    """OTHER is on trial, a switch to the second one is interrupted after its trial was armed, and the disk is full."""
    node.assign()
    node.store.graduate(SOURCE, "v1.20.2")
    node.switch(OTHER)
    node.arm(second, OTHER if second == SOURCE else SOURCE, invocation="i1")
    node.disk.full = True
    node.start(2)
    # The links lead to what the second trial would have reverted to, and to the local configuration.
    assert node.store.running() == (LOCAL if second == SOURCE else NEW)
    node.disk.full = False
    node.later(60)
    assert node.store.running() == node.ran[-1] == NEW and node.restarts <= 1


def test_a_revert_ends_a_kubelet_that_runs_what_the_trial_before_left(node: Node) -> None:
    """A is on trial, the module switches to B and is stopped before the restart: the kubelet still runs A."""
    node.switch(extra={"confirm_seconds": 900}, deadline_seconds=900)
    node.later()
    node.assign(OTHER, back=None, invocation="i1", extra={"confirm_seconds": 60})
    node.later()
    assert node.restarts == 0
    node.later(60)
    assert node.store.running() == node.ran[-1] == LOCAL and node.restarts == 1


def test_a_trial_whose_source_is_no_longer_assigned_ends(node: Node) -> None:
    """A reset was stopped after it wrote what is assigned and before the switch: the trial can never be passed."""
    node.switch(confirmed=True, deadline_seconds=5)
    node.later()
    (Path(node.store.config_dir) / "store/meta/assigned").write_bytes(b"")
    node.later(20, times=2)
    assert node.store.trial() is None and node.store.running() == NEW
    assert "run again" in node.error()


@pytest.mark.parametrize("noted", [True, False])
def test_a_kubelet_that_runs_neither_of_both_is_restarted(node: Node, noted: bool) -> None:
    """A runs without a trial, B is assigned without a restart and not confirmed: the revert leads to the local one."""
    node.switch()
    node.store.disarm()
    node.assign(OTHER, back=None, invocation="i1", extra={"confirm_seconds": 60})
    if not noted:
        os.remove(node.started.path)
    node.later(60)
    node.later()
    assert node.store.running() == LOCAL
    # What the kubelet was started with is unknown without the note: only the InvocationID is compared then.
    assert node.restarts == (1 if noted else 0)


def test_a_kubelet_whose_unit_lost_the_step_of_the_guard_is_restarted_once(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    node.switch(extra={"confirm_seconds": 60})
    monkeypatch.setattr(Guard, "prestart", lambda _guard: False)
    node.later(60)
    node.later(times=3)
    assert node.restarts == 1 and node.ran == [NEW, LOCAL]


@pytest.mark.parametrize("verdict", ["", "it ended"])
def test_a_revert_that_a_power_cut_ended_before_the_rename_is_finished_at_the_start(node: Node, verdict: str) -> None:
    """The trial has failed according to the disk, and `active` still leads to what failed."""
    node.switch()
    trial = node.trial()
    node.store.record(trial._replace(failed="it ended"))
    node.guard().records.remember(Progress(name=trial.name, verdict=verdict))
    node.reboot(5.0)
    assert node.ran[-1] == LOCAL and node.error() == "it ended"
    node.later()
    assert node.restarts == 0


def test_a_revert_that_was_recorded_before_does_not_restart_a_kubelet_that_never_stopped(node: Node) -> None:
    """The guard ended between the record of the revert and its rename, and the kubelet runs what was active before."""
    node.start()
    node.assign(invocation="i1")
    trial = node.trial()
    node.store.record(trial._replace(failed="it ended"))
    node.guard().records.remember(Progress(name=trial.name, verdict="it ended", boot=node.boot))
    node.later()
    assert (node.store.running(), node.ran, node.error()) == (LOCAL, [LOCAL], "it ended")
    assert node.restarts == 0 and node.later() is None


def test_a_revert_whose_note_was_lost_before_the_restart_is_finished(node: Node) -> None:
    node.switch()
    node.store.revert("it ended")
    node.guard().records.remember(Progress())
    node.later()
    assert (node.ran, node.restarts, node.error()) == ([NEW, LOCAL], 1, "it ended")


@pytest.mark.parametrize("dies", [False, True])
def test_what_a_revert_led_to_stays_when_its_trial_is_lost(node: Node, dies: bool) -> None:
    """The controller has confirmed NEW, whose trial was not over, and a crash has emptied that of OTHER."""
    node.switch(confirmed=True)
    node.assign(OTHER, back=SOURCE)
    for restarts in (0, 1, 2):
        node.start(restarts)
    Path(node.store.trial_path).write_text("")
    node.start()
    assert node.ran[-2:] == [NEW, NEW] and node.later() is None
    if dies:
        node.seconds += 200
        node.start(1)
        node.start(2)
    assert node.ran[-1] == (LOCAL if dies else NEW)
    assert ("never became last-known-good" in node.error()) == dies


def test_what_a_failed_last_known_good_has_reverted_to_is_not_left_for_that(node: Node) -> None:
    """The controller has confirmed OTHER, whose trial was not over, when it put last-known-good on trial again."""
    node.switch()
    node.store.graduate(SOURCE, "v1.20.2")
    node.switch(OTHER, confirmed=True)
    node.switch(back=OTHER)
    node.start(1)
    node.start(2)
    assert node.ran[-1] == FORMER and node.trial().failed
    node.seconds += 200
    node.start(1)
    node.start(2)
    assert node.ran[-2:] == [FORMER, LOCAL] and node.reason() == "reverted to the local configuration"


@pytest.mark.parametrize("stopped", [False, True])
def test_what_stays_is_started_if_the_module_was_stopped_before_that(node: Node, stopped: bool) -> None:
    """Last-known-good was put on trial again, within the trial of OTHER, which the kubelet still runs."""
    node.switch()
    node.store.graduate(SOURCE, "v1.20.2")
    node.switch(OTHER)
    node.assign(back=SOURCE, invocation=node.properties["InvocationID"], extra={"confirm_seconds": 60})
    if stopped:
        node.properties.update(ActiveState="inactive", SubState="dead", MainPID="0")
    node.later(30, 3)
    assert node.reason() == "not changed" and node.store.trial() is None
    assert (node.restarts, node.ran[-1]) == ((0, FORMER) if stopped else (1, NEW))


@pytest.mark.parametrize("made", [os.mkdir, lambda path: os.symlink("/dev/null", path)], ids=["folder", "link"])
def test_a_lock_that_no_process_can_have_prevents_no_revert(node: Node, made: t.Callable[[str], object]) -> None:
    node.switch()
    lock = f"{node.store.config_dir}/lock"
    os.unlink(lock)
    made(lock)
    node.start(1)
    node.start(2)
    assert node.ran[-1] == LOCAL and node.trial().failed


def left_on_a_full_disk(node: Node) -> None:
    """A revert to OTHER, which was not recorded, has been left for the local configuration as well."""
    node.store.stage(OTHER, {"kubelet": "{}"})
    node.switch(back=OTHER)
    node.store.point(LOCAL)


def test_a_revert_that_is_recorded_late_leads_nowhere_else(node: Node) -> None:
    left_on_a_full_disk(node)
    node.start(1)
    assert (node.store.running(), node.trial().failed != "", node.trial().revert_to) == (LOCAL, True, None)
    assert node.later(600) is None and node.restarts == 0 and node.reason() == "reverted to the local configuration"


def test_ends_after_a_revert_that_is_not_recorded_are_none_of_its_trial(node: Node) -> None:
    left_on_a_full_disk(node)
    before = node.guard().records.progress()
    node.disk.full = True
    for restarts in range(1, 5):
        node.start(restarts)
    assert node.guard().records.progress() == before and not node.trial().failed


def test_the_terms_of_a_trial_without_options() -> None:
    terms = judging.terms_of(TRIAL)
    assert (terms.name, terms.boot, terms.armed, terms.invocation) == (TRIAL.name, "b1", 5.0, "i0")
    assert (terms.confirm_seconds, terms.hold_seconds, terms.unhealthy_seconds) == (60, 60, decide.UNHEALTHY_SECONDS)
    assert terms.boot_grace_seconds == evidence.BOOT_GRACE_SECONDS
    assert terms.recovery_seconds == evidence.RECOVERY_SECONDS
    assert (terms.was_healthy, terms.can_revert, terms.confirmed) == (True, True, False)


@pytest.mark.parametrize(
    "name", ["confirm_seconds", "was_healthy", "unhealthy_seconds", "boot_grace_seconds", "recovery_seconds"]
)
def test_each_option_of_a_trial_changes_its_term_alone(name: str) -> None:
    value = False if name == "was_healthy" else 7
    terms = judging.terms_of(TRIAL._replace(extra={name: value}))
    assert terms == judging.terms_of(TRIAL)._replace(**{name: value})


def test_a_trial_of_what_it_reverts_to_cannot_be_reverted() -> None:
    assert not judging.terms_of(TRIAL._replace(revert_to=SOURCE)).can_revert
    assert judging.terms_of(TRIAL._replace(confirmed=True)).confirmed


@pytest.mark.parametrize(
    ("replaced", "invocation", "boot", "read"),
    [
        (None, "i0", "b1", FORMER),
        (None, "i1", "b1", NEW),
        (None, "i0", "b2", NEW),
        ({"failed": ""}, "i0", "b1", ""),
        ({"failed": "it ended"}, "i0", "b1", FORMER),
    ],
)
def test_what_a_kubelet_has_read_whose_start_was_not_noted(
    node: Node, replaced: dict[str, t.Any] | None, invocation: str, boot: str, read: str
) -> None:
    facts = Facts(boot, 6.0, unit=Unit(invocation=invocation))
    assert node.guard().reverts.read(TRIAL._replace(replaced=replaced), facts) == read


@pytest.mark.parametrize(
    ("progress", "unreported"),
    [
        # The controller has recorded the revert, with or without the restart that is due.
        ({}, True),
        ({"due": 9.0, "verdict": "another reason"}, True),
        # The guard has, and was stopped before its report.
        ({"verdict": "it ended"}, True),
        ({"name": "b1/4.0", "verdict": "it ended"}, True),
        ({"verdict": "another reason"}, False),
        ({"name": "b1/4.0"}, False),
        *(({"due": 9.0, "verdict": "it ended", "reported": stage}, False) for stage in ("reverted", "stopped")),
    ],
)
def test_which_revert_was_not_reported(progress: dict[str, t.Any], unreported: bool) -> None:
    known = Progress(**{"name": TRIAL.name, **progress})
    assert judging._unreported(TRIAL._replace(failed="it ended"), known) == unreported


@pytest.mark.parametrize(
    ("replaced", "active", "interrupted"),
    [
        ({"to": OTHER, "failed": ""}, FORMER, True),
        ({"to": OTHER, "failed": ""}, NEW, False),
        ({"to": OTHER, "failed": "it ended"}, FORMER, False),
        ({"to": None, "failed": ""}, LOCAL, False),
        (None, FORMER, False),
    ],
)
def test_a_switch_within_a_trial_was_interrupted(
    node: Node, replaced: dict[str, t.Any] | None, active: str, interrupted: bool
) -> None:
    """Then what the former trial put there is still active. A revert leads away from it."""
    node.store.point(active)
    assert node.guard().reverts._never_switched(TRIAL._replace(replaced=replaced, revert_to=None)) == interrupted
