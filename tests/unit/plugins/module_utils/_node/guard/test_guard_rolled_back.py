# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The controller reverts a node, and its connection is lost before it restarts the kubelet: the guard does."""

from __future__ import annotations

import errno
import os
import typing as t
from functools import partial
from pathlib import Path
from unittest import mock

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.store import statefiles
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.store.store import Store
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.switch import checkpoint_module
from tests.support.node.guard_node import LOCAL, NEW, Node, guard_answers, installed_guard
from tests.support.node.stored import source

REASON = "pods were lost"
GRACE = checkpoint_module.RESTART_SECONDS
STOPPED = {"ActiveState": "inactive", "SubState": "dead", "MainPID": "0"}

pytestmark = pytest.mark.usefixtures("on_its_clock")


def rolled_back(node: Node, pretend: bool = False) -> dict[str, t.Any]:
    return node.call("rolled_back", pretend=pretend, reason=REASON)


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """A state file whose content fits the configuration before the trial."""
    path = tmp_path / "cpu_manager_state"
    path.write_text("none")
    return path


def switch(node: Node, state: Path) -> None:
    """Switch to a configuration with another policy: its kubelet writes the state file anew."""
    node.switch(state_files=statefiles.take([str(state)]))
    state.write_text("static")


@pytest.mark.parametrize("observed", [True, False])
@pytest.mark.fault(case=35)
def test_the_guard_restarts_the_kubelet_if_the_controller_does_not(
    node: Node, observed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    node.switch()
    if observed:
        node.later()
    assert rolled_back(node)["restart_needed"]
    # The API server is not asked for the Node.
    monkeypatch.setattr(Node, "unverified", property(lambda _node: pytest.fail("asked for the Node")), raising=False)
    for _second in range(5):
        assert node.later() is not None
    assert node.ran == [NEW], "the controller is about to restart the kubelet"
    node.later(GRACE)
    assert node.ran == [NEW, LOCAL] and node.error() == REASON
    node.later(GRACE, times=3)
    assert node.ran == [NEW, LOCAL] and node.later() is None


def test_after_the_restart_by_the_controller_the_guard_restarts_nothing(node: Node, state: Path) -> None:
    switch(node, state)
    node.later()
    rolled_back(node)
    node.later()
    assert not node.store.revert_ended(), "the role must restart the kubelet"
    node.start()
    assert state.read_text() == "none" and node.error() == REASON and node.store.revert_ended()
    node.later(GRACE, times=3)
    assert node.ran == [NEW, LOCAL] and node.later() is None


def test_the_event_of_the_revert_is_queued_once(node: Node) -> None:
    node.switch()
    rolled_back(node)
    guard = node.guard()
    node.seconds += GRACE
    guard.tick()
    report = guard.records.report()
    assert report and REASON in report.message
    guard.records.sent(report, report._replace(message="", annotated=True))
    node.start()
    pending = guard.records.report()
    assert pending is None or not pending.message


def test_a_module_that_is_killed_before_it_reverts_is_completed(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    node.switch()
    node.later()

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Store, "record", mock.Mock(side_effect=KeyboardInterrupt))
        patch.setattr(Store, "settle", mock.Mock(side_effect=KeyboardInterrupt))
        rolled_back(node)
    assert node.store.running() == NEW
    node.later()
    assert node.ran == [NEW, LOCAL] and node.error() == REASON


def test_a_kubelet_that_never_ran_the_configuration_is_not_restarted(node: Node) -> None:
    node.assign()
    rolled_back(node)
    node.later(GRACE)
    assert (node.ran, node.store.running(), node.error()) == ([], LOCAL, REASON)
    assert node.later() is None


def test_a_reboot_in_between_completes_the_revert(node: Node) -> None:
    node.switch()
    rolled_back(node)
    node.reboot(5.0)
    node.later(GRACE)
    assert node.ran == [NEW, LOCAL] and node.error() == REASON


def test_a_kubelet_that_an_operator_stopped_gets_its_state_files_when_it_starts(node: Node, state: Path) -> None:
    switch(node, state)
    node.properties.update(STOPPED)
    rolled_back(node)
    node.later(GRACE)
    report = node.guard().records.report()
    node.later(GRACE)
    assert node.ran == [NEW] and node.guard().records.report() == report, "one report, no start"
    node.start()
    assert state.read_text() == "none"


def test_the_guard_is_started(node: Node, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It ends when there is nothing to watch."""
    execute = mock.Mock(side_effect=partial(guard_answers, code=1, errors="no bus"))
    unit = installed_guard(tmp_path)
    monkeypatch.setattr(checkpoint_module, "GUARD", unit)
    monkeypatch.setattr(checkpoint_module, "execute", execute)
    node.assign()
    assert rolled_back(node, pretend=True)["warnings"] == [] and not execute.called
    warnings = rolled_back(node)["warnings"]
    execute.assert_called_once_with(["systemctl", "start", os.path.basename(unit)])
    assert "no bus" in warnings[0]
    assert node.store.running() == LOCAL


@pytest.fixture
def full(node: Node) -> Node:
    """A node that is reverted on a full disk, which has no room for the record of that."""
    node.switch()
    node.later()
    node.disk.full = node.disk.names = True
    done = rolled_back(node)
    assert done["restart_needed"] and node.store.running() == LOCAL and done["warnings"]
    assert not node.trial().failed, "no record without the verdict"
    return node


def test_a_full_disk_and_a_lost_controller(full: Node) -> None:
    """The kubelet is deaf, and runs what is not active any more. The guard cannot record that it restarts it."""
    full.well = False
    full.later(60, times=10)
    assert full.restarts == 1 and full.ran == [NEW, LOCAL]


def test_a_full_disk_and_a_kubelet_that_an_operator_has_stopped(full: Node) -> None:
    """The disk holds no verdict. The next start of the kubelet is the operator's, with the former configuration."""
    full.properties.update(STOPPED)
    for full.disk.full in (True, False):
        full.later(60, times=10)
    assert not full.restarts
    assert full.trial().failed
    full.start()
    assert full.ran == [NEW, LOCAL]


def test_one_restart_on_a_read_only_file_system(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    """The note of the revert cannot be removed, and the guard finds it at each look."""
    node.switch()
    node.later()
    rolled_back(node)
    guard = node.guard()
    with monkeypatch.context() as read_only:
        for call in ("create", "unlink"):
            refuse = mock.Mock(side_effect=OSError(errno.EROFS, os.strerror(errno.EROFS)))
            read_only.setattr(node.disk, call, refuse)
        for _look in range(20):
            node.seconds += GRACE
            guard.tick()
    assert node.restarts == 1 and node.ran == [NEW, LOCAL]
    guard.tick()
    assert node.restarts == 1 and not node.guard().records.progress().verdict


def assigned(node: Node, state: Path) -> dict[str, t.Any]:
    """Let the module change to B, with another policy than that of the state file."""
    return node.call("assigned", source("b"), state_files=[str(state)])


@pytest.mark.fault(case=32)
def test_a_second_change_before_that_restart_keeps_the_state_files(node: Node, state: Path) -> None:
    """The files on the node are still those of the refused configuration."""
    saved = statefiles.take([str(state)])
    switch(node, state)
    rolled_back(node)
    assigned(node, state)
    assert [entry["data"] for entry in node.trial().state_files] == [saved[0]["data"]]


@pytest.mark.fault(case=32)
def test_a_second_change_that_fails_restores_the_state_files_from_before_the_first(node: Node, state: Path) -> None:
    """The first one, with another policy, is still on trial, and the revert leads to what ran before both."""
    switch(node, state)
    node.later()
    assigned(node, state)
    node.start()
    state.write_text("static")
    node.start(1)
    node.start(2)
    assert (node.ran[-1], state.read_text()) == (LOCAL, "none") and "ended 2 times" in node.error()
    done = assigned(node, state)
    assert done["restart_needed"] and done["error"] == ""
    node.start()
    assert node.ran[-1] == "store/checkpoints/uid-b/7"
