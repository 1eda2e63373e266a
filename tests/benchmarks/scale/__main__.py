# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Measure whole playbooks at 100, 1,000 and 5,000 nodes, and write the figures of the documentation.

    PYTHONPATH=<folder with ansible_collections>:. python -m tests.benchmarks.scale [--nodes 100 1000 5000]
        [--variants 1 10 all] [--followers] [--canary] [--write]

Native delivery; with --followers also, in the same run, drop-ins on nodes of 1.32 that follow their Node. The API
server and the kubelets are simulated in a process of their own. CPU seconds, memory, requests and bytes are the figures
to trust: the wall time depends on what else the machine does. With --write, the figures replace those in
docs/docsite/rst, with --followers those of its table of followers. The run fails if a playbook needs more than GROWTH
times the CPU at 5,000 nodes that it needs at 1,000.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import typing as t
from pathlib import Path

from tests.benchmarks.scale import pages
from tests.benchmarks.scale.runs import FOLLOWERS, NATIVE, PLAYBOOKS, Figures, Point, ansible, measured
from tests.benchmarks.scale.served import Served
from tests.sim.cluster import DEFAULT

GROWTH = 5.5
MODERN = "v1.32.0"
WAYS = (NATIVE, FOLLOWERS)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--nodes", type=int, nargs="+", default=[100, 1000, 5000])
    parser.add_argument("--variants", nargs="+", default=["1", "10", "all"], help="all: as many as nodes")
    parser.add_argument("--playbooks", nargs="+", default=list(PLAYBOOKS))
    parser.add_argument("--followers", action="store_true", help="also nodes of 1.32 with followers, and drop-ins")
    parser.add_argument("--canary", action="store_true", help="one node, then the ten batches")
    parser.add_argument("--write", action="store_true")
    chosen = parser.parse_args()
    found: list[Figures] = []
    for word in chosen.variants:
        for nodes in chosen.nodes:
            for way in WAYS if chosen.followers else WAYS[:1]:
                point = Point(nodes, nodes if word == "all" else int(word), chosen.canary, way)
                for one in runs_of(point, chosen.playbooks):
                    found.append(one)
                    print(pages.line(one), flush=True)
    if chosen.write:
        write = pages.write_followers if chosen.followers else pages.write
        write(found)
    late = grown(found)
    for words in late:
        print(words)
    return 1 if late else 0


def runs_of(point: Point, playbooks: t.Sequence[str]) -> t.Iterator[Figures]:
    followed = point.way == FOLLOWERS
    version = MODERN if followed else DEFAULT
    with tempfile.TemporaryDirectory() as home, Served(point.nodes, version, followed) as served:
        playing = ansible(Path(home), served, point)
        for playbook in playbooks:
            yield measured(playing, served, point, playbook)


def grown(found: t.Sequence[Figures]) -> list[str]:
    """Return which playbooks need more than GROWTH times the CPU for five times the nodes."""
    by_point = {(row.way, row.playbook, row.variants, row.nodes): row.cpu for row in found}
    late = []
    for (*run, nodes), cpu in by_point.items():
        fewer = by_point.get((*run, 1000))
        if nodes == 5000 and fewer is not None and cpu > GROWTH * fewer:
            late.append(f"{' '.join(map(str, run))}: {cpu / fewer:.2f} times the CPU of 1,000 nodes, at most {GROWTH}")
    return late


if __name__ == "__main__":
    sys.exit(main())
