# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The same work for many nodes at once, with a result for each."""

from __future__ import annotations

import concurrent.futures
import dataclasses
import typing as t

from .errors import ApiError, ClusterError

Item = t.TypeVar("Item")
Value = t.TypeVar("Value")

# An answer that every other request would get as well.
HOPELESS = frozenset({401})
# A worker has a connection of its own, and to open one takes as long as some requests that the API server answers by
# itself, for both ends.
SHORT = 4


@dataclasses.dataclass(frozen=True)
class Outcome(t.Generic[Item, Value]):
    """What became of one item: a value, or the error that stands in its way."""

    item: Item
    value: Value | None = None
    error: ClusterError | None = None


def each(
    items: t.Sequence[Item], work: t.Callable[[Item], Value], concurrency: int, share: int = 1
) -> list[Outcome[Item, Value]]:
    """Do `work` for every item, at most `concurrency` at a time, and return the outcomes in the order of the items.

    With a `share` (SHORT, where no item waits for a node) there are fewer workers, so that each has about so many items
    to do. A ClusterError of one item does not stop the others, unless it says that the API server does not know us
    (401): then nothing more is sent and the error is raised. Anything else raised by `work` is a defect and is raised
    at once.
    """
    if not items:
        return []
    pool = concurrent.futures.ThreadPoolExecutor(max_workers=max(1, min(concurrency, -(-len(items) // share))))
    try:
        futures = [pool.submit(work, item) for item in items]
        return [_outcome(item, future) for item, future in zip(items, futures)]
    finally:
        # Also on SIGTERM and Ctrl-C: what has not been sent yet is not sent.
        pool.shutdown(wait=True, cancel_futures=True)


def _outcome(item: Item, future: concurrent.futures.Future[Value]) -> Outcome[Item, Value]:
    try:
        return Outcome(item, value=future.result())
    except ClusterError as error:
        if isinstance(error, ApiError) and error.status in HOPELESS:
            raise
        return Outcome(item, error=error)
