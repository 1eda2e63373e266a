# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The figures as JSON, as a table and as a chart for the documentation."""

from __future__ import annotations

import dataclasses
import json
import math
import platform
import typing as t
from pathlib import Path

from tests.benchmarks.scale.runs import PLAYBOOKS, Figures

RST = Path(__file__).resolve().parents[3] / "docs/docsite/rst"
COMMAND = "make scale"
GUIDE = RST / "guide_large_fleets.rst"
OF_FOLLOWERS = """Nodes with followers
--------------------

A node with a follower is changed through the API alone, so Ansible logs in nowhere. The figures come from
``python -m tests.benchmarks.scale --followers --canary --playbooks rollout --write``: one node, then ten batches, on a
machine with two cores. The row of ``kubectl`` is from the section *Beside other ways*. Over ssh, a node costs up to
0.35 s of CPU, as the next section shows.

"""
COLOURS = {"plan": "#7a7f87", "rollout": "#2563c9", "drift": "#c2701c", "prune": "#2f8f5b"}
WIDTH, HEIGHT, LEFT, TOP, BOTTOM, RIGHT = 640, 360, 64, 24, 52, 90


def line(row: Figures) -> str:
    """Return a run in one line for the terminal."""
    return (
        f"{row.nodes:6} nodes {row.variants:5} variants  {row.way:9} {row.playbook:8} {row.wall:8.1f} s "
        f"{row.cpu:8.1f} s CPU {row.memory:6.0f} MB, worker {row.worker_memory:6.0f} MB  {row.requests:7} requests "
        f"{row.bytes / 1e6:8.1f} MB  server {row.server_cpu:.1f} s CPU"
    )


def text(found: t.Sequence[Figures]) -> str:
    about = {
        "command": COMMAND,
        "python": platform.python_version(),
        "runs": [dataclasses.asdict(row) for row in found],
    }
    return json.dumps(about, indent=1) + "\n"


def write(found: t.Sequence[Figures]) -> None:
    """Replace the figures in the documentation."""
    (RST / "figures").mkdir(exist_ok=True)
    (RST / "figures/scale.json").write_text(text(found))
    replace("scale table", table(found))
    replace("scale requests", requests(found))
    (RST / "images/scale.svg").write_text(chart(found))


def write_followers(found: t.Sequence[Figures]) -> None:
    """Replace the figures of nodes with followers, and beside them, in the documentation."""
    (RST / "figures/followers.json").write_text(text(found))
    rows = [_way(f"{row.way}, playbook ``{row.playbook}``", row.nodes, row.cpu, row.wall) for row in found]
    kubectl = json.loads((RST / "figures/side_by_side.json").read_text())["took"]["xargs"]
    rows.append(_way("``kubectl patch`` and ``get``", kubectl["nodes"], kubectl["cpu"], kubectl["wall"]))
    replace("follower table", OF_FOLLOWERS + rows_of(("way", "nodes", "CPU, s", "CPU a node, ms", "minutes"), rows))


def _way(words: str, nodes: int, cpu: float, wall: float) -> tuple[str, ...]:
    return words, f"{nodes:,}", f"{cpu:.1f}", f"{1000 * cpu / nodes:.1f}", f"{wall / 60:.1f}"


def replace(name: str, rows: str) -> None:
    """Replace what the guide has between the two comments of this name."""
    begin, end = f".. {name}: begin\n", f".. {name}: end\n"
    before, _begin, rest = GUIDE.read_text().partition(begin)
    _former, found, after = rest.partition(end)
    if not found:
        raise ValueError(f"{GUIDE} has no {begin.strip()} with its end")
    GUIDE.write_text(f"{before}{begin}\n{rows}\n{end}{after}")


def rows_of(head: t.Sequence[str], rows: t.Iterable[t.Sequence[str]]) -> str:
    lines = [".. list-table::", "  :header-rows: 1", ""]
    for row in [head, *rows]:
        lines += [f"  {'* -' if number == 0 else '  -'} {word}" for number, word in enumerate(row)]
    return "\n".join(lines) + "\n"


def table(found: t.Sequence[Figures]) -> str:
    """Return one row for each run."""
    head = ["playbook", "nodes", "variants", "CPU, s", "CPU a node, ms", "time, s"]
    head += ["memory, MB", "worker, MB", "requests", "sent, MB"]
    rows = []
    for row in sorted(found, key=lambda row: (PLAYBOOKS.index(row.playbook), row.variants, row.nodes)):
        cells = [f"``{row.playbook}``", f"{row.nodes:,}", f"{row.variants:,}", f"{row.cpu:.1f}"]
        cells += [f"{1000 * row.cpu / row.nodes:.1f}", f"{row.wall:.0f}", f"{row.memory:.0f}"]
        cells.append(f"{row.worker_memory:.0f}" if row.worker_memory else "none")
        rows.append([*cells, f"{row.requests:,}", f"{row.bytes / 1e6:.1f}"])
    return rows_of(head, rows)


def requests(found: t.Sequence[Figures]) -> str:
    """Return the requests of the largest rollout with one variant, by what they are for."""
    row = max((row for row in found if row.playbook == "rollout" and row.variants == 1), key=lambda row: row.nodes)
    kinds = sorted(row.kinds.items(), key=lambda item: -item[1]["bytes"])
    title = f"rollout of {row.nodes:,} nodes"
    return rows_of(
        (title, "requests", "a node", "MB"),
        (
            (name, f"{kind['requests']:,}", f"{kind['requests'] / row.nodes:.2f}", f"{kind['bytes'] / 1e6:.1f}")
            for name, kind in kinds
        ),
    )


def chart(found: t.Sequence[Figures]) -> str:
    """Return the CPU time of each playbook over the number of nodes, with one variant, on logarithmic axes."""
    rows = sorted((row for row in found if row.variants == 1), key=lambda row: row.nodes)
    lows = [math.floor(math.log10(min(of(row) for row in rows))) for of in (_nodes, _cpu)]
    highs = [math.log10(max(of(row) for row in rows)) * 1.02 for of in (_nodes, _cpu)]

    def x(nodes: float) -> float:
        return LEFT + (math.log10(nodes) - lows[0]) / (highs[0] - lows[0]) * (WIDTH - LEFT - RIGHT)

    def y(cpu: float) -> float:
        return HEIGHT - BOTTOM - (math.log10(cpu) - lows[1]) / (highs[1] - lows[1]) * (HEIGHT - TOP - BOTTOM)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        'font-family="sans-serif" font-size="13">',
        "<!-- Copyright (c) 2026, livenodes.kubelet contributors. GPL-3.0-or-later. Drawn by python -m "
        "tests.benchmarks.scale -->",
        "<title>CPU seconds of the controller by number of nodes</title>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
    ]
    for power in range(lows[1], math.ceil(highs[1])):
        height = y(10**power)
        parts.append(f'<path d="M{LEFT} {height:.1f}H{WIDTH - RIGHT}" stroke="#d8dade"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{height + 4:.1f}" text-anchor="end">{10**power:g} s</text>')
    for nodes in sorted({row.nodes for row in rows}):
        parts.append(f'<path d="M{x(nodes):.1f} {TOP}V{HEIGHT - BOTTOM}" stroke="#d8dade"/>')
        parts.append(f'<text x="{x(nodes):.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{nodes:,}</text>')
    parts.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 12}" text-anchor="middle">nodes</text>')
    for playbook, colour in COLOURS.items():
        points = [(x(row.nodes), y(row.cpu)) for row in rows if row.playbook == playbook]
        if not points:
            continue
        path = "L".join(f"{across:.1f} {down:.1f}" for across, down in points)
        parts.append(f'<path d="M{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{across:.1f}" cy="{down:.1f}" r="3.5" fill="{colour}"/>' for across, down in points]
        parts.append(f'<text x="{points[-1][0] + 8:.1f}" y="{points[-1][1] + 4:.1f}" fill="{colour}">{playbook}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def _nodes(row: Figures) -> float:
    return row.nodes


def _cpu(row: Figures) -> float:
    return row.cpu
