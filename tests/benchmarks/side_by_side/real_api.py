# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""(a) and (b) on the real API server of a lab, where a patch costs what it costs in a cluster.

The simulated API server answers a patch in a quarter of a millisecond, so there the clients are all that is compared.
"""

from __future__ import annotations

import json
import typing as t
from pathlib import Path

from tests.benchmarks.side_by_side import ways
from tests.lab.lab import Lab

TURNS = 5
LIMIT = 1.3
"""At most this many times the seconds of the bare patches."""
PREFIX = "side-"


def measure(nodes: int) -> dict[str, ways.Took]:
    """Return the best of alternating turns, each with a source that no node has. A lab that this brings up stays."""
    lab = Lab.up(nodes=1, dynamic=False)
    api = lab.apiserver.api()
    folder = "/api/v1/namespaces/kube-system/configmaps"
    names = [f"{PREFIX}{way}-{turn}" for turn in range(TURNS) for way in WAYS]
    best: dict[str, ways.Took] = {}
    try:
        objects = lab.add_node_objects(nodes, PREFIX)
        for name in names:
            data = {"kubelet": json.dumps(ways.HEADER)}
            api.ensure(folder, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data})
            source = {"namespace": "kube-system", "name": name, "kubeletConfigKey": "kubelet"}
            way = name.split("-")[1]
            took = WAYS[way](
                ways.Cluster(
                    lab.apiserver.url, objects, source, Path(), files=_files(lab), kubeconfig=str(lab.kubeconfig)
                )
            )
            assert took.code == 0, took.output
            took.wall = float(took.output.split()[-1])
            best[way] = min(best.get(way, took), took, key=lambda one: one.wall)
    finally:
        lab.remove_node_objects(PREFIX)
        for name in names:
            api.request("DELETE", f"{folder}/{name}")
    return best


WAYS: dict[str, t.Callable[[ways.Cluster], ways.Took]] = {"bare": ways.bare, "module": ways.module}


def _files(lab: Lab) -> tuple[str, ...]:
    ca = lab.apiserver.ca
    return tuple(map(str, (ca.certificate, ca.folder / "admin.crt", ca.folder / "admin.key")))


def ratio(took: t.Mapping[str, ways.Took]) -> float:
    """Return how many times the seconds of the bare patches the module took."""
    return took["module"].wall / took["bare"].wall
