# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the guard observes of the kubelet: its unit, and the healthz endpoint that its configuration names.

Separate from unit.py, which parses unit files: the guard runs as long as a trial and must stay small.
"""

from __future__ import annotations

import re
import time
from typing import Any, Mapping, NamedTuple, Sequence

from ..system import blockyaml, command
from ..system.health import Endpoint, endpoint, flag
from .decide import Unit

_PROPERTIES = "ActiveState,SubState,Result,InvocationID,NRestarts,MainPID,ExecMainStartTimestampMonotonic,ExecStart"
_PROGRAM = re.compile(r"\{ path=(\S+) ; ")


class Kubelet(NamedTuple):
    """The kubelet's unit and process.

    `pid`: 0 for none. `started`: seconds of CLOCK_MONOTONIC. `birth`: distinguishes the process from a later one with
    the same pid. `program`: the binary that the unit starts.
    """

    unit: Unit
    pid: int = 0
    started: float = 0.0
    birth: str = ""
    program: str = ""

    def since(self) -> float | None:
        """Return when the running process was started, in seconds since the epoch by the current wall clock.

        None when no process runs.
        """
        return (
            time.time() - (time.clock_gettime(time.CLOCK_MONOTONIC) - self.started)
            if self.unit.running and self.pid and self.started
            else None
        )


def kubelet(name: str, run: command.Run = command.execute, before: Kubelet | None = None) -> Kubelet | None:
    """Return what is observed of the kubelet, or None when systemd does not answer.

    systemd is not asked while the process of the observation `before` still runs.
    """
    if before and before.birth and before.birth == _birth(before.pid):
        return before
    done = run(["systemctl", "show", f"--property={_PROPERTIES}", name])
    found = dict(line.partition("=")[::2] for line in done.stdout.splitlines())
    if done.returncode or "ActiveState" not in found:
        return None
    state = Unit(
        found["ActiveState"],
        found.get("SubState", ""),
        found.get("Result", ""),
        found.get("InvocationID", ""),
        int(found.get("NRestarts") or 0),
    )
    pid = int(found.get("MainPID") or 0)
    steady = (state.active, state.sub) == ("active", "running")
    program = _PROGRAM.match(found.get("ExecStart", ""))
    return Kubelet(
        state,
        pid,
        int(found.get("ExecMainStartTimestampMonotonic") or 0) / 1e6,
        _birth(pid) if steady and pid else "",
        program.group(1) if program else "",
    )


def _birth(pid: int) -> str:
    """Return when a process began, in clock ticks of the kernel; empty when it has ended or is ending."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as stream:
            fields = stream.read().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] in "ZX" else fields[19]


def argv(pid: int) -> list[str]:
    """Return a process's command line, empty when it has ended."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as stream:
            return [word.decode("utf-8", "replace") for word in stream.read().split(b"\0")[:-1]]
    except OSError:
        return []


def target(words: Sequence[str]) -> Endpoint:
    """Return where a kubelet with this command line serves healthz.

    Its flags win over the file that --config names, and that over the defaults. The file is the one the kubelet runs
    with, so that a port changed by a new configuration is found.
    """
    path = flag(words, "config")
    config: Mapping[str, Any] = {}
    if path:
        try:
            with open(path, encoding="utf-8") as stream:
                config = _fields(stream.read())
        except OSError:
            pass
    try:
        return endpoint(config, words)
    except ValueError:
        return endpoint({}, ())


def _fields(text: str) -> Mapping[str, Any]:
    try:
        loaded = blockyaml.load(text)
    except blockyaml.Unreadable:
        # YAML of another style: a line at the outermost level still shows both fields.
        return dict(re.findall(r"""(?m)^(healthzPort|healthzBindAddress)\s*:\s*["']?([0-9A-Fa-f.:]+)""", text))
    return loaded if isinstance(loaded, dict) else {}
