# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The usage of a node as plain data: its capacity, its pods with their requests and usage, and its eviction signals.

Amounts are bytes, cores or counts.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Mapping, Tuple

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


@dataclass(frozen=True)
class LossCause:
    """Why a pod is lost: a reason that many nodes can share, and the numbers of this node."""

    reason: str
    detail: str = ""
