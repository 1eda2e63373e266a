# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The process of a kubelet, seen through the proxy of the API server."""

from __future__ import annotations

import re
import urllib.parse

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
    found = re.search(r"^process_start_time_seconds (\S+)$", session.text(_path(node, METRICS), budget), re.MULTILINE)
    if not found:
        raise ApiError(200, "its /metrics has no process_start_time_seconds; is this a kubelet?")
    return float(found.group(1))


def healthy(session: Session, node: str) -> bool:
    """Return whether healthz of the kubelet of `node` answers ok (one GET, not repeated). Raises ApiError."""
    return session.text(_path(node, "healthz"), 0.0).strip() == "ok"


def _path(node: str, endpoint: str) -> str:
    return f"/api/v1/nodes/{urllib.parse.quote(node)}/proxy/{endpoint}"
