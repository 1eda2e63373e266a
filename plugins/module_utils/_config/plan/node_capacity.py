# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Refuses reservations and thresholds beyond what a node has: its kubelet would end at every start.

Source: pkg/kubelet/cm/node_container_manager_linux.go validateNodeAllocatable, and GetNodeAllocatableReservation.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Iterator, Mapping, Sequence

from ..fields import shadow
from ..fields.effective_config import EffectiveConfig
from ..forecast import allocatable
from ..rules.problem import REFUSAL, Problem
from ..values import quantity

RESOURCES = allocatable.RESOURCES[1:]
_FIELDS = ("reservedSystemCPUs", "kubeReserved", "systemReserved", "evictionHard")
_NO_THRESHOLDS = "--experimental-allocatable-ignore-eviction"
# The kubelet holds percentages in 32 bits.
_ROUNDED = Fraction(1, 10**6)
_REMEDY = "Keep back less. If the machine has grown since its kubelet started, restart the kubelet, then plan again."


class Limits:
    """The capacities of nodes against configurations, each of which is read once."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], tuple[Mapping[str, Any], EffectiveConfig]] = {}

    def problems(
        self,
        live: Mapping[str, Any],
        expected: Mapping[str, Any],
        row: Mapping[str, Any],
        minor: int,
        argv: Sequence[str] | None,
    ) -> list[Problem]:
        """Return a refusal for each resource of which the configuration that a node is to run keeps back too much.

        ``row`` is the node's row of the dump, with its ``capacity`` where that is known. ``argv``: the words of its
        kubelet, None if they are not known. What the running configuration does as well is harmless, and what flags
        decide is not known.
        """
        words = argv or ()
        if any(path.startswith(_FIELDS) for path in shadow.shadows(words, minor)):
            return []
        thresholds = not any(word.replace("_", "-").startswith(_NO_THRESHOLDS) for word in words)
        capacity = _amounts(row.get("capacity"))
        found = dict(_beyond(self._read(expected, minor), capacity, thresholds))
        if found:
            for resource, _problem in _beyond(self._read(live, minor), capacity, thresholds):
                found.pop(resource, None)
        return list(found.values())

    def _read(self, config: Mapping[str, Any], minor: int) -> EffectiveConfig:
        key = id(config), minor
        if key not in self._known:
            # The configuration is kept, so that no later one gets its id.
            self._known[key] = config, EffectiveConfig(config, minor)
        return self._known[key][1]


def _amounts(given: Any) -> dict[str, Fraction]:
    found = {}
    for resource in RESOURCES:
        try:
            found[resource] = quantity.parse(given[resource])
        except (KeyError, TypeError, ValueError):
            # Not known: the kubelet writes its Node itself.
            continue
    return found


def _beyond(
    config: EffectiveConfig, capacity: Mapping[str, Fraction], thresholds: bool
) -> Iterator[tuple[str, Problem]]:
    if config.truth("localStorageCapacityIsolation") is False:
        capacity = {name: amount for name, amount in capacity.items() if name != "ephemeral-storage"}
    for resource, has in capacity.items():
        reserved = allocatable.reserved(config, resource)
        threshold = allocatable.threshold(config, resource, has) if thresholds else Fraction(0)
        if reserved + threshold > has * (1 + _ROUNDED):
            path = _path(config, resource, threshold > reserved)
            kept, own = (allocatable.shown(resource, amount) for amount in (reserved + threshold, has))
            parts = "kubeReserved, systemReserved and evictionHard" if threshold else "kubeReserved and systemReserved"
            cause = (
                f"{parts} keep back {kept} of {resource}, and the node has {own}: its kubelet would end at its start"
            )
            yield resource, Problem(REFUSAL, path, cause, _REMEDY, "beyond-capacity")


def _path(config: EffectiveConfig, resource: str, by_threshold: bool) -> str:
    if by_threshold:
        return "evictionHard"
    if resource == "cpu" and config.text("reservedSystemCPUs"):
        return "reservedSystemCPUs"
    return next(field for field in ("kubeReserved", "systemReserved") if resource in config.pairs(field))
