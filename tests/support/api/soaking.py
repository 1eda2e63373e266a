# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Soaks on a cluster in memory, for the tests of what they detect."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api import timestamps
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import NodesFailed
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.objects import pods
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.stages import soak
from tests.sim.api.direct import Clock, Direct
from tests.support.api.objects import configmap, live, node, place, reference, status, text

A = reference("config-a")
LIVE = live(maxPods=50)
OWNED = {"owner": ("ReplicaSet", "web")}


def done(name: str = "n1", **more: t.Any) -> dict[str, t.Any]:
    """Return a node that runs config-a."""
    return node(name, place(), status(A, A), **more)


def cluster(clock: Clock, *nodes: dict[str, t.Any], pods: t.Sequence[dict[str, t.Any]] = ()) -> Direct:
    """Return nodes that run config-a, with heartbeats every 10 s by their own clocks."""
    names = [item["metadata"]["name"] for item in nodes]
    api = Direct(
        *nodes,
        pods=pods,
        configmaps=[configmap("config-a", text(maxPods=50))],
        live=dict.fromkeys(names, LIVE),
        clock=clock,
    )

    def beat() -> None:
        api.renewed = {name: timestamps.text(clock.time() + api.fast.get(name, 0.0)) for name in names}

    beat()
    for second in range(10, 600, 10):
        clock.at(second, beat)
    return api


def snapshot(api: Direct) -> dict[str, t.Any]:
    """Return the current pods of each node."""
    revision = str(api.store.revision)
    return {
        name: {
            item["metadata"]["uid"]: pods.row(item, revision, api.now)
            for item in api.pods.values()
            if item["spec"]["nodeName"] == name
        }
        for name in api.nodes
    }


def options(api: Direct, **given: t.Any) -> dict[str, t.Any]:
    """Return the options of a soak of a minute, unless the given ones set another time."""
    usual = dict.fromkeys(("source", "sources", "pods", "lease"))
    times = {"seconds": 60, "pods_timeout": 120}
    return {"nodes": list(api.nodes), "delivery": "auto", "allow_pod_loss": "0", **usual, **times, **given}


def run(api: Direct, **given: t.Any) -> dict[str, t.Any]:
    """Soak for a minute, unless the options set another time."""
    return soak.soak(api, options(api, **given), False)


def fail(api: Direct, **options: t.Any) -> NodesFailed:
    """Run a soak that must fail; return its failure."""
    with pytest.raises(NodesFailed) as caught:
        run(api, **options)
    assert caught.value.message.startswith("soaking: ")
    assert set(caught.value.result["nodes"]) == set(options.get("nodes") or api.nodes)
    return caught.value


def state(failed: NodesFailed, name: str = "n1") -> str:
    """Return the state in a node's row."""
    return failed.result["nodes"][name]["state"]
