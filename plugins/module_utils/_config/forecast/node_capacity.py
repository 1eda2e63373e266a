# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Refuses reservations and thresholds beyond what a node has: its kubelet would end at every start.

Source: pkg/kubelet/cm/node_container_manager_linux.go validateNodeAllocatable, and GetNodeAllocatableReservation.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Iterator, Mapping, NamedTuple, Sequence

from ..fields import shadow
from ..rules.eviction import Threshold
from ..rules.problem import REFUSAL, EffectiveConfig, Problem
from ..values import quantity
from . import allocatable

RESOURCES = allocatable.RESOURCES[1:]
_FIELDS = ("reservedSystemCPUs", "kubeReserved", "systemReserved", "evictionHard")
_NO_THRESHOLDS = "--experimental-allocatable-ignore-eviction"
# The kubelet holds percentages in 32 bits.
_ROUNDED = 1 + Fraction(1, 10**6)
_REMEDY = "Keep back less. If the machine has grown since its kubelet started, restart the kubelet, then plan again."


class Kept(NamedTuple):
    """What a configuration keeps back of a resource."""

    reserved: Fraction
    threshold: Threshold | None
    path: str
    """The field of the reservation; empty without one."""


_NOTHING = Kept(Fraction(0), None, "")


class Limits:
    """The capacities of nodes against configurations, each of which is read once."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], tuple[Mapping[str, Any], dict[str, Kept]]] = {}

    def problems(
        self,
        live: Mapping[str, Any],
        expected: Mapping[str, Any],
        row: Mapping[str, Any],
        minor: int,
        argv: Sequence[str] | None,
    ) -> list[Problem]:
        """Return a refusal for each resource of which the configuration that a node would run keeps back too much.

        ``row`` is the node's row of the dump, with its ``capacity`` where that is known. ``argv``: the words of its
        kubelet, None if they are not known. What the running configuration does as well is harmless, and what flags
        decide is not known.
        """
        capacity = _amounts(row.get("capacity"))
        words = argv or ()
        thresholds = not any(word.replace("_", "-").startswith(_NO_THRESHOLDS) for word in words)
        found = dict(_beyond(self._read(expected, minor), capacity, thresholds))
        if not found or any(path.startswith(_FIELDS) for path in shadow.shadows(words, minor)):
            return []
        for resource, _problem in _beyond(self._read(live, minor), capacity, thresholds):
            found.pop(resource, None)
        return list(found.values())

    def _read(self, config: Mapping[str, Any], minor: int) -> dict[str, Kept]:
        key = id(config), minor
        if key not in self._known:
            # The configuration is kept, so that no later one gets its id.
            self._known[key] = config, dict(_kept(EffectiveConfig(config, minor)))
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


def _kept(config: EffectiveConfig) -> Iterator[tuple[str, Kept]]:
    for resource in RESOURCES:
        if resource != "ephemeral-storage" or config.truth("localStorageCapacityIsolation") is not False:
            reserved, threshold = allocatable.reserved(config, resource), allocatable.hard(config, resource)
            if reserved or threshold:
                yield resource, Kept(reserved, threshold, _path(config, resource))


def _path(config: EffectiveConfig, resource: str) -> str:
    if resource == "cpu" and config.text("reservedSystemCPUs"):
        return "reservedSystemCPUs"
    return next((field for field in ("kubeReserved", "systemReserved") if resource in config.pairs(field)), "")


def _beyond(
    kept: Mapping[str, Kept], capacity: Mapping[str, Fraction], thresholds: bool
) -> Iterator[tuple[str, Problem]]:
    for resource, has in capacity.items():
        reserved, hard, path = kept.get(resource, _NOTHING)
        threshold = hard.amount(has) if hard and thresholds else Fraction(0)
        if reserved + threshold > has * _ROUNDED:
            amount, own = (allocatable.shown(resource, one) for one in (reserved + threshold, has))
            parts = "kubeReserved, systemReserved and evictionHard" if threshold else "kubeReserved and systemReserved"
            cause = (
                f"{parts} keep back {amount} of {resource}, and the node has {own}: its kubelet would end at its start"
            )
            at = path if reserved >= threshold else "evictionHard"
            yield resource, Problem(REFUSAL, at, cause, _REMEDY, "beyond-capacity")
