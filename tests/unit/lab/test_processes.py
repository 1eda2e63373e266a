# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which processes of the machine are the lab's."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from tests.lab import processes

MARK = b"LIVENODES_LAB_PROCESS=lab apiserver"


def entry(folder: Path, age: float) -> Path:
    """A folder of /proc of a process without an environment."""
    (folder / "environ").write_bytes(b"")
    (folder / "exe").symlink_to(sys.executable)
    started = int((time.clock_gettime(time.CLOCK_BOOTTIME) - age) * os.sysconf("SC_CLK_TCK"))
    (folder / "stat").write_text(f"7 (kube (x) y) S {'0 ' * 18}{started} 0")
    return folder


def test_a_process_that_executes_its_program_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a machine with more work than processors it may wait for one meanwhile."""
    place, waits = entry(tmp_path, age=0), []

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        if sum(waits) > 1:
            (place / "environ").write_bytes(b"PATH=/bin\0" + MARK + b"\0")

    monkeypatch.setattr(time, "sleep", sleep)
    assert processes._has_mark(place, MARK, False)  # pylint: disable=protected-access


def test_an_old_process_without_an_environment_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(time, "sleep")
    assert not processes._has_mark(entry(tmp_path, age=60), MARK, False)  # pylint: disable=protected-access


def test_this_process_is_old_enough() -> None:
    assert processes._age(Path("/proc/self")) > 0  # pylint: disable=protected-access
