# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Units of a simulated node: their files by systemd's rules, and the command lines that systemd would start.

The stand-in reads the lines of unit files as the product does, with `_node/unit/unitfile.py`. It gives them a meaning
by the rules in `unit_words.py`; the product asks it.
"""

from __future__ import annotations

import dataclasses
import os
import re
import typing as t
from pathlib import Path

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.unit import unitfile
from tests.sim.nodes import unit_words

# In the order of precedence (systemd.unit(5)).
FOLDERS = ("/etc/systemd/system", "/run/systemd/system", "/usr/lib/systemd/system")
_LISTS = {"ExecStart", "ExecStartPre", "Environment", "EnvironmentFile", "ConditionPathExists"}
_SPAN = re.compile(r"(\d+(?:\.\d+)?)(ms|min|s)?")
_UNITS = {"ms": 0.001, "s": 1.0, "min": 60.0, None: 1.0}


@dataclasses.dataclass(frozen=True)
class UnitFiles:
    """What systemd has loaded of a unit."""

    name: str
    fragment: str
    dropins: tuple[str, ...]
    stamps: tuple[tuple[int, int], ...]
    settings: t.Mapping[str, t.Sequence[str]]

    def last(self, name: str, default: str = "") -> str:
        return (self.settings.get(name) or (default,))[-1]

    def seconds(self, name: str, default: float) -> float:
        """Return a span of time in seconds."""
        text = self.last(name)
        return sum(float(number) * _UNITS[unit or None] for number, unit in _SPAN.findall(text)) if text else default

    def conditions(self, root: Path) -> bool:
        """Whether the paths of ConditionPathExists= are there: those with `|` are alternatives."""
        paths = self.settings.get("ConditionPathExists", ())
        found = {path: (root / path.lstrip("|").lstrip("/")).exists() for path in paths}
        either = [there for path, there in found.items() if path.startswith("|")]
        return (any(either) or not either) and all(there for path, there in found.items() if not path.startswith("|"))

    def environment(self) -> dict[str, str]:
        words = (word for text in self.settings.get("Environment", ()) for word in unit_words.split(text))
        return {name: value.replace("%%", "%") for name, _equals, value in (word.partition("=") for word in words)}

    def environment_files(self) -> list[tuple[str, bool]]:
        """Return the paths of EnvironmentFile=, and whether each may be absent."""
        return [(text.lstrip("-"), text.startswith("-")) for text in self.settings.get("EnvironmentFile", ())]


def find(root: Path, name: str) -> tuple[str, tuple[str, ...]]:
    """Return the paths of a unit's file and drop-ins as the node sees them; empty without such a unit."""
    fragment = next((f"{folder}/{name}" for folder in FOLDERS if (root / folder[1:] / name).exists()), "")
    dropins: dict[str, str] = {}
    for folder in reversed(FOLDERS):
        place = root / folder[1:] / f"{name}.d"
        if place.is_dir():
            dropins.update({path.name: f"{folder}/{name}.d/{path.name}" for path in place.glob("*.conf")})
    return fragment, tuple(dropins[name] for name in sorted(dropins))


def load(root: Path, name: str) -> UnitFiles | None:
    """Read a unit's files; None without such a unit."""
    fragment, dropins = find(root, name)
    if not fragment:
        return None
    settings: dict[str, list[str]] = {}
    for path in (fragment, *dropins):
        text = (root / path[1:]).read_text(encoding="utf-8")
        for section in ("Unit", "Service"):
            for setting in unitfile.settings(text, path, section):
                kept = settings.setdefault(setting.key, []) if setting.key in _LISTS and setting.value else []
                settings[setting.key] = [*kept, setting.value] if setting.value else []
    return UnitFiles(name, fragment, dropins, stamps(root, (fragment, *dropins)), settings)


def stamps(root: Path, paths: t.Iterable[str]) -> tuple[tuple[int, int], ...]:
    """Return what shows that a file was replaced or changed."""
    found = []
    for path in paths:
        try:
            status = os.stat(root / path[1:])
            found.append((status.st_ino, status.st_mtime_ns))
        except OSError:
            found.append((0, 0))
    return tuple(found)


def variables(root: Path, given: t.Mapping[str, str], paths: t.Iterable[tuple[str, bool]]) -> dict[str, str]:
    """Return the environment of a service: files win over Environment=. Raises OSError."""
    result = dict(given)
    for path, optional in paths:
        place = root / path[1:]
        if place.exists() or not optional:
            text = place.read_text(encoding="utf-8", errors="surrogateescape")
            result.update(unit_words.environment_file(text))
    return result
