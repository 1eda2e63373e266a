# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan of a rollout by its goal: what each node must run, from the status of the group."""

from __future__ import annotations

from typing import Any, Container, Iterable, Mapping

from ...module_utils._config import delivery as deliveries
from ...module_utils._config import rollback
from ...module_utils._config.values import annotation, paths
from ...module_utils._config.values.node_row import RECREATED, counted, shown_nodes
from ...module_utils._config.values.reference import PLACE, describe, same_place
from ...module_utils._config.values.short_texts import minor_of

Rows = Mapping[str, Mapping[str, Any]]

PLAN, PREVIOUS, LOCAL, CHECKPOINT, NATIVE = "plan", "previous", "local", deliveries.CHECKPOINT, deliveries.NATIVE
GOALS = (PLAN, PREVIOUS, LOCAL, CHECKPOINT, NATIVE)
"""What a plan gives, what each node ran before a rollout, its local configuration, or what it runs by another delivery.
"""
ASSIGN, RESET = "switch", "reset"
"""How a batch changes its nodes: the entry points of the role `assign`. A migration has one for each delivery."""
_NO_MIGRATION = "No node of this run has a source by another delivery: there is nothing to migrate."
_NOTHING = {
    LOCAL: "No node of this run has a configuration of this collection: there is nothing to reset.",
    CHECKPOINT: _NO_MIGRATION,
    NATIVE: _NO_MIGRATION,
}
"""What is shown if no node changes: the headline of a rollback names that, and a plan shows itself."""
_NONE_LEFT = "a migration to drop-ins leaves no previous configuration, since a checkpoint is not a drop-in"
_UNKNOWN = "its previous configuration is unknown"
REMEDY = (
    "Declare the values that you want and run the rollout, roll back to a ConfigMap with kubelet_config_variant, or "
    "return to the node's own file with the playbook reset"
)


def of_goal(
    goal: str, plan: Mapping[str, Any], rows: Rows, undo: Any = "", names: Container[str] | None = None
) -> dict[str, Any]:
    """Return the plan for a goal. C(rows) are those of node_config_info; C(plan) is returned for the goal C(plan).

    C(undo): the rollout that an operator names for a rollback, empty for the newest one. C(names): the nodes of the
    run, of which C(--limit) may leave some out; by default all.

    Keys as in a plan of kubelet_config_plan, as far as a rollout reads them, and: C(local), the nodes to return to
    their local configuration; C(text), the plan for people about the nodes of the run, line by line. For a rollback
    also: C(undoes), the rollout that it undoes, None without one; C(stuck), by node with a source why there is nothing
    to roll back to; C(known), the other nodes; C(between), those whose migration did not end.

    Raises ValueError for an unknown goal, and for a rollout that no node names.
    """
    if goal == PLAN:
        return dict(plan)
    here = rows if names is None else names
    if goal == PREVIOUS:
        return _previous(rows, undo, here)
    if goal == LOCAL:
        return _local(rows, here)
    return _moved(rows, goal, here)


def entry_point(goal: str) -> str:
    """Return how a batch changes the nodes that the plan of a goal assigns a source to."""
    return f"to_{goal}" if goal in (CHECKPOINT, NATIVE) else ASSIGN


def shown(rollout: Mapping[str, Any], goal: str) -> list[str]:
    """Return the plan that was made from the status, for people, line by line. C(rollout): the value of the rollout."""
    return list(rollout["text"] or filter(None, [_NOTHING.get(goal)]))


def _previous(rows: Rows, undo: Any, here: Container[str]) -> dict[str, Any]:
    """Return a plan that assigns to each node of a rollout what it ran before."""
    undoes = rollback.to_undo(rows, undo)
    nodes: dict[str, Any] = {}
    local, between, text = [], [], []
    stuck: dict[str, str] = {}
    for name, row in rows.items():
        goal = row["previous"]
        if goal is None and row["source"]:
            stuck[name] = _why_stuck(row)
        elif goal is None or row.get("rollout", "") != undoes or _is_back(row):
            continue
        elif _has_refused(row):
            text.append((name, f"not changed, it refused the rollout and runs {_name(goal)} as before"))
        elif not goal:
            local.append(name)
        elif _is_between(row):
            between.append(name)
        else:
            # A Node that is created again has run none of this.
            nodes[name] = {**_assigned(_place(goal)), "node_uid": row.get("uid") or ""}
            text.append((name, f"{_name(row['active'])} -> {_name(goal)}"))
    text += [(name, _to_local(rows[name])) for name in local]
    text += [(name, f"not changed, {why}. {REMEDY}") for name, why in stuck.items()]
    return {
        "nodes": nodes,
        "local": local,
        "text": _lines(text, here),
        "undoes": undoes,
        "between": between,
        "stuck": stuck,
        "known": sorted(set(rows) - set(stuck)),
    }


def _why_stuck(row: Mapping[str, Any]) -> str:
    """Return why a node with a source has no previous configuration."""
    if _delivery(row).whole or annotation.PREVIOUS in (row.get("malformed") or {}):
        return _UNKNOWN
    return _NONE_LEFT


def _has_refused(row: Mapping[str, Any]) -> bool:
    """Return whether a node refused a rollout and runs what it ran before."""
    return bool(row.get("fell_back")) and _place(row["active"]) == _place(row["previous"])


def _is_back(row: Mapping[str, Any]) -> bool:
    """Return whether a node runs what it ran before a rollout, confirmed."""
    goal = _place(row["previous"])
    if not goal:
        return not (row["source"] or row["config_source"] or row["active"])
    return rollback.is_through(row) and _place(row["active"]) == goal


def _is_between(row: Mapping[str, Any]) -> bool:
    """Return whether a migration of a node has begun and not ended."""
    return bool(_delivery(row).on_node and row["config_source"] and row.get("listening"))


def headline(planned: Mapping[str, Any], rows: Rows, names: Container[str]) -> list[str]:
    """Return what a rollback undoes on these nodes, line by line; nothing for another goal."""
    if "undoes" not in planned:
        return []
    undoes = planned["undoes"]
    if undoes is None:
        return ["No rollout has changed the nodes of the group, or they were reset since: there is nothing to undo."]
    known = rollback.by_rollout(rows)
    name = rollback.shown(undoes)
    changing = [*planned["nodes"], *planned["local"]]
    here = [one for one in changing if one in names]
    older = [one for one in known if one < undoes]
    if here:
        first = f"Undoing the rollout {name} on {shown_nodes(here)}."
        others = len(rows) - len(known[undoes])
        if others:
            first += f" It did not change {counted(others, 'other node')}."
    elif changing:
        first = f"Nothing to undo here of the rollout {name}: it is left on {shown_nodes(changing)} outside this run."
    else:
        first = f"Rollout {name} is undone already: no node runs what it assigned."
    if not older:
        return [first]
    shown = "; ".join(f"{rollback.shown(one)} on {shown_nodes(known[one])}" for one in older)
    return [first, f"Older rollouts, which -e kubelet_config_rollout_id=NAME undoes: {shown}"]


def refuse_without_way_back(planned: Mapping[str, Any], rows: Rows, names: Iterable[str]) -> None:
    """Raise ValueError if none of the nodes of a rollback that have a source can be rolled back, or one is between two
    deliveries.
    """
    given = list(names)
    between = [name for name in planned.get("between") or () if name in given]
    if between:
        raise ValueError(
            f"{', '.join(between)}: a migration did not end, so the kubelet follows Node.spec.configSource beside the "
            "annotation, and one of them would override what it gets back. Run the playbook migrate again, in either "
            "direction, then roll back. Nothing was changed"
        )
    stuck = _by_reason(planned.get("stuck") or {}, given)
    if not stuck or any(name in planned["known"] and rows[name]["source"] for name in given):
        return
    raise ValueError(f"nothing to roll back to. {stuck}. {REMEDY}. Nothing was changed")


def refuse_older_plan(planned_from: Rows, rows: Rows) -> None:
    """Raise ValueError if a node has another source than when it was planned. See C(created_again) for other Nodes.

    C(planned_from): the nodes of kubelet_configz_facts, without the source of a machine that is new or newly installed.
    """
    changed = []
    for name, row in rows.items():
        known = name in planned_from and not row.get("reimaged")
        if known and not same_place(row["source"], planned_from[name].get("source")):
            changed.append(name)
    if changed:
        raise ValueError(
            f"{shown_nodes(changed)}: the assigned configuration has changed since this run was planned, by another "
            "run. Run it again. Nothing was changed"
        )


def created_again(planned_from: Rows, rows: Rows) -> dict[str, str]:
    """Return by name the nodes that are not the Nodes that were planned, with cause and remedy."""
    before = {name: row.get("uid") for name, row in planned_from.items()}
    return {name: RECREATED for name, row in rows.items() if before.get(name) not in (None, row.get("uid"))}


def _by_reason(stuck: Mapping[str, str], names: Container[str]) -> str:
    """Return those of the nodes that are stuck, and why; each reason once."""
    found: dict[str, list[str]] = {}
    for name, why in stuck.items():
        if name in names:
            found.setdefault(why, []).append(name)
    return "; ".join(f"{', '.join(alike)}: {why}" for why, alike in found.items())


def _lines(text: Iterable[tuple[str, str]], here: Container[str]) -> list[str]:
    """Return what happens to the nodes of the run, a line for each."""
    return [f"{name}: {words}" for name, words in text if name in here]


def _to_local(row: Mapping[str, Any]) -> str:
    """Return in words how a node returns to its local configuration."""
    if not (row["active"] or row["source"]):
        return f"runs {_name(None)}, and what else this collection left is removed"
    return f"{_name(row['active'])} -> {_name(None)}"


def _local(rows: Rows, here: Container[str]) -> dict[str, Any]:
    """Return a plan that returns to their local configuration all nodes that do not run it.

    Includes nodes that only an annotation of this collection remains on.
    """
    local, text = [], []
    for name, row in rows.items():
        left = row["config_source"] or row["malformed"] or row["previous"] is not None
        if left or _delivery(row).on_node:
            local.append(name)
            text.append((name, _to_local(row)))
    return {"nodes": {}, "local": local, "text": _lines(text, here)}


def _moved(rows: Rows, delivery: str, here: Container[str]) -> dict[str, Any]:
    """Return a plan for the nodes to migrate to a delivery. It assigns the source that they run."""
    moved = moving(rows, delivery)
    nodes = {name: _assigned(source) for name, source in moved.items()}
    text = _lines([(name, f"{_name(source)} by delivery {delivery}") for name, source in moved.items()], here)
    staying = {name: _why_it_stays(row, delivery) for name, row in rows.items() if name in here}
    for why in sorted({*staying.values()} - {""}):
        names = [name for name, reason in staying.items() if reason == why]
        text.append(f"{shown_nodes(names)}: not changed, {why}")
    return {"nodes": nodes, "local": [], "text": text}


def moving(rows: Rows, delivery: str) -> dict[str, Any]:
    """Return by node name the config source of each node to migrate to a delivery, from the rows of node_config_info.

    Includes nodes whose earlier migration was interrupted.

    Raises ValueError for an unknown C(delivery).
    """
    if delivery not in (CHECKPOINT, NATIVE):
        raise ValueError(f"{delivery!r} is not a goal of a rollout: use one of {', '.join(GOALS)}")
    leaves = _leaves_checkpoint if delivery == NATIVE else _leaves_native
    return {name: row["source"] for name, row in rows.items() if leaves(row) and not _why_it_stays(row, delivery)}


def _why_it_stays(row: Mapping[str, Any], delivery: str) -> str:
    """Return why a node with a source cannot migrate to a delivery; empty if it can."""
    if not row["source"]:
        return ""
    native = deliveries.of(NATIVE).minors
    minor = minor_of(row["kubelet_version"])
    if delivery == NATIVE and minor is not None and minor >= native.stop:
        return f"kubelets from 1.{native.stop} on do not follow Node.spec.configSource"
    if _delivery(row).whole:
        return ""
    return f"a drop-in cannot migrate. Reset the node, then run the rollout with kubelet_config_delivery: {delivery}"


def _leaves_checkpoint(row: Mapping[str, Any]) -> bool:
    return _delivery(row).replaces_file and bool(row["source"])


def _leaves_native(row: Mapping[str, Any]) -> bool:
    """Return whether a node will migrate to checkpoints, or has begun to."""
    if not row["listening"] or not row["source"]:
        return False
    return bool(row["config_source"] or not row["settled"] or annotation.unconfirmed(row["reason"]))


def _delivery(row: Mapping[str, Any]) -> deliveries.Delivery:
    return deliveries.of(row.get("delivery"))


def _assigned(source: Mapping[str, str]) -> dict[str, Any]:
    return {"action": "assign", "source": source}


def _name(reference: Mapping[str, str] | None) -> str:
    if not reference:
        return "its local config"
    if "name" not in reference:
        # Of some ConfigMaps, some kubelets report the uid alone.
        return describe(reference)
    return f"{reference['namespace']}/{reference['name']}"


def _place(reference: Mapping[str, str] | None) -> dict[str, str]:
    return paths.only(reference or {}, PLACE)
