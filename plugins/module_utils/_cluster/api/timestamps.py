# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Timestamps of the API (metav1.Time, metav1.MicroTime) as seconds since 1970, and back; the API server's clock."""

from __future__ import annotations

import datetime
import email.utils
import time
import typing as t


def parse(text: t.Any) -> float | None:
    """Return the seconds since 1970 of a timestamp, None if there is none or it cannot be parsed."""
    try:
        # Python 3.10 does not parse the Z.
        return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()
    except (AttributeError, ValueError):
        return None


def text(seconds: float) -> str:
    """Return seconds since 1970 as a metav1.MicroTime, which has six digits after the point."""
    return datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def span(seconds: float) -> str:
    """Return a duration in seconds for a message: `12 s`, `3 min`, `5 h`."""
    for unit, size in (("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{max(0.0, seconds):.0f} s"


class ServerClock:
    """The clock of an HTTP server, read from the Date headers of its answers (RFC 9110, 6.6.1).

    Between two answers this machine's monotonic clock counts, so that its own date does not matter. A server that sends
    no Date is assumed to have this machine's date.
    """

    def __init__(self) -> None:
        self._ahead: float | None = None

    def note(self, date: t.Any) -> None:
        """Read the Date header of an answer that has just arrived, None if it has none."""
        try:
            # The header has whole seconds, so that the server's clock is half a second later on average.
            moment = email.utils.parsedate_to_datetime(date).timestamp() + 0.5
        except (AttributeError, IndexError, TypeError, ValueError):
            if self._ahead is not None:
                return
            moment = time.time()
        self._ahead = moment - time.monotonic()

    def now(self) -> float | None:
        """Return the seconds since 1970 by the server's clock, None before its first answer."""
        return None if self._ahead is None else self._ahead + time.monotonic()
