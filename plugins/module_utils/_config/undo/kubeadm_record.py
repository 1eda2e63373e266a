# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What rollouts have written to kubeadm's ConfigMap, so that a rollback and a reset can undo it.

The record is an annotation of that ConfigMap, which the same users may read. It names the last `rollout` that wrote,
and by field what was there before and what was written, each None for an absent field: in `last` for that rollout, in
`all` since the first one.
"""

from __future__ import annotations

import json
from typing import Any, Dict, Mapping

from ..values import annotation

WRITTEN = annotation.PREFIX + "written"
"""The annotation."""
ALL = "all"
"""Stands for all rollouts."""

Config = Mapping[str, Any]
Record = Dict[str, Any]


def read(configmap: Mapping[str, Any]) -> Record | None:
    """Return the record of a ConfigMap, None without one that can be used: what it does not know is not undone."""
    text = (configmap["metadata"].get("annotations") or {}).get(WRITTEN)
    try:
        found = json.loads(text) if text else None
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict) or not isinstance(found.get("rollout"), str):
        return None
    return found if all(_is_table(found.get(part)) for part in ("last", ALL)) else None


def written(record: Record | None, rollout: str, before: Config, after: Config) -> dict[str, str | None]:
    """Return the annotation after a rollout has replaced one configuration with another."""
    known = record or {"rollout": rollout, "last": {}, ALL: {}}
    new = _changed(before, after)
    last = known["last"] if known["rollout"] == rollout else {}
    return _note({"rollout": rollout, "last": _added(last, new), ALL: _added(known[ALL], new)})


def undone(record: Record, rollout: str, config: Config) -> tuple[dict[str, Any], dict[str, str | None]]:
    """Return a configuration without what a rollout has written, or ALL, and the annotation after that.

    A field that has another value than the written one was changed by others since, and stays.
    """
    if rollout != ALL and rollout != record["rollout"]:
        return dict(config), {}
    result = dict(config)
    for field, (old, new) in record[ALL if rollout == ALL else "last"].items():
        if config.get(field) != new:
            continue
        if old is None:
            result.pop(field)
        else:
            result[field] = old
    left = {} if rollout == ALL else _added(record[ALL], _changed(config, result))
    return result, _note({"rollout": "", "last": {}, ALL: left})


def _changed(before: Config, after: Config) -> dict[str, list[Any]]:
    fields = sorted({*before, *after})
    return {field: [before.get(field), after.get(field)] for field in fields if before.get(field) != after.get(field)}


def _added(table: Mapping[str, list[Any]], new: Mapping[str, list[Any]]) -> dict[str, list[Any]]:
    """Return a table with later changes: what was first there, and what is there now, unless both are equal."""
    found = {**table, **{field: [table.get(field, change)[0], change[1]] for field, change in new.items()}}
    return {field: change for field, change in found.items() if change[0] != change[1]}


def _note(record: Record) -> dict[str, str | None]:
    return {WRITTEN: annotation.text(record) if record["last"] or record[ALL] else None}


def _is_table(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(change, list) and len(change) == 2 for change in value.values())
