# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tables of the comparison for the documentation."""

from __future__ import annotations

import dataclasses
import json
import typing as t

from tests.benchmarks.scale.pages import RST, replace, rows_of
from tests.benchmarks.side_by_side import damage, node_side, ways

WORDS = {
    "bare": "merge patches over 8 kept connections",
    "module": "this collection, module ``node_config_source``",
    "rollout": "this collection, playbook ``rollout``",
    "kubectl": "``kubectl patch`` and ``get``, one node after the other",
    "xargs": "``kubectl patch`` and ``get``, 8 nodes at once",
    "kubernetes.core": "``kubernetes.core.k8s`` and ``k8s_info``, tasks for each host",
}
SHORT = {
    "bare": "merge patches",
    "rollout": "this collection",
    "kubectl": "``kubectl``",
    "kubernetes.core": "``kubernetes.core``",
}

ON_NODE = {
    "template": "``template``, a handler that restarts the kubelet, a wait for healthz",
    "kubeadm": "``kubeadm upgrade node phase kubelet-config``, restart, a wait for healthz",
    "role": "this collection, role ``checkpoint``, from its inspection to its confirmation",
}


def write(took: t.Mapping[str, ways.Took], rows: t.Sequence[damage.Left]) -> None:
    """Replace the figures in the documentation."""
    figures = {way: {**dataclasses.asdict(one), "output": ""} for way, one in took.items()}
    path = RST / "figures/side_by_side.json"
    known = json.loads(path.read_text()) if path.exists() else {}
    left = [dataclasses.asdict(row) for row in rows] or known.get("left", [])
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"took": figures, "left": left}, indent=1) + "\n")
    replace("speed table", speed(took))
    if rows:
        replace("damage table", after(rows))


def write_real_api(took: t.Mapping[str, ways.Took]) -> None:
    """Replace the figures of the real API server in the documentation."""
    figures = {way: {**dataclasses.asdict(one), "output": ""} for way, one in took.items()}
    (RST / "figures/real_api.json").write_text(json.dumps(figures, indent=1) + "\n")
    replace("real API table", speed(took))


def write_node_side(took: t.Sequence[node_side.Took], rows: t.Sequence[node_side.Left]) -> None:
    """Replace the figures of the node side in the documentation."""
    figures = {"took": [dataclasses.asdict(one) for one in took], "left": [dataclasses.asdict(row) for row in rows]}
    (RST / "figures/node_side.json").write_text(json.dumps(figures, indent=1) + "\n")
    turns = [" ".join(f"{turn:.1f}" for turn in one.turns) for one in took]
    seconds = [(ON_NODE[one.way], f"{one.seconds:.1f}", each) for one, each in zip(took, turns, strict=True)]
    replace("node table", rows_of(("way", "seconds", "turns"), seconds))
    by_case = {(row.bad, row.way): row for row in rows}
    table = [[bad.words, *(_left(by_case[name, way]) for way in ON_NODE)] for name, bad in node_side.BAD.items()]
    replace("node damage table", rows_of(("configuration", "template", "kubeadm", "this collection"), table))


def _left(row: node_side.Left) -> str:
    reported, runs, former = ("y" if fact else "n" for fact in (row.reported, row.runs, row.former))
    return f"failure reported: {reported}; kubelet healthy: {runs}; former configuration: {former}"


def speed(took: t.Mapping[str, ways.Took]) -> str:
    """Return CPU and time a node of each way."""
    head = ("way", "nodes", "CPU a node, ms", "time a node, ms", "CPU, s", "time, s")
    rows = []
    for way, one in took.items():
        a_node = [f"{1000 * seconds / one.nodes:.1f}" for seconds in (one.cpu, one.wall)]
        rows.append([WORDS[way], f"{one.nodes:,}", *a_node, f"{one.cpu:.1f}", f"{one.wall:.1f}"])
    return rows_of(head, rows)


def after(rows: t.Sequence[damage.Left]) -> str:
    """Return for each fault and way: whether the run reported a failure, and what the ten nodes run."""
    by_case = {(row.fault, row.way): row for row in rows}
    table = []
    for name, fault in damage.FAULTS.items():
        cells = [fault.words]
        for way in SHORT:
            one = by_case[name, way]
            reported = "y" if one.reported else "n"
            cells.append(f"failure reported: {reported}; changed {one.reached}, damaged {one.damaged}")
        table.append(cells)
    return rows_of(["fault", *SHORT.values()], table)
