# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What of a node itself explains a value that its kubelet runs: its own file, other drop-ins, a flag, a default.

A switch changes what is declared and nothing else. The node's own file may have changed since the kubelet's last start,
and the restart of the switch then takes that up, too.
"""

from __future__ import annotations

from typing import Any, Mapping, Sequence, Tuple

from ..delivery import LINK
from ..fields import compare, fields, merged_dropins, overlay, shadow
from ..plan import host_facts
from ..plan.layers import Declared
from ..values import paths

Config = Mapping[str, Any]
File = Tuple[str, Any]


class Inspected:
    """What the inspection of a node found of it, just before its kubelet was restarted.

    ``facts`` are those of kubelet_preflight_info: ``own`` (the config file, then the other drop-ins in the kubelet's
    order, secrets masked, a content is None if it could not be read) and ``kubelet`` (``local_config``, the path of
    that file, and ``shadowed``, the flags by path). Malformed ones count as none.
    """

    def __init__(self, facts: Mapping[str, Any]) -> None:
        if host_facts.of_preflight(facts):
            facts = {}
        kubelet = facts.get("kubelet") or {}
        self._flags = {path: str(use["flag"]) for path, use in (kubelet.get("shadowed") or {}).items()}
        rows = facts.get("own") or []
        self._file = kubelet.get("local_config") or ""
        self._base = _content(rows, self._file)
        others = [(row["path"], row["content"]) for row in rows if row["path"] != self._file]
        self._earlier = [file for file in others if _name(file[0]) < LINK]
        self._later = [file for file in others if _name(file[0]) >= LINK]
        self._contents = [content for _path, content in (*self._earlier, *self._later)]

    @property
    def known(self) -> bool:
        """Whether the node's own file and its drop-ins are known."""
        return self._base is not None and None not in self._contents

    def overrides(self, path: str, source: Config, minor: int) -> bool:
        """Return whether something of the node wins over the value that a whole configuration has at a path."""
        return (
            shadow.shadow_of(path, self._flags) is not None
            or any(content is None or sets(content, path) for content in self._contents)
            or (bool(self._contents) and paths.top(path) in merged_dropins.forgotten(source, minor))
            or shadow.computed(path, source, minor)
        )

    def causes(self, changed: Mapping[str, Any], declared: Config, minor: int) -> dict[str, str]:
        """Return what explains each of the values that a kubelet with a drop-in runs, empty where nothing does.

        ``changed`` has the live values by path, None for absent; ``declared`` is our drop-in.
        """
        if not changed or not self.known:
            return dict.fromkeys(changed, "what the node itself sets is not known")
        own = dict(self._base or {})
        layers = list(self._contents)
        layers.insert(len(self._earlier), declared)
        config = merged_dropins.effective(own, layers, minor)
        values = compare.normalise(config, minor, True, True)
        given = set(map(paths.top, values))
        return {path: self._cause(path, value, values, given, config, minor) for path, value in sorted(changed.items())}

    def _cause(
        self, path: str, live: Any, values: Mapping[str, Any], given: set[str], config: Config, minor: int
    ) -> str:
        flag = shadow.shadow_of(path, self._flags)
        if flag is not None:
            return f"the flag {flag} sets it"
        file = self._last_with(path)
        field = fields.owner(path)
        if file and field is not None and field.secret:
            return f"{file} has a secret there"
        if compare.same(values.get(path), live):
            if file:
                return f"{file} changed"
            return f"{self._file or 'the node itself'} leaves it to the kubelet's default"
        if shadow.computed(path, config, minor) or (path not in values and fields.is_of_machine(path)):
            return "the kubelet sets it itself"
        if path not in values and not compare.is_known(path, values, given, minor, True):
            return "the kubelet's default there is not known"
        return ""

    def _last_with(self, path: str) -> str:
        """Return the last file that sets a path, empty if there is none."""
        files = [(self._file, self._base), *self._earlier, *self._later]
        return next((name for name, content in reversed(files) if content is not None and sets(content, path)), "")


def _content(rows: Sequence[Mapping[str, Any]], file: str) -> Config | None:
    missing: Config | None = {} if rows else None
    return next((row["content"] for row in rows if row["path"] == file), missing)


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def sets(config: Config, path: str) -> bool:
    """Return whether a file sets a path, or what contains it, or what it contains; also if it sets null."""
    return overlay.overlaps(path, Declared([config]).keys)
