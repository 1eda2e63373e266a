# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The resources that a configuration leaves to pods: Node.status.allocatable."""

from __future__ import annotations

from fractions import Fraction
from typing import Mapping

from ..rules import eviction
from ..rules.problem import EffectiveConfig
from ..values import quantity, short_texts

PODS = "pods"
RESOURCES = (PODS, "cpu", "memory", "ephemeral-storage")
"""In the order in which the kubelet checks resources (noderesources fitsRequest)."""
_SIGNALS = {"cpu": "", "memory": "memory.available", "ephemeral-storage": "nodefs.available"}


def allocatable(config: EffectiveConfig, capacity: Mapping[str, Fraction]) -> dict[str, Fraction]:
    """Return what pods may request: capacity minus reservations and evictionHard, and the number of pods.

    Source: cm/node_container_manager_linux.go GetNodeAllocatableReservation, nodestatus/setters.go MachineInfo.
    """
    found = {}
    for resource in RESOURCES[1:]:
        if resource not in capacity:
            continue
        threshold = hard(config, resource)
        kept_back = reserved(config, resource) + (threshold.amount(capacity[resource]) if threshold else 0)
        if resource == "memory":
            kept_back += sum(amount for name, amount in capacity.items() if name.startswith("hugepages-"))
        found[resource] = max(capacity[resource] - kept_back, Fraction(0))
    limit = Fraction(config.number("maxPods") or 0)
    per_core = config.number("podsPerCore") or 0
    if per_core > 0 and "cpu" in capacity:
        limit = min(limit, per_core * capacity["cpu"])
    return {PODS: limit, **found}


def reserved(config: EffectiveConfig, resource: str) -> Fraction:
    """Return the amount that kubeReserved and systemReserved withhold from pods.

    For cpu, reservedSystemCPUs replaces both (cmd/kubelet/app/server.go).
    """
    if resource == "cpu" and config.text("reservedSystemCPUs"):
        return Fraction(_count(config.text("reservedSystemCPUs")))
    maps = (config.pairs(field) for field in ("kubeReserved", "systemReserved"))
    return sum((_amount(pairs[resource]) for pairs in maps if resource in pairs), Fraction(0))


def hard(config: EffectiveConfig, resource: str) -> eviction.Threshold | None:
    """Return the threshold of evictionHard that withholds a resource from pods."""
    signal = _SIGNALS[resource]
    return next(
        (one for one in eviction.thresholds(config) if (one.field, one.signal) == ("evictionHard", signal)), None
    )


def shown(resource: str, value: Fraction) -> str:
    """Return an amount of a resource for users."""
    return f"{float(value):g}" if resource in (PODS, "cpu") else quantity.show_bytes(value)


def _amount(text: str) -> Fraction:
    try:
        return quantity.parse(text)
    except ValueError:
        return Fraction(0)  # the rules report such a value


def _count(cpus: str) -> int:
    try:
        return short_texts.cpu_count(short_texts.cpu_ranges(cpus))
    except ValueError:
        return 0  # the rules report such a value
