# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Durations in Go's notation (``time.ParseDuration`` and ``Duration.String``), in whole nanoseconds."""

from __future__ import annotations

import re

_UNITS = {
    "ns": 1,
    "us": 1000,
    "\u00b5s": 1000,
    "\u03bcs": 1000,
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}
_PART = re.compile("([0-9]*)(?:\\.([0-9]*))?(ns|us|\u00b5s|\u03bcs|ms|s|m|h)", re.ASCII)
_MAX = 2**63 - 1


def parse(text: str) -> int:
    """Return the nanoseconds of a Go duration such as ``1m30s``, ``1.5h`` or ``0``.

    Raises ValueError with Go's message for everything that time.ParseDuration refuses: no unit, no digits, overflow.
    """
    invalid = ValueError(f'time: invalid duration "{text}"')
    rest = text[1:] if text[:1] in ("+", "-") else text
    if rest == "0":
        return 0
    if not rest:
        raise invalid
    if re.fullmatch(r"[0-9]+(\.[0-9]*)?", rest, re.ASCII):
        raise ValueError(f'time: missing unit in duration "{text}"')
    total = at = 0
    while at < len(rest):
        part = _PART.match(rest, at)
        if part is None or not (part.group(1) or part.group(2)):
            raise invalid
        unit = _UNITS[part.group(3)]
        total += int(part.group(1) or "0") * unit + _fraction(part.group(2) or "", unit)
        if total > _MAX:
            raise invalid
        at = part.end()
    return -total if text[0] == "-" else total


def _fraction(digits: str, unit: int) -> int:
    """Return the nanoseconds of the digits after the point, with the float arithmetic that Go uses."""
    value, scale = 0, 1.0
    for digit in digits:
        if value > _MAX // 10 or value * 10 + int(digit) > _MAX:
            break
        value = value * 10 + int(digit)
        scale *= 10
    return int(float(value) * (float(unit) / scale))


def format(nanoseconds: int) -> str:
    """Return a duration as Go prints it: ``1m30s``, ``100ms``, ``4h0m0s``, ``0s``."""
    if nanoseconds == 0:
        return "0s"
    sign, value = ("-", -nanoseconds) if nanoseconds < 0 else ("", nanoseconds)
    if value < 10**9:
        for unit, size in (("ms", 10**6), ("\u00b5s", 10**3), ("ns", 1)):
            if value >= size:
                return f"{sign}{_decimal(value, size)}{unit}"
    minutes, rest = divmod(value, 60 * 10**9)
    hours, minutes = divmod(minutes, 60)
    seconds = f"{_decimal(rest, 10**9)}s"
    if hours:
        return f"{sign}{hours}h{minutes}m{seconds}"
    return f"{sign}{minutes}m{seconds}" if minutes else f"{sign}{seconds}"


def _decimal(value: int, size: int) -> str:
    """Return value/size without trailing zeros; size is a power of ten."""
    whole, rest = divmod(value, size)
    return f"{whole}.{rest:0{len(str(size)) - 1}d}".rstrip("0") if rest else str(whole)
