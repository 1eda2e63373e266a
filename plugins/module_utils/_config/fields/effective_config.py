# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A configuration as the rules see it: with known defaults, without values of the wrong type."""

from __future__ import annotations

from typing import Any, Mapping

from ..binary.binary_facts import BinaryFacts
from ..values import duration
from . import compare, fields, gates


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
        inside: Any = self._config
        for key in path.split("."):
            if not isinstance(inside, dict):
                return None
            inside = inside.get(key)
        field = fields.ALL.get(path)
        # Where a zero means the default, and this minor's default is not known, the value is not known either.
        return None if field and field.unset_at(self.minor) == "zero" and compare.is_zero(inside, field) else inside

    def form(self, path: str) -> Any:
        """Return the effective value at the path of a field, in its canonical form."""
        return compare.canonical(self.value(path), fields.ALL[path], self.minor)

    def number(self, path: str) -> int | None:
        """Return an integer."""
        value = self.value(path)
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    def text(self, path: str) -> str:
        """Return a string; empty without one."""
        value = self.value(path)
        return value if isinstance(value, str) else ""

    def truth(self, path: str) -> bool | None:
        """Return a boolean."""
        value = self.value(path)
        return value if isinstance(value, bool) else None

    def nanoseconds(self, path: str) -> int | None:
        """Return a duration in nanoseconds."""
        try:
            return duration.parse(self.text(path))
        except ValueError:
            return None

    def texts(self, path: str) -> list[str]:
        """Return the strings of a list."""
        value = self.value(path)
        return [entry for entry in value if isinstance(entry, str)] if isinstance(value, list) else []

    def pairs(self, path: str) -> dict[str, str]:
        """Return the string entries of a map."""
        value = self.value(path)
        return {key: entry for key, entry in value.items() if isinstance(entry, str)} if isinstance(value, dict) else {}

    def gate(self, name: str) -> bool:
        """Return whether this configuration enables a feature gate; the kubelet's local file and flags are not seen."""
        given = self.value("featureGates")
        if isinstance(given, dict) and isinstance(given.get(name), bool):
            return bool(given[name])
        answer = self.binary.default(name) if self.binary else None
        return gates.default(name, self.minor) if answer is None else answer

    def knows_gate(self, name: str) -> bool:
        """Return whether gate() is certain: the configuration sets it, or nothing changes the defaults of all gates."""
        given = self.value("featureGates")
        return not isinstance(given, dict) or name in given or not set(gates.GROUPS) & set(given)
