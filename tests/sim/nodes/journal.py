# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The journal of a simulated node: lines of its services, and what journalctl prints of them."""

from __future__ import annotations

import json
import threading
import time
import typing as t


class Line(t.NamedTuple):
    """One line. `pid` is 1 for systemd's own; `when`: seconds since the epoch."""

    unit: str
    invocation: str
    pid: int
    text: str
    when: float


class Journal:
    """Lines of all services, oldest first."""

    def __init__(self) -> None:
        self._lines: list[Line] = []
        self._lock = threading.Lock()

    def add(self, unit: str, invocation: str, pid: int, text: str) -> None:
        with self._lock:
            self._lines.append(Line(unit, invocation, pid, text, time.time()))

    def printed(self, words: t.Sequence[str]) -> str:
        """Return what `journalctl` prints for these options: --unit, --lines, --output cat or json, --since=@SECONDS,
        and matches of _SYSTEMD_INVOCATION_ID, and of INVOCATION_ID in systemd's own lines.
        """
        given = dict(word.partition("=")[::2] for word in words)
        unit = given.get("--unit") or (words[words.index("-u") + 1] if "-u" in words else "")
        unit = unit if not unit or "." in unit else f"{unit}.service"
        invocation, named = given.get("_SYSTEMD_INVOCATION_ID"), given.get("INVOCATION_ID")
        since = float(given.get("--since", "@0").lstrip("@"))
        with self._lock:
            found = [
                line
                for line in self._lines
                if (not unit or line.unit == unit)
                and (invocation is None or (line.invocation == invocation and line.pid != 1))
                and (named is None or (line.invocation == named and line.pid == 1))
                and line.when >= since
            ]
        found = found[-int(given["--lines"]) :] if "--lines" in given else found
        show = _as_json if given.get("--output") == "json" else lambda line: line.text
        return "".join(f"{show(line)}\n" for line in found)


def _as_json(line: Line) -> str:
    # systemd's own lines about a unit name the start in another field than those of its processes.
    name = "INVOCATION_ID" if line.pid == 1 else "_SYSTEMD_INVOCATION_ID"
    return json.dumps({name: line.invocation, "_PID": str(line.pid), "UNIT": line.unit, "MESSAGE": line.text})
