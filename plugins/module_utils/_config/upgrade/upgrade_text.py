# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The findings of an upgrade as a summary for programs and as lines for users."""

from __future__ import annotations

import json
from typing import Any, Iterator, Mapping

from ..fields import fields
from ..values.node_row import counted, shown_nodes
from .finding import CHANGES, STOPS, UNKNOWN

Nodes = Mapping[str, Mapping[str, Any]]


def summary(nodes: Nodes, target: int) -> dict[str, Any]:
    """Return the counts of nodes by their worst finding, and whether each of them would start."""
    worst = {name: {one["severity"] for one in node["findings"]} for name, node in nodes.items()}
    stopped = sorted(name for name, found in worst.items() if STOPS in found)
    unknown = sorted(name for name, found in worst.items() if UNKNOWN in found and STOPS not in found)
    return {
        "target": f"1.{target}",
        "nodes": len(nodes),
        "would_stop": stopped,
        "unknown": unknown,
        "changed": sorted(name for name, found in worst.items() if CHANGES in found),
        "ready": not stopped and not unknown,
    }


def lines(nodes: Nodes, target: int) -> list[str]:
    """Return the findings for users: a block for each set of nodes with the same findings, then the totals."""
    groups: dict[str, list[str]] = {}
    for name, node in nodes.items():
        if node["findings"]:
            groups.setdefault(json.dumps(node), []).append(name)
    text = [line for names in groups.values() for line in _block(names, nodes[names[0]])]
    if target > fields.NEWEST_MINOR:
        newest = fields.NEWEST_MINOR
        text.append(f"The tables end with 1.{newest}: defaults that a later version changed are not in this result.")
    counts = summary(nodes, target)
    return [
        *text,
        f"upgrade to {counts['target']}: {counted(counts['nodes'], 'node')}, {len(counts['would_stop'])} would stop, "
        f"{len(counts['unknown'])} unknown, {len(counts['changed'])} would change",
    ]


def _block(names: list[str], node: Mapping[str, Any]) -> Iterator[str]:
    yield f"{shown_nodes(names)} ({node['kubelet_version'] or 'unknown version'}):"
    for one in node["findings"]:
        name = f"{one['kind']} {one['name']}" if one["name"] else one["kind"]
        where = f" ({one['where']})" if one["where"] else ""
        yield f"  {one['severity']}: {name}{where}: {one['message']}. {one['remedy']}"
