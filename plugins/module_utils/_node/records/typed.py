# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Named tuples from files: JSON that was damaged, or edited by hand, may hold values of other types."""

from __future__ import annotations

from typing import Any, TypeVar

Fields = TypeVar("Fields", bound=tuple)  # type: ignore[type-arg]

# Later than any time in seconds, of any clock.
_LATEST = 1e12


def fields(value: Any, like: Fields) -> Fields:
    """Return a mapping that was read as a named tuple of the type of `like`, which has a value of the right type in
    each field: None stands for a number or None.

    Raises TypeError for a value that is no mapping, for unknown and missing fields, and for values of other types.
    """
    found = type(like)(**value)
    for name, right, held in zip(like._fields, like, found):  # type: ignore[attr-defined]
        if not _fits(held, right):
            raise TypeError(f"{name} has another type")
    return found


def number(value: Any) -> float:
    """Return a number of seconds. Raises TypeError."""
    if not _is_number(value):
        raise TypeError("it is no number of seconds")
    return float(value)


def _fits(held: Any, right: Any) -> bool:
    if right is None or isinstance(right, float):
        return (held is None and right is None) or _is_number(held)
    return isinstance(held, type(right)) and isinstance(held, bool) == isinstance(right, bool)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and -_LATEST <= value <= _LATEST
