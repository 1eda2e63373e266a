# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the guard observes of the kubelet: its unit, and the endpoint of healthz that its configuration names.

Separate from unit.py, which parses unit files: the guard runs as long as a trial and must stay small.
"""

from __future__ import annotations

import re
import time
from typing import Any, Mapping, NamedTuple, Sequence

from ..._config.fields import merged_dropins
from ..._config.values.short_texts import flag
from ..records import blockyaml
from ..system import command, files, health
from ..system.health import Endpoint, endpoint, kubelet_of
from ..unit import dropin_folder
from .decide import Unit

_PROPERTIES = (
    "ActiveState,SubState,Result,InvocationID,NRestarts,MainPID,ExecMainStartTimestampMonotonic,ExecMainCode,ExecStart"
)
_PROGRAM = re.compile(r"\{ path=(\S+) ; ")
# `si_code` of a process that a signal ended (CLD_KILLED, CLD_DUMPED): it did not state why it ended.
_BY_SIGNAL = ("2", "3")


class Kubelet(NamedTuple):
    """The kubelet's unit and process.

    `pid`: 0 for none. `started`: seconds of CLOCK_MONOTONIC. `birth`: distinguishes the process from a later one with
    the same pid. `program`: the binary that the unit starts. `killed`: whether a signal ended the last process.
    """

    unit: Unit
    pid: int = 0
    started: float = 0.0
    birth: str = ""
    program: str = ""
    killed: bool = False

    def since(self) -> float | None:
        """Return when the running process was started, in seconds since the epoch by the current wall clock.

        None when no process runs.
        """
        if not (self.unit.running and self.pid and self.started):
            return None
        return time.time() - (time.clock_gettime(time.CLOCK_MONOTONIC) - self.started)


# What is known of a kubelet while systemd does not answer.
UNKNOWN = Kubelet(Unit(known=False))


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
    active, sub = found["ActiveState"], found.get("SubState", "")
    result, invocation = found.get("Result", ""), found.get("InvocationID", "")
    state = Unit(active, sub, result, invocation, command.number(found.get("NRestarts")))
    pid, birth, program = command.number(found.get("MainPID")), "", ""
    if pid and (active, sub) == ("active", "running"):
        birth = _birth(pid)
    start_command = _PROGRAM.match(found.get("ExecStart", ""))
    if start_command:
        program = start_command.group(1)
    started = command.number(found.get("ExecMainStartTimestampMonotonic")) / 1e6
    return Kubelet(state, pid, started, birth, program, found.get("ExecMainCode") in _BY_SIGNAL)


def _birth(pid: int) -> str:
    """Return when a process began, in clock ticks of the kernel; empty when it has ended or is ending."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as stream:
            fields = stream.read().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] in "ZX" else fields[19]


def argv(pid: int) -> list[str]:
    """Return the command line of a kubelet's process, or of one that has started it; empty when it has ended."""
    return health.argv(kubelet_of(pid))


def target(words: Sequence[str], folder: str = "") -> Endpoint:
    """Return where a kubelet with this command line serves healthz.

    Its flags win over the drop-ins in --config-dir, those over the file that --config names, and that over the
    defaults. The files are those the kubelet runs with, so that a port changed by a new configuration is found.
    `folder`: the drop-in folder of a kubelet whose command line names none.
    """
    config = merged(words, folder)
    try:
        return endpoint(config, words)
    except (ValueError, TypeError):
        return endpoint({}, ())


def merged(words: Sequence[str], folder: str = "", ours: str = "") -> Mapping[str, Any]:
    """Return the fields that a kubelet with this command line reads: its config file with the drop-ins over it.

    `folder`: the drop-in folder if the command line names none. `ours`: the file to read in the place of our link.
    """

    layers = []
    for path in dropin_folder.listed(flag(words, "config-dir") or folder):
        if ours and dropin_folder.is_link(path):
            path = ours
        layers.append(config_of(path))
    return merged_dropins.merge(config_of(flag(words, "config")), layers)


def config_of(path: str | None) -> Mapping[str, Any]:
    """Return the fields of a config file, empty when it cannot be read."""
    try:
        with open(path or "", encoding="utf-8", opener=files.at_once) as stream:
            return _fields(stream.read())
    except (OSError, ValueError):
        return {}


def _fields(text: str) -> Mapping[str, Any]:
    try:
        loaded = blockyaml.load(text)
    except blockyaml.Unreadable:
        # YAML that can have two meanings, such as an anchor: a line at the outermost level still shows these fields.
        names = "healthzPort|healthzBindAddress|containerRuntimeEndpoint|cpuManagerPolicy|memoryManagerPolicy"
        return dict(re.findall(rf"""(?m)^({names})\s*:\s*["']?([^\s"'#]+)""", text))
    return loaded if isinstance(loaded, dict) else {}
