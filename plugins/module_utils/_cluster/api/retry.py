# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""When a request is sent again, and how long to pause before."""

from __future__ import annotations

import random
import time
import typing as t

from .errors import ApiError

# Answers that say "not now" rather than "no". 500 is among them because the API server uses it for a storage that is
# briefly away; all our requests may be repeated.
TRANSIENT = frozenset({408, 429, 500, 502, 503, 504})

Result = t.TypeVar("Result")


def pauses(first: float = 0.2, longest: float = 5.0) -> t.Iterator[float]:
    """Yield seconds to wait before each further try: doubling, jittered so that many clients do not come back at once."""
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
    """Call `attempt` until it succeeds, fails for good, or `budget` seconds are over.

    Only an ApiError marked transient is tried again. The server's Retry-After is waited for where it asks for more than
    our own pause. The last error is raised when the time is over.
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
