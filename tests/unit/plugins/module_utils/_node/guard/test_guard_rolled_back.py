# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The controller reverts a node, and its connection is lost before it restarts the kubelet: the guard does."""

from __future__ import annotations

import errno
import os
import subprocess
import typing as t
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.store import statefiles
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.store.trial import Moment
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.switch import checkpoint_module
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system import files
from tests.support.guard_node import LOCAL, NEW, Node, NoRoom
from tests.support.versions import OURS

REASON = "pods were lost"
SPEC: dict[str, t.Any] = {
    "state": "rolled_back",
    "source": None,
    "data": None,
    "invocation": "",
    "lock_timeout": 1,
    "reason": REASON,
    "unconfirmed_only": False,
}
GRACE = checkpoint_module.RESTART_SECONDS


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Node:
    node = Node(tmp_path)
    keep_time(node, monkeypatch)
    return node


def keep_time(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Moment, "now", lambda: Moment(node.boot, node.seconds, node.wall))


def rolled_back(node: Node, pretend: bool = False) -> dict[str, t.Any]:
    """What the module does, without the restart that the role adds."""
    return OURS.apply({**SPEC, "config_dir": node.store.config_dir}, pretend, node.store)


@pytest.mark.parametrize("observed", [True, False])
@pytest.mark.fault(case=35)
def test_the_guard_restarts_the_kubelet_if_the_controller_does_not(
    node: Node, observed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    node.assign()
    node.start()
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
    for _look in range(3):
        node.later(GRACE)
    assert node.ran == [NEW, LOCAL] and node.later() is None


def test_after_the_restart_by_the_controller_the_guard_restarts_nothing(node: Node, tmp_path: Path) -> None:
    state = tmp_path / "cpu_manager_state"
    state.write_text("none")
    node.assign(state_files=statefiles.take([str(state)]))
    node.start()
    state.write_text("static")
    node.later()
    rolled_back(node)
    node.later()
    assert not node.store.revert_ended(), "the role must restart the kubelet"
    node.start()
    assert state.read_text() == "none" and node.error() == REASON and node.store.revert_ended()
    for _look in range(3):
        node.later(GRACE)
    assert node.ran == [NEW, LOCAL] and node.later() is None


def test_the_event_of_the_revert_is_queued_once(node: Node) -> None:
    node.assign()
    node.start()
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
    node.assign()
    node.start()
    node.later()

    def killed(_self: object, _trial: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(type(node.store), "record", killed)
        patch.setattr(type(node.store), "settle", killed)
        with pytest.raises(KeyboardInterrupt):
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
    node.assign()
    node.start()
    rolled_back(node)
    node.boot, node.seconds = "b2", 5.0
    node.start()
    node.later(GRACE)
    assert node.ran == [NEW, LOCAL] and node.error() == REASON


def test_a_kubelet_that_an_operator_stopped_gets_its_state_files_when_it_starts(node: Node, tmp_path: Path) -> None:
    state = tmp_path / "cpu_manager_state"
    state.write_text("none")
    node.assign(state_files=statefiles.take([str(state)]))
    node.start()
    state.write_text("static")
    node.properties.update(ActiveState="inactive", SubState="dead", MainPID="0")
    rolled_back(node)
    node.later(GRACE)
    report = node.guard().records.report()
    node.later(GRACE)
    assert node.ran == [NEW] and node.guard().records.report() == report, "one report, no start"
    node.start()
    assert state.read_text() == "none"


def test_the_guard_is_started(node: Node, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It ends when there is nothing to watch."""
    asked = []

    def execute(argv: t.Sequence[str]) -> subprocess.CompletedProcess[str]:
        asked.append(list(argv))
        return subprocess.CompletedProcess(list(argv), 1, "", "no bus")

    unit = tmp_path / "livenodes-kubelet-guard.service"
    unit.touch()
    monkeypatch.setattr(checkpoint_module, "GUARD", str(unit))
    monkeypatch.setattr(checkpoint_module, "execute", execute)
    node.assign()
    assert (rolled_back(node, pretend=True)["warnings"], asked) == ([], [])
    warnings = rolled_back(node)["warnings"]
    assert asked == [["systemctl", "start", unit.name]] and "no bus" in warnings[0]
    assert node.store.running() == LOCAL


def test_a_full_disk_leaves_the_restart_to_the_controller(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = NoRoom(names=True)
    node = Node(tmp_path, disk)
    keep_time(node, monkeypatch)
    node.assign()
    node.start()
    disk.full = True
    done = rolled_back(node)
    assert done["restart_needed"] and node.store.running() == LOCAL and done["warnings"]
    trial = node.store.trial()
    assert trial and not trial.failed, "no record without the verdict"


def test_a_full_disk_and_a_lost_controller(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kubelet is deaf, and runs what is not active any more. The guard cannot record that it restarts it."""
    disk = NoRoom(names=True)
    node = Node(tmp_path, disk)
    keep_time(node, monkeypatch)
    node.assign()
    node.start()
    node.later()
    disk.full, node.well = True, False
    assert rolled_back(node)["restart_needed"]
    for _look in range(10):
        node.later(60)
    assert node.commands.count("systemctl restart") == 1 and node.ran == [NEW, LOCAL]


def test_a_full_disk_and_a_kubelet_that_an_operator_has_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk holds no verdict. The next start of the kubelet is the operator's, with the former configuration."""
    disk = NoRoom(names=True)
    node = Node(tmp_path, disk)
    keep_time(node, monkeypatch)
    node.assign()
    node.start()
    node.later()
    disk.full = True
    assert rolled_back(node)["restart_needed"]
    node.properties.update(ActiveState="inactive", SubState="dead", MainPID="0")
    for disk.full in (True, False):
        for _look in range(10):
            node.later(60)
    assert "systemctl restart" not in node.commands
    trial = node.store.trial()
    node.start()
    assert trial and trial.failed and node.ran == [NEW, LOCAL]


def test_one_restart_on_a_read_only_file_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The note of the revert cannot be removed, and the guard finds it at each look."""

    class ReadOnly(files.OS):
        on = False

        def _check(self) -> None:
            if self.on:
                raise OSError(errno.EROFS, os.strerror(errno.EROFS))

        def create(self, path: str, mode: int) -> int:
            self._check()
            return super().create(path, mode)

        def unlink(self, path: str) -> None:
            self._check()
            super().unlink(path)

    disk = ReadOnly()
    node = Node(tmp_path, disk)
    keep_time(node, monkeypatch)
    node.assign()
    node.start()
    node.later()
    rolled_back(node)
    disk.on, guard = True, node.guard()
    for _look in range(20):
        node.seconds += GRACE
        guard.tick()
    assert node.commands.count("systemctl restart") == 1 and node.ran == [NEW, LOCAL]
    disk.on = False
    guard.tick()
    assert node.commands.count("systemctl restart") == 1 and not node.guard().records.progress().verdict


def assigned(node: Node, state: Path, uid: str) -> dict[str, t.Any]:
    """What the module does for a change that removes a state file, without the restart that the role adds."""
    other = {
        "namespace": "kube-system",
        "name": uid,
        "uid": uid,
        "resource_version": "1",
        "kubelet_config_key": "kubelet",
    }
    more = {"local_config": str(node.own)}
    terms = {"trial_seconds": 60, "confirm_seconds": 60, "was_healthy": True, "state_files": [str(state)]}
    wanted = {**SPEC, **more, **terms, "state": "assigned", "source": other, "data": {"kubelet": "{}"}}
    return OURS.apply({**wanted, "config_dir": node.store.config_dir}, store=node.store)


@pytest.mark.fault(case=32)
def test_a_second_change_before_that_restart_keeps_the_state_files(node: Node, tmp_path: Path) -> None:
    """The files on the node are still those of the refused configuration."""
    state = tmp_path / "cpu_manager_state"
    state.write_text("none")
    saved = statefiles.take([str(state)])
    node.assign(state_files=saved)
    node.start()
    state.write_text("static")
    rolled_back(node)
    assigned(node, state, "b")
    trial = node.store.trial()
    assert trial and [entry["data"] for entry in trial.state_files] == [saved[0]["data"]]


@pytest.mark.fault(case=32)
def test_a_second_change_that_fails_restores_the_state_files_from_before_the_first(node: Node, tmp_path: Path) -> None:
    """The first one, with another policy, is still on trial, and the revert leads to what ran before both."""
    state = tmp_path / "cpu_manager_state"
    state.write_text("none")
    node.assign(state_files=statefiles.take([str(state)]))
    node.start()
    state.write_text("static")
    node.later()
    assigned(node, state, "b")
    node.start()
    state.write_text("static")
    node.start(1)
    node.start(2)
    assert (node.ran[-1], state.read_text()) == (LOCAL, "none") and "ended 2 times" in node.error()
    done = assigned(node, state, "b")
    assert done["restart_needed"] and done["error"] == ""
    node.start()
    assert node.ran[-1] == "store/checkpoints/b/1"
