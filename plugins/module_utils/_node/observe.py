# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the guard can see of the kubelet: its unit, and the healthz that its configuration names.

Kept apart from unit.py, which reads and understands unit files: the guard lives as long as a trial does and must stay small.
"""
from __future__ import annotations

import re
from typing import Any, Mapping, Sequence

from . import blockyaml, command
from .decide import Unit
from .health import Endpoint, endpoint, flag

_PROPERTIES = {"ActiveState": "active", "SubState": "sub", "Result": "result", "InvocationID": "invocation", "NRestarts": "restarts", "MainPID": "pid"}


def unit(name: str, run: command.Run = command.execute) -> tuple[Unit, int] | None:
    """Return the unit's state and the kubelet's pid (0: none), or None when systemd does not answer."""
    done = run(["systemctl", "show", f"--property={','.join(_PROPERTIES)}", name])
    found = dict(line.partition("=")[::2] for line in done.stdout.splitlines())
    if done.returncode or "ActiveState" not in found:
        return None
    return Unit(found["ActiveState"], found.get("SubState", ""), found.get("Result", ""), found.get("InvocationID", ""),
                int(found.get("NRestarts") or 0)), int(found.get("MainPID") or 0)


def argv(pid: int) -> list[str]:
    """Return a process's command line, empty when it has gone."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as stream:
            return [word.decode("utf-8", "replace") for word in stream.read().split(b"\0")[:-1]]
    except OSError:
        return []


def target(words: Sequence[str]) -> Endpoint:
    """Return where the kubelet with this command line answers healthz: by its flags, else the configuration file it was given, else the defaults.

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
