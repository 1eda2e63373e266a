# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What each way leaves behind when something goes wrong: ten nodes, one fault, and what the kubelets run afterwards."""

from __future__ import annotations

import dataclasses
import json
import tempfile
import threading
import typing as t
from pathlib import Path

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import document
from tests.benchmarks.side_by_side import ways
from tests.sim.cluster import Cluster

NODES = 10
BEFORE, WANTED = 50, 60
NAMES = [f"n{number + 1}" for number in range(NODES)]
Config = dict[str, t.Any]


@dataclasses.dataclass
class Fault:
    """A fault: what it is, what is assigned, and what happens to the cluster before or during the run."""

    words: str
    config: Config
    begin: t.Callable[[Cluster], None]
    well: t.Callable[[Config], bool] = lambda live: live.get("kubeAPIQPS") == WANTED


def _deaf(cluster: Cluster) -> None:
    cluster.kubelet(NAMES[4]).deaf = True
    cluster.kubelet(NAMES[4]).stop()


def _drops(cluster: Cluster) -> None:
    cluster.store.dynamic = False


def _restarts(cluster: Cluster) -> None:
    cluster.outage(3, at="PATCH", number=4)


def _nothing(_cluster: Cluster) -> None:
    pass


FAULTS = {
    "down": Fault("one kubelet in ten does not run", {"kubeAPIQPS": WANTED}, _deaf),
    "dropped": Fault("the API server drops the field", {"kubeAPIQPS": WANTED}, _drops),
    "shadowed": Fault(
        "a flag of one kubelet overrides the field", {"maxPods": WANTED}, _nothing,
        lambda live: live.get("maxPods") == WANTED,
    ),
    "outage": Fault("the API server restarts in the middle", {"kubeAPIQPS": WANTED}, _restarts),
    "refused": Fault("the kubelets refuse the configuration", {"kubeAPIQPS": -1}, _nothing),
    "deadly": Fault(
        "the kubelets die of the configuration", {"evictionHard": {"memory.available": "lots"}}, _nothing
    ),
}  # fmt: skip


@dataclasses.dataclass
class Left:
    """What a run left: whether it reported a failure, and how many nodes are well, are as before, or are damaged."""

    way: str
    fault: str
    reported: bool
    reached: int
    damaged: int
    seconds: float


def left(way: str, name: str, assign: t.Callable[[ways.Cluster, Config], ways.Took], tools: dict[str, t.Any]) -> Left:
    """Run one way against one fault. A node is damaged if its kubelet does not run, or does not run what it ran before
    although it was not the goal, or names a source that it does not run.
    """
    fault = FAULTS[name]
    with tempfile.TemporaryDirectory() as home, Cluster(tls=False, scale=2) as cluster:
        for number, node in enumerate(NAMES):
            flags = {"maxPods": BEFORE} if name == "shadowed" and number == 4 else {}
            cluster.simulate(node, flags=flags)
        whole = document.render({**cluster.kubelet(NAMES[0]).configz(), **ways.HEADER, **fault.config})
        place = {"namespace": "kube-system", "name": "wanted", "kubeletConfigKey": "kubelet"}
        body = {"metadata": {"name": "wanted", "namespace": "kube-system"}, "data": {"kubelet": whole}}
        cluster.store.create(ways.CONFIGMAPS, "kube-system", body)
        fault.begin(cluster)
        given = ways.Cluster(cluster.url, NAMES, place, Path(home), **tools)
        took = assign(given, fault.config)
        threading.Event().wait(3)
        healthy = {node: cluster.kubelet(node).running for node in NAMES}
        reached = [node for node in NAMES if healthy[node] and fault.well(cluster.kubelet(node).configz())]
        own = NAMES[4] if name == "down" else ""
        broken = [node for node in NAMES if node != own and (not healthy[node] or _misled(cluster, node))]
        return Left(way, name, took.code != 0, len(reached), len(broken), took.wall)


def _misled(cluster: Cluster, node: str) -> bool:
    """Return whether the Node names a source that its kubelet does not run."""
    item = cluster.node(node)
    source = ((item["spec"].get("configSource") or {}).get("configMap") or {}).get("name")
    status = (item["status"].get("config") or {}).get("active") or {}
    return bool(source) and (status.get("configMap") or {}).get("name") != source


def as_text(rows: t.Sequence[Left]) -> str:
    return json.dumps([dataclasses.asdict(row) for row in rows], indent=1)
