# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a kubelet binary answered about itself: version, flags, feature gates, and fields that it was asked about.

Where a binary was asked, its answer wins over the tables: they describe the releases of Kubernetes, and distributions
build others. `_node/system/ask_binary.py` asks.
"""

from __future__ import annotations

from typing import Any, Iterable, Iterator, Mapping, NamedTuple, Sequence

from ..values import paths
from ..values.short_texts import minor_of
from . import fields

GATES = "featureGates"
ABSENT = "x"
"""The word of a gate that the binary does not know."""
_ON, _OFF, _LOCKED, _FREE = "+", "-", "!", "="


class BinaryFacts(NamedTuple):
    """The answers of one binary. Names that it was not asked about are missing: nothing is known of them."""

    version: str
    """Such as `v1.36.2`."""
    flags: Sequence[str]
    """All its flags, without dashes in front and with `-` for `_`; none if it could not be started."""
    gates: Mapping[str, str]
    """A word for each gate, as in gates.py without a version: the stage (a, b, g, d; `?` if it did not name it), the
    default (+ or -; missing if it did not name it), ! for a locked gate, and = for one that was asked and takes both
    values. ABSENT for a gate that it does not know."""
    fields: Mapping[str, bool]
    """Whether it has a field, by the path that asked_of() returns."""

    @property
    def minor(self) -> int | None:
        """The minor of its version, None if that is none."""
        return minor_of(self.version)

    def without(self, flags: Iterable[str]) -> list[str]:
        """Return those of these flags that it does not have; none if its flags are not known."""
        if not self.flags:
            return []
        return [name for name in flags if name not in self.flags]

    def was_asked(self, name: str) -> bool:
        """Return whether it has answered about a field or gate, as asked_of() names it."""
        if name.startswith(f"{GATES}."):
            return self.gates.get(name[len(GATES) + 1 :], "").endswith((ABSENT, _LOCKED, _FREE))
        return name in self.fields

    def lacks_gate(self, name: str) -> bool:
        """Return whether it does not know a gate. False also for one that it was not asked about."""
        return self.gates.get(name) == ABSENT

    def locked(self, name: str) -> bool | None:
        """Return the only value that it takes for a gate, None if it takes both or was not asked."""
        if not self.gates.get(name, "").endswith(_LOCKED):
            return None
        return self.default(name)

    def default(self, name: str) -> bool | None:
        """Return the default of a gate, None if it did not name it."""
        word = self.gates.get(name, "")
        if _ON in word or _OFF in word:
            return _ON in word
        return None

    def has(self, path: paths.Path) -> bool | None:
        """Return whether it has a field, None if it was not asked. An unknown field has no known members."""
        for end in range(1, len(path) + 1):
            answer = self.fields.get(paths.field_path(path[:end]))
            if answer is False or end == len(path):
                return answer
        return None

    def ignored(self, config: Any) -> list[str]:
        """Return the fields of a configuration that it does not have, without the members of such a field."""
        names = [name for name in asked_of(config) if self.fields.get(name) is False]
        return [name for name in names if self.fields.get(name.rpartition(".")[0].replace("[]", "")) is not False]


def read(given: Any) -> BinaryFacts | None:
    """Return facts from the result of a module, None for none. host_facts.py checks their shape before."""
    if not given:
        return None
    return BinaryFacts(given["version"], given["flags"], given["gates"], given["fields"])


def word(stage: str, default: bool | None, locked: bool | None = None) -> str:
    """Return the word of a gate; `stage` is a, b, g, d or ?. `locked` is None if it was not asked."""
    signs = {None: "", True: _ON, False: _OFF}
    ends = {None: "", True: _LOCKED, False: _FREE}
    return f"{stage}{signs[default]}{ends[locked]}"


def asked_of(config: Any) -> list[str]:
    """Return the fields and gates that a configuration sets, as a binary is asked: `maxPods`, `featureGates.NodeSwap`.

    Keys of maps are not fields. Of a field that no table has, only the name at its top is asked: its type is not known.
    """
    if not isinstance(config, Mapping):
        return []
    given = config.get(GATES)
    names = {*_fields(config, ())}.difference((*paths.HEADER, GATES))
    for name, value in given.items() if isinstance(given, Mapping) else ():
        if isinstance(value, bool):
            names.add(f"{GATES}.{name}")
    return sorted(names)


def _fields(config: Mapping[str, Any], parent: paths.Path) -> Iterator[str]:
    for key, value in config.items():
        at = (*parent, key)
        field = fields.lookup(at)
        yield paths.field_path(at)
        if isinstance(value, Mapping) and field and field.type == "object":
            yield from _fields(value, at)
        if isinstance(value, list) and field and field.type == "list[object]":
            for member in value:
                if isinstance(member, Mapping):
                    yield from _fields(member, (*at, 0))
