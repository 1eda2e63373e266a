# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Drains on a cluster in memory, whose budgets change in simulated time."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import ApiError, NodesFailed
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.rollout import drain
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import annotation
from tests.sim.api.direct import Direct

OWNED = {"owner": ("ReplicaSet", "web")}
BUDGET = "The disruption budget web needs 1 healthy pods and has 1 currently"
BLOCKED = ApiError(
    429,
    "Cannot evict pod as it would violate the pod's disruption budget.",
    "TooManyRequests",
    None,
    True,
    {"DisruptionBudget": BUDGET},
)
EVICTIONS = "POST */eviction"
AWAY = ApiError(0, "no usable answer from the API server", transient=True)


def run(api: Direct, check_mode: bool = False, **options: t.Any) -> dict[str, t.Any]:
    """Drain or restore the nodes of a cluster; return the result of the stage."""
    given = {
        "state": "drained",
        "nodes": list(api.nodes),
        "timeout": 60,
        "grace_period": None,
        "delete_emptydir_data": False,
        "force": False,
        "lease": None,
    }
    return drain.drain(api, {**given, **options}, check_mode)


def fail(api: Direct, check_mode: bool = False, **options: t.Any) -> NodesFailed:
    """Return the error of a drain in which nodes fail."""
    with pytest.raises(NodesFailed) as caught:
        run(api, check_mode, **options)
    return caught.value


def cordoned(api: Direct, name: str = "n1") -> tuple[bool, bool]:
    """Return whether a node is cordoned, and whether our mark is on it."""
    found = api.nodes[name]
    return bool(found["spec"].get("unschedulable")), annotation.CORDONED in (found["metadata"].get("annotations") or {})


def eviction(pod: str) -> str:
    """Return the key of `answers` for the evictions of a pod."""
    return f"POST */pods/{pod}/eviction"


def names(found: list[dict[str, str]]) -> list[str]:
    """Return the names of pods in a result."""
    return [item["name"] for item in found]
