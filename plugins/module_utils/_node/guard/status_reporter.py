# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Telling the API server what the guard did, as the kubelet. A process of its own: TLS and HTTP are large, and the
guard that waits is to be small.
"""

from __future__ import annotations

import os
import time
from typing import Any, Callable, Sequence

from ..._config.values import annotation
from ..system.health import flag
from ..system.kubeconfig import ApiError, Kubeconfig
from . import status_annotation
from .guard_files import Records


class NoCluster(Exception):
    """The kubelet runs without --kubeconfig: there is no API server to tell."""


def tell(
    records: Records, open_api: Callable[[], Kubeconfig], since: Callable[[], float | None], override: str = ""
) -> str:
    """Tell what is yet to be told; return why it could not be, empty when that was done.

    `since` looks when the kubelet that runs was started (seconds since the epoch). While none runs the report is kept,
    to tell that as well.
    """
    pending = records.report()
    if pending is None:
        return ""
    # Looked at after the report was read: one of a kubelet's start is written when the former kubelet has ended.
    started = since()
    try:
        api = open_api()
        node = api.node_name(override)
        status = pending.status if started is None else {**pending.status, "started": status_annotation.stamp(started)}
        if not pending.annotated or status != pending.status:
            note = {"metadata": {"annotations": {annotation.STATUS: annotation.text(status)}}}
            api.call("PATCH", f"/api/v1/nodes/{node}", note, status_annotation.MERGE_PATCH)
            pending = records.progressed(pending, pending._replace(annotated=True, status=status))
        if pending.message:
            _raise_event(api, status_annotation.event(node, pending))
        records.progressed(pending, pending._replace(message="") if "started" not in status else None)
    except NoCluster:
        records.progressed(pending, None)
    except ApiError as error:
        return str(error)
    return ""


def unproven(open_api: Callable[[], Kubeconfig], override: str, started: float | None) -> str:
    """Return why the Node is no proof of a kubelet that was started then (seconds since the epoch); empty when it is
    Ready with a heartbeat since.

    A kubelet without a cluster needs none. The heartbeat has whole seconds, and so has the start that it is compared
    with.
    """
    try:
        api = open_api()
        node = api.node_name(override)
        conditions = api.call("GET", f"/api/v1/nodes/{node}")["status"].get("conditions") or []
    except NoCluster:
        return ""
    except (ApiError, KeyError, TypeError, AttributeError) as error:
        return f"the API server did not say whether it is Ready ({error})"
    ready: dict[str, Any] = next((condition for condition in conditions if condition.get("type") == "Ready"), {})
    beat = ready.get("lastHeartbeatTime") or ""
    if ready.get("status") != "True":
        return f"Node {node} is not Ready ({ready.get('reason') or 'no condition Ready'}): {ready.get('message') or 'see what its kubelet logs'}"
    if started is None:
        return "no kubelet runs"
    if not status_annotation.stamp(started) <= beat <= status_annotation.stamp(time.time() + 1):
        return f"the last heartbeat of Node {node} is of {beat or 'no time'}, and its kubelet was started at {status_annotation.stamp(started)}"
    return ""


def _raise_event(api: Kubeconfig, event: dict[str, object]) -> None:
    try:
        api.call("POST", "/api/v1/namespaces/default/events", event)
    except ApiError as error:
        # 409: told already, and the answer was lost.
        if error.status != 409:
            raise


def api_of(words: Sequence[str], timeout: float = 10) -> Kubeconfig:
    """Return the way to the API server that a kubelet with this command line takes. Raises NoCluster when it has none,
    ApiError.
    """
    path = flag(words, "kubeconfig")
    if not path:
        raise NoCluster
    return Kubeconfig(os.path.join("/", path), timeout)
