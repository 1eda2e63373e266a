# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The config status of nodes, and the counts that budgets use."""

from __future__ import annotations

import typing as t

from ..._config import delivery as deliveries
from ..._config.alpha import form
from ..._config.values.reference import same_place
from ..api.session import Session
from . import node_requests, nodes

SYNC = "failed to sync: "


def info(session: Session, options: dict[str, t.Any], check_mode: bool) -> dict[str, t.Any]:
    """Return a row for each node and the counts that budgets use (requests as for `nodes.read`). Raises
    ClusterError.
    """
    found = node_requests.read(session, options["nodes"], options["label_selectors"] or ())
    rows = {name: row(node) for name, node in found.items()}
    return {"changed": False, "nodes": rows, "summary": summarise(rows)}


def row(node: nodes.Node) -> dict[str, t.Any]:
    """Return the row of a node. For every delivery, the four parts have the names and shape of Node.status.config."""
    return {
        "delivery": node.delivery,
        "listening": node.listening,
        "kubelet_version": node.kubelet_version,
        "source": node.source,
        "config_source": node.native.source,
        "assigned": node.part("assigned"),
        "active": node.part("active"),
        "lastKnownGood": node.part("lastKnownGood"),
        "previous": None if node.previous is None else node.previous.get("configMap") or {},
        "rollout": (node.previous or {}).get("rollout") or "",
        "undone": bool((node.previous or {}).get("undone")),
        "error": node.error,
        "fell_back": fell_back(node),
        "reason": (node.status or {}).get("reason") or "",
        "malformed": node.malformed,
        "settled": settled(node),
        "ready": node.ready == "True",
        "ready_reason": node.ready_reason,
        "heartbeat": node.heartbeat,
        "cordon": node.cordoned,
        "schedulable": not node.unschedulable,
        "control_plane": node.control_plane,
        **({"place": node.place, "explanation": form.meaning_of_error(node.error)} if node.alpha else {}),
    }


def settled(node: nodes.Node) -> bool:
    """Return whether the kubelet runs what the node should run, without an error and as far as can be read."""
    return (
        not node.error
        and not node.fault
        and not node.reimaged
        and same_place(node.source, node.part("assigned"))
        and node.part("assigned") == node.part("active")
    )


def fell_back(node: nodes.Node) -> bool:
    """Return whether a node has refused its source for good, and runs what it fell back to.

    Its error stays as the evidence. A kubelet that could not take up its source tries again.
    """
    return (
        bool(node.error)
        and not is_sync_error(node.error)
        and not node.fault
        and not node.reimaged
        and same_place(node.source, node.part("assigned"))
        and not same_place(node.part("active"), node.part("assigned"))
    )


def is_sync_error(error: str) -> bool:
    """Return whether a kubelet reports that it cannot take up its source, so that it still runs what it ran."""
    return error.startswith(SYNC) or form.is_sync_error(error)


def summarise(rows: dict[str, dict[str, t.Any]]) -> dict[str, t.Any]:
    """Return the counts for budgets and reports. A node is unavailable if it is not Ready or not schedulable, whatever
    the cause.
    """
    values = list(rows.values())
    return {
        "nodes": len(values),
        "ready": sum(item["ready"] for item in values),
        "unschedulable": sum(not item["schedulable"] for item in values),
        "unavailable": sum(not (item["ready"] and item["schedulable"]) for item in values),
        **{name: sum(item["delivery"] == name for item in values) for name in deliveries.NAMES},
        "settled": sum(item["settled"] for item in values),
        "failed": sorted(name for name, item in rows.items() if item["error"]),
    }
