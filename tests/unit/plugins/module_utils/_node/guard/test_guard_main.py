# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The process that reports to the cluster must not hold the one that watches."""

from __future__ import annotations

import sys
import time
import typing as t
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.guard import guard, guard_main, pacing
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.store.store import Store

HANGS = "import sys, time\nsys.stderr.write('waits\\n')\ntime.sleep(30)\n"


class Watched:
    """A guard with a report to send. The trial is over at the second look, and the report is withdrawn then."""

    def __init__(self) -> None:
        self.looks: list[float] = []
        self.records = self

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
    watched = Watched()
    assert guard_main.watch(t.cast(guard.Guard, watched), str(folder)) == 0
    assert watched.looks[1] - watched.looks[0] < 10
    assert f"{sys.executable} did not end within 1 s" in capsys.readouterr().err


def test_a_question_to_the_api_server_that_hangs_ends_at_its_limit(folder: Path) -> None:
    begun = time.monotonic()
    asking = guard.Guard(Store(str(folder.parent)), guard.Settings())
    assert asking.verify() == f"{sys.executable} did not end within 1 s"
    assert time.monotonic() - begun < 10


def test_what_a_report_prints_is_in_the_log(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "__main__.py").write_text("import sys\nsys.exit('the API server is away')\n")
    guard_main.watch(t.cast(guard.Guard, Watched()), str(folder))
    assert "the API server is away\n" in capsys.readouterr().err
