# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Asks the API server with the kubelet's credentials, and sends it the guard's report.

The guard's part runs as a process of its own: TLS and HTTP need much memory, and the waiting guard must stay small.
"""

from __future__ import annotations

import os
import time
from typing import Any, Callable, Mapping, Sequence

from ..._config.values import annotation, following
from ..._config.values.short_texts import flag
from ..system.command import environment_of
from ..system.connection import ApiError
from ..system.health import kubelet_of
from ..system.kubeconfig import CERT_DIR, Kubeconfig
from . import status_annotation
from .status_annotation import Outbox

_TIMEOUT = 5.0
"""Seconds for a request whose answer a caller waits for."""
_NOT_FOUND = 404
_REFUSING = (403, 422)
"""The answers of an API server whose policy refuses a change."""
OF_FOLLOWER = (following.FOLLOW, following.FOLLOWER)
"""The annotations of a follower. Without it, a controller would wait for its answers."""


class NoCluster(Exception):
    """The kubelet runs without --kubeconfig: it has no API server to report to."""


def report(outbox: Outbox, open_api: Callable[[], Kubeconfig], since: Callable[[], float | None]) -> str:
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
        node = api.node_name()
        status = pending.status
        if started is not None:
            status = {**status, "started": status_annotation.stamp(started)}
        if not pending.annotated or status != pending.status:
            _annotate(api, f"/api/v1/nodes/{node}", status, pending.source)
            pending = outbox.sent(pending, pending._replace(annotated=True, status=status, source={}))
        if pending.message:
            _raise_event(api, status_annotation.event(node, pending))
        if "started" in status:
            outbox.sent(pending, None)
        else:
            outbox.sent(pending, pending._replace(message=""))
    except NoCluster:
        outbox.sent(pending, None)
    except ApiError as error:
        return str(error)
    return ""


def _annotate(api: Kubeconfig, path: str, status: Mapping[str, Any], source: Mapping[str, Any]) -> None:
    """Write the annotation with the status; and the source of a seed, unless the Node has one or a policy forbids it.

    The status names it too, so nothing is lost in a cluster that lets no node write its source. Raises ApiError.
    """
    notes = {annotation.STATUS: annotation.text(status)}
    if source:
        node = api.call("GET", path)
        meta = node["metadata"]
        if annotation.SOURCE not in (meta.get("annotations") or {}):
            machine = annotation.machine(meta, node["status"].get("nodeInfo") or {})
            both = {**notes, annotation.SOURCE: annotation.text({**source, **machine})}
            # Should a controller assign a source at this moment, this is a conflict.
            body = {"metadata": {"resourceVersion": meta["resourceVersion"], "annotations": both}}
            try:
                api.call("PATCH", path, body, status_annotation.MERGE_PATCH)
                return
            except ApiError as error:
                if error.status not in _REFUSING:
                    raise
    api.call("PATCH", path, {"metadata": {"annotations": notes}}, status_annotation.MERGE_PATCH)


def unverified(open_api: Callable[[], Kubeconfig], started: float | None) -> str:
    """Return why the Node does not verify a kubelet that was started then (seconds since the epoch).

    Returns an empty text when the Node is Ready with a heartbeat since, and for a kubelet without a cluster. The
    heartbeat has whole seconds, so the start is compared in whole seconds too.
    """
    try:
        api = open_api()
        node = api.node_name()
        conditions = api.call("GET", f"/api/v1/nodes/{node}")["status"].get("conditions") or []
    except NoCluster:
        return ""
    except (ApiError, KeyError, TypeError, AttributeError) as error:
        return f"the API server did not answer whether the Node is Ready ({error})"
    ready: dict[str, Any] = next((condition for condition in conditions if condition.get("type") == "Ready"), {})
    beat = ready.get("lastHeartbeatTime") or ""
    if ready.get("status") != "True":
        return _not_ready(ready)
    if started is None:
        return "no kubelet runs"
    begun = status_annotation.stamp(started)
    if not begun <= beat <= status_annotation.stamp(time.time() + 1):
        return f"its last heartbeat is from {beat or 'no time'}, its kubelet was started at {begun}"
    return ""


def _not_ready(condition: Mapping[str, Any]) -> str:
    cause = condition.get("reason") or "it has no condition Ready"
    return f"it is not Ready ({cause}): {condition.get('message') or 'see the log of its kubelet'}"


def _raise_event(api: Kubeconfig, event: dict[str, object]) -> None:
    try:
        api.call("POST", "/api/v1/namespaces/default/events", event)
    except ApiError as error:
        # 409: it was sent before, and the answer was lost.
        if error.status != 409:
            raise


def api_of(words: Sequence[str], pid: int, timeout: float = 10) -> Kubeconfig:
    """Return the API server and credentials of a kubelet with this command line. Raises NoCluster, ApiError.

    `pid`: its process, or the one that has started it, which has the environment; 0 if none runs.
    """
    path = flag(words, "kubeconfig")
    if not path:
        raise NoCluster
    cert_dir = os.path.join("/", flag(words, "cert-dir") or CERT_DIR)
    override = flag(words, "hostname-override") or ""
    environ = environment_of(kubelet_of(pid))
    return Kubeconfig(os.path.join("/", path), timeout, cert_dir, override, environ)


def elsewhere(argv: Sequence[str], node: str) -> str:
    """Return why this is not the host of a node; empty if it is, or if that is not known.

    The inventory may have the address from the status of the Node, which the node writes itself.
    """
    try:
        found = api_of(argv, 0, _TIMEOUT).certified_name()
    except (NoCluster, ApiError):
        return ""
    if found in ("", node):
        return ""
    return (
        f"this is the host of the node {found}, as the certificate of its kubelet shows. Correct ansible_host, or "
        "kubelet_config_node_name"
    )


def failure(argv: Sequence[str], pid: int) -> str:
    """Return why the guard of a kubelet with this command line and process would get no answer.

    Returns an empty text if it gets one, and for a kubelet without a cluster.
    """
    try:
        api = api_of(argv, pid, _TIMEOUT)
        node = api.node_name()
        api.call("GET", f"/api/v1/nodes/{node}")
    except NoCluster:
        return ""
    except ApiError as error:
        hint = ". Its name comes from --hostname-override or the host" if error.status == _NOT_FOUND else ""
        return f"{' '.join(str(error).split())[:200]}{hint}"
    return ""


def withdraw(argv: Sequence[str], pid: int, names: Sequence[str]) -> list[str]:
    """Remove annotations from the Node of a kubelet, see `api_of`; return warnings if that failed."""
    try:
        api = api_of(argv, pid, _TIMEOUT)
        notes = {"metadata": {"annotations": dict.fromkeys(names)}}
        api.call("PATCH", f"/api/v1/nodes/{api.node_name()}", notes, status_annotation.MERGE_PATCH)
    except NoCluster:
        return []
    except ApiError as error:
        if error.status == _NOT_FOUND:
            return []
        return [
            f"the annotation {name} stays on the Node, the API server did not remove it: {error}. Remove it with "
            f"`kubectl annotate node NAME {name}-`"
            for name in names
        ]
    return []
