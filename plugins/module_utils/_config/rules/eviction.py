# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Eviction thresholds. Source: pkg/kubelet/eviction/helpers.go ParseThresholdConfig.

Any error in a threshold makes the kubelet exit at its start.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Iterator

from ..values import amounts, paths
from .problem import REFUSAL, EffectiveConfig, Problem

ALLOCATABLE_MEMORY = "allocatableMemory.available"
"""The unused part of the memory that all pods may use together.

The kubelet compares it with evictionHard's memory.available too.
"""
_SIGNALS = (
    "memory.available",
    "nodefs.available",
    "nodefs.inodesFree",
    "imagefs.available",
    "imagefs.inodesFree",
    ALLOCATABLE_MEMORY,
    "pid.available",
)
_SIGNALS_SINCE_29 = ("containerfs.available", "containerfs.inodesFree")


@dataclass(frozen=True)
class Threshold:
    """A threshold as the eviction manager uses it."""

    field: str
    """evictionHard or evictionSoft."""
    signal: str
    value: str
    """A quantity or a percentage, as configured."""
    reclaim: str = "0"
    grace: str = ""

    def amount(self, capacity: Fraction) -> Fraction:
        """Return the amount of the signal below which pods are evicted; percentages refer to its capacity."""
        return amount(self.value, capacity)

    def target(self, capacity: Fraction) -> Fraction:
        """Return the available amount at which evictions end."""
        return self.amount(capacity) + amount(self.reclaim, capacity)


def thresholds(config: EffectiveConfig) -> list[Threshold]:
    """Return the active thresholds, including those for the allocatable memory of pods (addAllocatableThresholds).

    Those without an amount are omitted; check() refuses them.
    """
    reclaim = config.pairs("evictionMinimumReclaim")
    graces: dict[str, dict[str, str]] = {"evictionHard": {}, "evictionSoft": config.pairs("evictionSoftGracePeriod")}
    found = []
    for field, grace in graces.items():
        for signal, value in sorted(config.pairs(field).items()):
            found.append(Threshold(field, signal, value, reclaim.get(signal, "0"), grace.get(signal, "")))
    hard = config.pairs("evictionHard").get("memory.available")
    if "pods" in config.texts("enforceNodeAllocatable") and hard is not None:
        found.append(Threshold("evictionHard", ALLOCATABLE_MEMORY, hard, reclaim.get("memory.available", "0")))
    return list(filter(_counts, found))


# Values that switch a threshold off (parseThresholdStatement).
_OFF = ("0%", "100%")


def amount(value: str, capacity: Fraction) -> Fraction:
    """Return the amount of a quantity, or of a percentage of the capacity. Raises ValueError for anything else."""
    percentage = amounts.parse_percentage(value)
    if percentage is None:
        return amounts.parse_quantity(value)
    return capacity * percentage / 100


def _counts(threshold: Threshold) -> bool:
    """Return whether a threshold is on and has amounts."""
    try:
        threshold.target(Fraction(0))
    except ValueError:
        return False
    return threshold.value not in _OFF


def signals(minor: int) -> tuple[str, ...]:
    """Return the eviction signals that a kubelet of this minor knows."""
    return _SIGNALS + (_SIGNALS_SINCE_29 if minor >= 29 else ())


def check(config: EffectiveConfig) -> Iterator[Problem]:
    """Yield a refusal for every signal, threshold and grace period that would crash the kubelet."""
    for field in ("evictionHard", "evictionSoft", "evictionSoftGracePeriod", "evictionMinimumReclaim"):
        for signal, value in config.pairs(field).items():
            path = paths.show((field, signal))
            if signal not in signals(config.minor):
                yield _refuse(path, f"unsupported eviction signal {signal}", _signal_remedy(signal, config.minor))
            elif field == "evictionSoftGracePeriod":
                yield from _grace_period(path, value)
            else:
                yield from _threshold(path, signal, value, field == "evictionMinimumReclaim")
    periods = config.pairs("evictionSoftGracePeriod")
    for signal, value in config.pairs("evictionSoft").items():
        if signal not in periods and value not in _OFF:
            yield _refuse(
                paths.show(("evictionSoft", signal)),
                f"grace period must be specified for the soft eviction threshold {signal}",
                f'Add it: evictionSoftGracePeriod: {{"{signal}": "1m30s"}}. '
                "Unless the node gets a drop-in, repeat the other keys of the map.",
            )


def _refuse(path: str, message: str, remedy: str) -> Problem:
    return Problem(REFUSAL, path, message, remedy, "eviction")


def _signal_remedy(signal: str, minor: int) -> str:
    bare = signal.rstrip("<>= ").strip()
    if bare != signal and bare in signals(minor):
        return f"Write {bare} without an operator; it is always `<`."
    for name in signals(minor):
        if name.lower() == signal.lower():
            return f"Write {name}."
    return f"Use one of {', '.join(signals(minor))}."


def _grace_period(path: str, value: str) -> Iterator[Problem]:
    try:
        if amounts.parse_duration(value) >= 0:
            return
        message = f"invalid eviction grace period specified: {value}, must be a positive value"
    except ValueError as error:
        message = str(error)
    yield _refuse(path, message, 'Write a Go duration with its unit, such as "1m30s".')


def _threshold(path: str, signal: str, value: str, reclaim: bool) -> Iterator[Problem]:
    remedy = _amount_remedy(value)
    message = ""
    try:
        percentage = amounts.parse_percentage(value)
        if percentage is not None:
            message = _percentage_fault(signal, value, percentage, reclaim)
        elif reclaim:
            if amounts.parse_quantity(value) < 0:
                message = f"negative eviction minimum reclaim specified for {signal}"
        elif amounts.parse_quantity(value) <= 0:
            message = f"eviction threshold {signal} must be positive: {value}"
            remedy = 'To switch a threshold off, write "0%" or leave its key out.'
    except ValueError as error:
        message = str(error)
    if message:
        yield _refuse(path, message, remedy)


def _amount_remedy(value: str) -> str:
    if value[:1] in ("<", ">", "="):
        return f'Write only the amount, without an operator: "{value.lstrip("<>= ")}".'
    return 'Write a quantity such as "100Mi" or a percentage such as "10%".'


def _percentage_fault(signal: str, value: str, percentage: Fraction, reclaim: bool) -> str:
    """Return why the kubelet refuses a percentage, empty if it accepts it."""
    if reclaim and percentage <= 0:
        return f"eviction percentage minimum reclaim {signal} must be positive: {value}"
    if not reclaim and percentage < 0:
        return f"eviction percentage threshold {signal} must be >= 0%: {value}"
    if not reclaim and percentage > 100:
        return f"eviction percentage threshold {signal} must be <= 100%: {value}"
    return ""
