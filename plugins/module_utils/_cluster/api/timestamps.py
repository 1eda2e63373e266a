# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Timestamps of the API (metav1.Time, metav1.MicroTime) as seconds since 1970, and back."""

from __future__ import annotations

import datetime
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
