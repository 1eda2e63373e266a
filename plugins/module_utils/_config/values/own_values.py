# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The record of a node's own values: what the node had before sources of this collection replaced it.

A record is a mapping: ``own`` has the value of each replaced path, as a list of one value (None: absent), or an empty
list if the value is not known. ``complete`` is false if sources without a record came before, so that a value found on
the node may be one of theirs. ``absent`` has the paths that the source named by ``source`` leaves to the kubelet, whose
default is not known. ``capacity`` is what the machine had when that source was assigned, as in Node.status.capacity,
where that is known.
"""

from __future__ import annotations

import json
from typing import Any, Dict, Mapping

from . import annotation, paths

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
    return {name: found[name] for name in (*_SHAPE, CAPACITY) if name in found}, {}


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
    record = {name: value for name, value in record.items() if name != CAPACITY}
    status = row.get("status") or {}
    active = _name(status.get("active"))
    runs = active and active == record["source"] == _name(source) and not status.get("error")
    return record if runs else {**record, "source": "", "absent": []}


def text(record: Record) -> str:
    """Return the value of the annotation for a record; one that is too large is replaced by one that knows nothing."""
    found = annotation.text(record)
    return found if len(found.encode()) <= LIMIT else annotation.text({**NO_RECORD, "complete": False})


_SHAPE = {"complete": bool, "source": str, "absent": list, "own": dict}


def _name(source: Any) -> Any:
    if not isinstance(source, Mapping):
        return None
    return (source.get("configMap") or source).get("name")


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
    return bool(keys) and keys[0] not in ("kind", "apiVersion") and all(isinstance(key, str) for key in keys)
