# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which processes of the machine are the lab's."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from tests.lab import processes

MARK = b"LIVENODES_LAB_PROCESS=lab apiserver"


def entry(folder: Path) -> Path:
    """A folder of /proc of a process without an environment."""
    (folder / "environ").write_bytes(b"")
    (folder / "exe").symlink_to(sys.executable)
    (folder / "stat").write_text(f"7 (kube (x) y) S {'0 ' * 18}71200 0")
    return folder


def test_a_process_that_executes_its_program_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a machine with more work than processors it may wait for one meanwhile, and it may be old: it changed from
    one program to the next.
    """
    place, waits = entry(tmp_path), []

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) > 100:
            (place / "environ").write_bytes(b"PATH=/bin\0" + MARK + b"\0")

    monkeypatch.setattr(time, "sleep", sleep)
    assert processes._has_mark(place, MARK, False)  # pylint: disable=protected-access


def test_a_process_that_keeps_no_environment_is_waited_for_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = entry(tmp_path)
    monkeypatch.setattr(processes, "EXECUTING", 0.05)
    monkeypatch.setattr(processes, "_SILENT", set())
    assert not processes._has_mark(place, MARK, False)  # pylint: disable=protected-access
    monkeypatch.delattr(time, "sleep")
    assert not processes._has_mark(place, MARK, False)  # pylint: disable=protected-access


def test_this_process_has_an_environment() -> None:
    assert processes._environment(Path("/proc/self"))  # pylint: disable=protected-access
