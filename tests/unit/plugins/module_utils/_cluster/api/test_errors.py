# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Messages about nodes, and when requests are repeated, with a simulated clock."""

from __future__ import annotations

import itertools
import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api import errors
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import (
    ApiError,
    ClusterError,
    NodesFailed,
)
from tests.sim.api.direct import Clock


def test_nodes_failed_names_every_node() -> None:
    error = NodesFailed("assigning", {"n1": "why one", "n2": "why two"}, {"nodes": {}})
    assert str(error) == error.message == "assigning: 2 nodes failed.\nn1: why one\nn2: why two"
    assert (error.failures, error.result) == ({"n1": "why one", "n2": "why two"}, {"nodes": {}})
    assert NodesFailed("assigning", {"n1": "why"}).message.startswith("assigning: 1 node failed.")


def test_results_are_not_shared() -> None:
    ClusterError("one").result["key"] = 1
    assert ClusterError("two").result == {}
    assert ApiError(404, "gone").result == {}


class Attempts:
    """Raises the given errors in turn, repeats the last one, then returns."""

    def __init__(self, *failures: Exception, forever: bool = False) -> None:
        self.failures = itertools.chain(failures, itertools.repeat(failures[-1])) if forever else iter(failures)
        self.count = 0

    def __call__(self) -> str:
        self.count += 1
        for error in self.failures:
            raise error
        return "done"


def busy(after: float | None = None) -> ApiError:
    return ApiError(503, "busy", retry_after=after, transient=True)


def persist(attempt: t.Callable[[], str], budget: float, clock: Clock) -> str:
    return errors.persist(attempt, budget, sleep=clock.sleep, clock=clock.monotonic)


def test_success_takes_one_call() -> None:
    clock, attempt = Clock(), Attempts()
    assert persist(attempt, 0, clock) == "done"
    assert (attempt.count, clock.slept) == (1, [])


def test_pauses_double_up_to_a_limit() -> None:
    steps = [0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0, 5.0]
    for pause, step in zip(errors.pauses(), steps):
        assert step / 2 <= pause <= step


def test_pauses_of_many_clients_differ() -> None:
    assert len({next(errors.pauses()) for _client in range(20)}) > 10


def test_repeated_until_it_succeeds() -> None:
    clock, attempt = Clock(), Attempts(busy(), busy(), busy())
    assert persist(attempt, 60, clock) == "done"
    assert (attempt.count, len(clock.slept)) == (4, 3)


def test_gives_up_within_the_budget_with_the_last_error() -> None:
    last = busy()
    clock, attempt = Clock(), Attempts(busy(), busy(), last, forever=True)
    with pytest.raises(ApiError) as caught:
        persist(attempt, 30, clock)
    assert caught.value is last
    assert 25 <= clock.now - 1000 <= 30


def test_no_budget_is_one_try() -> None:
    clock, attempt = Clock(), Attempts(busy(), forever=True)
    with pytest.raises(ApiError):
        persist(attempt, 0, clock)
    assert (attempt.count, clock.slept) == (1, [])


@pytest.mark.parametrize("error", [ApiError(404, "no"), ClusterError("other"), ValueError("defect")])
def test_other_failures_are_final(error: Exception) -> None:
    clock, attempt = Clock(), Attempts(error)
    with pytest.raises(type(error)):
        persist(attempt, 60, clock)
    assert (attempt.count, clock.slept) == (1, [])


def test_the_longer_of_the_pauses_counts() -> None:
    clock = Clock()
    persist(Attempts(busy(after=7), busy(after=0)), 60, clock)
    assert clock.slept[0] == 7
    assert 0.2 <= clock.slept[1] <= 0.4
