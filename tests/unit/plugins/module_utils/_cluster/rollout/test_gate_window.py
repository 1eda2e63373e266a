# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The window of a rollout at the gate of a batch."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import ClusterError
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.rollout import gate
from tests.sim.api.direct import Clock, Direct
from tests.support import gating
from tests.support.calls import NODES
from tests.support.objects import node

GROUP = ["n1", "n2", "n3"]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(gate, "time", clock)
    return clock


def run(api: Direct, window: dict[str, t.Any], timeout: int = 0) -> dict[str, t.Any]:
    return gating.look(api, GROUP, ["n1"], timeout=timeout, window=window)


def window(clock: Clock, left: float, needs: float) -> dict[str, t.Any]:
    return {"minutes": 60, "ends": clock.time() + left, "needs": needs, "began": [5.0]}


def test_a_batch_that_ends_in_time_begins(clock: Clock) -> None:
    """Its result contains the time when it began."""
    found = run(Direct(*map(node, GROUP)), window(clock, 300, 300))
    assert found["window"] == {"began": [5.0, clock.time()]} and found["paused"] is None


def test_a_batch_that_would_end_too_late_pauses_the_rollout(clock: Clock) -> None:
    """Before the API server is asked for anything."""
    api = Direct(*map(node, GROUP))
    with pytest.raises(ClusterError) as caught:
        run(api, window(clock, 300, 301), timeout=60)
    assert caught.value.message == (
        "the window of 60 minutes ends in 5 min, and this batch may take 5 min. Nothing was begun. Run again in the "
        "next window: the rollout continues where it stopped. For more nodes in a window, use larger batches or a "
        "shorter soak"
    )
    assert caught.value.result["paused"]["by"] == "kubelet_config_window_minutes"
    assert not api.requests and not clock.slept


def test_the_wait_for_the_budget_does_not_outlast_the_window(clock: Clock) -> None:
    api = Direct(node("n1"), node("n2", ready="False"), node("n3"))
    with pytest.raises(ClusterError, match="the window of 60 minutes ends in 8 s"):
        run(api, window(clock, 20, 10), timeout=600)
    assert api.count("GET", NODES) > 1 and sum(clock.slept) <= 12
