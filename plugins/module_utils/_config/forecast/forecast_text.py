# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A forecast as a summary for programs and as lines for users."""

from __future__ import annotations

from typing import Any, Iterator, Mapping

from ..fields.field_row import DRAIN, REBOOT
from ..values.node_row import counted, shown_nodes
from .pod_forecast import EVICTED, KINDS, REFUSED, UNKNOWN

Nodes = Mapping[str, Mapping[str, Any]]
_WORDS = {EVICTED: "would be evicted", REFUSED: "would be refused at this restart or the next", UNKNOWN: "not known"}


def summary(nodes: Nodes, plan: Mapping[str, Any]) -> dict[str, int]:
    """Return the counts of pods by their fate, and of nodes that restart, need a drain, lose pods or are unknown."""
    pods = {kind: sum(row["pod"] is not None for node in nodes.values() for row in node[kind]) for kind in KINDS}
    effects = [row["effect"] for row in plan["nodes"].values() if row["action"] != "none"]
    return {
        "nodes_to_restart": len(effects),
        "nodes_to_drain": sum(effect in (DRAIN, REBOOT) for effect in effects),
        "nodes_at_risk": sum(bool(node[EVICTED] or node[REFUSED]) for node in nodes.values()),
        "nodes_unknown": sum(any(row["pod"] is None for row in node[UNKNOWN]) for node in nodes.values()),
        "pods_evicted": pods[EVICTED],
        "pods_refused": pods[REFUSED],
        "pods_unknown": pods[UNKNOWN],
    }


def at_risk(counts: Mapping[str, int]) -> int:
    """Return the number of pods that would be lost."""
    return counts["pods_evicted"] + counts["pods_refused"]


def lines(nodes: Nodes, counts: Mapping[str, int]) -> list[str]:
    """Return a forecast for users: the totals, then a line for each reason with its nodes and pods."""
    text = (
        f"forecast: {counted(counts['nodes_to_restart'], 'node')} to restart, {counts['nodes_to_drain']} to drain, "
        f"{counted(at_risk(counts), 'pod')} at risk "
        f"({counts['pods_evicted']} evicted, {counts['pods_refused']} refused), "
        f"{counted(counts['pods_unknown'], 'pod')} not known"
    )
    return [
        text,
        *(f"  {line}" for kind in KINDS for line in _reasons(nodes, kind)),
        *(f"  warning: {line}" for line in _notes(nodes)),
    ]


def refusal(nodes: Nodes, counts: Mapping[str, int], allowed: int) -> str:
    """Return why a forecast is refused, and the remedy."""
    return "\n".join(
        [
            "the forecast is refused. Nothing was written: "
            f"{counted(at_risk(counts), 'pod')} at risk, {allowed} allowed.",
            *(line for kind in (EVICTED, REFUSED) for line in _reasons(nodes, kind)),
            *_notes(nodes),
            "Change the configuration, move these pods to other nodes first, or accept their loss with allow_pods "
            "or refuse=false (in roles: kubelet_config_forecast_pods, or kubelet_config_forecast: warn).",
        ]
    )


def _reasons(nodes: Nodes, kind: str) -> Iterator[str]:
    groups: dict[str, list[tuple[str, Mapping[str, Any]]]] = {}
    for name, node in nodes.items():
        for row in node[kind]:
            groups.setdefault(row["reason"], []).append((name, row))
    for reason, rows in groups.items():
        hit = list(dict.fromkeys(name for name, _row in rows))
        pods = [f"{row['namespace']}/{row['pod']}" for _name, row in rows if row["pod"] is not None]
        # The numbers of one node stand for all nodes; the result holds those of every node.
        first, row = rows[0]
        detail = f" ({first}: {row['detail']})" if row["detail"] else ""
        word = f"{shown_nodes(pods, 'pod')} {_WORDS[kind]}" if pods else f"warning: {_WORDS[kind]}"
        yield f"{'warning: ' if pods and kind == UNKNOWN else ''}{word} on {shown_nodes(hit)}: {reason}{detail}"


def _notes(nodes: Nodes) -> Iterator[str]:
    groups: dict[str, list[str]] = {}
    for name, node in nodes.items():
        for text in node["notes"]:
            groups.setdefault(text, []).append(name)
    for text, hit in groups.items():
        yield f"{shown_nodes(hit)}: {text}"
