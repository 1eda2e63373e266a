# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs the same work for many nodes in parallel and returns a result for each."""

from __future__ import annotations

import concurrent.futures
import dataclasses
import typing as t

from .errors import ClusterError

Item = t.TypeVar("Item")
Value = t.TypeVar("Value")

# Answers that every further request would get too.
HOPELESS = frozenset({401})
# Items per worker where the API server answers without a node. Each worker opens a connection of its own, which costs
# the controller and the API server as much as several such requests.
SHORT = 4


@dataclasses.dataclass(frozen=True)
class Outcome(t.Generic[Item, Value]):
    """The outcome of one item: a value, or the error that prevented it."""

    item: Item
    value: Value | None = None
    error: ClusterError | None = None

    @property
    def why(self) -> str:
        """Why there is no value."""
        return self.error.message if self.error else "no answer"

    def result(self) -> Value:
        """Return the value. Raises the error that prevented it."""
        if self.error:
            raise self.error
        return t.cast("Value", self.value)


def each(
    items: t.Sequence[Item], work: t.Callable[[Item], Value], concurrency: int, share: int = 1
) -> list[Outcome[Item, Value]]:
    """Run `work` for every item, at most `concurrency` at a time, and return the outcomes in the order of the items.

    `share` is the number of items for each worker: SHORT if no item waits for a node, so that fewer workers start.
    A ClusterError of one item does not stop the others. If the API server rejects the credentials (401), nothing more
    is sent and the error is raised. Any other exception of `work` is a defect and is raised at once.
    """
    if not items:
        return []
    pool = concurrent.futures.ThreadPoolExecutor(max_workers=max(1, min(concurrency, -(-len(items) // share))))
    try:
        futures = [pool.submit(work, item) for item in items]
        return [_outcome(item, future) for item, future in zip(items, futures)]
    finally:
        # Also after SIGTERM and Ctrl-C: requests that wait in the queue are not sent.
        pool.shutdown(wait=True, cancel_futures=True)


def _outcome(item: Item, future: concurrent.futures.Future[Value]) -> Outcome[Item, Value]:
    try:
        return Outcome(item, value=future.result())
    except ClusterError as error:
        if error.status in HOPELESS:
            raise
        return Outcome(item, error=error)
