# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The effect of a configuration change on the pods of a node, forecast before anything is written.

Only the effects of the change and of its restart count: a pod that the running configuration would evict or refuse as
well is omitted, unless it runs only until its kubelet starts again (node_affinity.py).
"""

from __future__ import annotations

from typing import Any, Iterable, Iterator, Mapping

from ..fields import compare
from ..fields.fields import NEWEST_MINOR, OLDEST_MINOR
from ..rules import eviction
from ..rules.problem import EffectiveConfig
from ..values.paths import parse
from . import admission, allocatable, node_affinity, pressure
from .node_usage import Cause, NodeUsage, Pod

EVICTED, REFUSED, UNKNOWN = KINDS = ("evicted", "refused", "unknown")
_MAP_FIELDS = (
    "evictionHard",
    "evictionSoft",
    "evictionSoftGracePeriod",
    "evictionMinimumReclaim",
    "kubeReserved",
    "systemReserved",
)
_CPU_FIELDS = ("cpuManagerPolicy", "cpuManagerPolicyOptions", "reservedSystemCPUs")
_TOPOLOGY_FIELDS = ("topologyManagerPolicy", "topologyManagerPolicyOptions", "topologyManagerScope")
_MEMORY_FIELDS = ("memoryManagerPolicy", "reservedMemory")
FIELDS = (
    *_MAP_FIELDS,
    "enforceNodeAllocatable",
    "maxPods",
    "podsPerCore",
    *_CPU_FIELDS,
    *_TOPOLOGY_FIELDS,
    *_MEMORY_FIELDS,
)
"""The fields that decide which pods run."""


class Change:
    """The running and the new configuration of a node, limited to the fields that decide which pods run.

    ``changes`` are the rows of the plan: a field that a flag of the kubelet hides keeps its value. The defaults are
    those of the kubelet's minor; outside the known minors, those of the nearest one.
    """

    def __init__(
        self,
        running: Mapping[str, Any],
        desired: Mapping[str, Any],
        minor: int,
        changes: Iterable[Mapping[str, Any]] = (),
    ) -> None:
        known = min(max(minor, OLDEST_MINOR), NEWEST_MINOR)
        hidden = {str(parse(row["path"])[0]) for row in changes if row["shadowed_by"]}
        self.old = EffectiveConfig(running, known)
        self.new = EffectiveConfig({**desired, **{name: running.get(name) for name in hidden}}, known)

    def touches(self, *fields: str) -> bool:
        """Return whether the change gives one of the fields another meaning."""
        return any(not compare.same(self.old.form(field), self.new.form(field)) for field in fields or FIELDS)


def forecast(change: Change, usage: NodeUsage) -> dict[str, list[Any]]:
    """Return the affected pods of a node (``evicted``, ``refused`` and ``unknown``), and ``notes`` on the node itself.

    A row holds ``namespace`` and ``pod`` (None if the whole node is unknown), ``uid``, the ``reason`` and ``detail``,
    the numbers of this node.
    """
    found: dict[str, list[Any]] = {kind: [] for kind in (*KINDS, "notes")}
    _evictions(change, usage, found)
    placed = [pod for pod in usage.pods if pod.key not in usage.misplaced]
    before = admission.refused(placed, allocatable.allocatable(change.old, usage.capacity))
    after = admission.refused(placed, allocatable.allocatable(change.new, usage.capacity))
    found[REFUSED] = [
        _row(pod, Cause(node_affinity.REASON, usage.misplaced[pod.key]))
        for pod in usage.pods
        if pod.key in usage.misplaced
    ]
    for pod in placed:
        if pod.key in after and pod.key not in before:
            found[REFUSED].append(_row(pod, after[pod.key]))
        causes = [Cause(reason) for reason in _doubts(change, pod)]
        if causes and pod.key not in after:
            found[UNKNOWN].append(_row(pod, *causes))
    return found


def _evictions(change: Change, usage: NodeUsage, found: dict[str, list[Any]]) -> None:
    if usage.unread:
        # Even without numbers, thresholds that did not change are known to be harmless.
        if eviction.thresholds(change.old) != eviction.thresholds(change.new) or _less_for_pods(change):
            found[UNKNOWN].append(
                _row(
                    None,
                    Cause(
                        "the evicted pods are not known: the kubelet's statistics cannot be read",
                        usage.unread,
                    ),
                )
            )
        return
    before, after = pressure.pressure(change.old, usage), pressure.pressure(change.new, usage)
    for pod in usage.pods:
        if pod.key in after.evicted and pod.key not in before.evicted:
            found[EVICTED].append(_row(pod, *after.evicted[pod.key]))
    found["notes"] = [text for text in after.unmet if text not in before.unmet]
    found[UNKNOWN] = [_row(None, Cause(text)) for text in after.unseen if text not in before.unseen]


def _less_for_pods(change: Change) -> bool:
    return allocatable.reserved(change.new, "memory") > allocatable.reserved(change.old, "memory")


def _doubts(change: Change, pod: Pod) -> Iterator[str]:
    """Yield why the API does not show whether the node would admit a pod again."""
    exclusive = pod.qos == "Guaranteed" and pod.whole_cpus
    if (
        exclusive
        and change.new.text("cpuManagerPolicy") == "static"
        and (
            change.touches(*_CPU_FIELDS)
            or allocatable.reserved(change.old, "cpu") != allocatable.reserved(change.new, "cpu")
        )
    ):
        yield "the CPU manager (static) reassigns whole CPUs, and only the node knows which are free"
    if (
        pod.qos == "Guaranteed"
        and change.touches(*_MEMORY_FIELDS)
        and change.new.text("memoryManagerPolicy") == "Static"
    ):
        yield "the memory manager (Static) reassigns memory by NUMA node, and only the node knows what is free"
    policy = change.new.text("topologyManagerPolicy")
    if (
        (exclusive or pod.devices)
        and change.touches(*_TOPOLOGY_FIELDS)
        and policy in ("restricted", "single-numa-node")
    ):
        yield f"the topology manager ({policy}) refuses pods that fit no NUMA node, and only the node knows which fit"


def _row(pod: Pod | None, *causes: Cause) -> dict[str, Any]:
    return {
        "namespace": pod.namespace if pod else None,
        "pod": pod.name if pod else None,
        "uid": pod.uid if pod else None,
        "reason": "; ".join(cause.reason for cause in causes),
        "detail": "; ".join(cause.detail for cause in causes if cause.detail),
    }
