# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the node tells the cluster: the status annotation of its Node, and an Event.

The annotation has the shape of `Node.status.config` (assigned, active, lastKnownGood, error) and three fields more:
`reason`, `time`, and `started`, when the kubelet that runs was started: a heartbeat of its Node since then is this
kubelet's. The Event is the one a kubelet with dynamic configuration raised (pkg/kubelet/kubeletconfig/configsync.go):
reason, source, involved object and message alike.
"""

from __future__ import annotations

import time
from typing import Any, Mapping, NamedTuple

EVENT_REASON = "KubeletConfigChanged"
MERGE_PATCH = "application/merge-patch+json"


class Report(NamedTuple):
    """One thing to tell, kept on disk until the API server has taken both parts.

    `status`: the annotation's object, as told if `annotated`: without `started` as long as no kubelet runs. `message`,
    `warning`: the Event's; an empty message: none, or told already. `name_suffix`: makes the Event's name one's own, so
    that telling it twice makes one Event. `time` in seconds since the epoch.
    """

    status: Mapping[str, Any]
    message: str
    warning: bool
    time: float
    name_suffix: str
    annotated: bool = False


def status(
    assigned: Mapping[str, Any] | None,
    active: Mapping[str, Any] | None,
    good: Mapping[str, Any] | None,
    error: str,
    reason: str,
    now: float,
) -> dict[str, Any]:
    """Return the annotation's object. A source is `{namespace, name, uid, resourceVersion, kubeletConfigKey}`, None is
    the local configuration.
    """
    result: dict[str, Any] = {}
    for part, source in (("assigned", assigned), ("active", active), ("lastKnownGood", good)):
        if source:
            result[part] = {"configMap": dict(source)}
    if error:
        result["error"] = error
    return {**result, "reason": reason, "time": stamp(now)}


def stamp(seconds: float) -> str:
    """Return a time as Kubernetes writes it."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def restarting(source: Mapping[str, Any] | None) -> str:
    """Return the kubelet's own words for a restart with a source."""
    if not source:
        return "Kubelet restarting to use local config"
    return (
        f"Kubelet restarting to use /api/v1/namespaces/{source['namespace']}/configmaps/{source['name']}, UID: {source['uid']}, "
        f"ResourceVersion: {source['resourceVersion']}, KubeletConfigKey: {source['kubeletConfigKey']}"
    )


def event(node: str, report: Report) -> dict[str, Any]:
    """Return the Event. A kubelet may create Events in namespace default, where those of Nodes belong."""
    when = stamp(report.time)
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{node}.{report.name_suffix}", "namespace": "default"},
        "involvedObject": {"kind": "Node", "name": node, "uid": node},
        "reason": EVENT_REASON,
        "message": report.message[:1024],
        "type": "Warning" if report.warning else "Normal",
        "source": {"component": "kubelet", "host": node},
        "firstTimestamp": when,
        "lastTimestamp": when,
        "count": 1,
    }


def suffix(now: float) -> str:
    """Return the end of an Event's name as the kubelet makes it: nanoseconds in hexadecimal."""
    return f"{int(now * 1e9):x}"
