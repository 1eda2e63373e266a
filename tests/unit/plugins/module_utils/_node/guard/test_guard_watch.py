# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The process that watches does not wait for the one that asks or reports, and goes on after an error."""

from __future__ import annotations

import sys
import time
import types
import typing as t
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.guard import guard, guard_main, pacing
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.store.store import Store
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system import command
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system.files import StoreError

HANGS = "import sys, time\nsys.stderr.write('waits\\n')\ntime.sleep(300)\n"


class Watched:
    """A guard with a report to send. The trial is over at the second look, and the report is withdrawn then."""

    def __init__(self, folder: Path) -> None:
        self.looks: list[float] = []
        self.records = self
        self.host = types.SimpleNamespace(store=Store(str(folder.parent)))

    def tick(self) -> None:
        self.looks.append(time.monotonic())

    def report(self) -> object | None:
        return None if len(self.looks) > 1 else self

    def reportable(self) -> bool:
        return True


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of a guard whose processes hang."""
    place = tmp_path / "guard"
    place.mkdir()
    (place / "__main__.py").write_text(HANGS)
    monkeypatch.setattr(pacing, "API_SECONDS", 1.0)
    return place


def test_a_report_that_hangs_ends_at_its_limit(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    watched = Watched(folder)
    assert guard_main.watch(t.cast(guard.Guard, watched)) == 0
    assert watched.looks[1] - watched.looks[0] < 200
    assert f"{sys.executable} did not end within 1 s" in capsys.readouterr().err


@pytest.mark.fault(case=44)
def test_a_question_to_the_api_server_that_hangs_ends_at_its_limit(folder: Path) -> None:
    begun = time.monotonic()
    asking = guard.Guard(Store(str(folder.parent)), guard.Settings())
    assert asking.verify() == f"{sys.executable} did not end within 1 s"
    assert time.monotonic() - begun < 200


def test_what_verify_prints_of_the_log_of_a_good_kubelet_is_in_the_log(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asking = guard.Guard(Store(str(folder.parent)), guard.Settings())
    (folder / "__main__.py").write_text("import sys\nsys.stderr.write('verified\\n')\n")
    assert asking.verify() == "" and capsys.readouterr().err == "verified\n"
    (folder / "__main__.py").write_text("import sys\nsys.stderr.write('not verified\\nother values\\n')\nsys.exit(1)\n")
    assert asking.verify() == "other values" and capsys.readouterr().err == ""


def test_the_start_of_the_kubelet_does_not_wait_for_the_watcher(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    begun: list[list[str]] = []
    monkeypatch.setattr(command, "execute", begun.append)
    for watches in (True, False):
        started = types.SimpleNamespace(prestart=lambda watches=watches: watches)
        assert guard_main.prestart(t.cast(guard.Guard, started)) == 0
    assert begun == [["systemctl", "start", "--no-block", guard_main.SERVICE]]
    assert capsys.readouterr().out == "ran\n" * 2


def test_a_look_that_fails_is_repeated(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    faults: list[Exception] = [StoreError("locked"), OSError("away")]
    watched, waits = Watched(folder), []

    def tick() -> None:
        if faults:
            raise faults.pop(0)

    monkeypatch.setattr(watched, "tick", tick)
    monkeypatch.setattr(watched, "report", lambda: None)
    monkeypatch.setattr(time, "sleep", waits.append)
    assert guard_main.watch(t.cast(guard.Guard, watched)) == 0
    assert (waits, capsys.readouterr().err) == ([10.0, 10.0], "locked\naway\n")


def test_a_report_that_cannot_be_sent_yet_is_waited_for(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its kubelet does not run, and no trial is open."""
    watched, waits = Watched(folder), []
    monkeypatch.setattr(watched, "reportable", lambda: False)
    monkeypatch.setattr(time, "sleep", waits.append)
    assert guard_main.watch(t.cast(guard.Guard, watched)) == 0
    assert waits == [guard_main.FIRST_PAUSE]
