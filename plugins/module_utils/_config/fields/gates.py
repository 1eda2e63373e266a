# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lookups in the table of feature gates: which minor knows a gate, its default, and whether it is locked.

A history such as ``k 10b+ 26g+! 33x`` reads: the kubelet itself uses the gate (k); beta (b; also a alpha, g stable, d
deprecated) and on (+; off is -) since 1.10; stable, on and locked (!) since 1.26; unknown since 1.33 (x).
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Mapping

from .gates_table import FIELDS_OF, GATES, NEEDS

__all__ = ["FIELDS_OF", "GROUPS", "OLDEST_MINOR", "Gate", "State", "default", "lookup", "nearest", "needs"]

OLDEST_MINOR = 20
"""The oldest minor whose gates are all known."""
GROUPS = {"AllAlpha": "a", "AllBeta": "b"}
"""The gates that set all others of a stage, with that stage."""
_WORD = re.compile(r"(\d+)([abgd])([+-])(!?)")


@dataclass(frozen=True)
class State:
    """What a gate is from one minor on."""

    since: int
    stage: str
    """a alpha, b beta, g stable, d deprecated."""
    default: bool
    locked: bool
    """Whether a kubelet refuses any other value than the default."""


@dataclass(frozen=True)
class Gate:
    """A feature gate. Versions are Kubernetes minors."""

    name: str
    states: tuple[State, ...]
    removed_in: int | None
    """The first minor that does not know it any more."""
    kubelet: bool
    """Whether the kubelet's own code uses it. All components of Kubernetes know all gates."""

    def at(self, minor: int) -> State | None:
        """Return the gate's state in a minor, None where the gate is unknown."""
        if self.removed_in is not None and minor >= self.removed_in:
            return None
        return next((state for state in reversed(self.states) if minor >= state.since), None)

    def enabled(self, minor: int, given: Mapping[str, Any]) -> bool:
        """Return whether it is on for a kubelet of this minor with these gates, which may set AllAlpha and AllBeta."""
        state = self.at(minor)
        value = given.get(self.name)
        if state is None or isinstance(value, bool):
            return value is True
        group = next((given.get(name) for name, stage in GROUPS.items() if stage == state.stage), None)
        return group if isinstance(group, bool) and not state.locked else state.default


@lru_cache(maxsize=None)
def lookup(name: str) -> Gate | None:
    """Return a gate, None if no minor of the table knows it."""
    history = GATES.get(name)
    if history is None:
        return None
    words = history.split()
    found = [_WORD.fullmatch(word) for word in words]
    states = tuple(State(int(one[1]), one[2], one[3] == "+", bool(one[4])) for one in found if one)
    removed = int(words[-1][:-1]) if words[-1].endswith("x") else None
    return Gate(name, states, removed, words[0] == "k")


def default(name: str, minor: int) -> bool:
    """Return whether a gate of the table is on by default. Once it is gone, its feature stays as it was at the end.

    Raises KeyError for any other.
    """
    gate = lookup(name)
    if gate is None:
        raise KeyError(name)
    state = gate.at(minor)
    return state.default if state else minor >= gate.states[0].since and gate.states[-1].default


def nearest(name: str, minor: int) -> str | None:
    """Return the gate of this minor that a misspelled name most likely means, or None."""
    known = {other.lower(): other for other in GATES if _known(other, minor)}
    close = difflib.get_close_matches(name.lower(), known, cutoff=0.85)
    return known[close[0]] if close else None


def needs(minor: int) -> Mapping[str, tuple[str, ...]]:
    """Return the gates of a minor that need others, each with the gates that must be on while it is on."""
    return NEEDS.get(minor, {})


def _known(name: str, minor: int) -> bool:
    gate = lookup(name)
    return gate is not None and gate.at(minor) is not None
