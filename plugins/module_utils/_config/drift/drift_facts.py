# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The facts about a node, other than its configurations, from which the cause of a difference follows; and what of the
node itself explains a value that its kubelet runs: its own file, other drop-ins, a flag, a default.

A switch changes what is declared and nothing else. The node's own file may have changed since the kubelet's last start,
and the restart of the switch then takes that up, too.
"""

from __future__ import annotations

import dataclasses
import posixpath
from typing import Any, Collection, Mapping, Tuple

from ..delivery import LINK
from ..fields import compare, fields, merged_dropins, overlay, shadow
from ..host_facts import HostFacts
from ..plan.layers import Declared
from ..values import paths
from ..values.reference import same_place

Reference = Mapping[str, str]


def with_dropin(found: HostFacts) -> HostFacts:
    """Return facts whose file is our drop-in, empty if the kubelet does not read it.

    The other drop-ins are those that the kubelet merges after it.
    """
    ours = ""
    later: dict[str, Any] = {}
    for name, content in found.dropins.items():
        if not ours and name.endswith(f"/{LINK}"):
            ours, later = name, {}
        else:
            later[name] = content
    content = found.dropins.get(ours)
    return dataclasses.replace(found, file=ours, content=content, reference=None, damage="", dropins=later)


@dataclasses.dataclass(frozen=True)
class NodeFacts:
    """The facts about a node other than its configurations. A reported reference has five fields."""

    minor: int
    checkpoint: bool = False
    """Delivered as a checkpoint by this collection, not by Node.spec.configSource."""
    dropin: bool = False
    """Delivered as a drop-in: the sources hold what is declared, and the kubelet lays it over the node's own file."""
    source: Reference | None = None
    seeded: bool = False
    """The machine came with the source, from a seed."""
    assigned: Reference | None = None
    active: Reference | None = None
    error: str = ""
    unsynced: bool = False
    """The error is about taking the source up: the kubelet has not refused it."""
    meaning: str = ""
    """What the error means, as the end of a sentence; empty if that is unknown."""
    pushed: Reference | None = None
    """The ConfigMap of the source, as the API has it now."""
    ours: bool = True
    """This collection created the ConfigMap."""
    edited: bool = False
    """The hash in the ConfigMap's name does not match its content."""
    recorded: str = ""
    """The name of the ConfigMap that this collection assigned last, empty if that is not recorded."""
    resized: str = ""
    """What of the machine changed since this collection assigned the source, in words; empty if nothing did."""
    fault: str = ""
    """Why the ConfigMap is unusable: it was deleted or contains no configuration."""
    host: HostFacts | None = None
    host_missing: str = ""
    """Why the node itself was not checked."""
    flags: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """The flags that the inventory declares, by path. The flags found on the node take precedence."""

    @property
    def found(self) -> HostFacts:
        """The facts from the node itself, empty ones if it was not checked."""
        return self.host or HostFacts()

    @property
    def flags_in_force(self) -> Collection[str]:
        """The paths that flags hide: by the node itself, or by the inventory if the node was not checked."""
        if self.host is None:
            return self.flags
        return self.host.flags

    @property
    def foreign(self) -> bool:
        """Whether another user assigned the source: this collection did not create it, or assigned another one."""
        assigned = (self.source or {}).get("name")
        return bool(assigned and (not self.ours or self.recorded not in ("", assigned)))

    @property
    def stale(self) -> bool:
        """Whether the ConfigMap has changed since the node read it."""
        return bool(
            self.pushed
            and self.assigned
            and same_place(self.pushed, self.assigned)
            and dict(self.pushed) != dict(self.assigned)
        )

    @property
    def rewritten(self) -> bool:
        """Whether the ConfigMap has another revision, with the content that its name names: it was created again, or
        its labels changed. A node with a copy has nothing to take up.
        """
        has_copy = self.checkpoint or self.dropin
        return self.stale and has_copy and self.ours and not self.edited

    @property
    def waiting(self) -> bool:
        """Whether the kubelet has neither activated nor refused the source that it must run."""
        return not self.error and (not same_place(self.source, self.assigned) or self.assigned != self.active)

    @property
    def strayed(self) -> bool:
        """Whether the kubelet of a node with a checkpoint reads another file, or does not read our drop-in."""
        if self.dropin:
            return bool(self.active and self.host and not self.host.file)
        return bool(self.checkpoint and self.active and self.found.file and not self.found.reference)


Config = Mapping[str, Any]
File = Tuple[str, Any]


class Inspected:
    """What the inspection of a node found of it, just before its kubelet was restarted."""

    def __init__(self, facts: HostFacts) -> None:
        self._flags = facts.flags
        contents = dict(facts.own or {})
        self._file = facts.local_config
        self._base: Config | None = None
        if contents:
            self._base = contents.pop(self._file, {})
        folder = posixpath.dirname(next(iter(contents), ""))
        earlier, later = merged_dropins.around(contents, facts.link or posixpath.join(folder, LINK))
        self._earlier, self._later = list(earlier.items()), list(later.items())
        self._contents = [content for _path, content in (*self._earlier, *self._later)]
        # Also an empty folder counts.
        named = (word.startswith("--config-dir") and word != "--config-dir=" for word in facts.command)
        self._has_folder = bool(self._contents) or any(named)

    @property
    def known(self) -> bool:
        """Whether the node's own file and its drop-ins are known."""
        return self._base is not None and None not in self._contents

    def overrides(self, path: str, source: Config, minor: int) -> bool:
        """Return whether something of the node wins over the value that a whole configuration has at a path."""
        return (
            shadow.shadow_of(path, self._flags) is not None
            or any(content is None or sets(content, path) for content in self._contents)
            or (self._has_folder and paths.top(path) in merged_dropins.forgotten(source, minor))
            or shadow.computed(path, source, minor)
        )

    def causes(self, changed: Mapping[str, Any], declared: Config, minor: int) -> dict[str, str]:
        """Return what explains each of the values that a kubelet with a drop-in runs, empty where nothing does.

        ``changed`` has the live values by path, None for absent; ``declared`` is our drop-in.
        """
        if not changed or not self.known:
            return dict.fromkeys(changed, "what the node itself sets is not known")
        own = dict(self._base or {})
        layers: list[Any] = list(self._contents)
        layers.insert(len(self._earlier), declared)
        config = merged_dropins.effective(own, layers, minor)
        values = compare.normalise(config, minor, True, True)
        given = set(map(paths.top, values))
        return {path: self._cause(path, value, values, given, config, minor) for path, value in sorted(changed.items())}

    def _cause(
        self, path: str, live: Any, values: Mapping[str, Any], given: set[str], config: Config, minor: int
    ) -> str:
        use = shadow.shadow_of(path, self._flags)
        if use is not None:
            return f"the flag {use['flag']} sets it"
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


def sets(config: Config, path: str) -> bool:
    """Return whether a file sets a path, or what contains it, or what it contains; also if it sets null."""
    return overlay.overlaps(path, Declared([config]).keys)
