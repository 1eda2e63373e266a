# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the node reports to the cluster: the status annotation of its Node, and an Event.

The annotation has the shape of `Node.status.config` (assigned, active, lastKnownGood, error) and three more fields:
`reason`, `time`, and `started`, the start of the running kubelet: a heartbeat of its Node since then comes from this
kubelet. Reason, source, involved object and message of the Event are those of a kubelet with dynamic configuration
(pkg/kubelet/kubeletconfig/configsync.go).
"""

from __future__ import annotations

import os
import time
from typing import Any, Mapping, NamedTuple

from ..records.json_file import RecordFile
from ..system import files
from ..system.lock import locked

_EVENT_REASON = "KubeletConfigChanged"
MERGE_PATCH = "application/merge-patch+json"


class Report(NamedTuple):
    """A status and an Event, kept on disk until the API server has accepted both.

    `status`: the annotation's object, as it was sent if `annotated`; it has no `started` while no kubelet runs.
    `message`, `warning`: those of the Event; an empty message: there is none, or it was sent. `name_suffix` makes the
    Event's name unique, so that sending it twice creates one Event. `time`: seconds since the epoch. `source`: what the
    annotation of that name must hold where the Node has none, empty where that does not matter.
    """

    status: Mapping[str, Any]
    message: str
    warning: bool
    time: float
    name_suffix: str
    annotated: bool = False
    source: Mapping[str, Any] = {}


NONE = Report({}, "", False, 0.0, "")


def status(
    assigned: Mapping[str, Any] | None,
    active: Mapping[str, Any] | None,
    good: Mapping[str, Any] | None,
    error: str,
    reason: str,
    now: float,
) -> dict[str, Any]:
    """Return the annotation's object. The sources are those of the store; None means the local configuration."""
    result: dict[str, Any] = {}
    for part, source in (("assigned", assigned), ("active", active), ("lastKnownGood", good)):
        if source:
            result[part] = {"configMap": dict(source)}
    if error:
        result["error"] = error
    return {**result, "reason": reason, "time": stamp(now)}


def stamp(seconds: float) -> str:
    """Return a time (seconds since the epoch) in the format of the Kubernetes API."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def restarting(source: Mapping[str, Any] | None) -> str:
    """Return the kubelet's own message for a restart with a source (None: the local configuration)."""
    if not source:
        return "Kubelet restarting to use local config"
    return (
        f"Kubelet restarting to use /api/v1/namespaces/{source['namespace']}/configmaps/{source['name']}, "
        f"UID: {source['uid']}, ResourceVersion: {source['resourceVersion']}, "
        f"KubeletConfigKey: {source['kubeletConfigKey']}"
    )


def event(node: str, report: Report) -> dict[str, Any]:
    """Return the Event. It is in namespace default, where Events of Nodes belong and a kubelet may create them."""
    when = stamp(report.time)
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{node}.{report.name_suffix}", "namespace": "default"},
        "involvedObject": {"kind": "Node", "name": node, "uid": node},
        "reason": _EVENT_REASON,
        "message": report.message[:1024],
        "type": "Warning" if report.warning else "Normal",
        "source": {"component": "kubelet", "host": node},
        "firstTimestamp": when,
        "lastTimestamp": when,
        "count": 1,
    }


def suffix(now: float) -> str:
    """Return the end of an Event's name, in the kubelet's format: nanoseconds in hexadecimal."""
    return f"{int(now * 1e9):x}"


class Outbox:
    """The pending report: one file, `store/report` below a config folder. An unreadable one counts as absent."""

    def __init__(self, config_dir: str, fs: files.OS = files.DISK) -> None:
        self.config_dir = config_dir
        self.fs = fs
        self._file = RecordFile(os.path.join(config_dir, "store", "report"), NONE, self.fs)
        self.report_path = self._file.path

    def report(self) -> Report | None:
        """Return the pending report, None if everything was sent."""
        return self._file.read()

    def write_report(self, report: Report) -> None:
        """Replace the pending report: the cluster needs the current state only. Raises files.FileError."""
        self._file.write(report)

    def queue(
        self,
        status: Mapping[str, Any],
        event: str,
        warning: bool,
        seconds: float,
        source: Mapping[str, Any] | None = None,
    ) -> None:
        """Make a status and an Event (empty: none) the pending report, as of `seconds` since the epoch.

        An Event or a source that was not sent yet is kept and sent once, with the newer status. Raises files.FileError.
        """
        before = self.report()
        report = Report(status, event, warning, seconds, suffix(seconds), source=source or (before or NONE).source)
        if before and before.message and event in ("", before.message):
            report = report._replace(
                message=before.message, warning=before.warning, time=before.time, name_suffix=before.name_suffix
            )
        self.write_report(report)

    def sent(self, before: Report, after: Report | None) -> Report:
        """Replace a report by what is left of it to send (None: nothing), unless a newer one is pending.

        Returns what is left, or `before`. Raises files.FileError, LockError.
        """
        with locked(self.config_dir):
            now = self.report()
            if now == before and after is None:
                self._file.remove()
            elif now == before and after is not None:
                self.write_report(after)
        return after or before
