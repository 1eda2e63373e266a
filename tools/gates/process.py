# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run one command in a process group of its own, with a log, a time limit and a sign of life."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
import typing as t
from pathlib import Path

from tools.collection_tree import ROOT
from tools.environments import REPORTS

HEARTBEAT = 30

INTERRUPTED = threading.Event()
_PRINTING = threading.Lock()


class Interrupted(Exception):
    """The run was interrupted; the command that ran has been ended."""


def emit(text: str) -> None:
    """Print one or several lines at once, also into a pipe; never into a line of another lane."""
    with _PRINTING:
        print(text, flush=True)


def end_group(process: subprocess.Popen[bytes]) -> None:
    """End a process and the rest of its group: interrupt it, so that tests can clean up, then kill it."""
    for number, patience in ((signal.SIGINT, 20), (signal.SIGTERM, 5), (signal.SIGKILL, 0)):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        until = time.monotonic() + patience
        while time.monotonic() < until:
            # A process that was not waited for yet still counts as a member of its group.
            process.poll()
            try:
                os.killpg(process.pid, 0)
            except ProcessLookupError:
                return
            time.sleep(0.1)


def lower_priority(process: subprocess.Popen[bytes]) -> None:
    """Let the other processes have the processor first.

    Where sessions share it evenly (sched(7), autogroup), a process's own nice value counts within its session only.
    """
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, process.pid, 19)
        Path(f"/proc/{process.pid}/autogroup").write_text("19", encoding="ascii")


def run(
    name: str,
    command: list[str],
    limit: float,
    leave: bool = False,
    environment: t.Mapping[str, str] | None = None,
    idle: bool = False,
) -> tuple[int | None, float, Path]:
    """Run a command quietly; return its exit status (None: out of time), its seconds and its log.

    Processes that it leaves behind are ended too, unless `leave` is set. `environment` is added to that of this
    process. With `idle` it runs at the lowest priority. Raises Interrupted.
    """
    log = REPORTS / f"{name}.log"
    started = reported = time.monotonic()
    with log.open("w") as sink:
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env={**os.environ, **(environment or {})},
        )
    if idle:
        lower_priority(process)
    status: int | None = None
    try:
        while status is None and time.monotonic() - started < limit:
            # Short, so that an interrupt is noticed: only the main thread gets the signal.
            with contextlib.suppress(subprocess.TimeoutExpired):
                status = process.wait(timeout=0.5)
            if INTERRUPTED.is_set():
                raise Interrupted
            if status is None and time.monotonic() - reported >= HEARTBEAT:
                reported = time.monotonic()
                emit(f"   ...    {name:<18} {reported - started:6.0f} s  {last_line(log)}")
    finally:
        if status is None or not leave:
            end_group(process)
            process.wait()
    return status, time.monotonic() - started, log


def last_line(log: Path) -> str:
    """Return the last line of a log, cut to the width beside a gate's name."""
    lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    return lines[-1].strip()[:110] if lines else ""


def last_lines(log: Path, count: int = 4) -> list[str]:
    """Return the last lines of a failed command's log without those of nox, cut to 200 characters."""
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    return [line.rstrip()[:200] for line in lines if line.strip() and not line.startswith("nox > ")][-count:]


def show(log: Path, lines: int = 60) -> None:
    """Print the end of a failed command's log."""
    text = log.read_text(encoding="utf-8", errors="replace").rstrip().splitlines()
    more = [f"    the whole output is in {log.relative_to(ROOT)}"] if len(text) > lines else []
    emit("\n".join([f"    | {line}" for line in text[-lines:]] + more))
