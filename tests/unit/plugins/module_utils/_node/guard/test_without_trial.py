# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A reverted kubelet that cannot use a state file that the configuration on trial wrote."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.guard.decide import Facts, Unit
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.store.kept_files import KeptFiles
from tests.support.node.guard_node import LOCAL, NEW, SOURCE, Node


@pytest.fixture
def node(node: Node, tmp_path: Path) -> Node:
    """A node whose trial has changed one state file and written another."""
    root = tmp_path / "kubelet"
    guard = Path(node.store.config_dir, "guard")
    for folder in (root, guard):
        folder.mkdir()
    (guard / "settings.json").write_text(json.dumps({"argv": ["kubelet", f"--root-dir={root}"]}))
    (root / "cpu_manager_state").write_text("old")
    record(node).save(node.boot, False)
    node.switch()
    (root / "cpu_manager_state").write_text("new")
    (root / "dra_manager_state").write_text("new")
    return node


def record(node: Node) -> KeptFiles:
    return KeptFiles(node.store.config_dir)


def state(node: Node) -> dict[str, str]:
    root = Path(node.store.config_dir).parent / "kubelet"
    return {path.name: path.read_text() for path in sorted(root.glob("*_state"))}


CHANGED = {"cpu_manager_state": "new", "dra_manager_state": "new"}


def test_they_are_restored_after_it_has_ended_twice(node: Node) -> None:
    for restarts in (2, 3):
        node.start(restarts)
        assert (node.ran[-1], state(node)) == (LOCAL, CHANGED)
    node.seconds += 20
    node.start(4)
    assert state(node) == {"cpu_manager_state": "old"} and record(node).read() is None
    assert node.reason() == "state files restored"
    assert "ended 2 times; then" in node.error() and "cpu_manager_state" in node.error()
    node.start(5)
    assert state(node) == {"cpu_manager_state": "old"}


def test_they_are_restored_on_a_full_disk(node: Node) -> None:
    """Also that the revert has begun cannot be written there."""
    node.disk.full = True
    for restarts in (2, 3, 4):
        node.start(restarts)
    assert node.ran[-1] == LOCAL and state(node) == {"cpu_manager_state": "old"}


def test_the_first_start_after_a_reboot_finds_no_folder_in_memory(
    node: Node, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    node.store.revert("rolled back")
    shutil.rmtree(tmp_path / "run")
    node.boot = "b2"
    node.start()
    assert "begun" in {path.name for path in (tmp_path / "run").iterdir()} and not capsys.readouterr().err


def test_they_stay_when_it_runs(node: Node) -> None:
    node.start(2)
    node.seconds += 3600
    node.start(3)
    node.start(4)
    assert state(node) == CHANGED and record(node).read() is None


def test_they_stay_on_trial_and_after_it(node: Node) -> None:
    node.start(1)
    assert (node.ran[-1], state(node)) == (NEW, CHANGED)
    node.confirm()
    node.store.graduate(SOURCE, "v1.20.2")
    assert record(node).read() is None
    for restarts in (1, 2, 3):
        node.start(restarts)
    assert state(node) == CHANGED


def test_the_service_runs_to_report_what_was_restored(node: Node) -> None:
    for restarts in (2, 3):
        node.start(restarts)
    Path(node.guard().records.report_path).unlink()
    node.seconds += 20
    node.properties.update(NRestarts="4", ActiveState="activating", SubState="start-pre")
    assert node.guard().prestart() is True


def crashing(node: Node) -> None:
    """The kubelet ends again and again with a configuration that has graduated."""
    node.store.graduate(SOURCE, "v1.20.2")
    node.seconds = 5000
    for restarts in (1, 2, 3):
        node.start(restarts)
        node.seconds += 5


def test_a_kubelet_that_recovers_is_reported_after_a_minute(node: Node) -> None:
    crashing(node)
    assert node.reason() == "not changed" and "ended 2 times" in node.error()
    for _look in range(6):
        assert node.later(10) == 10
    assert node.reason() == "not changed"
    assert node.later(10) == 10
    assert node.reason() == "recovered" and node.later(10) is None


def test_a_start_that_systemd_does_not_describe_is_no_crash(node: Node) -> None:
    unknown = Facts(node.boot, 5000.0, Unit(known=False))
    assert not node.guard().without_trial.crashing(unknown)
    crashing(node)
    assert node.guard().without_trial.crashing(unknown), "what was seen before still counts"


def test_a_kubelet_without_healthz_does_not_recover(node: Node) -> None:
    crashing(node)
    node.well = False
    for _look in range(9):
        assert node.later(10) == 10
    assert node.reason() == "not changed"


def test_a_damaged_checkpoint_gives_way_to_the_local_configuration(node: Node) -> None:
    node.store.graduate(SOURCE, "v1.20.2")
    (Path(node.store.config_dir) / NEW / "kubelet").write_text("damaged")
    node.start()
    assert (node.ran[-1], node.reason()) == (LOCAL, "reverted to an intact configuration")
    assert "local" in node.message()


def test_without_any_intact_configuration_the_own_file_is_copied_again(node: Node) -> None:
    node.store.graduate(SOURCE, "v1.20.2")
    shutil.rmtree(Path(node.store.config_dir, "store", "checkpoints"))
    shutil.rmtree(Path(node.store.config_dir, "store", "local"))
    node.start()
    assert (node.ran[-1], node.reason()) == (LOCAL, f"reverted to {node.own}")
    assert "local" in node.message()


def test_what_was_left_on_a_full_disk_is_reported_once_there_is_room(tmp_path: Path) -> None:
    node = Node(tmp_path)
    node.store.stage(SOURCE, {"kubelet": "{}"})
    node.store.links.prepare(LOCAL)
    node.store.point(node.store.target(SOURCE))
    node.disk.full, node.seconds = True, 1000
    for restarts in range(1, 5):
        node.start(restarts)
        node.seconds += 10
    assert node.store.running() == LOCAL and not node.status()
    assert node.later(61, 3) and not node.status()
    node.disk.full = False
    assert node.later(61) and node.reason() == "recovered" and "active" not in node.status()
    assert node.later() is None
