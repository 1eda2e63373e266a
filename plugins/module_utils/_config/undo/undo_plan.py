# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan of a rollback and of a reset: what returning to a known source, or to the node's own file, changes.

Nothing is merged and no ConfigMap is made: the source of each node exists, or there is none. The plan has the rows of
every other plan, so that its effects, drains and pods are judged in the same way.
"""

from __future__ import annotations

from typing import Any, Mapping, Sequence

from .. import delivery
from ..fields import compare, fields, shadow
from ..fields.field_row import DISRUPT, EFFECTS, SAFE
from ..plan import own_values, plan_node, plan_text, sources
from ..plan.costs import Costs
from ..plan.layers import Declared
from ..rules.problem import REFUSAL, WARNING, Problem
from ..values.short_texts import minor_of

Config = Mapping[str, Any]
LOCAL = "its local config"


def make(
    current: Mapping[str, Any],
    flags: Mapping[str, Sequence[str]] | None = None,
    allow_effect: str = "disrupt",
    allow_effects: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Return the plan of the nodes of a dump whose rows have a ``goal``: see stages/dump.py.

    ``allow_effects`` is the ``allow_effect`` of single nodes.

    The live configuration of a node need not be known: what it was assigned takes its place. What is not known either
    counts as a restart, the effect C(disrupt), and the plan has a warning.
    """
    nodes = {}
    for name, row in sorted(current["nodes"].items()):
        allowed = (allow_effects or {}).get(name, allow_effect)
        nodes[name] = _row(current["variants"], row, (flags or {}).get(name) or (), allowed)
    return plan_text.completed({}, nodes)


def _row(variants: Mapping[str, Config], row: Mapping[str, Any], argv: Sequence[str], allow: str) -> dict[str, Any]:
    minor = minor_of(row.get("kubelet_version")) or fields.NEWEST_MINOR
    goal = row["goal"]
    live, runs, after = map(variants.get, (row.get("variant"), goal["running"], goal["variant"]))
    before = runs if live is None else live
    to_own = goal["source"] is None
    changes = _changes(row, before, runs, after, minor)
    known = before or {}
    costs = Costs(known, own_values.revert(known, compare.after(changes)), minor)
    doubts = _doubts(row, live, runs)
    flags = shadow.shadows(argv, minor)
    rows = [plan_node.change_row(change, costs.of(change), flags, to_own, False) for change in changes]
    problems = [*doubts, *costs.refusals(changes, allow, back=True), *_doubtful(doubts, allow)]
    return {
        "variant": None,
        "live_variant": None if live is None else row["variant"],
        "kubelet_version": row.get("kubelet_version"),
        "configmap": LOCAL if to_own else goal["source"].get("name"),
        "source": goal["source"],
        "delivery": row.get("delivery"),
        "whole": False,
        "action": "assign",
        "effect": _effect(rows, doubts),
        "changes": rows,
        "problems": [problem.row() for problem in problems],
        "own": None,
    }


def _doubts(row: Mapping[str, Any], live: Config | None, runs: Config | None) -> list[Problem]:
    """Return why it is not known what the return of a node changes."""
    goal, found = row["goal"], []
    if goal["fault"]:
        found.append(_no_source(goal))
    if live is None:
        found.append(_unread(row, runs))
    has_config = live is not None or runs is not None
    if goal["source"] is None and has_config and not _knows_own(row):
        found.append(_no_record())
    return found


def _effect(rows: Sequence[Mapping[str, Any]], doubts: Sequence[Problem]) -> str:
    effects: list[str] = [SAFE, *(row["effect"] for row in rows)]
    if doubts:
        effects.append(DISRUPT)
    return max(effects, key=EFFECTS.index)


def _changes(
    row: Mapping[str, Any], before: Config | None, runs: Config | None, after: Config | None, minor: int
) -> list[Any]:
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
        layer = compare.without_header(after or {})
        return sources.dropin(sources.Given(before, minor, Declared([layer]), record)).changes
    if after is not None:
        # Between two sources, neither flags nor drop-ins of the node make a difference.
        return compare.changes(before if runs is None else runs, after, minor)
    own = own_values.undeclared(record, Declared(()), before, minor)
    values = compare.normalise(before, minor)
    unknown = [compare.Change(path, values[path], None, False) for path in own.unknown if path in values]
    found = [*compare.changes(before, own_values.revert(before, own.known), minor), *unknown]
    return sorted(found, key=lambda change: change.path)


def _knows_own(row: Mapping[str, Any]) -> bool:
    """Return whether the node's own values are known where sources replaced them."""
    record = own_values.of_node(row)
    return bool(record["complete"]) or bool(record["own"]) or not delivery.of(row.get("delivery")).whole


def _unread(row: Mapping[str, Any], runs: Config | None) -> Problem:
    instead = "so what changes is not known either" if runs is None else "what it was assigned takes its place"
    cause = f"its live configuration is not known ({row.get('unread') or 'the dump does not have it'}), {instead}"
    remedy = "The effect counts as at least a restart (disrupt), and its pods have no forecast."
    return Problem(WARNING, "", cause, remedy, "no-live-config")


def _no_source(goal: Mapping[str, Any]) -> Problem:
    cause = f"it cannot return to {goal['source'].get('name') or 'what it ran before'}: {goal['fault']}"
    remedy = (
        "Roll back to another ConfigMap with kubelet_config_variant, declare the values that you want and run the "
        "rollout, or return to the node's own file with the playbook reset."
    )
    return Problem(REFUSAL, "", cause, remedy, "no-source")


def _no_record() -> Problem:
    cause = "what its own file holds is not known, since its source was assigned without a record of what it replaced"
    remedy = "The effect counts as a restart (disrupt). Compare the file on the node first if that is not enough."
    return Problem(WARNING, "", cause, remedy, "no-record")


def _doubtful(doubts: Sequence[Problem], allow: str) -> Sequence[Problem]:
    """Return the refusal of a change of unknown effect where only safe changes are allowed."""
    if not doubts or EFFECTS.index(DISRUPT) <= EFFECTS.index(allow):
        return ()
    why = f"its effect is not known and counts as {DISRUPT}, above the allowed {allow}"
    return (Problem(REFUSAL, "", why, Costs.accept(DISRUPT), "effect"),)
