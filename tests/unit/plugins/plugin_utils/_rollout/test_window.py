# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The expected duration of a batch, and whether it ends within the window."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.plugin_utils._rollout import window
from ansible_collections.livenodes.kubelet.plugins.plugin_utils._rollout.window import Batch

MOST, DRAIN = 600.0, 300.0
CANARY, NEXT, WIDE = Batch(1, 60, False), Batch(1, 30, False), Batch(4, 30, False)
DRAINED = Batch(1, 30, True)


@pytest.mark.parametrize(
    ("batch", "done", "took", "expected"),
    [
        pytest.param(CANARY, [], [], MOST, id="before the first batch only the guards' time is known"),
        pytest.param(DRAINED, [], [], MOST + DRAIN, id="the first batch drains"),
        pytest.param(NEXT, [CANARY], [90], 30 + 30, id="the soak is that of this batch"),
        pytest.param(NEXT, [CANARY, NEXT, NEXT], [90, 75, 60], 45 + 30, id="the slowest batch counts"),
        pytest.param(WIDE, [CANARY], [90], 4 * 30 + 30, id="more waves take longer"),
        pytest.param(NEXT, [WIDE], [110], 80 + 30, id="fewer waves are not assumed to be faster"),
        pytest.param(WIDE, [CANARY, WIDE], [90, 200], 170 + 30, id="a batch as wide as this one"),
        pytest.param(NEXT, [CANARY], [20], 0 + 30, id="a batch that failed early was shorter than its soak"),
        pytest.param(DRAINED, [NEXT], [50], 20 + 30 + DRAIN, id="no batch has shown how long a drain takes"),
        pytest.param(DRAINED, [NEXT, DRAINED], [50, 400], 370 + 30, id="a batch has shown it"),
    ],
)
def test_needed(batch: Batch, done: list[Batch], took: list[float], expected: float) -> None:
    assert window.needed(batch, done, took, MOST, DRAIN) == expected


def batch(number: int, hosts: int, **given: t.Any) -> dict[str, t.Any]:
    names = [f"n{number}-{host}" for host in range(hosts)]
    return {"hosts": {name: name for name in names}, "soak": 0, "drain": [], "on_nodes": True, "done": number, **given}


ROLLOUT = {
    "began": 1000.0,
    "batches": [
        batch(1, 1, soak=60),
        batch(2, 25, soak=30),
        batch(3, 25, soak=30, on_nodes=False, drain=["n3-1"]),
        batch(4, 25, drain=["n4-1"]),
    ],
}


@pytest.mark.parametrize(
    ("number", "began", "now", "needs"),
    [
        pytest.param(0, [], 1010, MOST, id="first"),
        pytest.param(1, [1010], 1010 + 40 + 60, 3 * 40 + 30, id="three waves with ten forks"),
        pytest.param(1, [], 1110, MOST, id="no gate has reported when its batch began"),
        pytest.param(2, [1010, 1110], 1110 + 50 + 30, 50 + 30 + DRAIN, id="one wave without steps on nodes"),
        pytest.param(3, [1010, 1110, 1190], 1190 + 200 + 30, 3 * 200, id="a batch has shown how long a drain takes"),
    ],
)
def test_of_rollout(number: int, began: list[float], now: float, needs: float) -> None:
    """The gate of the batch before this one has returned when all batches until then began."""
    hostvars: dict[str, dict[str, t.Any]] = {host: {} for one in ROLLOUT["batches"] for host in one["hosts"]}  # type: ignore[attr-defined]
    if number:
        last = list(ROLLOUT["batches"][number - 1]["hosts"])[-1]  # type: ignore[index]
        hostvars[last] = {"rollout_gate": {"window": {"began": began}}}
    this = ROLLOUT["batches"][number]  # type: ignore[index]
    # AWX passes some variables as text.
    found = window.of_rollout(ROLLOUT, this, "30", "10", hostvars, now, MOST, DRAIN)
    assert found == {"minutes": 30, "ends": 1000 + 1800, "needs": needs, "began": began}
    assert window.of_rollout(ROLLOUT, this, "30.0", 10, hostvars, now, MOST, DRAIN) == found
