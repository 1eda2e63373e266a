# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Drift as a summary for programs and as lines for users."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any, Mapping

from ..plan.plan_text import shown_value
from ..values.node_row import counted, shown_nodes
from .drift_cause import CAUSES, SOURCE, STAGES


def summary(nodes: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the counts of nodes, drifted nodes and differences by cause, and the nodes that could not be checked."""
    causes = Counter(row["cause"] for node in nodes.values() for row in node["drift"])
    return {
        "nodes": len(nodes),
        "drifted": sum(bool(node["drift"]) for node in nodes.values()),
        "differences": sum(causes.values()),
        "causes": {cause: causes[cause] for cause in CAUSES if causes[cause]},
        "not_looked_at": sorted(name for name, node in nodes.items() if node["host"] not in ("", "looked at")),
    }


def lines(nodes: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return the drift for users: a block for each set of nodes with the same drift, then the totals."""
    groups: dict[str, list[str]] = {}
    for name, node in nodes.items():
        if node["drift"] or node["host"] not in ("", "looked at"):
            groups.setdefault(json.dumps([node["drift"], node["host"]], sort_keys=True), []).append(name)
    text = []
    for names in groups.values():
        first = nodes[names[0]]
        note = f" {first['host']}" if first["host"] not in ("", "looked at") else ""
        text += [f"{shown_nodes(names)}:{note}", *(f"  {_line(row)}" for row in first["drift"])]
    counts = summary(nodes)
    causes = ", ".join(f"{cause} {count}" for cause, count in counts["causes"].items())
    return [
        *text,
        f"drift: {counted(counts['nodes'], 'node')}, {counts['drifted']} drifted, "
        f"{counted(counts['differences'], 'difference')}" + (f" ({causes})" if causes else ""),
    ]


def _line(row: Mapping[str, Any]) -> str:
    values = ", ".join(f"{stage} {shown_value(row[stage])}" for stage in (*STAGES, "kubeadm") if row[stage] is not None)
    shown = f"{values or 'set nowhere'}; " if row["path"] != SOURCE else ""
    return f"{row['path']}: {shown}{row['cause']}: {row['message']}. {row['remedy']}"
