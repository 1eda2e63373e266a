# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a kubelet itself answers: its configuration, its process and its health."""

from __future__ import annotations

import re
import time
import typing as t
import urllib.parse

from ..._config.minors import source_form
from ..._config.values import document
from ..api import kubelet_endpoint, parallel
from ..api.errors import ApiError
from ..api.session import Session
from .nodes import Node

# Seconds for which a GET is repeated while a kubelet restarts. A node that stays unreachable must not delay the others.
PATIENCE = 8.0
# In 1.20 only this endpoint of the kubelet has the start time (80 to 100 KB, 8 KB compressed). /metrics/probes has it
# in later versions.
_METRICS = "metrics"
# Seconds by which two values for the same start may differ: they are whole seconds, and the clock of the node may be
# slewed.
TOLERANCE = 2.0
# Seconds that the sum of the intervals may be behind: a kubelet relists a second after its last relist has ended.
_LAG = 2.0
_STARTED = re.compile(r"^process_start_time_seconds (?P<number>[0-9.eE+-]+)$", re.MULTILINE)
_RELISTED = re.compile(r"^kubelet_pleg_relist_interval_(?P<micro>micro)?seconds_sum (?P<number>\S+)$", re.MULTILINE)


def configz(session: Session, node: str, minor: int = 0) -> dict[str, t.Any]:
    """Return the live configuration of the kubelet of `node`, as /configz shows it (one GET).

    If it is not found, and the API servers of its time (`minor`, 0: unknown) serve it at another path, a second GET
    tries that. Raises ApiError, whose message names the missing permission or the fault of the node.
    """
    form, permission = source_form(minor), "get on nodes/proxy"
    try:
        try:
            answer = kubelet_endpoint.read(session, node, "configz", PATIENCE)
        except ApiError as error:
            if error.status != 404 or not form.old_proxy or not kubelet_endpoint.is_proxied(session, node):
                raise
            permission = form.old_proxy_permission
            proxy = form.old_proxy.format(urllib.parse.quote(node))
            answer = session.request("GET", f"{proxy}/configz", budget=PATIENCE)
    except ApiError as error:
        if error.status != 404 and not kubelet_endpoint.is_proxied(session, node):
            raise
        raise ApiError(error.status, _explain(error, permission), error.reason, transient=error.transient) from error
    return _checked(answer)


def live_configs(
    session: Session, names: t.Iterable[str], found: t.Mapping[str, Node]
) -> list[parallel.Outcome[str, dict[str, t.Any]]]:
    """Return the live configuration of each of the nodes `found` and `names` (one GET for each), or its error."""
    known = [name for name in names if name in found]
    return session.each(known, lambda name: configz(session, name, found[name].minor))


def _checked(answer: t.Any) -> dict[str, t.Any]:
    """Return the configuration in an answer. Raises ApiError."""
    if not isinstance(answer, dict) or not isinstance(answer.get("kubeletconfig"), dict):
        raise ApiError(200, "its /configz has no kubeletconfig; is this a kubelet?")
    try:
        return document.accept(answer["kubeletconfig"], "kubeletconfig")
    except document.DocumentError as error:
        cause = str(error).partition(". ")[0]
        raise ApiError(200, f"its /configz is malformed ({cause}); is this a kubelet?") from error


def _explain(error: ApiError, permission: str) -> str:
    if error.status == 403:
        return f"reading /configz was refused ({error.message}); grant the verb {permission}"
    if error.status == 404:
        return f"its kubelet serves no /configz ({error.message}); it needs enableServer and enableDebuggingHandlers"
    if error.transient and error.status:
        return (
            f"its kubelet does not answer the API server ({error.message}); see `systemctl status kubelet` on the node"
        )
    return error.message


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


def process(session: Session, node: str, budget: float | None = None) -> Process:
    """Return the process of the kubelet of `node` (one GET). Raises ApiError."""
    asked = time.monotonic()
    text = kubelet_endpoint.text(session, node, _METRICS, budget)
    answered = time.monotonic()
    started = _number(_STARTED.search(text))
    if started is None:
        raise ApiError(200, "its /metrics has no process_start_time_seconds; is this a kubelet?")
    return Process(started, _relisted(text), asked, answered)


def _relisted(text: str) -> float | None:
    found = _RELISTED.search(text)
    number = _number(found)
    if found and found["micro"] and number is not None:
        return number / 1e6
    return number


def _number(found: re.Match[str] | None) -> float | None:
    """Return the number in a line of metrics, None if there is no such line or it has no number."""
    if found is None:
        return None
    try:
        return float(found["number"])
    except ValueError:
        return None


def restarted(before: Process, now: Process) -> bool | None:
    """Return whether `now` is another process than `before`, None if that is unknown.

    A start that moved alone is not evidence, since the clock may have been set. A process is another one if it has
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
    younger = now.relisted - before.relisted < now.asked - before.answered - _LAG
    return moved if moved == younger else None


def healthy(session: Session, node: str) -> bool:
    """Return whether healthz of the kubelet of `node` answers ok (one GET, not repeated). Raises ApiError."""
    return kubelet_endpoint.text(session, node, "healthz", 0.0).strip() == "ok"
