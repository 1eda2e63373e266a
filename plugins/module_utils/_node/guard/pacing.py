# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""When and for how long a guard sends requests to the API server: a thousand may wait for their Nodes at once."""

from __future__ import annotations

import os
from typing import NamedTuple

# Limit of a process that sends requests. Each has a limit of its own, but an answer may come byte by byte.
API_SECONDS = 30.0
FIRST_SECONDS = 10.0
LONGEST_SECONDS = 120.0


def pause(failed: int, share: float, first: float, longest: float) -> float:
    """Return the seconds until the next request, after so many (at least one) in a row that failed.

    The pause doubles with each, from `first` to `longest` seconds on average. `share`: 0 to 1, by chance (`chance`);
    it makes the pause half to one and a half times as long, so that guards that began together do not stay together.
    """
    return float(min(first * 2.0 ** min(failed - 1, 16), longest) * (0.5 + share))


def chance() -> float:
    """Return a number from 0 to 1."""
    # The module `random` loads OpenSSL on old versions of Python: a quarter of the guard's memory.
    return int.from_bytes(os.urandom(4), "big") / 2.0**32


class Requests(NamedTuple):
    """Those that failed in a row, and when the next one is due: seconds of the clock that the caller uses."""

    failed: int = 0
    due: float = 0.0

    def after(self, success: bool, now: float, first: float, longest: float) -> Requests:
        """Return what follows a request. After a success the next one is due at once."""
        if success:
            return Requests(0, now)
        failed = self.failed + 1
        return Requests(failed, now + pause(failed, chance(), first, longest))
