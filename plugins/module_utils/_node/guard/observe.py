# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the guard can see of the kubelet: its unit, and the healthz that its configuration names.

Kept apart from unit.py, which reads and understands unit files: the guard lives as long as a trial does and must stay
small.
"""

from __future__ import annotations

import re
import time
from typing import Any, Mapping, NamedTuple, Sequence

from ..system import blockyaml, command
from ..system.health import Endpoint, endpoint, flag
from .decide import Unit

_PROPERTIES = "ActiveState,SubState,Result,InvocationID,NRestarts,MainPID,ExecMainStartTimestampMonotonic"


class Kubelet(NamedTuple):
    """The kubelet's unit and process: `pid` 0: none; `started` in seconds of CLOCK_MONOTONIC; `birth`: tells the
    process from a later one of its pid.
    """

    unit: Unit
    pid: int = 0
    started: float = 0.0
    birth: str = ""

    def since(self) -> float | None:
        """Return when the process that runs was started, in seconds since the epoch by the clock as it is now; None
        when none runs.
        """
        return (
            time.time() - (time.clock_gettime(time.CLOCK_MONOTONIC) - self.started)
            if self.unit.running and self.pid and self.started
            else None
        )


def kubelet(name: str, run: command.Run = command.execute, before: Kubelet | None = None) -> Kubelet | None:
    """Return what is seen of the kubelet, or None when systemd does not answer. systemd is not asked while the process
    seen `before` runs on.
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
    return Kubelet(
        state, pid, int(found.get("ExecMainStartTimestampMonotonic") or 0) / 1e6, _birth(pid) if steady and pid else ""
    )


def _birth(pid: int) -> str:
    """Return when a process began, in the kernel's own count; empty when it has gone or is ending."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as stream:
            fields = stream.read().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] in "ZX" else fields[19]


def argv(pid: int) -> list[str]:
    """Return a process's command line, empty when it has gone."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as stream:
            return [word.decode("utf-8", "replace") for word in stream.read().split(b"\0")[:-1]]
    except OSError:
        return []


def target(words: Sequence[str]) -> Endpoint:
    """Return where the kubelet with this command line answers healthz: by its flags, else the configuration file it was
    given, else the defaults.

    The file is the one it runs with, so that a port that a new configuration moved is looked for where it is now.
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
        # YAML of another style: a line of the outermost level still says it.
        return dict(re.findall(r"""(?m)^(healthzPort|healthzBindAddress)\s*:\s*["']?([0-9A-Fa-f.:]+)""", text))
    return loaded if isinstance(loaded, dict) else {}
