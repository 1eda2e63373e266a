# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The same work for many items."""

from __future__ import annotations

import threading

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api import parallel
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import ApiError, ClusterError


def test_outcomes_in_the_order_of_the_items() -> None:
    """Independent of the order in which the work ends: here the first item waits for the last."""
    last_done = threading.Event()

    def work(item: int) -> int:
        if item == 0:
            assert last_done.wait(10)
        if item == 4:
            last_done.set()
        return item * 10

    outcomes = parallel.each(range(5), work, 8)
    assert [(outcome.item, outcome.value, outcome.error) for outcome in outcomes] == [
        (item, item * 10, None) for item in range(5)
    ]


@pytest.mark.parametrize("concurrency", [1, 3, 100])
def test_no_more_at_once_than_asked_and_no_less(concurrency: int) -> None:
    expected = min(concurrency, 6)
    together = threading.Barrier(expected, timeout=10)
    lock = threading.Lock()
    running, most = 0, 0

    def work(_item: int) -> None:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        together.wait()
        with lock:
            running -= 1

    parallel.each(range(6), work, concurrency)
    assert most == expected


@pytest.mark.parametrize(("items", "workers"), [(1, 1), (4, 1), (5, 2), (10, 3), (100, 8)])
def test_fewer_workers_for_what_is_short(items: int, workers: int) -> None:
    """No worker has fewer items than justify its connection, if there are enough items."""
    together = threading.Barrier(workers, timeout=10)
    used: set[int] = set()

    def work(item: int) -> None:
        used.add(threading.get_ident())
        if item < workers:
            together.wait()

    parallel.each(range(items), work, 8, parallel.SHORT)
    assert len(used) == workers


@pytest.mark.parametrize("concurrency", [0, -1])
def test_a_senseless_concurrency_is_one(concurrency: int) -> None:
    assert [outcome.value for outcome in parallel.each([1, 2], str, concurrency)] == ["1", "2"]


def test_nothing_to_do() -> None:
    assert parallel.each([], pytest.fail, 8) == []


def test_one_failure_does_not_stop_the_others() -> None:
    errors = {2: ApiError(403, "no"), 3: ClusterError("neither")}

    def work(item: int) -> int:
        if item in errors:
            raise errors[item]
        return item

    outcomes = parallel.each([1, 2, 3, 4], work, 2)
    assert [outcome.value for outcome in outcomes] == [1, None, None, 4]
    assert {outcome.item: outcome.error for outcome in outcomes if outcome.error} == errors


@pytest.mark.parametrize("error", [ApiError(401, "who are you"), ValueError("defect"), KeyboardInterrupt()])
def test_hopeless_failures_end_everything(error: BaseException) -> None:
    """Queued requests are not sent: only a few of 50 items start."""
    begun = []

    def work(item: int) -> None:
        begun.append(item)
        if item == 0:
            raise error
        release.wait(0.01)

    release = threading.Event()
    with pytest.raises(type(error)):
        parallel.each(range(50), work, 2)
    assert 0 in begun
    assert len(begun) < 25


def test_the_result_of_an_outcome() -> None:
    assert parallel.Outcome("n1", value=3).result() == 3
    assert parallel.Outcome("n1").why == "no answer"
    failed: parallel.Outcome[str, int] = parallel.Outcome("n1", error=ApiError(404, "gone"))
    assert failed.why == "gone"
    with pytest.raises(ApiError, match="gone"):
        failed.result()
