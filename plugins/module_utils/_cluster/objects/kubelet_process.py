# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The kubelet's process, seen through the API server's proxy."""

from __future__ import annotations

import re
import urllib.parse

from ..api.errors import ApiError
from ..api.session import Session

# Of the kubelet's endpoints only this one has it in 1.20: 80 to 100 KB, 8 KB on the way; /metrics/resource has it from
# later versions on.
METRICS = "metrics"
# Both ways to tell a process's start go by the node's clock as it is now, and clocks are set (procfs: btime; the guard:
# time.time()).
TOLERANCE = 2.0


def birth(session: Session, node: str, budget: float | None = None) -> float:
    """Return when the kubelet of `node` was started, in seconds of the node's own clock (one GET). Raises ApiError."""
    found = re.search(r"^process_start_time_seconds (\S+)$", session.text(_path(node, METRICS), budget), re.MULTILINE)
    if not found:
        raise ApiError(200, "its /metrics has no process_start_time_seconds; is this a kubelet?")
    return float(found.group(1))


def healthy(session: Session, node: str) -> bool:
    """Whether the kubelet of `node` says that it is (one GET, not repeated). Raises ApiError."""
    return session.text(_path(node, "healthz"), 0.0).strip() == "ok"


def _path(node: str, endpoint: str) -> str:
    return f"/api/v1/nodes/{urllib.parse.quote(node)}/proxy/{endpoint}"
