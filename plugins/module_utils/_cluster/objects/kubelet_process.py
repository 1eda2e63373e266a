# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The process of a kubelet, seen through the endpoints that it serves."""

from __future__ import annotations

import re

from ..api import kubelet_endpoint
from ..api.errors import ApiError
from ..api.session import Session

# In 1.20 only this endpoint of the kubelet has the start time (80 to 100 KB, 8 KB compressed). /metrics/resource has it
# in later versions.
METRICS = "metrics"
# Seconds by which two values for the same start may differ: both are computed from the current clock of the node, which
# may be set (procfs: btime; the guard: time.time()).
TOLERANCE = 2.0


def birth(session: Session, node: str, budget: float | None = None) -> float:
    """Return when the kubelet of `node` started: seconds since 1970 by the node's clock (one GET). Raises ApiError."""
    text = kubelet_endpoint.text(session, node, METRICS, budget)
    found = re.search(r"^process_start_time_seconds ([0-9.eE+-]+)$", text, re.MULTILINE)
    try:
        return float(found.group(1) if found else "")
    except ValueError:
        raise ApiError(200, "its /metrics has no process_start_time_seconds; is this a kubelet?") from None


def healthy(session: Session, node: str) -> bool:
    """Return whether healthz of the kubelet of `node` answers ok (one GET, not repeated). Raises ApiError."""
    return kubelet_endpoint.text(session, node, "healthz", 0.0).strip() == "ok"
