# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which rollout a rollback undoes, by its name, and the plan of a rollback and of a reset: what returning to a known
source, or to the node's own file, changes.

In the plan nothing is merged and no ConfigMap is made: the source of each node exists, or there is none. It has the
rows of every other plan, so that its effects, drains and pods are judged in the same way.

The name of a rollout is on the nodes that it has changed. It is the time at which the rollout began and a hash of its
goal, such as 20261125T173000Z-1f0c2a9b, so names sort by time. Nodes of an assignment outside a rollout, or of an older
version, have no name: together they are the oldest rollout of their group, UNKNOWN.

What rollouts have written to kubeadm's ConfigMap is recorded in an annotation of it, which the same users may read: so
a rollback and a reset can undo it. The record has the name of the last `rollout` that wrote, and by field what was
there before and what was written, each None for an absent field: in `last` for that rollout, in `all` since the first.
"""

from __future__ import annotations

import hashlib
import json
import time
from typing import Any, Dict, Iterable, Mapping, Sequence

from . import delivery
from .fields import compare, fields, overlay, shadow
from .fields.field_row import DISRUPT, EFFECTS, SAFE
from .plan import own_values, plan_node, plan_text, sources
from .plan.costs import Costs
from .plan.layers import Declared
from .rules.problem import REFUSAL, WARNING, Problem, as_rows
from .values import annotation, paths
from .values.node_row import shown_nodes
from .values.paths import Config
from .values.reference import same_place
from .values.short_texts import minor_of

LOCAL = "its local config"


def make(
    current: Config,
    flags: Config | None = None,
    allow_effect: str = "disrupt",
    allow_effects: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Return the plan of the nodes of a dump whose rows have a ``goal``: see stages/dump.py.

    ``allow_effects`` is the ``allow_effect`` of single nodes.

    The live configuration of a node need not be known: what it was assigned takes its place. What is not known either
    counts as a restart, the effect C(disrupt), and the plan has a warning.

    Raises ValueError for flags with wrong quotes.
    """
    nodes, words = {}, shadow.of_nodes(flags)
    for name, row in sorted(current["nodes"].items()):
        allowed = (allow_effects or {}).get(name, allow_effect)
        nodes[name] = _row(current["variants"], row, words.get(name, ()), allowed)
    return plan_text.completed({}, nodes)


def _row(variants: Mapping[str, Config], row: Config, argv: Sequence[str], allow: str) -> dict[str, Any]:
    minor = minor_of(row.get("kubelet_version")) or fields.NEWEST_MINOR
    goal = row["goal"]
    live, runs, after = map(variants.get, (row.get("variant"), goal["running"], goal["variant"]))
    before = runs if live is None else live
    to_own = goal["source"] is None
    changes = _changes(row, before, runs, after, minor)
    known = before or {}
    costs = Costs(known, overlay.put(known, compare.after(changes)), minor)
    doubts = _doubts(row, live, runs)
    flags = shadow.shadows(argv, minor)
    rows = [plan_node.change_row(change, costs.of(change), flags, to_own, False) for change in changes]
    problems = [*doubts, *costs.refusals(changes, allow, back=True), *_doubtful(doubts, allow)]
    return plan_node.plan_row(
        row,
        live_variant=None if live is None else row["variant"],
        configmap=LOCAL if to_own else goal["source"].get("name"),
        source=goal["source"],
        delivery=row.get("delivery"),
        whole=False,
        action="assign",
        effect=_effect(rows, doubts),
        changes=rows,
        problems=as_rows(problems),
    )


def _doubts(row: Config, live: Config | None, runs: Config | None) -> list[Problem]:
    """Return why it is not known what the return of a node changes."""
    goal, found = row["goal"], []
    if goal["fault"]:
        found.append(_no_source(goal))
    if live is None:
        instead = "so what changes is not known either" if runs is None else "what it was assigned takes its place"
        why = row.get("unread") or "the dump does not have it"
        remedy = "The effect counts as at least a restart (disrupt), and its pods have no forecast."
        found.append(
            Problem(WARNING, "", f"its live configuration is not known ({why}), {instead}", remedy, "no-live-config")
        )
    has_config = live is not None or runs is not None
    if goal["source"] is None and has_config and not _knows_own(row):
        cause = (
            "what its own file holds is not known, since its source was assigned without a record of what it replaced"
        )
        remedy = "The effect counts as a restart (disrupt). Compare the file on the node first if that is not enough."
        found.append(Problem(WARNING, "", cause, remedy, "no-record"))
    return found


def _effect(rows: Sequence[Config], doubts: Sequence[Problem]) -> str:
    effects: list[str] = [SAFE, *(row["effect"] for row in rows)]
    if doubts:
        effects.append(DISRUPT)
    return max(effects, key=EFFECTS.index)


def _changes(row: Config, before: Config | None, runs: Config | None, after: Config | None, minor: int) -> list[Any]:
    """Return what changes on a node. ``before``: what it runs, as far as known. ``runs``: the content of its source.

    ``after``: the content of the source to return to, None for the node's own file.
    """
    if before is None or row["goal"]["fault"]:
        return []
    record = own_values.of_node(row)
    if not delivery.of_row(None, row, minor).whole:
        # Each value of a drop-in replaced one of the node's own, recorded or not.
        unrecorded = Declared([runs or {}]).keys - record["own"].keys()
        record = {**record, "own": {**{path: [] for path in unrecorded}, **record["own"]}}
        layer = paths.without_header(after or {})
        return sources.dropin(sources.Given(before, minor, Declared([layer]), record)).changes
    if after is not None:
        # Between two sources, neither flags nor drop-ins of the node make a difference.
        return compare.changes(before if runs is None else runs, after, minor)
    own = own_values.undeclared(record, Declared(()), before, minor)
    unknown = own.removals(compare.normalise(before, minor))
    found = [*compare.changes(before, overlay.put(before, own.known), minor), *unknown]
    return sorted(found, key=lambda change: change.path)


def _knows_own(row: Config) -> bool:
    """Return whether the node's own values are known where sources replaced them."""
    record = own_values.of_node(row)
    return bool(record["complete"]) or bool(record["own"]) or not delivery.of(row.get("delivery")).whole


def _no_source(goal: Config) -> Problem:
    cause = f"it cannot return to {goal['source'].get('name') or 'what it ran before'}: {goal['fault']}"
    remedy = (
        "Roll back to another ConfigMap with kubelet_config_variant, declare the values that you want and run the "
        "rollout, or return to the node's own file with the playbook reset."
    )
    return Problem(REFUSAL, "", cause, remedy, "no-source")


def _doubtful(doubts: Sequence[Problem], allow: str) -> Sequence[Problem]:
    """Return the refusal of a change of unknown effect where only safe changes are allowed."""
    if not doubts or EFFECTS.index(DISRUPT) <= EFFECTS.index(allow):
        return ()
    why = f"its effect is not known and counts as {DISRUPT}, above the allowed {allow}"
    return (Problem(REFUSAL, "", why, Costs.accept(DISRUPT), "effect"),)


Rows = Mapping[str, Config]
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


def _has_new(row: Config) -> bool:
    """Return whether a node runs what its rollout assigned, confirmed, and not what it ran before."""
    back = same_place(row["active"] or None, row["previous"] or None)
    return is_through(row) and not row.get("undone") and not back


def is_through(row: Config) -> bool:
    """Return whether a node runs what it was assigned, confirmed."""
    return bool(row["settled"]) and not annotation.unconfirmed(row.get("reason"))


WRITTEN = annotation.PREFIX + "written"
"""The annotation."""
ALL = "all"
"""Stands for all rollouts."""

Record = Dict[str, Any]


def read(configmap: Config) -> Record | None:
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
