# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One service of a simulated node: starts, stops and automatic restarts, as systemd does them."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import re
import signal
import subprocess
import threading
import time
import typing as t
import uuid
from pathlib import Path

from tests.sim.nodes import unit_files, unit_words
from tests.sim.nodes.journal import Journal
from tests.sim.nodes.unit_files import UnitFiles

STOP_SECONDS = 5.0
_PRIORITY = re.compile(r"^<[0-7]>")


class Machine(t.Protocol):
    """What a service needs of its node."""

    root: Path
    journal: Journal
    pace: float

    def spawn(self, words: t.Sequence[str], environment: t.Mapping[str, str]) -> subprocess.Popen[bytes]:
        """Start a program of the node, with its output in a pipe. Raises OSError."""

    def register(self, pid: int, words: t.Sequence[str]) -> None:
        """Show a process in the node's /proc."""

    def forget(self, pid: int) -> None:
        """Remove a process from the node's /proc."""


@dataclasses.dataclass
class State:
    """The properties of a service that change."""

    active: str = "inactive"
    sub: str = "dead"
    result: str = "success"
    invocation: str = ""
    restarts: int = 0
    pid: int = 0
    started: int = 0
    """Microseconds of CLOCK_MONOTONIC."""
    code: int = 0
    """`si_code` of the last process: 1 it exited, 2 a signal ended it."""
    status: int = 0


class Service:
    """A service. Jobs wait for each other; its state can be read at any time."""

    def __init__(self, machine: Machine, loaded: UnitFiles) -> None:
        self.machine, self.loaded = machine, loaded
        self.state = State()
        self._job = threading.RLock()
        self._process: subprocess.Popen[bytes] | None = None
        self._waiting: threading.Timer | None = None
        self._stopping = self.closed = False

    # Jobs

    def start(self) -> str:
        """Start the service unless it runs; return why that failed, empty if it did not."""
        with self._job:
            if self.state.active in ("active", "activating") and self.state.sub != "auto-restart":
                return ""
            return self._start(0)

    def restart(self, only_active: bool = False) -> str:
        """Stop and start the service; return why that failed. `only_active`: as try-restart."""
        with self._job:
            if only_active and self.state.active == "inactive":
                return ""
            self.stop()
            return self._start(0)

    def stop(self) -> None:
        with self._job:
            if self._waiting:
                self._waiting.cancel()
                self._waiting = None
            process = self._process
            if process:
                self._stopping = True
                self.state.active, self.state.sub = "deactivating", "stop-sigterm"
                _signal(process, signal.SIGTERM)
                try:
                    process.wait(STOP_SECONDS)
                except subprocess.TimeoutExpired:
                    _signal(process, signal.SIGKILL)
                    process.wait()
                self._ended(process)
            self.state.active, self.state.sub, self.state.restarts = "inactive", "dead", 0

    def reset_failed(self) -> None:
        """Forget a failure and the count of restarts."""
        self.state.restarts = 0
        if self.state.active == "failed":
            self.state.active, self.state.sub, self.state.result = "inactive", "dead", "success"

    def close(self) -> None:
        self.closed = True
        self.stop()

    # Helpers

    def _start(self, restarts: int) -> str:
        if self.closed or not self.loaded.conditions(self.machine.root):
            return ""
        state = self.state = State("activating", "start-pre", "success", uuid.uuid4().hex, restarts)
        self._log(1, f"Starting {self.loaded.name}...")
        try:
            environment = unit_files.variables(
                self.machine.root, self.loaded.environment(), self.loaded.environment_files()
            )
            for line in self.loaded.settings.get("ExecStartPre", ()):
                code = self._run(unit_words.replaced(unit_words.words(line), environment))
                if code and "-" not in line[: len(line) - len(line.lstrip(unit_words.PREFIXES))]:
                    return self._failed(f"its step `{line}` ended with {code}")
            words = unit_words.replaced(unit_words.words(self.loaded.last("ExecStart")), environment)
            process = self.machine.spawn(words, {"INVOCATION_ID": state.invocation})
        except (OSError, ValueError) as error:
            state.status = 203
            return self._failed(str(error))
        self.machine.register(process.pid, words)
        self._process, self._stopping = process, False
        state.pid, state.started = process.pid, int(time.clock_gettime(time.CLOCK_MONOTONIC) * 1e6)
        state.active, state.sub = "active", "running"
        reader = threading.Thread(target=self._read, args=(process, state.invocation), daemon=True)
        reader.start()
        threading.Thread(target=self._watch, args=(process, reader), daemon=True).start()
        return ""

    def _failed(self, reason: str) -> str:
        self._log(1, f"{self.loaded.name}: {reason}")
        self.state.result, self.state.code = "exit-code", 1
        self._after_end(failed=True)
        return f"Job for {self.loaded.name} failed: {reason}."

    def _run(self, words: t.Sequence[str]) -> int:
        """Run a step before the start; return its exit status."""
        process = self.machine.spawn(words, {"INVOCATION_ID": self.state.invocation})
        self._read(process, self.state.invocation)
        return process.wait()

    def _watch(self, process: subprocess.Popen[bytes], reader: threading.Thread) -> None:
        process.wait()
        # A process that it started may still have the other end.
        reader.join(1)
        if self._stopping:
            return
        with self._job:
            if process is self._process and not self._stopping:
                self._ended(process)
                how = "killed" if self.state.code == 2 else "exited"
                self._log(1, f"{self.loaded.name}: Main process exited, code={how}, status={self.state.status}")
                self._after_end(self.state.result != "success")

    def _ended(self, process: subprocess.Popen[bytes]) -> None:
        state, code = self.state, process.wait()
        _signal(process, signal.SIGKILL)
        self.machine.forget(process.pid)
        self._process = None
        state.pid, state.code, state.status = 0, 2 if code < 0 else 1, abs(code)
        state.result = "signal" if code < 0 else "exit-code"
        if code in (0, -signal.SIGTERM, -signal.SIGINT, -signal.SIGHUP, -signal.SIGPIPE):
            state.result = "success"

    def _after_end(self, failed: bool) -> None:
        policy = self.loaded.last("Restart", "no")
        if self.closed or not (policy == "always" or (failed and policy == "on-failure")):
            self.state.active, self.state.sub = ("failed", "failed") if failed else ("inactive", "dead")
            return
        self.state.active, self.state.sub = "activating", "auto-restart"
        pause = self.loaded.seconds("RestartSec", 0.1) * self.machine.pace
        self._waiting = threading.Timer(pause, self._start_again)
        self._waiting.daemon = True
        self._waiting.start()

    def _start_again(self) -> None:
        with self._job:
            if self._waiting is None or self.state.sub != "auto-restart":
                return
            self._waiting = None
            self._start(self.state.restarts + 1)

    def _read(self, process: subprocess.Popen[bytes], invocation: str) -> None:
        for line in t.cast("t.IO[bytes]", process.stdout):
            text = _PRIORITY.sub("", line.decode("utf-8", "replace").rstrip("\n"))
            self.machine.journal.add(self.loaded.name, invocation, process.pid, text)

    def _log(self, pid: int, text: str) -> None:
        self.machine.journal.add(self.loaded.name, self.state.invocation, pid, text)


def _signal(process: subprocess.Popen[bytes], number: int) -> None:
    """Send a signal to a service's process and to those that it started."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)
