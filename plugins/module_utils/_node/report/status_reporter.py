# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sends the guard's report to the API server, with the kubelet's credentials.

This runs as a process of its own: TLS and HTTP need much memory, and the waiting guard must stay small.
"""

from __future__ import annotations

import os
import time
from typing import Any, Callable, Sequence

from ..._config.values import annotation
from ..system.credentials import CERT_DIR
from ..system.health import flag
from ..system.kubeconfig import ApiError, Kubeconfig
from . import status_annotation
from .status_annotation import Outbox


class NoCluster(Exception):
    """The kubelet runs without --kubeconfig: it has no API server to report to."""


def report(
    outbox: Outbox, open_api: Callable[[], Kubeconfig], since: Callable[[], float | None], override: str = ""
) -> str:
    """Send the pending report; return why that failed, empty on success.

    `since` returns when the running kubelet was started (seconds since the epoch). While no kubelet runs the report
    stays pending, so that this start is reported too.
    """
    pending = outbox.report()
    if pending is None:
        return ""
    # Looked up after the report was read: a report of a kubelet's start is written when the former kubelet has ended.
    started = since()
    try:
        api = open_api()
        node = api.node_name(override)
        status = pending.status if started is None else {**pending.status, "started": status_annotation.stamp(started)}
        if not pending.annotated or status != pending.status:
            note = {"metadata": {"annotations": {annotation.STATUS: annotation.text(status)}}}
            api.call("PATCH", f"/api/v1/nodes/{node}", note, status_annotation.MERGE_PATCH)
            pending = outbox.sent(pending, pending._replace(annotated=True, status=status))
        if pending.message:
            _raise_event(api, status_annotation.event(node, pending))
        outbox.sent(pending, pending._replace(message="") if "started" not in status else None)
    except NoCluster:
        outbox.sent(pending, None)
    except ApiError as error:
        return str(error)
    return ""


def unverified(open_api: Callable[[], Kubeconfig], override: str, started: float | None) -> str:
    """Return why the Node does not verify a kubelet that was started then (seconds since the epoch).

    Returns an empty text when the Node is Ready with a heartbeat since, and for a kubelet without a cluster. The
    heartbeat has whole seconds, so the start is compared in whole seconds too.
    """
    try:
        api = open_api()
        node = api.node_name(override)
        conditions = api.call("GET", f"/api/v1/nodes/{node}")["status"].get("conditions") or []
    except NoCluster:
        return ""
    except (ApiError, KeyError, TypeError, AttributeError) as error:
        return f"the API server did not answer whether the Node is Ready ({error})"
    ready: dict[str, Any] = next((condition for condition in conditions if condition.get("type") == "Ready"), {})
    beat = ready.get("lastHeartbeatTime") or ""
    if ready.get("status") != "True":
        cause = ready.get("reason") or "it has no condition Ready"
        return f"it is not Ready ({cause}): {ready.get('message') or 'see the log of its kubelet'}"
    if started is None:
        return "no kubelet runs"
    begun = status_annotation.stamp(started)
    if not begun <= beat <= status_annotation.stamp(time.time() + 1):
        return f"its last heartbeat is from {beat or 'no time'}, its kubelet was started at {begun}"
    return ""


def _raise_event(api: Kubeconfig, event: dict[str, object]) -> None:
    try:
        api.call("POST", "/api/v1/namespaces/default/events", event)
    except ApiError as error:
        # 409: it was sent before, and the answer was lost.
        if error.status != 409:
            raise


def api_of(words: Sequence[str], timeout: float = 10) -> Kubeconfig:
    """Return the API server and credentials of a kubelet with this command line. Raises NoCluster when it has none,
    ApiError.
    """
    path = flag(words, "kubeconfig")
    if not path:
        raise NoCluster
    return Kubeconfig(os.path.join("/", path), timeout, os.path.join("/", flag(words, "cert-dir") or CERT_DIR))
