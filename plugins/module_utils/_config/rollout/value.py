# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The value `rollout`: what the roles hand on from the preparation to the last batch, and the part of one batch."""

from __future__ import annotations

from typing import Any, Mapping

from ..values import document
from . import goals
from .order import changes

Value = Mapping[str, Any]
NATIVE, AUTO = "native", "auto"
ALWAYS, WHEN_NEEDED = "always", "when_needed"
MIGRATIONS = tuple(goals.entry_point(goal) for goal in (goals.CHECKPOINT, goals.NATIVE))
DRAINED_EFFECTS = ("drain", "reboot")
"""The effects of a change for which a node is drained with C(when_needed)."""


def begin(
    order: Value,
    plan: Value,
    table: Mapping[str, Mapping[str, Any]],
    rows: Mapping[str, Value],
    group: str,
    current: Value | None = None,
    dry_run: bool = False,
) -> dict[str, Any]:
    """Return the value of a rollout before its first batch.

    C(order) is its order, C(table) the node_table of the hosts, C(rows) the status of the group, C(current) the dump.
    Keys: those of the order; C(group), its pattern; C(names), all nodes of the group; C(nodes), by name what each node
    to change gets; C(text), a plan that was made from the status; C(lease), empty until it is held; C(failed), why
    nodes have failed so far.
    """
    before = (current or {}).get("nodes") or {}
    # A migration has steps on the node in both directions.
    steps = {name: batch["steps"] for batch in order["batches"] for name in batch["nodes"].values()}
    nodes: dict[str, dict[str, Any]] = {}
    for name in steps:
        chosen = table["deliveries"].get(name, AUTO)
        row = plan["nodes"].get(name)
        nodes[name] = {
            "on_node": steps[name] in MIGRATIONS or (rows[name]["delivery"] if chosen == AUTO else chosen) != NATIVE,
            "before": (before.get(name) or {}).get("variant"),
            "disrupts": bool(row) and row.get("effect") in DRAINED_EFFECTS,
            "assign": bool(row) and row["action"] == "assign",
            "source": source(row, chosen) if row else None,
        }
        if dry_run and row and row.get("variant") in plan.get("variants", {}):
            # Push has not created the ConfigMap.
            nodes[name]["text"] = document.render(plan["variants"][row["variant"]])
    return {
        **order,
        "group": group,
        "names": list(rows),
        "nodes": nodes,
        "text": list(plan["text"]) if "local" in plan else [],
        "lease": {},
        "failed": {},
    }


def source(row: Value, delivery: str) -> dict[str, Any]:
    """Return the source of a plan's row for node_config_source, with the record of the node's own values."""
    return {
        **row["source"],
        # What a plan has decided: its source holds what this delivery needs.
        "delivery": row.get("delivery") or delivery,
        **({"own": row["own"]} if row.get("own") else {}),
        **{key: row[key] for key in ("node_uid",) if key in row},
    }


def of_host(
    rollout: Value,
    host: str,
    drain: str = "never",
    soak_seconds: Any = 0,
    canary_soak_seconds: Any = None,
    max_failed: Any = 0,
) -> dict[str, Any]:
    """Return the batch of a host, and its position in the rollout.

    C(hosts): its node names by host, as planned (Ansible drops failed hosts from a play's own list). C(names): these
    names. C(steps): the entry point of the role `assign` that changes them. C(sources), C(expected), C(texts): as in
    C(of_plan). C(drain): the nodes to drain. C(reach): those of them whose host must be reached first. C(soak): its
    seconds. C(on_nodes): whether steps on nodes are needed. C(before): the variant of each node before the rollout.
    C(started): whether an earlier batch exists. C(done): how many hosts are done when the batch ends. C(untouched): the
    hosts of later batches. C(continues): whether so few nodes have failed that the rollout goes on.

    Raises ValueError when the host is in no batch.
    """
    found = next((batch for batch in rollout["batches"] if host in batch["nodes"]), None)
    if found is None:
        raise ValueError(f"host {host} is in no batch")
    hosts = rollout["hosts"]
    begins = hosts.index(next(iter(found["nodes"])))
    ends = begins + len(found["nodes"])
    names = list(found["nodes"].values())
    nodes = {name: rollout["nodes"][name] for name in names}
    drained = [name for name in names if drain == ALWAYS or (drain == WHEN_NEEDED and nodes[name]["disrupts"])]
    started = begins > 0
    planned = {name: one["source"] for name, one in nodes.items() if one["source"]}
    return {
        "hosts": dict(found["nodes"]),
        "names": names,
        "steps": found["steps"],
        "sources": {name: one for name, one in planned.items() if nodes[name]["assign"]},
        "expected": {name: _without_record(one) for name, one in planned.items()},
        "texts": {name: one["text"] for name, one in nodes.items() if "text" in one},
        "drain": drained,
        "reach": [name for name in drained if nodes[name]["on_node"]],
        "soak": int(soak_seconds if started or canary_soak_seconds in (None, "") else canary_soak_seconds),
        "on_nodes": any(one["on_node"] for one in nodes.values()),
        "before": {name: {"variant": one["before"]} for name, one in nodes.items() if one["before"]},
        "lease": rollout["lease"],
        "group": rollout["group"],
        "started": started,
        "done": ends,
        "untouched": hosts[ends:],
        "continues": len(rollout["failed"]) <= int(max_failed),
    }


def of_plan(
    plan: Value | None, sources: Mapping[str, Value] | None, table: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """Return the same for the hosts of a play without a rollout, as far as the stages read it.

    C(sources): what to assign by node name, C(sources) if given, else that of the plan. C(expected): what to verify,
    also for nodes whose live configuration differs without an assignment; None for what is assigned now. C(texts): the
    planned configurations by node name.
    """
    plan = plan or {}
    rows = {name: row for name, row in plan.get("nodes", {}).items() if name in table["hosts"] and changes(row)}
    planned = {name: source(row, table["deliveries"].get(name, AUTO)) for name, row in rows.items()}
    texts = {
        name: document.render(plan["variants"][row["variant"]])
        for name, row in rows.items()
        if row.get("variant") in plan.get("variants", {})
    }
    assigned = {name: one for name, one in planned.items() if rows[name]["action"] == "assign"}
    expected = {name: _without_record(one) for name, one in planned.items()} if "nodes" in plan else None
    return {
        "hosts": {host: name for name, host in table["hosts"].items()},
        "names": list(table["hosts"]),
        "sources": assigned if sources is None else dict(sources),
        "expected": expected if sources is None else dict(sources),
        "texts": texts,
        "soak": None,
        "lease": {},
    }


def _without_record(one: Value) -> dict[str, Any]:
    return {key: value for key, value in one.items() if key != "own"}


def counted(rollout: Value, failures: Mapping[str, str]) -> dict[str, Any]:
    """Return the value with the failures of a batch."""
    return {**rollout, "failed": {**rollout["failed"], **failures}}


def result(rollout: Value, done: int) -> dict[str, Any]:
    """Return the result for later jobs after C(done) hosts. It is short for any number of nodes.

    AWX passes it as extra variables to later jobs of a workflow.
    """
    failed = rollout["failed"]
    return {
        "group": _short(rollout["group"]),
        "changed": done - len(failed),
        "untouched": len(rollout["hosts"]) - done,
        "unchanged": len(rollout["rest"]),
        "failed": len(failed),
        "failures": {name: _short(failed[name]) for name in list(failed)[:5]},
    }


def _short(text: str) -> str:
    return text if len(text) <= 250 else f"{text[:247]}..."
