# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The process of a kubelet, seen through the endpoints that it serves."""

from __future__ import annotations

import re
import time
import typing as t

from ..api import kubelet_endpoint
from ..api.errors import ApiError
from ..api.session import Session

# In 1.20 only this endpoint of the kubelet has the start time (80 to 100 KB, 8 KB compressed). /metrics/probes has it
# in later versions.
METRICS = "metrics"
# Seconds by which two values for the same start may differ: they are whole seconds, and the clock of the node may be
# slewed.
TOLERANCE = 2.0
# Seconds that the sum of the intervals may be behind: a kubelet relists a second after its last relist has ended.
LAG = 2.0
_RELISTED = re.compile(r"^kubelet_pleg_relist_interval_(micro)?seconds_sum (\S+)$", re.MULTILINE)


class Process(t.NamedTuple):
    """The process of a kubelet, as one answer shows it.

    `started`: seconds since 1970 by the clock of the node, computed anew for each answer from the kernel's `btime`,
    which moves when the clock is set. `relisted`: the seconds from its first relist of its pods to its last one, None
    if unknown. It begins at 0 in each process, and no clock moves it, since Go measures it by the monotonic clock
    (pkg/kubelet/pleg/generic.go; in microseconds before 1.14). `asked`, `answered`: when, by the monotonic clock of
    this machine.
    """

    started: float
    relisted: float | None
    asked: float
    answered: float


def look(session: Session, node: str, budget: float | None = None) -> Process:
    """Return the process of the kubelet of `node` (one GET). Raises ApiError."""
    asked = time.monotonic()
    text = kubelet_endpoint.text(session, node, METRICS, budget)
    answered = time.monotonic()
    found = re.search(r"^process_start_time_seconds ([0-9.eE+-]+)$", text, re.MULTILINE)
    try:
        started = float(found.group(1) if found else "")
    except ValueError:
        raise ApiError(200, "its /metrics has no process_start_time_seconds; is this a kubelet?") from None
    return Process(started, _relisted(text), asked, answered)


def _relisted(text: str) -> float | None:
    found = _RELISTED.search(text)
    try:
        return float(found.group(2)) / (1e6 if found.group(1) else 1.0) if found else None
    except ValueError:
        return None


def restarted(before: Process, now: Process) -> bool | None:
    """Return whether `now` is another process than `before`, None if that is unknown.

    A start that moved alone is no evidence, since the clock may have been set. A process is another one if it has
    relisted for less time than the former one had, and the same if for more time than has passed since. In between, as
    for a process that was young, its start and the time that it has relisted must agree.
    """
    moved = abs(now.started - before.started) > TOLERANCE
    if before.relisted is None or now.relisted is None:
        return None if moved else False
    if now.relisted < before.relisted:
        return True
    if now.relisted > now.answered - before.asked:
        return False
    younger = now.relisted - before.relisted < now.asked - before.answered - LAG
    return moved if moved == younger else None


def healthy(session: Session, node: str) -> bool:
    """Return whether healthz of the kubelet of `node` answers ok (one GET, not repeated). Raises ApiError."""
    return kubelet_endpoint.text(session, node, "healthz", 0.0).strip() == "ok"
