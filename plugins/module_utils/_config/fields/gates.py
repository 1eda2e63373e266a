# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lookups in the table of feature gates: which minor knows a gate, its default, and whether it is locked.

A history such as ``k 10b+ 26g+! 33x`` reads: the kubelet itself uses the gate (k); beta (b; also a alpha, g stable, d
deprecated) and on (+; off is -) since 1.10; stable, on and locked (!) since 1.26; unknown since 1.33 (x).
What a gate needs, such as ``35 A B 37``, reads: the gates A and B since 1.35, and none since 1.37.
"""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Mapping

from .fields_table import NEWEST_MINOR
from .gates_table import FIELDS_OF, GATES, NEEDS

__all__ = ["FIELDS_OF"]

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
        group = by_group(state, given)
        return state.default if group is None else group


def by_group(state: State, given: Mapping[str, Any]) -> bool | None:
    """Return what AllAlpha or AllBeta among these gates makes of one in this state, None if they leave its default."""
    for name, stage in GROUPS.items():
        group = given.get(name)
        if stage == state.stage and isinstance(group, bool) and not state.locked:
            return group
    return None


@lru_cache(maxsize=None)
def lookup(name: str) -> Gate | None:
    """Return a gate, None if no minor of the table knows it."""
    history = GATES.get(name)
    if history is None:
        return None
    words = history.split()
    states, removed = [], None
    for word in words:
        found = _WORD.fullmatch(word)
        if found:
            states.append(State(int(found[1]), found[2], found[3] == "+", bool(found[4])))
    if words[-1].endswith("x"):
        removed = int(words[-1][:-1])
    return Gate(name, tuple(states), removed, words[0] == "k")


def default(name: str, minor: int) -> bool:
    """Return whether a gate of the table is on by default. Once it is gone, its feature stays as it was at the end.

    Raises KeyError for any other.
    """
    gate = lookup(name)
    if gate is None:
        raise KeyError(name)
    at_minor = gate.at(minor)
    if at_minor is None:
        return minor >= gate.states[0].since and gate.states[-1].default
    return at_minor.default


def state(name: str, minor: int) -> State | None:
    """Return the state of a gate in a minor, None where the gate is unknown."""
    gate = lookup(name)
    if gate is None:
        return None
    return gate.at(minor)


def locked_since(name: str, minor: int) -> int | None:
    """Return the first minor that locks a gate, None if the gate is not locked in this one."""
    at_minor, gate = state(name, minor), lookup(name)
    if gate is None or at_minor is None or not at_minor.locked:
        return None
    return next(one.since for one in gate.states if one.locked)


def nearest(name: str, minor: int) -> str | None:
    """Return the gate of this minor that a misspelled name most likely means, or None."""
    known = {other.lower(): other for other in GATES if state(other, minor)}
    for close in difflib.get_close_matches(name.lower(), known, n=1, cutoff=0.85):
        return known[close]
    return None


@lru_cache(maxsize=None)
def needs(minor: int) -> Mapping[str, tuple[str, ...]] | None:
    """Return the gates of a minor that need others, each with the gates that must be on while it is on.

    None: not known, since the minor is newer than the table.
    """
    if minor > NEWEST_MINOR:
        return None
    found = {}
    for name, history in NEEDS.items():
        needed: list[str] = []
        for word in history.split():
            if not word.isdigit():
                needed.append(word)
            elif int(word) <= minor:
                needed = []
            else:
                break
        if needed:
            found[name] = tuple(needed)
    return found
