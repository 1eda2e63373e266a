# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs a command on the node, and reads that of a process."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from typing import Callable, Sequence

Run = Callable[[Sequence[str]], "subprocess.CompletedProcess[str]"]

LIMIT = 60
TIMED_OUT = 124
"""The return code of a command that took too long, as in a shell."""


def execute(argv: Sequence[str], limit: float | None = None) -> subprocess.CompletedProcess[str]:
    """Run a command and return it with its output as text; never raises.

    The return code is 127 for a program that does not exist, and TIMED_OUT after `limit` seconds (`LIMIT`).
    The command and what it started are killed then: a child of it would hold its output open.
    """
    if limit is None:
        limit = LIMIT
    try:
        with subprocess.Popen(  # pylint: disable=ansible-bad-function  # the guard is not a module
            list(argv),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            universal_newlines=True,
            errors="replace",
            start_new_session=True,
        ) as process:
            try:
                output, errors = process.communicate(timeout=limit)
                return subprocess.CompletedProcess(list(argv), process.returncode, output, errors)
            except subprocess.TimeoutExpired:
                return subprocess.CompletedProcess(
                    list(argv), TIMED_OUT, "", f"{argv[0]} did not end within {limit:g} s"
                )
            finally:
                if process.returncode is None:
                    with contextlib.suppress(ProcessLookupError):
                        os.killpg(process.pid, signal.SIGKILL)
    except OSError as error:
        return subprocess.CompletedProcess(list(argv), 127, "", str(error))


def transient(run: Run, what: str, words: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Run a command by `systemd-run` with these options and words, and wait for its end. `what` describes it in logs.

    The default description is the whole command line, and systemd logs it.
    """
    return run(["systemd-run", "--quiet", "--wait", "--pipe", f"--description=livenodes.kubelet: {what}", *words])


def of_process(pid: int, root: str = "/") -> list[str]:
    """Return a process's command line, empty when it has ended or has none.

    A process may have any bytes there. Those that are not UTF-8 are kept (surrogateescape), so that a path can be
    opened. `root`: the folder that /proc is in.
    """
    try:
        with open(os.path.join(root, f"proc/{pid}/cmdline"), "rb") as stream:
            words = stream.read().split(b"\0")
    except OSError:
        return []
    # The kernel ends each word, a title that the process has written may have no end.
    if not words[-1]:
        words.pop()
    return list(map(os.fsdecode, words))


def environment_of(pid: int) -> dict[str, str]:
    """Return a process's environment, empty when it has ended."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as stream:
            words = map(os.fsdecode, stream.read().split(b"\0"))
    except OSError:
        return {}
    return {name: value for name, equals, value in (word.partition("=") for word in words) if equals}


def number(text: str | None) -> int:
    """Return a number that systemctl shows, 0 for one that is absent or not set."""
    return int(text) if text and text.isdecimal() else 0


def until(run: Run, seconds: float, clock: Callable[[], float] = time.monotonic) -> Run:
    """Return a `run` for commands that may take so many seconds together; those that last longer are killed.

    Their return code is 137, or 124 without a start when no time is left. It needs `timeout` of the coreutils.
    """
    end = clock() + seconds

    def limited(argv: Sequence[str]) -> subprocess.CompletedProcess[str]:
        left = end - clock()
        if left <= 0:
            return subprocess.CompletedProcess(list(argv), TIMED_OUT, "", f"no time was left for {argv[0]}")
        return run(["timeout", "--signal=KILL", f"{max(left, 0.1):.1f}", *argv])

    return limited
