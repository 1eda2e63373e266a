# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Moments as the API writes them (metav1.Time, metav1.MicroTime), in seconds since 1970."""

from __future__ import annotations

import datetime
import typing as t


def parse(text: t.Any) -> float | None:
    """Return a moment, None when there is none or it is not one."""
    try:
        # Python 3.10 does not read the Z.
        return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()
    except (AttributeError, ValueError):
        return None


def text(moment: float) -> str:
    """Return a moment as a MicroTime, which wants six digits after the point."""
    return datetime.datetime.fromtimestamp(moment, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def span(seconds: float) -> str:
    """Return a time in words for people: `12 s`, `3 min`, `5 h`."""
    for unit, size in (("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{max(0.0, seconds):.0f} s"
