# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The record of a node's own values: what the node had before sources of this collection replaced it, and what of it
counts again because the inventory does not declare it any more.

A record is a mapping: ``own`` has the value of each replaced path, as a list of one value (None: absent), or an empty
list if the value is not known. ``complete`` is false if sources without a record came before, so that a value found on
the node may be one of theirs. ``absent`` has the paths that the source named by ``source`` leaves to the kubelet, whose
default is not known. ``capacity`` is what the machine had when that source was assigned, as in Node.status.capacity,
where that is known.
"""

from __future__ import annotations

import json
from typing import Any, Dict, Iterable, Iterator, Mapping, NamedTuple

from ..fields import compare, fields, overlay
from ..rules.problem import WARNING, Problem
from ..values import annotation, paths, reference
from .layers import Declared

Record = Dict[str, Any]

NO_RECORD: Record = {"complete": True, "source": "", "absent": [], "own": {}}
"""The record of a node on its local config, which has only values of its own."""
CAPACITY = "capacity"
LIMIT = 64 * 1024
"""Bytes of a record: all annotations of an object together may have 256 KiB
(apimachinery/pkg/api/validation, TotalAnnotationSizeLimitB).
"""


def read(value: Any) -> tuple[Record | None, dict[str, str]]:
    """Return the record that an annotation holds, and by the annotation what is malformed and how to repair it.

    The record is None without an annotation, and if it is malformed. Never raises.
    """
    found, fault = annotation.mapping(value)
    fault = fault or (_fault(found) if found is not None else "")
    if fault:
        return None, {
            annotation.OWN: f"its annotation {annotation.OWN} is malformed: {fault}. The next assignment writes it; "
            "values that it replaced are not known any more"
        }
    if found is None:
        return None, {}
    return paths.only(found, (*_SHAPE, CAPACITY)), {}


def given(value: Any) -> Record | None:
    """Return the record in a row of a plan, None if there is none. Raises ValueError with what is malformed."""
    if value is None:
        return None
    if not isinstance(value, dict):
        raise ValueError("it is not a mapping")
    fault = _fault(value)
    if fault:
        raise ValueError(fault)
    return value


def of_node(row: Mapping[str, Any]) -> Record:
    """Return the record that applies to a node, from its row in a dump, without its capacity.

    ``absent`` is empty unless the node runs that source.
    """
    record = row.get("own")
    malformed = row.get("malformed") or {}
    source = row.get("source")
    if source is None and not {annotation.SOURCE, annotation.SPEC} & set(malformed):
        return NO_RECORD
    if not isinstance(record, dict):
        return {**NO_RECORD, "complete": False}
    # What it had then makes no plan different.
    record = paths.without(record, (CAPACITY,))
    status = row.get("status") or {}
    active = reference.held(status.get("active")).get("name")
    runs = active and active == record["source"] == reference.held(source).get("name") and not status.get("error")
    return record if runs else {**record, "source": "", "absent": []}


def text(record: Record) -> str:
    """Return the value of the annotation for a record; one that is too large is replaced by one that knows nothing."""
    found = annotation.text(record)
    return found if len(found.encode()) <= LIMIT else annotation.text({**NO_RECORD, "complete": False})


_SHAPE = {"complete": bool, "source": str, "absent": list, "own": dict}


def _fault(found: Mapping[str, Any]) -> str:
    """Return what is wrong with a record, empty if nothing is."""
    for name, kind in _SHAPE.items():
        if not isinstance(found.get(name), kind):
            return f"{name} is not a {kind.__name__}"
    had = found.get(CAPACITY, {})
    if not isinstance(had, dict) or not all(isinstance(text, str) for text in had.values()):
        return "capacity is not a dict of texts"
    for path in (*found["absent"], *found["own"]):
        if not isinstance(path, str) or not _is_path(path):
            return f"{ascii(path)[:40]} is not the path of a field"
    for path, held in found["own"].items():
        if not isinstance(held, list) or len(held) > 1:
            return f"own[{ascii(path)[:40]}] is not a list of at most one value"
    try:
        # JSON in Python may hold infinite numbers, and half a surrogate pair.
        json.dumps(found, allow_nan=False, ensure_ascii=False).encode()
    except ValueError:
        return "it holds a value that is not JSON"
    return ""


def _is_path(path: str) -> bool:
    try:
        keys = paths.parse(path)
    except ValueError:
        return False
    return bool(keys) and keys[0] not in paths.HEADER and all(isinstance(key, str) for key in keys)


class Undeclared(NamedTuple):
    """The paths that former sources replaced and no layer sets."""

    known: dict[str, Any]
    """The node's own value, where it differs from the live one; None: absent."""
    unknown: list[str]
    """The paths whose own value is not known."""

    def removals(self, values: Mapping[str, Any]) -> list[compare.Change]:
        """Return the changes of the values at these paths, whose result is not known."""
        return [compare.Change(path, values[path], None, False) for path in self.unknown if path in values]


NOTHING = Undeclared({}, [])
"""Where no former source matters."""


def undeclared(
    record: Record, declared: Declared, live: Mapping[str, Any], minor: int, by_key: bool = False
) -> Undeclared:
    """Return what a record has of a node that no layer sets. ``live`` is its complete live configuration.

    With ``by_key``, a layer sets of every map only the keys that it names, as in a drop-in.
    """
    values = compare.normalise(live, minor, runs=by_key)
    known: dict[str, Any] = {}
    unknown = []
    for path in no_longer_set(record, declared, by_key):
        held = record["own"][path]
        if not held or not _fits(live, paths.parse(path)):
            unknown.append(path)
        elif not compare.same(held[0], values.get(path)):
            known[path] = held[0]
    return Undeclared(known, unknown)


def no_longer_set(record: Record, declared: Declared, by_key: bool) -> list[str]:
    """Return the paths that a record has and no layer sets. ``by_key`` as in undeclared()."""
    names = declared.paths(by_key)
    return sorted(path for path in record["own"] if not overlay.overlaps(path, names))


def warnings(unknown: Iterable[str]) -> Iterator[Problem]:
    """Yield a warning for each path that is no longer declared and whose own value is not known."""
    for path in unknown:
        cause = "no longer declared, but the node's own value is not known, so the live value is not changed"
        remedy = "Declare the value that you want, or run the playbook reset for the node."
        yield Problem(WARNING, path, cause, remedy, "no-longer-declared")


def record_after(before: Record, source: str, replaced: Mapping[str, Any], absent: Iterable[str]) -> Record:
    """Return the record of a node to which ``source`` is assigned.

    ``replaced`` has the value that each path had before, ``absent`` the paths that the source leaves to the kubelet.
    """
    own = {path: [value] if before["complete"] and not _is_secret(path) else [] for path, value in replaced.items()}
    return {"complete": before["complete"], "source": source, "absent": [*absent], "own": {**own, **before["own"]}}


def absent_after(changes: Iterable[compare.Change]) -> list[str]:
    """Return the paths whose value is removed and replaced by the kubelet with a default that is not known."""
    return [change.path for change in changes if change.after is None and not change.known]


def _is_secret(path: str) -> bool:
    """Return whether a value must not be on a Node, which more users may read than ConfigMaps.

    What an unknown field holds is not known either.
    """
    field = fields.owner(path)
    return field is None or field.secret


def _fits(config: Any, path: paths.Path) -> bool:
    """Return whether a value can be at this path: all its parents are mappings or absent."""
    for key in path[:-1]:
        if not isinstance(config, Mapping):
            return False
        config = config.get(key)
        if config is None:
            return True
    return isinstance(config, Mapping)
