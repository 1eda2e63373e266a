# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What runs on a node, as plain data: its capacity, its pods with what they ask for and use, and its eviction signals.
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
    """One pod that is not over."""

    namespace: str
    name: str
    uid: str = ""
    created: str = ""
    """RFC 3339, so that text order is the order of time."""
    priority: int = 0
    static: bool = False
    qos: str = "BestEffort"
    requests: Mapping[str, Fraction] = field(default_factory=dict)
    """By resource, with init containers and overhead."""
    whole_cpus: bool = False
    """Whether a container asks for a whole number of CPUs."""
    devices: bool = False
    """Whether a container asks for what a device plugin gives out."""
    usage: Mapping[str, Fraction] = field(default_factory=dict)
    """By eviction signal, what comes back to it when the pod goes; without a key where nothing is known."""

    @property
    def key(self) -> Key:
        """Namespace and name."""
        return self.namespace, self.name

    @property
    def critical(self) -> bool:
        """Whether the kubelet never evicts it, and makes room for it (pkg/kubelet/types IsCriticalPod)."""
        return self.static or self.priority >= _SYSTEM_CRITICAL


@dataclass(frozen=True)
class Observed:
    """What the eviction manager sees of one signal."""

    available: Fraction
    capacity: Fraction


@dataclass(frozen=True)
class NodeUsage:
    """A node with what runs on it."""

    capacity: Mapping[str, Fraction]
    """Node.status.capacity: cpu, memory, ephemeral-storage, hugepages-*."""
    pods: tuple[Pod, ...] = ()
    signals: Mapping[str, Observed] = field(default_factory=dict)
    pods_memory: Fraction | None = None
    """The working set of all pods together; None where the kubelet has no group for them."""
    unread: str = ""
    """Why nothing is known of signals and usage; empty when it is."""


@dataclass(frozen=True)
class Cause:
    """Why a pod is lost: a reason that nodes share, and the numbers of this node."""

    reason: str
    detail: str
