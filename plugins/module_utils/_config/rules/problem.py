# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A rule, with the versions that check it; what it reads: a configuration with known defaults and without values of the
wrong type; and what it finds: a problem, as a row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Iterable, Iterator, Mapping, NamedTuple, Sequence, Tuple

from ..fields import compare, fields, gates
from ..fields.binary_facts import BinaryFacts
from ..values import amounts, paths, short_texts

REFUSAL = "refusal"
"""Nothing may be written: the kubelet would ignore the value or crash."""
WARNING = "warning"
"""The kubelet may reject or overrides the value, or the value can only be checked on the host."""


class EffectiveConfig:
    """Typed access to the effective values of a configuration for a kubelet of one minor.

    Every getter returns None, or an empty value, when the value is absent without a known default or has another type.
    types.py reports wrong types. `binary`: what this kubelet's own binary answered, if it was asked.
    """

    def __init__(self, config: Mapping[str, Any], minor: int, binary: BinaryFacts | None = None) -> None:
        self.minor = minor
        self.binary = binary
        self._config = compare.with_defaults(config, minor)

    def value(self, path: str) -> Any:
        """Return the effective value at a dotted path."""
        inside = paths.value_at(self._config, path.split("."))
        field = fields.ALL.get(path)
        if field and compare.is_unset(inside, field, self.minor):
            # A zero here means the default, and this minor's default is not known.
            return None
        return inside

    def form(self, path: str) -> Any:
        """Return the effective value at the path of a field, in its canonical form."""
        return compare.canonical(self.value(path), fields.ALL[path], self.minor)

    def number(self, path: str) -> int | None:
        """Return an integer."""
        value = self.value(path)
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    def text(self, path: str) -> str:
        """Return a string; empty without one."""
        return paths.typed(self.value(path), str)

    def truth(self, path: str) -> bool | None:
        """Return a boolean."""
        value = self.value(path)
        return value if isinstance(value, bool) else None

    def nanoseconds(self, path: str) -> int | None:
        """Return a duration in nanoseconds."""
        try:
            return amounts.parse_duration(self.text(path))
        except ValueError:
            return None

    def texts(self, path: str) -> list[str]:
        """Return the strings of a list."""
        return [entry for entry in paths.typed(self.value(path), list) if isinstance(entry, str)]

    def objects(self, path: str) -> list[Mapping[str, Any]]:
        """Return the mappings in a list."""
        return [entry for entry in paths.typed(self.value(path), list) if isinstance(entry, dict)]

    def cpus(self, path: str) -> list[short_texts.CpuRange]:
        """Return the ranges of a list of CPUs; none of a text that is no such list."""
        try:
            return short_texts.cpu_ranges(self.text(path))
        except ValueError:
            return []

    def pairs(self, path: str) -> dict[str, str]:
        """Return the string entries of a map."""
        value = paths.typed(self.value(path), dict)
        return {key: entry for key, entry in value.items() if isinstance(entry, str)}

    def gate(self, name: str) -> bool:
        """Return whether this configuration enables a feature gate; the kubelet's local file and flags are not seen."""
        given = paths.typed(self.value("featureGates"), dict)
        state = gates.state(name, self.minor)
        own = given.get(name)
        if isinstance(own, bool):
            return own
        group = gates.by_group(state, given) if state else None
        if group is not None:
            return group
        if self.binary and self.binary.default(name) is not None:
            return bool(self.binary.default(name))
        return gates.default(name, self.minor)


@dataclass(frozen=True)
class Problem:
    """A finding. ``message`` is the cause, if possible the kubelet's own message; ``remedy`` is what to do."""

    severity: str
    path: str
    message: str
    remedy: str
    rule: str
    """A stable identifier of the rule, for filtering."""
    value: str = ""
    """The value that breaks a rule of the kubelet's validation, on one line; otherwise empty."""

    def row(self) -> dict[str, str]:
        """Return the problem as a plain mapping, without an empty ``value``."""
        row = dict(vars(self))
        if not self.value:
            del row["value"]
        return row


def in_order(problems: Iterable[Problem]) -> list[Problem]:
    """Return problems with refusals first, then by path."""
    return sorted(problems, key=lambda problem: (problem.severity, problem.path, problem.rule, problem.message))


def as_rows(problems: Iterable[Problem]) -> list[dict[str, str]]:
    """Return problems as plain mappings."""
    return [problem.row() for problem in problems]


Finding = Tuple[str, str, str]
"""Path, message, remedy."""

IC = "invalid configuration: "
"""The start of most messages of the kubelet."""
ENFORCE = "enforceNodeAllocatable (--enforce-node-allocatable)"
"""This field in its messages."""

FIRST_READ, LAST_READ = 20, 36
"""The first and last minor whose validation.go was read for these rules."""


def quoted(words: Sequence[str], comma: bool = True) -> str:
    """Return words in quotes as the kubelet lists them, with a comma before the last one or without it."""
    *others, last = [f'"{word}"' for word in words]
    return f"{', '.join(others)}{',' if comma else ''} or {last}"


class Rule(NamedTuple):
    """A rule. Versions are Kubernetes minors (20 for 1.20), both ends inclusive."""

    name: str
    since: int
    """The first minor with the rule; 0 for a rule that is older than the first minor read."""
    until: int | None
    """The last minor with the rule; None if the newest minor read still has it."""
    find: Callable[[EffectiveConfig], Iterator[Finding]]
    sure: bool = True
    """False where distributions of Kubernetes differ."""

    def holds_at(self, minor: int) -> bool:
        """Return whether a kubelet of this minor has the rule, as far as known."""
        return self.since <= minor and (self.until is None or minor <= self.until)

    def is_certain(self, config: EffectiveConfig) -> bool:
        """Return whether the kubelet of this configuration certainly refuses what breaks the rule.

        A kubelet outside the minors read may have dropped the rule.
        """
        return self.sure and self.holds_at(config.minor) and FIRST_READ <= config.minor <= LAST_READ
