# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Commands with a log and a time limit."""

from __future__ import annotations

import io
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tools.gates import process


def test_run_returns_the_status_and_keeps_the_output() -> None:
    status, _seconds, log = process.run("three", [sys.executable, "-c", "print('output'); raise SystemExit(3)"], 30)
    assert (status, log.read_text(encoding="utf-8")) == (3, "output\n")


def test_the_end_of_a_failed_command_without_the_lines_of_nox(tmp_path: Path) -> None:
    log = tmp_path / "style.log"
    log.write_text("nox > Running session style\none\n\nguide.rst:3: two\n1 findings\nnox > Session style failed.\n")
    assert process.last_lines(log, 2) == ["guide.rst:3: two", "1 findings"]


def test_run_ends_what_takes_too_long_with_its_children() -> None:
    program = "import subprocess, time; print(subprocess.Popen(['sleep', '600']).pid, flush=True); time.sleep(600)"
    started = time.monotonic()
    status, _seconds, log = process.run("slow", [sys.executable, "-c", program], 1)
    assert status is None
    assert time.monotonic() - started < 30
    child = int(log.read_text(encoding="utf-8").split()[0])
    state = Path(f"/proc/{child}/stat")
    # Where no process reaps orphans, an ended one stays as a zombie.
    assert not state.exists() or state.read_text(encoding="utf-8").rsplit(")", 1)[1].split()[0] == "Z"


def test_an_idle_command_has_the_lowest_priority() -> None:
    """Within its session, and as a session where those share the processor."""
    place = "/proc/self/autogroup"
    program = f"import os; print(os.nice(0), open('{place}').read() if os.path.exists('{place}') else 'nice 19')"
    # The priority is set after the start.
    slow = ["sh", "-c", f'sleep 1; exec {sys.executable} -c "{program}"']
    assert process.run("plain", slow, 30)[2].read_text(encoding="utf-8").split()[0] == str(os.nice(0))
    words = process.run("idle", slow, 30, idle=True)[2].read_text(encoding="utf-8").split()
    assert (words[0], words[-2:]) == ("19", ["nice", "19"])


class SlowSink(io.StringIO):
    """Lets other threads in between two writes."""

    def write(self, text: str) -> int:
        time.sleep(0.001)
        return super().write(text)


def test_lines_of_two_lanes_do_not_mix(monkeypatch: pytest.MonkeyPatch) -> None:
    sink = SlowSink()
    monkeypatch.setattr(sys, "stdout", sink)
    with ThreadPoolExecutor(2) as pool:
        for letter in "ab":
            pool.submit(lambda letter=letter: [process.emit(letter * 9) for _turn in range(20)])
    assert sorted(sink.getvalue().splitlines()) == ["a" * 9] * 20 + ["b" * 9] * 20
