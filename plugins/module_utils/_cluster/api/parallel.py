# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs the same work for many nodes in parallel and returns a result for each."""

from __future__ import annotations

import concurrent.futures
import dataclasses
import typing as t

from .errors import ClusterError

_Item = t.TypeVar("_Item")
_Value = t.TypeVar("_Value")

# Answers that every further request would get too.
HOPELESS = frozenset({401})
# Items per worker where the API server answers without a node. Each worker opens a connection of its own, which costs
# the controller and the API server as much as several such requests.
SHORT = 4


@dataclasses.dataclass(frozen=True)
class Outcome(t.Generic[_Item, _Value]):
    """The outcome of one item: a value, or the error that prevented it."""

    item: _Item
    value: _Value | None = None
    error: ClusterError | None = None

    @property
    def why(self) -> str:
        """Why there is no value."""
        return self.error.message if self.error else "no answer"

    def result(self) -> _Value:
        """Return the value. Raises the error that prevented it."""
        if self.error:
            raise self.error
        return t.cast("_Value", self.value)


def each(
    items: t.Sequence[_Item], work: t.Callable[[_Item], _Value], concurrency: int, share: int = 1
) -> list[Outcome[_Item, _Value]]:
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


def _outcome(item: _Item, future: concurrent.futures.Future[_Value]) -> Outcome[_Item, _Value]:
    try:
        return Outcome(item, value=future.result())
    except ClusterError as error:
        if error.status in HOPELESS:
            raise
        return Outcome(item, error=error)
