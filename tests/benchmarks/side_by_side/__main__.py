# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Compare the ways to change the configuration of many kubelets, on one machine, in one run, on one kind of API server.

    PYTHONPATH=<folder with ansible_collections>:. python -m tests.benchmarks.side_by_side --kubectl PATH
        --rival FOLDER [--nodes 1000] [--slow-nodes 100] [--lab [only]] [--write]

(a) merge patches over kept connections; (b) this collection; (c) kubectl; (d) kubernetes.core, whose virtual
environment is FOLDER: `python3 -m venv FOLDER && FOLDER/bin/pip install ansible kubernetes`. (c) and (d) run on fewer
nodes, since their time grows with the nodes alone. Then each meets six faults on ten nodes.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
import tempfile
import typing as t
from pathlib import Path

from tests.benchmarks.scale.served import Served, name_of
from tests.benchmarks.side_by_side import damage, node_side, pages, real_api, ways

TURNS = 3
LEAST_FASTER = 20.0


def fast(nodes: int, home: Path) -> dict[str, ways.Took]:
    """Measure (a) and (b): the best of alternating turns, each with a source that no node has."""
    best: dict[str, ways.Took] = {}
    with Served(nodes) as served:
        names = [name_of(number) for number in range(nodes)]
        for turn in range(TURNS):
            for way, assign in (("bare", ways.bare), ("module", ways.module)):
                took = assign(ways.Cluster(served.url, names, served.source(f"{way}-{turn}"), home))
                assert took.code == 0, took.output
                took.wall = float(took.output.split()[-1])
                best[way] = min(best.get(way, took), took, key=lambda one: one.wall)
    return best


def playbook(nodes: int, home: Path) -> dict[str, ways.Took]:
    with Served(nodes) as served:
        names = [name_of(number) for number in range(nodes)]
        took = ways.rollout(
            ways.Cluster(served.url, names, {}, home), {"kubeAPIQPS": 77}, kubelet_config_wait_timeout=300
        )
        assert took.code == 0, took.output[-3000:]
    return {"rollout": took}


def slow(nodes: int, home: Path, tools: dict[str, t.Any]) -> dict[str, ways.Took]:
    """Measure the ways with a process or a task for each node."""
    found = {}
    chosen = {
        "kubectl": lambda cluster: ways.kubectl(cluster, 1),
        "xargs": lambda cluster: ways.kubectl(cluster, ways.CONNECTIONS),
        "kubernetes.core": ways.kubernetes_core,
    }
    names = [name_of(number) for number in range(nodes)]
    for way, assign in chosen.items():
        with Served(nodes) as served:
            found[way] = assign(ways.Cluster(served.url, names, served.source("wanted"), home, **tools))
            assert found[way].code == 0, found[way].output[-3000:]
    return found


WAYS: dict[str, t.Callable[[ways.Cluster, damage.Config], ways.Took]] = {
    "bare": lambda cluster, _config: ways.bare(cluster),
    "rollout": ways.rollout,
    "kubectl": lambda cluster, _config: ways.kubectl(cluster, ways.CONNECTIONS),
    "kubernetes.core": lambda cluster, _config: ways.kubernetes_core(cluster, retries=5),
}


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--slow-nodes", type=int, default=100)
    parser.add_argument("--kubectl", default="kubectl")
    parser.add_argument("--rival", type=Path, required=True)
    parser.add_argument("--faults", nargs="*", default=list(damage.FAULTS), help="which faults, by default all")
    parser.add_argument(
        "--lab", nargs="?", const="also", choices=("also", "only"), help="a real API server, and the node side"
    )
    parser.add_argument("--write", action="store_true")
    chosen = parser.parse_args()
    if chosen.lab == "only":
        return int(not _on_lab(chosen))
    tools = {"kubectl": chosen.kubectl, "rival": chosen.rival}
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        took = {**fast(chosen.nodes, home), **playbook(chosen.nodes, home), **slow(chosen.slow_nodes, home, tools)}
        for way, one in took.items():
            print(f"{way:16} {one.nodes:6} nodes {one.cpu:8.2f} s CPU {one.wall:8.2f} s", flush=True)
        rows = []
        for fault in damage.FAULTS:
            for way, assign in WAYS.items() if fault in chosen.faults else ():
                rows.append(damage.left(way, fault, assign, tools))
                print(rows[-1], flush=True)
    if chosen.write:
        pages.write(took, rows)
    else:
        print(json.dumps({way: {**dataclasses.asdict(one), "output": ""} for way, one in took.items()}))
    faster = _a_node(took["kubernetes.core"]) / _a_node(took["rollout"])
    print(f"rollout: {faster:.1f} times less CPU a node than kubernetes.core (at least {LEAST_FASTER})")
    return int(not _on_lab(chosen) or faster < LEAST_FASTER)


def _on_lab(chosen: argparse.Namespace) -> bool:
    """Measure the real API server and the node side if asked for; return whether both are within their limits."""
    if not chosen.lab:
        print("left out: assignments on a real API server, and the node side. Both need a lab (--lab)")
        return True
    assigned = real_api.measure(chosen.nodes)
    ratio = real_api.ratio(assigned)
    print(f"assign on a real API server: {ratio:.2f} times the bare patches (at most {real_api.LIMIT})", flush=True)
    if chosen.write:
        pages.write_real_api(assigned)
    took, rows = node_side.measure()
    if chosen.write:
        pages.write_node_side(took, rows)
    return node_side.within(took) and ratio <= real_api.LIMIT


def _a_node(one: ways.Took) -> float:
    return one.cpu / one.nodes


if __name__ == "__main__":
    sys.exit(main())
