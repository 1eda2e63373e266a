# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Telling whether two configurations mean the same to a kubelet, and where not."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any, Iterator, Mapping

from ..values import duration, paths
from . import fields
from .field_row import Field

HEADER = ("kind", "apiVersion")


@dataclass(frozen=True)
class Change:
    """One value that differs. None stands for absent."""

    path: str
    """In the notation of paths.py, one for every key of a map: ``maxPods``, ``evictionHard["memory.available"]``."""
    before: Any
    after: Any
    known: bool
    """False when ``before`` is absent and what the kubelet puts in for it is not known: the change may turn out to be
    none.
    """


def normalise(config: Mapping[str, Any], minor: int) -> dict[str, Any]:
    """Return every value of a configuration by its path, written so that equal values mean the same to a kubelet of
    this minor.

    Objects and maps are taken apart, lists are not. Durations stand in Go's form, a zero that equals absence is left
    out, a negative podPidsLimit is -1, and defaults are filled in for the minor whose defaults are known (TABLE_MINOR).
    Quantities stay as they are written, since /configz shows them so. kind and apiVersion are not part of it.
    """
    config = {key: value for key, value in config.items() if key not in HEADER}
    if minor == fields.TABLE_MINOR:
        config = with_defaults(config)
    return dict(_leaves(config, (), minor))


def changes(before: Mapping[str, Any], after: Mapping[str, Any], minor: int) -> list[Change]:
    """Return what differs between a complete live configuration and a desired one, sorted by path.

    A field that the desired one does not give and whose default at this minor is not known is no change: nobody can say
    it is one.
    """
    old, new = normalise(before, minor), normalise(after, minor)
    present = {path.split(".")[0].split("[")[0] for path in new}
    found = []
    for path in sorted(set(old) | set(new)):
        if _emptiness_is_told(path, old, new) or _emptiness_is_told(path, new, old):
            continue
        if path in old and path in new:
            if not same(old[path], new[path]):
                found.append(Change(path, old[path], new[path], True))
        elif path in new:
            found.append(Change(path, None, new[path], _absence_known(path, minor)))
        elif absence_is_told(path, present, minor):
            found.append(Change(path, old[path], None, True))
    return found


def same(one: Any, other: Any) -> bool:
    """Return whether two JSON values are equal; unlike Python, true is not 1."""
    if isinstance(one, bool) != isinstance(other, bool):
        return False
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(same(left, right) for left, right in zip(one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(value, other[key]) for key, value in one.items())
    equal: bool = one == other
    return equal


def with_defaults(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return a configuration with the defaults of TABLE_MINOR filled in (pkg/kubelet/apis/config/v1beta1/defaults.go)."""
    result: dict[str, Any] = copy.deepcopy(dict(config))
    # Unset, the report frequency follows an update frequency that is set.
    update = result.get("nodeStatusUpdateFrequency")
    if is_zero(result.get("nodeStatusReportFrequency"), _DURATION) and not is_zero(update, _DURATION):
        result["nodeStatusReportFrequency"] = update
    for field in fields.ALL.values():
        if field.default is None or "[" in field.path:
            continue
        *parents, name = field.path.split(".")
        inside: Any = result
        for parent in parents:
            if inside.get(parent) is None:
                inside[parent] = {}
            inside = inside[parent]
            if not isinstance(inside, dict):
                break
        else:
            value = inside.get(name)
            if value is None or (field.unset == "zero" and is_zero(value, field)):
                inside[name] = copy.deepcopy(field.default)
    return result


def is_zero(value: Any, field: Field) -> bool:
    """Return whether a value is absent or the zero or empty value of the field's type."""
    if field.type == "duration" and isinstance(value, str):
        return bool(canonical(value, field) == "0s")
    return value is None or (isinstance(value, (bool, int, float, str, list, dict)) and not value)


def canonical(value: Any, field: Field) -> Any:
    """Return the one form of a value of this field: durations as Go writes them, any negative podPidsLimit as -1."""
    if field.type == "duration" and isinstance(value, str):
        try:
            return duration.format(duration.parse(value))
        except ValueError:
            return value
    if field.path == "podPidsLimit" and isinstance(value, int) and not isinstance(value, bool) and value < 0:
        return -1
    return value


_DURATION = fields.ALL["nodeStatusUpdateFrequency"]


def _leaves(value: Any, at: paths.Path, minor: int) -> Iterator[tuple[str, Any]]:
    if value is None:
        return
    field = fields.lookup(at) if at else None
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _leaves(inner, (*at, key), minor)
        # An empty map says something only where absence would mean the default, or where nothing is known of the field.
        if not value and at and (field.unset_at(minor) == "nil" if field else fields.owner(at) is None):
            yield paths.show(at), {}
    elif field is None:
        yield paths.show(at), value
    elif field.unset_at(minor) == "nil" or not is_zero(value, field):
        yield paths.show(at), canonical(value, field)


def _absence_known(path: str, minor: int) -> bool:
    """Return whether absence of this path has one known meaning at this minor: no value, or a default that was filled
    in already.
    """
    field = fields.owner(path)
    return field is not None and (
        (minor == fields.TABLE_MINOR and field.exists_at(minor)) or field.unset_at(minor) == "none"
    )


def absence_is_told(path: str, given: set[str], minor: int) -> bool:
    """Return whether it is known what a configuration means at this minor that gives the top-level fields `given`, and
    not this path.
    """
    return _absence_known(path, minor) or _key_removed(path, given)


def _emptiness_is_told(path: str, side: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Return whether an empty map here faces keys there, so that the rows of the keys already say what changed."""
    return (
        side.get(path) == {} and path not in other and any(name.startswith((f"{path}.", f"{path}[")) for name in other)
    )


def _key_removed(path: str, present: set[str]) -> bool:
    """Return whether a map lost this key while it keeps others: the map is given, so no default stands in for the key."""
    field = fields.owner(path)
    return field is not None and field.type.startswith("map[") and field.path in present
