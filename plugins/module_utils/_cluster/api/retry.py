# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which failed requests are repeated, and the pauses between the tries."""

from __future__ import annotations

import random
import time
import typing as t

from .errors import ApiError

# Answers that mean "not now" rather than "no". The API server also answers 500 while its storage is briefly
# unavailable; every request of this collection may be repeated.
TRANSIENT = frozenset({408, 429, 500, 502, 503, 504})

Result = t.TypeVar("Result")


def pauses(first: float = 0.2, longest: float = 5.0) -> t.Iterator[float]:
    """Yield the seconds to wait before each further try: doubling, with jitter to spread the tries of many clients."""
    step = first
    while True:
        yield step * random.uniform(0.5, 1.0)
        step = min(step * 2, longest)


def persist(
    attempt: t.Callable[[], Result],
    budget: float,
    sleep: t.Callable[[float], None] = time.sleep,
    clock: t.Callable[[], float] = time.monotonic,
) -> Result:
    """Call `attempt` until it succeeds, fails permanently, or `budget` seconds are over.

    Only a transient ApiError is retried. The pause is the server's Retry-After if that is longer than our own.
    Raises the last error when the time is over.
    """
    end = clock() + budget
    for pause in pauses():
        try:
            return attempt()
        except ApiError as error:
            wait = max(pause, error.retry_after or 0)
            if not error.transient or clock() + wait > end:
                raise
        sleep(wait)
    raise AssertionError("pauses() never ends")
