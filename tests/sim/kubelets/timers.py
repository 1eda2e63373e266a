# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One thread that calls functions later, and the clock's scale."""

from __future__ import annotations

import heapq
import itertools
import threading
import time
import typing as t


class Timers:
    """Runs work at its time, one after the other. `scale`: how many seconds of it pass in one second."""

    def __init__(self, scale: float = 1.0) -> None:
        self.scale = scale
        self._heap: list[tuple[float, int, t.Callable[..., None], tuple[t.Any, ...]]] = []
        self._order = itertools.count()
        self._more = threading.Condition()
        self._ended = False
        self.errors: list[BaseException] = []
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def after(self, seconds: float, work: t.Callable[..., None], *arguments: t.Any) -> None:
        """Call `work` so many scaled seconds from now."""
        with self._more:
            moment = time.monotonic() + seconds / self.scale
            heapq.heappush(self._heap, (moment, next(self._order), work, arguments))
            self._more.notify()

    def every(self, seconds: float, work: t.Callable[[], None]) -> None:
        def again() -> None:
            work()
            self.after(seconds, again)

        self.after(seconds, again)

    def close(self) -> None:
        """End; what was not due yet is forgotten. Raises what `work` raised: a defect of the simulation."""
        with self._more:
            self._ended = True
            self._more.notify()
        self._thread.join(10)
        if self.errors:
            raise self.errors[0]

    def _run(self) -> None:
        while True:
            with self._more:
                while not self._ended and (not self._heap or self._heap[0][0] > time.monotonic()):
                    self._more.wait(self._heap[0][0] - time.monotonic() if self._heap else None)
                if self._ended:
                    return
                _moment, _order, work, arguments = heapq.heappop(self._heap)
            try:
                work(*arguments)
            except Exception as error:  # pylint: disable=broad-except  # the other kubelets go on; `close` reports it
                self.errors.append(error)
