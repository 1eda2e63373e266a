# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Simulated time."""

from __future__ import annotations

import typing as t

# The clock starts with the year 2026, when 1000 s are over since some moment.
EPOCH = 1_767_225_600.0


class Clock:
    """Replaces the module `time`: `sleep` returns at once. Each of `ticks` runs once, when its second is reached.

    `tick` runs at each sleep. `off`: how many seconds it is ahead of the clock of an API server that goes by it.
    """

    def __init__(self) -> None:
        self.now = 1000.0
        self.off = 0.0
        self.slept: list[float] = []
        self.tick: t.Callable[[], None] = lambda: None
        self._ticks: list[tuple[float, t.Callable[[], t.Any]]] = []

    def at(self, second: float, tick: t.Callable[[], t.Any]) -> None:
        """Call `tick` `second` seconds after the start."""
        self._ticks.append((1000.0 + second, tick))

    def monotonic(self) -> float:
        """Return the seconds since some moment."""
        return self.now + self.off

    def time(self) -> float:
        """Return the seconds since 1970."""
        return self.now - 1000.0 + EPOCH + self.off

    def sleep(self, seconds: float) -> None:
        """Advance the clock."""
        assert seconds >= 0
        self.slept.append(seconds)
        self.now += seconds
        for moment, tick in [item for item in self._ticks if item[0] <= self.now]:
            self._ticks.remove((moment, tick))
            tick()
        self.tick()
