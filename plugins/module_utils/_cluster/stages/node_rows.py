# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rows of nodes that modules return, and the counts that budgets and reports use."""

from __future__ import annotations

import typing as t

from ..._config import delivery as deliveries
from ..objects import nodes


def row(node: nodes.Node) -> dict[str, t.Any]:
    """Return the row of a node. For every delivery, the four parts have the names and shape of Node.status.config."""
    previous = node.previous or {}
    found = {
        "delivery": node.delivery,
        "listening": node.listening,
        "kubelet_version": node.kubelet_version,
        "source": node.source,
        "config_source": node.native.source,
        "assigned": node.part("assigned"),
        "active": node.part("active"),
        "lastKnownGood": node.part("lastKnownGood"),
        "previous": None,
        "rollout": previous.get("rollout") or "",
        "undone": bool(previous.get("undone")),
        "error": node.error,
        "fell_back": nodes.fell_back(node),
        "reason": (node.status or {}).get("reason") or "",
        "malformed": node.malformed,
        "settled": nodes.settled(node),
        "ready": node.ready == "True",
        "ready_reason": node.ready_reason,
        "heartbeat": node.heartbeat,
        "cordon": node.cordoned,
        "schedulable": not node.unschedulable,
        "control_plane": node.control_plane,
    }
    if node.reimaged:
        found["reimaged"] = True
    if node.follower is not None:
        found["follower"] = {"format": node.follower.format, "transport": node.orders.transport}
    if node.previous is not None:
        found["previous"] = previous.get("configMap") or {}
    if node.form.explains_errors:
        found.update(place=node.place, explanation=node.form.meaning_of_error(node.error))
    return found


def summarise(rows: dict[str, dict[str, t.Any]]) -> dict[str, t.Any]:
    """Return the counts for budgets and reports. A node is unavailable if it is not Ready or not schedulable, whatever
    the cause.
    """
    counts: dict[str, t.Any] = dict.fromkeys(("ready", "unschedulable", "unavailable", *deliveries.NAMES, "settled"), 0)
    for one in rows.values():
        counts["ready"] += one["ready"]
        counts["unschedulable"] += not one["schedulable"]
        counts["unavailable"] += not (one["ready"] and one["schedulable"])
        counts["settled"] += one["settled"]
        if one["delivery"] in counts:
            counts[one["delivery"]] += 1
    return {"nodes": len(rows), **counts, "failed": sorted(name for name, one in rows.items() if one["error"])}
