# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lab's long-running processes. Each has the lab's mark in its environment, so /proc shows which ones are ours.

There are no pid files: a crash could leave them behind, and a reused pid would then name a process of another program.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from .console import LabError
from .settings import Settings

VARIABLE = "LIVENODES_LAB_PROCESS"
EXECUTING = 1.0
"""Seconds in which a process without an environment may be between two programs."""

_SILENT: set[tuple[str, str]] = set()
"""Processes that still had none after that, by pid and start: no search waits for them again."""


class Process:
    """A running process of the lab, pinned by a file descriptor: no signal can reach a later process with its pid."""

    def __init__(self, pid: int, descriptor: int, started: int) -> None:
        self.pid = pid
        self.started = started
        self._descriptor = descriptor

    def signal(self, number: int) -> None:
        """Send a signal unless the process has ended."""
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._descriptor, number)

    def __del__(self) -> None:
        os.close(self._descriptor)


def spawn(settings: Settings, role: str, argv: Sequence[object], log: Path) -> None:
    """Start a process of the lab in its own session, out of reach of Ctrl-C on the command that starts it."""
    log.parent.mkdir(exist_ok=True)
    with log.open("ab") as sink:
        subprocess.Popen(
            [str(word) for word in argv],
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=sink,
            start_new_session=True,
            cwd="/",
            env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8", VARIABLE: f"{settings.mark} {role}"},
        )


def find(settings: Settings, role: str | None = None) -> list[Process]:
    """Return the lab's processes (of one role), oldest first."""
    wanted = f"{VARIABLE}={settings.mark} ".encode() if role is None else f"{VARIABLE}={settings.mark} {role}".encode()
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        descriptor = -1
        try:
            if not _has_mark(entry, wanted, role is None):
                continue
            descriptor = os.pidfd_open(int(entry.name))
            # Checked again now that the descriptor pins it: the pid may have been reused after the first check.
            fields = _stat(entry)
            if _has_mark(entry, wanted, role is None) and fields[0] != "Z":
                found.append(Process(int(entry.name), descriptor, int(fields[19])))
                descriptor = -1
        except OSError:
            continue
        finally:
            if descriptor >= 0:
                os.close(descriptor)
    return sorted(found, key=lambda process: (process.started, process.pid))


def _has_mark(entry: Path, wanted: bytes, prefix: bool) -> bool:
    words = _environment(entry).split(b"\0")
    return any(word.startswith(wanted) if prefix else word == wanted for word in words)


def _environment(entry: Path) -> bytes:
    """Return the environment of a process. Raises OSError.

    It is empty while the process executes another program, however old the process is: that takes long where it waits
    for a processor. It is always empty for kernel threads and zombies, and for programs that were given nothing.
    """
    text = (entry / "environ").read_bytes()
    if text or not _has_program(entry):
        return text
    named = (entry.name, _stat(entry)[19])
    until = time.monotonic() + EXECUTING
    while not text and named not in _SILENT and _has_program(entry):
        if time.monotonic() > until:
            _SILENT.add(named)
        time.sleep(0.005)
        text = (entry / "environ").read_bytes()
    return text


def _stat(entry: Path) -> list[str]:
    """Return the fields of `stat` after the name of the program, which may contain anything. Raises OSError."""
    return (entry / "stat").read_text().rpartition(")")[2].split()


def _has_program(entry: Path) -> bool:
    try:
        return bool(os.readlink(entry / "exe"))
    except OSError:
        return False


def stop(settings: Settings, role: str | None = None, patience: float = 10) -> None:
    """Terminate the lab's processes (of one role); kill them after `patience` seconds. Raises LabError."""
    deadline = time.monotonic() + patience
    asked: set[int] = set()
    while alive := find(settings, role):
        forced = time.monotonic() >= deadline
        if time.monotonic() > deadline + 15:
            raise LabError(
                f"process {alive[0].pid} of the lab does not end after SIGKILL; "
                f"/proc/{alive[0].pid}/stack shows what it waits for"
            )
        for process in alive:
            if forced:
                process.signal(signal.SIGKILL)
            elif process.pid not in asked:
                asked.add(process.pid)
                process.signal(signal.SIGTERM)
        reap()
        time.sleep(0.05)


def tail(log: Path) -> str:
    """Return the last lines of a log, and where it is."""
    lines = log.read_text(errors="replace").splitlines() if log.exists() else []
    return "\n".join([*lines[-8:], f"({log})"])


def reap() -> None:
    """Collect ended children of this process; otherwise they would still look alive."""
    for child in list(getattr(subprocess, "_active", [])):
        child.poll()


def wait_for(what: str, ready: Callable[[], bool], seconds: float, log: Path | None = None) -> None:
    """Poll until `ready`; raise LabError with `what` and the end of `log` after `seconds`."""
    deadline = time.monotonic() + seconds
    while not ready():
        if time.monotonic() > deadline:
            raise LabError(f"{what} did not happen within {seconds:.0f} s" + (f":\n{tail(log)}" if log else ""))
        time.sleep(0.1)
