# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The kubelet's binary was replaced, and the disk is full or the guard is killed."""

from __future__ import annotations

import contextlib
import typing as t
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.guard.base import Host
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.guard.judging import Reverts
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.store.trial import Progress
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system import files
from tests.support.guard_node import LOCAL, NEW, OTHER, Node, NoRoom
from tests.support.replaced_binary import NEW_VERSION, WORDS, Kubelet, replaceable, with_good


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return with_good(tmp_path)


@pytest.fixture(autouse=True)
def kubelet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kubelet:
    return replaceable(tmp_path, monkeypatch)


def test_a_full_disk_does_not_prevent_the_start(tmp_path: Path, kubelet: Kubelet) -> None:
    disk = NoRoom()
    node = Node(tmp_path, disk)
    node.argv = (str(kubelet.path),)
    node.texts = {"u1": "{FIRST: 1}"}
    node.assign()
    node.start()
    kubelet.replace(NEW_VERSION, "FIRST")
    disk.full = True
    node.start()
    node.start()
    assert node.ran[-2:] == [LOCAL, LOCAL]
    disk.full = False
    node.start()
    asked = len(kubelet.asked)
    node.start()
    assert node.ran[-1] == LOCAL and len(kubelet.asked) == asked


def test_a_full_disk_after_the_trial_does_not_prevent_the_start(tmp_path: Path, kubelet: Kubelet) -> None:
    """There is no room for a link either: the one to the local configuration exists all the time."""
    disk = NoRoom()
    node = with_good(tmp_path, disk)
    kubelet.replace(NEW_VERSION, "FIRST")
    disk.full = True
    node.start()
    assert node.ran[-1] == LOCAL


def test_a_full_disk_after_a_revert_does_not_prevent_the_start(tmp_path: Path, kubelet: Kubelet) -> None:
    """The revert has used the link that was prepared for it."""
    disk = NoRoom()
    node = with_good(tmp_path, disk)
    node.assign(OTHER)
    node.start()
    disk.full = True
    node.start(2)
    assert node.ran[-1] == NEW
    kubelet.replace(NEW_VERSION, "FIRST")
    node.start()
    assert node.ran[-1] == LOCAL


def test_a_full_disk_prevents_the_revert_to_last_known_good_only(tmp_path: Path, kubelet: Kubelet) -> None:
    """No link leads to last-known-good: the kubelet runs the local configuration until there is room."""
    disk = NoRoom()
    node = with_good(tmp_path, disk)
    node.assign(OTHER)
    node.store.disarm()
    node.start()
    kubelet.replace(NEW_VERSION, "SECOND")
    disk.full = True
    node.start()
    assert node.ran[-1] == LOCAL


def test_what_was_left_on_a_full_disk_does_not_graduate(tmp_path: Path, kubelet: Kubelet) -> None:
    """The revert could not be recorded, so the confirmed trial is still there."""
    disk = NoRoom()
    node = Node(tmp_path, disk)
    node.argv = (str(kubelet.path),)
    node.texts = {"u1": "{FIRST: 1}"}
    node.assign(confirmed=True)
    node.start()
    kubelet.replace(NEW_VERSION, "FIRST")
    disk.full = True
    node.start()
    disk.full = False
    for _look in range(3):
        node.later(60)
    assert (node.ran[-1], node.store.last_known_good()) == (LOCAL, None) and node.store.error()
    assert "systemctl restart" not in node.commands


class Killed(BaseException):
    """The guard's process ended: no handler runs."""


def _trial_begins(node: Node) -> None:
    node.assign(OTHER)


def _trial_runs(node: Node) -> None:
    node.assign(OTHER)
    node.start()


def _reset_is_over(node: Node) -> None:
    node.store.reset()
    node.start()
    node.own.write_text("kind: Corrected\n")


@pytest.mark.parametrize(
    ("before", "refuses", "runs", "reason"),
    [
        (lambda _node: None, "FIRST", LOCAL, "reverted to the local configuration"),
        (_trial_begins, "SECOND", NEW, "reverted to last-known-good"),
        (_trial_runs, "SECOND", NEW, "reverted to last-known-good"),
        (_reset_is_over, "Configuration", LOCAL, "reverted to "),
    ],
)
@pytest.mark.parametrize(("part", "method"), [(Host, "queue_report"), (Reverts, "finish")])
def test_a_revert_is_reported_also_if_the_guard_was_killed_before(
    node: Node,
    kubelet: Kubelet,
    before: t.Callable[[Node], None],
    refuses: str,
    runs: str,
    reason: str,
    part: type,
    method: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The kubelet was started all the same, and what it runs is accepted: nothing is left to do but the report."""
    before(node)
    if node.guard().records.report():
        files.remove(node.guard().records.report_path)
    kubelet.replace(NEW_VERSION, refuses)

    def killed(*_words: t.Any, **_more: t.Any) -> None:
        raise Killed

    with monkeypatch.context() as patch, contextlib.suppress(Killed):
        # `finish` ends the step that reported.
        patch.setattr(part, method, killed)
        node.start()
    node.start()
    report = node.guard().records.report()
    assert report and report.status["reason"].startswith(reason) and WORDS in report.status["error"]
    assert node.ran[-1] == runs and node.guard().records.progress() == Progress()
    # Once: a kubelet that starts again later has nothing to report.
    files.remove(node.guard().records.report_path)
    node.start()
    assert node.guard().records.report() is None and node.ran[-1] == runs
