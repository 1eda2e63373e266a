# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a kubelet reports and serves beside its configuration."""

from __future__ import annotations

import typing as t

READY = {"status": "True", "reason": "KubeletReady", "message": "kubelet is posting ready status"}
NOT_READY = {"status": "False", "reason": "KubeletNotReady", "message": "container runtime is down"}


def ready(well: bool, beat: str, turned: str) -> dict[str, str]:
    """Return the condition Ready of a Node: with its last heartbeat, and when its status has changed."""
    found = READY if well else NOT_READY
    return {"type": "Ready", **found, "lastHeartbeatTime": beat, "lastTransitionTime": turned}


def metrics(moment: float, running: float, unit: str = "seconds") -> bytes:
    """Return /metrics of a process: when it was started, in seconds since 1970, and for how many seconds it has run."""
    return (relists(running, unit) + started(moment)).encode()


def started(moment: float) -> str:
    """Return the start of a process. That of a real one moves when the clock of its node is set."""
    return (
        "# HELP process_start_time_seconds [ALPHA] Start time of the process since unix epoch in seconds.\n"
        f"# TYPE process_start_time_seconds gauge\nprocess_start_time_seconds {moment:.2f}\n"
    )


def relists(seconds: float, unit: str = "seconds") -> str:
    """Return the sum of the intervals between the relists of a kubelet; in microseconds before 1.14."""
    kind, amount = ("histogram", seconds) if unit == "seconds" else ("summary", seconds * 1e6)
    name = f"kubelet_pleg_relist_interval_{unit}"
    return f"# TYPE {name} {kind}\n{name}_sum {amount!r}\n{name}_count {seconds:.0f}\n"


def summary(name: str, moment: str) -> dict[str, t.Any]:
    """Return the summary of an idle node without pods: half of its memory and two thirds of its disk are free."""
    gib = 2**30
    disk = {"time": moment, "availableBytes": 160 * gib, "capacityBytes": 240 * gib, "usedBytes": 80 * gib}
    disk |= {"inodesFree": 14000000, "inodes": 16000000, "inodesUsed": 2000000}
    memory = {"time": moment, "availableBytes": 31 * gib, "usageBytes": 33 * gib, "workingSetBytes": 31 * gib}
    memory |= {"rssBytes": 20 * gib, "pageFaults": 1000, "majorPageFaults": 1}
    node = {
        "nodeName": name,
        "startTime": "2026-01-01T00:00:00Z",
        "cpu": {"time": moment, "usageNanoCores": 400000000, "usageCoreNanoSeconds": 25000000000},
        "memory": memory,
        "fs": disk,
        "runtime": {"imageFs": disk},
        "rlimit": {"time": moment, "maxpid": 4194304, "curproc": 500},
    }
    return {"node": node, "pods": []}
