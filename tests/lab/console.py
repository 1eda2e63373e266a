# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run commands and print progress."""

from __future__ import annotations

import collections
import os
import subprocess
import sys
import time
from pathlib import Path


class LabError(Exception):
    """Something the lab needs is missing or failed; the text names the remedy."""


def progress(text: str) -> None:
    """Print one progress line, unbuffered also into a pipe."""
    print(f"lab: {text}", flush=True)


def run(
    *argv: object,
    check: bool = True,
    cwd: Path | None = None,
    env: dict[str, str] | None = None,
    stdin: str | None = None,
    timeout: float | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run a command quietly and return it with its output; raise LabError with that output when it fails."""
    words = [str(word) for word in argv]
    done = subprocess.run(
        words,
        check=False,
        text=True,
        capture_output=True,
        cwd=cwd,
        # Never the terminal of the caller. ansible-core 2.20 and later do not start with a closed one.
        input=stdin or "",
        timeout=timeout,
        env={**os.environ, **env} if env else None,
    )
    if check and done.returncode:
        tail = "\n".join((done.stdout + done.stderr).strip().splitlines()[-15:])
        raise LabError(f"`{' '.join(words)}` exited {done.returncode}:\n{tail}")
    return done


def run_long(title: str, *argv: object, log: Path, cwd: Path | None = None, env: dict[str, str] | None = None) -> None:
    """Run a command that takes minutes: write its output to `log` and print one line every 15 seconds."""
    started = last = time.monotonic()
    progress(f"{title} ...")
    tail: collections.deque[str] = collections.deque(maxlen=15)
    lines = 0
    with (
        log.open("w") as sink,
        subprocess.Popen(
            [str(word) for word in argv],
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=cwd,
            env={**os.environ, **(env or {})},
            start_new_session=True,
        ) as process,
    ):
        assert process.stdout is not None
        try:
            for line in process.stdout:
                sink.write(line)
                tail.append(line)
                lines += 1
                if time.monotonic() - last > 15:
                    last = time.monotonic()
                    progress(f"{title}: {last - started:.0f} s, {lines} lines, now {line.strip()[-70:]}")
        except BaseException:
            os.killpg(process.pid, 15)
            raise
    if process.returncode:
        raise LabError(f"{title} failed (exit {process.returncode}); the whole output is in {log}\n{''.join(tail)}")
    progress(f"{title}: done in {time.monotonic() - started:.0f} s")


def warn(text: str) -> None:
    print(f"lab: {text}", file=sys.stderr, flush=True)
