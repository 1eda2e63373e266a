# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The guard's metrics at its installation, when the folder changes, and at the removal."""

from __future__ import annotations

import json
import os
import subprocess
import typing as t
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.guard import base
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.install import guard_install, guard_steps
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.report import textfile
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system import lock
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.unit.unit import Unit
from tests.support.node.guard_node import SOURCE, Node
from tests.support.report import exposition

LOCAL = {"assigned": "local", "active": "local", "last_known_good": "local", "error": "0"}


class Place:
    """A node with two folders for metrics."""

    def __init__(self, folder: Path) -> None:
        self.node = Node(folder)
        self.config_dir = self.node.store.config_dir
        self.one, self.other = str(folder / "one"), str(folder / "other")
        for path in (self.one, self.other):
            os.mkdir(path)

    def present(self, former: str, folder: str) -> list[str]:
        return guard_steps.metrics_present(self.config_dir, former, folder)

    def shown(self, folder: str) -> dict[str, str]:
        path = Path(folder, textfile.NAME)
        return exposition.short(path.read_text()) if path.exists() else {}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.mark.parametrize(
    ("reverted", "shown"),
    [(None, {}), (False, {"assigned": "u1", "active": "u1"}), (True, {"assigned": "u1", "error": "1"})],
    ids=["without a switch", "with an assigned configuration", "after a revert"],
)
def test_the_first_metrics_of_a_node(place: Place, reverted: bool | None, shown: dict[str, str]) -> None:
    if reverted is not None:
        place.node.assign()
    if reverted:
        place.node.store.revert("it ended")
    assert place.present("", place.one) == [] and place.shown(place.one) == {**LOCAL, **shown}


def test_what_the_guard_has_written_stays(place: Place) -> None:
    """Only the guard knows why a kubelet fails with a configuration that worked before."""
    textfile.write(place.one, "kubelet_node_config_error 1\n")
    assert place.present(place.one, place.one) == []
    assert Path(place.one, textfile.NAME).read_text() == "kubelet_node_config_error 1\n"
    Path(place.one, textfile.NAME).unlink()
    place.present(place.one, place.one)
    assert place.shown(place.one) == LOCAL


def test_another_folder_and_none(place: Place) -> None:
    place.present("", place.one)
    assert place.present(place.one, place.other) == []
    assert (place.shown(place.one), place.shown(place.other)) == ({}, LOCAL)
    assert place.present(place.other, "") == [] and place.shown(place.other) == {}
    assert place.present("", "") == []


def test_a_file_that_an_earlier_guard_left_is_replaced(place: Place) -> None:
    textfile.write(place.one, "kubelet_node_config_error 1\n")
    assert place.present("", place.one) == [] and place.shown(place.one) == LOCAL


def test_a_folder_that_is_missing_is_a_warning_each_time(place: Place) -> None:
    os.rmdir(place.one)
    for former in ("", place.one):
        assert place.present(former, place.one) == [
            f"the guard cannot write its metrics, and works without them: {place.one}: does not exist; "
            "create this folder, or name another one"
        ]


def test_a_former_folder_that_cannot_be_cleaned_is_a_warning(place: Place) -> None:
    os.rename(place.one, place.one + "-moved")
    os.symlink(place.one + "-moved", place.one)
    warnings = place.present(place.one, place.other)
    assert len(warnings) == 1 and "so node_exporter keeps showing them" in warnings[0]
    assert place.shown(place.other) == LOCAL


class Stopped:
    """A unit that writes down the commands."""

    def __init__(self) -> None:
        self.commands: list[str] = []

    def run(self, argv: t.Sequence[str]) -> subprocess.CompletedProcess[str]:
        self.commands.append(" ".join(argv))
        return subprocess.CompletedProcess(list(argv), 0, "", "")

    def installed(self) -> None:
        """Nothing to look for."""

    def pid(self) -> int:
        return 0


def test_the_removal_stops_the_guard_first(place: Place) -> None:
    """A guard that still ran would write them again."""
    unit = Stopped()
    assert guard_steps.metrics_absent(t.cast(Unit, unit), "") == [] and unit.commands == []
    place.present("", place.one)
    assert guard_steps.metrics_absent(t.cast(Unit, unit), place.one) == []
    assert unit.commands == ["systemctl stop livenodes-kubelet-guard.service"] and place.shown(place.one) == {}


def test_the_guards_removal_removes_them(place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SERVICE_PATH", "WANTED_BY"):
        monkeypatch.setattr(guard_install, name, str(tmp_path / name))
    monkeypatch.setattr(base, "STARTED", str(tmp_path / "run/started"))
    place.node.assign(SOURCE)
    place.present("", place.one)
    guard = Path(place.config_dir, "guard")
    guard.mkdir()
    (guard / "settings.json").write_text(json.dumps({"metrics": place.one, "argv": []}))
    unit = t.cast(Unit, Stopped())
    assert guard_steps.absent(place.config_dir, unit, True)["changed"] and place.shown(place.one)
    done = guard_steps.absent(place.config_dir, unit, False)
    assert done["changed"] and done["warnings"] == [] and place.shown(place.one) == {} and not guard.exists()


def test_a_store_that_is_in_use_is_waited_for_as_long_as_by_all(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lock, "PATIENCE", 0)
    with lock.locked(place.config_dir):
        (warning,) = guard_steps.metrics_present(place.config_dir, "", place.one)
        assert "has been in use by process" in warning and "for 0 s" in warning
        with pytest.raises(lock.LockError, match="for 0 s"):
            guard_steps._ensure_active(place.config_dir)
