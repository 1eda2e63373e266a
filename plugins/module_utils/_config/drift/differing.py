# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the configurations of one node differ: one rule for the stages verify and drift.

A field that a configuration does not set has the default of the kubelet's minor. Where that default is not known, the
field is not compared: the kubelet completes a configuration of few fields, and this is not a difference.

And what of the node itself explains a value that its kubelet runs: its own file, other drop-ins, a flag, a default. A
switch changes what is declared and nothing else. The node's own file may have changed since the kubelet's last start,
and the restart of the switch then takes that up, too.
"""

from __future__ import annotations

import posixpath
from typing import Any, Collection, Iterator, Mapping, Tuple

from ..delivery import LINK
from ..fields import compare, fields, merged_dropins, overlay, shadow
from ..host_facts import HostFacts
from ..plan.layers import Declared
from ..values import paths
from ..values.paths import Config
from ..values.short_texts import flag

File = Tuple[str, Any]
STAGES = DECLARED, PUSHED, ASSIGNED, DISK, LIVE = ("declared", "pushed", "assigned", "disk", "live")


def between(wanted: Config, live: Config, minor: int) -> list[tuple[str, Any, Any]]:
    """Return (path, wanted, live) for every value of a source that is not live, sorted by path.

    `wanted` may set few fields; `live` is complete. `minor` is that of the kubelet (20 for 1.20).
    """
    read = {ASSIGNED: compare.normalise(wanted, minor), LIVE: compare.normalise(live, minor)}
    return [(path, values[ASSIGNED], values[LIVE]) for path, values in differing(read, set(), minor)]


def of_dropin(declared: Config, live: Config, minor: int) -> list[tuple[str, Any, Any]]:
    """Return (path, wanted, live) for every declared value that is not live, sorted by path.

    A kubelet that runs what a drop-in declares would run the same if it was laid over that once more.
    """
    again = merged_dropins.merge(live, [declared])
    found = []
    for change in compare.changes(live, again, minor, True):
        if change.known or change.after is not None:
            found.append((change.path, change.after, change.before))
    return found


def undeclared(
    before: Config, live: Config, declared: Declared, former: set[str], minor: int
) -> list[tuple[str, Any, Any]]:
    """Return (path, before, live) for every value that has changed although nothing declares it, sorted by path.

    ``former`` are the paths that an earlier source declared: they revert.
    """
    names = {*former, *declared.keys}
    found = []
    for change in compare.changes(before, live, minor, True):
        if not overlay.overlaps(change.path, names):
            found.append((change.path, change.before, change.after))
    return found


def differing(
    read: Mapping[str, Config], declared: Collection[str], minor: int
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every path at which the known values of the stages differ, with these values by stage, sorted by path.

    `read` holds the configuration of each stage in the form of compare.normalise. Of the stage `declared` only the
    paths `declared` and those below them count.
    """
    tops = {stage: set(map(paths.top, values)) for stage, values in read.items()}
    for path in sorted(set().union(*read.values())):
        if compare.all_same(values.get(path) for values in read.values()):
            continue
        values = {}
        for stage, known in read.items():
            if stage == DECLARED and not overlay.is_set(path, declared):
                continue
            if path in known or _is_absence_known(path, stage, read, tops[stage], minor):
                values[stage] = known.get(path)
        values = _without_secrets_of_the_disk(path, _resolved(path, values))
        if not compare.all_same(values.values()):
            yield path, values


def _is_absence_known(path: str, stage: str, read: Mapping[str, Config], given: set[str], minor: int) -> bool:
    """Return whether the absence of a path in a stage is a value that counts. `given`: its fields of the top level."""
    is_empty_map = any(values.get(path) == {} for values in read.values())
    if is_empty_map and compare.has_keys(path, read[stage]):
        # The rows of the keys show the difference.
        return False
    if stage == LIVE:
        return True
    if fields.is_created(path, read.get(LIVE, {}).get(path)):
        return False
    return compare.is_known(path, read[stage], given, minor)


def _without_secrets_of_the_disk(path: str, values: dict[str, Any]) -> dict[str, Any]:
    """Return the values without those of the disk for a secret: the node masks it, so it cannot be compared.

    The digest of the checkpoint shows whether a secret was changed.
    """
    field = fields.owner(path)
    if field is None or not field.secret:
        return values
    return paths.without(values, (DISK,))


def _resolved(path: str, values: dict[str, Any]) -> dict[str, Any]:
    """Return the values with relative file paths replaced by the kubelet's absolute path."""
    live, found = values.get(LIVE), {}
    for stage, value in values.items():
        found[stage] = live if fields.resolves_to(path, value, live) else value
    return found


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
        self._contents = [*earlier.values(), *later.values()]
        # Also an empty folder counts.
        self._has_folder = bool(self._contents) or bool(flag(facts.command, "config-dir"))

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

    def causes(self, changed: Config, declared: Config, minor: int) -> dict[str, str]:
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
        found = {}
        for path, live in sorted(changed.items()):
            found[path] = self._cause(path, live, values, given, config, minor)
        return found

    def _cause_of_same(self, file: str) -> str:
        """Return the cause of a value that the files give: C(file) is the last one with it, empty if none has it."""
        if file:
            return f"{file} changed"
        return f"{self._file or 'the node itself'} leaves it to the kubelet's default"

    def _cause(self, path: str, live: Any, values: Config, given: set[str], config: Config, minor: int) -> str:
        use = shadow.shadow_of(path, self._flags)
        if use is not None:
            return f"the flag {use['flag']} sets it"
        file = self._last_with(path)
        field = fields.owner(path)
        if file and field is not None and field.secret:
            return f"{file} has a secret there"
        if compare.same(values.get(path), live):
            return self._cause_of_same(file)
        if shadow.computed(path, config, minor) or (path not in values and fields.is_of_machine(path)):
            return "the kubelet sets it itself"
        if path not in values and not compare.is_known(path, values, given, minor, True):
            return "the kubelet's default there is not known"
        return ""

    def _last_with(self, path: str) -> str:
        """Return the last file that sets a path, empty if there is none."""
        last = ""
        for name, content in ((self._file, self._base), *self._earlier, *self._later):
            if content is not None and sets(content, path):
                last = name
        return last


def sets(config: Config, path: str) -> bool:
    """Return whether a file sets a path, or what contains it, or what it contains; also if it sets null."""
    return overlay.overlaps(path, Declared([config]).keys)
