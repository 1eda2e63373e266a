# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The clock of the node jumps during a trial."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.report.status_annotation import Report, stamp
from tests.support.guard_node import LOCAL, NEW, Node


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node(tmp_path)


@pytest.mark.parametrize("jump", [-(10**9), -3600, 3600, 10**9])
@pytest.mark.fault(case=21)
def test_a_jump_of_the_clock_changes_nothing(node: Node, jump: float, monkeypatch: pytest.MonkeyPatch) -> None:
    node.assign()
    node.start()
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
    node.assign()
    node.start()
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
