# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The name of a rollout, which is on the nodes that it has changed, and the rollout that a rollback undoes.

A name is the time at which the rollout began and a hash of its goal, such as 20261125T173000Z-1f0c2a9b, so names sort
by time. Nodes of an assignment outside a rollout, or of an older version, have no name: together they are the oldest
rollout of their group, UNKNOWN.

What rollouts have written to kubeadm's ConfigMap is recorded in an annotation of it, which the same users may read: so
a rollback and a reset can undo it. The record has the name of the last `rollout` that wrote, and by field what was
there before and what was written, each None for an absent field: in `last` for that rollout, in `all` since the first.
"""

from __future__ import annotations

import hashlib
import json
import time
from typing import Any, Dict, Iterable, Mapping

from ..fields import compare
from ..values import annotation
from ..values.node_row import shown_nodes
from ..values.reference import same_place

Rows = Mapping[str, Mapping[str, Any]]
UNKNOWN = "unknown"
"""What messages and operators call the rollout without a name."""


def by_rollout(rows: Rows) -> dict[str, list[str]]:
    """Return the nodes of each rollout by its name, the newest rollout first, from the rows of node_config_info."""
    found: dict[str, list[str]] = {}
    for name, row in rows.items():
        if row["previous"] is not None:
            found.setdefault(row.get("rollout") or "", []).append(name)
    return dict(sorted(found.items(), reverse=True))


def to_undo(rows: Rows, wanted: Any = "") -> str | None:
    """Return the name of the rollout that a rollback undoes, None if no node names any.

    It is the newest one, also if it is undone already: a rollback that is run again must not undo an older one.
    ``wanted`` is a name that an operator gives instead. Raises ValueError if no node has that.
    """
    known = by_rollout(rows)
    asked = str(wanted or "").strip()
    if not asked:
        return next(iter(known), None)
    name = "" if asked == UNKNOWN else asked
    if name in known:
        return name
    others = "; ".join(f"{shown(one)}: {shown_nodes(nodes)}" for one, nodes in known.items())
    raise ValueError(
        f"no node of the group was last changed by the rollout {asked}: it never changed them, or a later rollout or a "
        "reset has taken its place. Set kubelet_config_rollout_id to one that nodes have "
        f"({others or 'there is none'}), or omit it for the newest. Nothing was changed"
    )


def shown(name: str) -> str:
    """Return a name for people."""
    return name or UNKNOWN


def of_run(rows: Rows, changing: Iterable[str], goal: Any, began: float) -> str:
    """Return the name of the rollout of a run that begins now (``began``, in seconds since 1970) and changes nodes.

    ``goal`` is what its nodes must run, such as what the inventory declares. A run with the goal of the newest rollout
    of the group continues that one. But if that is undone, or if a node must change that it has completed, the goal
    means something else by now: this is a new rollout.
    """
    text = json.dumps(goal, sort_keys=True, default=str)
    hashed = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:8]
    newest, nodes = next(iter(by_rollout(rows).items()), ("", []))
    undone = all(rows[name].get("undone") for name in nodes)
    again = any(_has_new(rows[name]) for name in set(changing).intersection(nodes))
    if newest.endswith(f"-{hashed}") and not undone and not again:
        return newest
    return f"{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime(began))}-{hashed}"


def _has_new(row: Mapping[str, Any]) -> bool:
    """Return whether a node runs what its rollout assigned, confirmed, and not what it ran before."""
    back = same_place(row["active"] or None, row["previous"] or None)
    return is_through(row) and not row.get("undone") and not back


def is_through(row: Mapping[str, Any]) -> bool:
    """Return whether a node runs what it was assigned, confirmed."""
    return bool(row["settled"]) and not annotation.unconfirmed(row.get("reason"))


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
        found = json.loads(text or "null")
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict) or not isinstance(found.get("rollout"), str):
        return None
    if not (_is_table(found.get("last")) and _is_table(found.get(ALL))):
        return None
    return found


def written(record: Record | None, rollout: str, before: Config, after: Config) -> dict[str, str | None]:
    """Return the annotation after a rollout has replaced one configuration with another."""
    known = record or {"rollout": rollout, "last": {}, ALL: {}}
    new, last = _changed(before, after), {}
    if known["rollout"] == rollout:
        last = known["last"]
    return _note({"rollout": rollout, "last": _added(last, new), ALL: _added(known[ALL], new)})


def undone(record: Record, rollout: str, config: Config) -> tuple[dict[str, Any], dict[str, str | None]]:
    """Return a configuration without what a rollout has written, or ALL, and the annotation after that.

    A field that has another value than the written one was changed by others since, and stays.
    """
    if rollout != ALL and rollout != record["rollout"]:
        return dict(config), {}
    result, part = dict(config), "last"
    if rollout == ALL:
        part = ALL
    for field, (old, new) in record[part].items():
        if config.get(field) != new:
            continue
        if old is None:
            result.pop(field, None)
        else:
            result[field] = old
    left = {}
    if rollout != ALL:
        left = _added(record[ALL], _changed(config, result))
    return result, _note({"rollout": "", "last": {}, ALL: left})


def _changed(before: Config, after: Config) -> dict[str, list[Any]]:
    return {field: [before.get(field), after.get(field)] for field in compare.changed_keys(before, after)}


def _added(table: Mapping[str, list[Any]], new: Mapping[str, list[Any]]) -> dict[str, list[Any]]:
    """Return a table with later changes: what was first there, and what is there now, unless both are equal."""
    found = {**table, **{field: [table.get(field, change)[0], change[1]] for field, change in new.items()}}
    return {field: change for field, change in found.items() if change[0] != change[1]}


def _note(record: Record) -> dict[str, str | None]:
    if not (record["last"] or record[ALL]):
        return {WRITTEN: None}
    return {WRITTEN: annotation.text(record)}


def _is_table(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(change, list) and len(change) == 2 for change in value.values())
