# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The resources that a configuration leaves to pods: Node.status.allocatable. And the refusal of reservations and
thresholds beyond what a node has: its kubelet would end at every start.

Source: pkg/kubelet/cm/node_container_manager_linux.go validateNodeAllocatable, and GetNodeAllocatableReservation.
"""

from __future__ import annotations

import struct
from fractions import Fraction
from typing import Any, Iterator, Mapping, NamedTuple, Sequence

from ..fields import shadow
from ..rules import eviction
from ..rules.problem import REFUSAL, EffectiveConfig, Problem
from ..values import amounts, short_texts
from ..values.paths import Config

PODS = "pods"
RESOURCES = (PODS, "cpu", "memory", "ephemeral-storage")
"""In the order in which the kubelet checks resources (noderesources fitsRequest)."""
HUGE_PAGES = "hugepages-"
"""The begin of the resources of huge pages, which are a part of the memory."""
_SIGNALS = {"cpu": "", "memory": "memory.available", "ephemeral-storage": "nodefs.available"}


def allocatable(config: EffectiveConfig, capacity: Mapping[str, Fraction]) -> dict[str, Fraction]:
    """Return what pods may request: capacity minus reservations and evictionHard, and the number of pods.

    Source: cm/node_container_manager_linux.go GetNodeAllocatableReservation, nodestatus/setters.go MachineInfo.
    """
    found = {}
    for resource in RESOURCES[1:]:
        if resource not in capacity:
            continue
        threshold, kept_back = hard(config, resource), reserved(config, resource)
        if threshold:
            kept_back += _of_threshold(threshold, capacity[resource])
        if resource == "memory":
            kept_back += sum(amount for name, amount in capacity.items() if name.startswith(HUGE_PAGES))
        found[resource] = max(capacity[resource] - kept_back, Fraction(0))
    limit = Fraction(config.number("maxPods") or 0)
    per_core = config.number("podsPerCore") or 0
    if per_core > 0 and "cpu" in capacity:
        limit = min(limit, per_core * capacity["cpu"])
    return {PODS: limit, **found}


def _of_threshold(threshold: eviction.Threshold, capacity: Fraction) -> Fraction:
    """Return what a threshold withholds to the byte: kubelets hold a percentage in 32 bits, and leave out a fraction.

    Source: pkg/kubelet/eviction/helpers.go parsePercentage, api/types.go GetThresholdQuantity.
    """
    percentage = amounts.parse_percentage(threshold.value)
    if percentage is None:
        return threshold.amount(capacity)
    return Fraction(int(float(capacity) * _single(_single(float(percentage)) / 100)))


def _single(value: float) -> float:
    """Return the nearest number of 32 bits."""
    return float(struct.unpack("f", struct.pack("f", value))[0])


def counts(resource: str, amount: str) -> bool:
    """Return whether a resource of Node.status.capacity matters for allocatable()."""
    return resource in RESERVABLE or (resource.startswith(HUGE_PAGES) and amount != "0")


def parsed(given: Any) -> dict[str, Fraction]:
    """Return the amounts of a capacity that matter; what is malformed is not known, since kubelets write their Node."""
    found = {}
    for resource, amount in given.items() if isinstance(given, Mapping) else ():
        try:
            if counts(resource, amount):
                found[resource] = amounts.parse_quantity(amount)
        except (AttributeError, TypeError, ValueError):
            continue
    return found


def ignores_thresholds(words: Sequence[str]) -> bool:
    """Return whether the words of a kubelet's command line let it keep back nothing for evictionHard."""
    return any(word.replace("_", "-").startswith(_NO_THRESHOLDS) for word in words)


def reserved(config: EffectiveConfig, resource: str) -> Fraction:
    """Return the amount that kubeReserved and systemReserved withhold from pods.

    For cpu, reservedSystemCPUs replaces both (cmd/kubelet/app/server.go).
    """
    if resource == "cpu" and config.text("reservedSystemCPUs"):
        return Fraction(short_texts.cpu_count(config.cpus("reservedSystemCPUs")))
    total = Fraction(0)
    for field in ("kubeReserved", "systemReserved"):
        # The rules report what is no quantity.
        total += amounts.known_quantity(config.pairs(field).get(resource, "0")) or 0
    return total


def hard(config: EffectiveConfig, resource: str) -> eviction.Threshold | None:
    """Return the threshold of evictionHard that withholds a resource from pods."""
    signal = _SIGNALS[resource]
    for one in eviction.thresholds(config):
        if (one.field, one.signal) == ("evictionHard", signal):
            return one
    return None


def shown(resource: str, value: Fraction) -> str:
    """Return an amount of a resource for users."""
    if resource in (PODS, "cpu"):
        return f"{amounts.nearest_float(value):g}"
    return amounts.show_bytes(value)


def quantity(resource: str, value: Fraction) -> str:
    """Return an amount of a resource as a quantity: cpu in millicores, others as a whole number."""
    if resource == "cpu":
        return f"{int(value * 1000)}m"
    return str(int(value))


def resized(before: Any, now: Any) -> str:
    """Return which resources of a machine changed visibly, in words; empty if none did. Both are capacities."""
    had, has = parsed(before), parsed(now)
    found = []
    for resource in RESERVABLE:
        if resource in had and resource in has:
            old, new = shown(resource, had[resource]), shown(resource, has[resource])
            if old != new:
                found.append(f"{resource} {old} -> {new}")
    return ", ".join(found)


RESERVABLE = RESOURCES[1:]
_RESERVING = ("reservedSystemCPUs", "kubeReserved", "systemReserved", "evictionHard")
_NO_THRESHOLDS = "--experimental-allocatable-ignore-eviction"
# The kubelet holds percentages in 32 bits.
_ROUNDED = 1 + Fraction(1, 10**6)
_REMEDY = "Keep back less. If the machine has grown since its kubelet started, restart the kubelet, then plan again."


class _KeptBack(NamedTuple):
    """What a configuration keeps back of a resource."""

    reserved: Fraction
    threshold: eviction.Threshold | None
    path: str
    """The field of the reservation, if there is one."""


_NOTHING = _KeptBack(Fraction(0), None, "")


class Limits:
    """The capacities of nodes against configurations, each of which is read once."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], tuple[Config, dict[str, _KeptBack]]] = {}

    def problems(
        self, live: Config, expected: Config, row: Config, minor: int, argv: Sequence[str] | None
    ) -> list[Problem]:
        """Return a refusal for each resource of which the configuration that a node would run keeps back too much.

        ``row`` is the node's row of the dump, with its ``capacity`` where that is known. ``argv``: the words of its
        kubelet, None if they are not known. What the running configuration does as well is harmless, and what flags
        decide is not known.
        """
        capacity = {name: amount for name, amount in parsed(row.get("capacity")).items() if name in RESERVABLE}
        words = argv or ()
        thresholds = not ignores_thresholds(words)
        found = dict(_beyond(self._read(expected, minor), capacity, thresholds))
        if not found or any(path.startswith(_RESERVING) for path in shadow.shadows(words, minor)):
            return []
        for resource, _problem in _beyond(self._read(live, minor), capacity, thresholds):
            found.pop(resource, None)
        return list(found.values())

    def _read(self, config: Config, minor: int) -> dict[str, _KeptBack]:
        key = id(config), minor
        if key not in self._known:
            # The configuration is kept, so that no later one gets its id.
            self._known[key] = config, dict(_kept(EffectiveConfig(config, minor)))
        return self._known[key][1]


def _kept(config: EffectiveConfig) -> Iterator[tuple[str, _KeptBack]]:
    for resource in RESERVABLE:
        if resource != "ephemeral-storage" or config.truth("localStorageCapacityIsolation") is not False:
            amount, threshold = reserved(config, resource), hard(config, resource)
            if amount or threshold:
                yield resource, _KeptBack(amount, threshold, _path(config, resource))


def _path(config: EffectiveConfig, resource: str) -> str:
    if resource == "cpu" and config.text("reservedSystemCPUs"):
        return "reservedSystemCPUs"
    if resource in config.pairs("kubeReserved"):
        return "kubeReserved"
    return "systemReserved"


def _beyond(
    kept: Mapping[str, _KeptBack], capacity: Mapping[str, Fraction], thresholds: bool
) -> Iterator[tuple[str, Problem]]:
    for resource, has in capacity.items():
        found = kept.get(resource, _NOTHING)
        threshold = Fraction(0)
        if found.threshold and thresholds:
            threshold = found.threshold.amount(has)
        if found.reserved + threshold > has * _ROUNDED:
            parts = "kubeReserved, systemReserved and evictionHard" if threshold else "kubeReserved and systemReserved"
            cause = (
                f"{parts} keep back {shown(resource, found.reserved + threshold)} of {resource}, and the node has "
                f"{shown(resource, has)}: its kubelet would end at its start"
            )
            at = found.path if found.reserved >= threshold else "evictionHard"
            yield resource, Problem(REFUSAL, at, cause, _REMEDY, "beyond-capacity")
