# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The usage of a node as plain data: its capacity, its pods with their requests and usage, and its eviction signals.

Amounts are bytes, cores or counts.

And the pods that a kubelet would evict for its thresholds (pkg/kubelet/eviction/eviction_manager.go, helpers.go). Each
threshold is checked independently: the eviction of a pod for memory is not assumed to free disk space too.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Mapping, NamedTuple, Sequence, Tuple

from ..rules import eviction
from ..rules.problem import EffectiveConfig
from ..values import amounts
from . import allocatable

Key = Tuple[str, str]
"""Namespace and name of a pod."""
# pkg/apis/scheduling/types.go SystemCriticalPriority
_SYSTEM_CRITICAL = 2_000_000_000


@dataclass(frozen=True)
class Pod:
    """A pod that has not finished."""

    namespace: str
    name: str
    uid: str = ""
    created: str = ""
    """RFC 3339, so that the order of texts is chronological."""
    priority: int = 0
    static: bool = False
    qos: str = "BestEffort"
    requests: Mapping[str, Fraction] = field(default_factory=dict)
    """By resource, including init containers and overhead."""
    whole_cpus: bool = False
    """Whether a container requests a whole number of CPUs."""
    devices: bool = False
    """Whether a container requests a resource of a device plugin."""
    usage: Mapping[str, Fraction] = field(default_factory=dict)
    """By eviction signal, the amount that an eviction of the pod frees; unknown amounts have no key."""

    @property
    def key(self) -> Key:
        """Namespace and name."""
        return self.namespace, self.name

    @property
    def critical(self) -> bool:
        """Whether the kubelet never evicts the pod and preempts others for it (pkg/kubelet/types IsCriticalPod)."""
        return self.static or self.priority >= _SYSTEM_CRITICAL


@dataclass(frozen=True)
class Observed:
    """The amounts of a signal that the eviction manager observes."""

    available: Fraction
    capacity: Fraction


@dataclass(frozen=True)
class NodeUsage:
    """The capacity of a node and what its pods use."""

    capacity: Mapping[str, Fraction]
    """Node.status.capacity: cpu, memory, ephemeral-storage, hugepages-*."""
    pods: tuple[Pod, ...] = ()
    signals: Mapping[str, Observed] = field(default_factory=dict)
    pods_memory: Fraction | None = None
    """The working set of all pods together; None if the kubelet has no cgroup for them."""
    unread: str = ""
    """Why signals and usage are not known; empty when they are."""
    misplaced: Mapping[Key, str] = field(default_factory=dict)
    """The pods that any restart costs because of the labels of the node, with the requirement that it does not meet."""


class LossCause(NamedTuple):
    """Why a pod is lost: a reason that many nodes can share, and the numbers of this node."""

    reason: str
    detail: str = ""


# signal: the condition that it sets, the resource whose request is compared with the usage. Source: helpers.go init.
_MEMORY, _DISK = ("MemoryPressure", "memory"), ("DiskPressure", "ephemeral-storage")
_INODES, _PIDS = ("DiskPressure", ""), ("PIDPressure", "")
_SIGNALS = {
    "memory.available": _MEMORY,
    eviction.ALLOCATABLE_MEMORY: _MEMORY,
    "nodefs.available": _DISK,
    "nodefs.inodesFree": _INODES,
    "imagefs.available": _DISK,
    "imagefs.inodesFree": _INODES,
    "containerfs.available": _DISK,
    "containerfs.inodesFree": _INODES,
    "pid.available": _PIDS,
}


class Pressure(NamedTuple):
    """The effect of a configuration's thresholds on a node."""

    evicted: dict[Key, list[LossCause]]
    unmet: list[str]
    """Messages about thresholds that evictions cannot satisfy."""
    unseen: list[str]
    """Messages about thresholds whose signals are not known."""


def pressure(config: EffectiveConfig, usage: NodeUsage) -> Pressure:
    """Return the pods of a node that a configuration would evict, and the thresholds that remain exceeded."""
    found = Pressure({}, [], [])
    for threshold in eviction.thresholds(config):
        observed = _observe(threshold.signal, config, usage)
        if observed is None:
            if threshold.signal != eviction.ALLOCATABLE_MEMORY:
                found.unseen.append(f"{_name(threshold)}: the kubelet's statistics lack this signal")
            continue
        if observed.available >= threshold.amount(observed.capacity):
            continue
        chosen, enough = _victims(threshold, observed, usage.pods)
        cause = LossCause(
            _reason(threshold),
            f"{_show(threshold.signal, observed.available)} of {_show(threshold.signal, observed.capacity)} available",
        )
        for pod in chosen:
            found.evicted.setdefault(pod.key, []).append(cause)
        if not enough:
            found.unmet.append(
                f"{_name(threshold)}: evicting every pod that may be evicted frees too little; the node would keep "
                f"{_SIGNALS[threshold.signal][0]} and accept no new pods"
            )
    return found


def _observe(signal: str, config: EffectiveConfig, usage: NodeUsage) -> Observed | None:
    """Return the amounts that the restarted kubelet would observe."""
    if signal != eviction.ALLOCATABLE_MEMORY:
        return usage.signals.get(signal)
    if usage.pods_memory is None or "memory" not in usage.capacity:
        return None
    # The limit of the pods' cgroup, which the new configuration sets (GetNodeAllocatableAbsolute).
    limit = max(usage.capacity["memory"] - allocatable.reserved(config, "memory"), Fraction(0))
    return Observed(max(limit - usage.pods_memory, Fraction(0)), limit)


def _victims(threshold: eviction.Threshold, observed: Observed, pods: Sequence[Pod]) -> tuple[list[Pod], bool]:
    """Return the pods in the order of their eviction, and whether evicting them suffices."""
    available, target = observed.available, threshold.target(observed.capacity)
    chosen: list[Pod] = []
    for pod in sorted(pods, key=lambda pod: _rank(pod, threshold.signal)):
        if available >= target:
            break
        if pod.critical:
            continue
        chosen.append(pod)
        available += pod.usage.get(threshold.signal, Fraction(0))
    return chosen, available >= target


def _rank(pod: Pod, signal: str) -> tuple[bool, bool, int, bool, Fraction, Key]:
    """Return the sort key of the eviction order.

    Pods with unknown usage come first, then those above their request, of lower priority, and furthest above it.
    """
    known = signal in pod.usage
    above = pod.usage[signal] - pod.requests.get(_SIGNALS[signal][1], Fraction(0)) if known else Fraction(0)
    # Processes have no request, so that the priority comes first (rankPIDPressure).
    compared = known and signal != "pid.available"
    return compared, compared and above <= 0, pod.priority, known, -above, pod.key


def _name(threshold: eviction.Threshold) -> str:
    signal = "memory.available" if threshold.signal == eviction.ALLOCATABLE_MEMORY else threshold.signal
    return f"{threshold.field} {signal} {threshold.value}"


def _reason(threshold: eviction.Threshold) -> str:
    if threshold.signal == eviction.ALLOCATABLE_MEMORY:
        return f"{_name(threshold)} exceeds the available memory that kubeReserved and systemReserved leave to pods"
    reason = f"{_name(threshold)} is more than is available"
    if _SIGNALS[threshold.signal][0] == "DiskPressure":
        reason += ", unless deleting unused images and dead containers frees enough"
    return (
        f"{reason}; evicted only if this lasts for {threshold.grace}" if threshold.field == "evictionSoft" else reason
    )


def _show(signal: str, value: Fraction) -> str:
    return amounts.show_bytes(value) if signal.endswith(".available") and signal != "pid.available" else str(int(value))
