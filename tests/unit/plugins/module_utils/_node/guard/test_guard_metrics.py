# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The guard's metrics follow what it reports, and never stop it."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.report import textfile
from tests.support.node.guard_node import LOCAL, NEW, OTHER, SOURCE, Node
from tests.support.report import exposition


@pytest.fixture
def node(node: Node, tmp_path: Path) -> Node:
    """A node with a folder that node_exporter collects."""
    node.metrics = str(tmp_path / "textfile")
    os.mkdir(node.metrics)
    return node


def text(node: Node) -> str:
    return Path(node.metrics, textfile.NAME).read_text()


def shown(node: Node) -> tuple[str, ...]:
    """Return assigned, active, last-known-good and error, and check that they are those of the pending report."""
    report = node.guard().records.report()
    if report:
        assert text(node) == textfile.metrics(report.status)
    found = exposition.short(text(node))
    return tuple(found[name] for name in ("assigned", "active", "last_known_good", "error"))


def passed(node: Node, source: dict[str, str]) -> None:
    node.switch(source)
    node.later()
    node.confirm()
    node.later(10, times=8)
    assert node.store.last_known_good() == source


def test_they_follow_each_change(node: Node) -> None:
    node.switch()
    # As with a kubelet that restarts: what is assigned is reported when the kubelet was started with it.
    assert shown(node) == ("u1", "u1", "local", "0")
    passed(node, SOURCE)
    assert shown(node) == ("u1", "u1", "u1", "0")
    node.switch(OTHER)
    node.later()
    assert shown(node) == ("u2", "u2", "u1", "0")
    node.well = False
    node.later()
    node.later(61)
    assert node.store.running() == NEW
    assert shown(node) == ("u2", "u1", "u1", "1")
    node.well = True
    passed(node, SOURCE)
    assert shown(node) == ("u1", "u1", "u1", "0")


def test_nothing_is_written_unless_it_is_wanted(node: Node, tmp_path: Path) -> None:
    node.metrics = ""
    node.switch()
    node.later()
    assert node.reason() == "on trial" and not list(tmp_path.rglob("*.prom*"))


@pytest.mark.parametrize("broken", ["absent", "link", "no room"])
def test_a_folder_that_cannot_be_written_stops_nothing_and_is_reported_once(
    node: Node, broken: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    place = Path(node.metrics)
    if broken == "no room":
        fchmod = os.fchmod

        def full(handle: int, mode: int) -> None:
            if mode == textfile.MODE:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            fchmod(handle, mode)

        monkeypatch.setattr(os, "fchmod", full)
    else:
        place.rmdir()
    if broken == "link":
        place.symlink_to(place.parent)
    node.assign()
    guard = node.guard()
    node.properties.update(InvocationID="i1", NRestarts="0")
    node.starts = 1
    guard.tick()
    node.confirm()
    for _look in range(8):
        node.seconds += 10
        guard.tick()
    assert node.reason() == "passed its trial" and node.store.last_known_good() == SOURCE
    lines = [line for line in capsys.readouterr().err.splitlines() if "metrics" in line]
    assert len(lines) == 1, lines
    assert lines[0].startswith(f"the metrics are not written, the guard works without them: {node.metrics}")
    assert not list(place.parent.rglob("*.prom"))


def test_after_a_revert_a_start_writes_the_error_too(node: Node) -> None:
    node.switch()
    node.well = False
    node.later()
    node.later(61)
    assert shown(node) == ("u1", "local", "local", "1") and node.store.running() == LOCAL
    (Path(node.metrics) / textfile.NAME).unlink()
    node.start()
    assert shown(node) == ("u1", "local", "local", "1")


def test_a_start_without_the_folder_has_no_line_in_the_kubelets_log(
    node: Node, capsys: pytest.CaptureFixture[str]
) -> None:
    passed(node, SOURCE)
    (Path(node.metrics) / textfile.NAME).unlink()
    Path(node.metrics).rmdir()
    capsys.readouterr()
    node.start()
    assert capsys.readouterr().err == ""


def test_a_full_disk_of_the_store_does_not_keep_them_from_the_truth(node: Node) -> None:
    node.switch()
    node.later()
    node.disk.full = node.disk.names = True
    node.well = False
    node.later()
    node.later(61, times=5)
    assert node.store.running() == LOCAL
    found = exposition.short(text(node))
    assert (found["active"], found["error"]) == ("local", "1")
