# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Amounts as Kubernetes writes them: resource quantities and durations; and amounts of nodes.

Quantities are read and written as k8s.io/apimachinery/pkg/api/resource does. Durations are in Go's notation
(``time.ParseDuration`` and ``Duration.String``), in whole nanoseconds.
"""

from __future__ import annotations

import re
import sys
from fractions import Fraction
from typing import Any, NamedTuple

# No rollout needs more digits, and Python reads no number of thousands of them.
_NODE_COUNT = re.compile(r"([0-9]{1,9}) ?(%?)", re.ASCII)
_QUANTITY = re.compile(
    r"(?P<sign>[-+]?)(?P<whole>[0-9]*)(?:\.(?P<after>[0-9]*))?"
    r"(?:[eE](?P<exponent>[-+]?0*[0-9]{1,9})|(?P<suffix>[KMGTPE]i|[numkMGTPE])?)",
    re.ASCII,
)
_BINARY = ("Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_DECIMAL = ("n", "u", "m", "", "k", "M", "G", "T", "P", "E")
_SCALE: dict[str, Fraction] = {}
for _power, _suffix in enumerate(_BINARY, 1):
    _SCALE[_suffix] = Fraction(1024) ** _power
for _power, _suffix in enumerate(_DECIMAL, -3):
    _SCALE[_suffix] = Fraction(1000) ** _power
_HIGHEST_EXPONENT = 999
"""Counts for all beyond it: no machine has as much, and numbers of a million digits take long."""
_MOST = 2**63 - 1
"""Of an int64: Go caps binary quantities there, and no duration is longer."""
_BEYOND_SINGLE = 2**128 - 2**103
"""From here on, strconv.ParseFloat has no number of 32 bits, as a kubelet reads percentages."""
NO_QUANTITY = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
"""The kubelet's message for a text that is not a quantity."""


def parse_quantity(text: str) -> Fraction:
    """Return the exact value of a quantity such as ``100Mi``, ``1.5``, ``500m`` or ``1e3``, in units (bytes, cores).

    As in Go, a text without digits, such as ``M`` or ``.``, is zero. Raises ValueError with the kubelet's message for
    anything else, and for an exponent of ten digits or more, of which Go reads the last 32 bits.
    """
    found = _matched(text)
    number = f"{found['sign']}{found['whole'] or 0}.{found['after'] or 0}"
    if found["exponent"] is None:
        return Fraction(number) * _SCALE[found["suffix"] or ""]
    exponent = int(found["exponent"])
    return Fraction(number) * Fraction(10) ** max(-_HIGHEST_EXPONENT, min(exponent, _HIGHEST_EXPONENT))


def known_quantity(text: str) -> Fraction | None:
    """Return the exact value of a quantity, None for any other text."""
    try:
        return parse_quantity(text)
    except ValueError:
        return None


def int64_of_quantity(text: str) -> int | None:
    """Return the value of a quantity as Go's AsInt64 does; None where Go has none, as for ``0.5Gi`` and ``1024Ti``.

    Raises ValueError as parse_quantity().
    Source: ParseQuantity and AsInt64 in apimachinery/pkg/api/resource/quantity.go.
    """
    value, found = parse_quantity(text), _matched(text)
    after, suffix = found["after"] or "", found["suffix"] or ""
    digits = len(found["whole"].lstrip("0") or "0") + len(after)
    if suffix in _BINARY:
        kept = not after and digits + 3 * _BINARY.index(suffix) < 12
    else:
        tens = int(found["exponent"] or 3 * _DECIMAL.index(suffix) - 9)
        kept = digits <= 18 and len(after) <= tens
    return int(value) if kept and abs(value) <= _MOST else None


def canonical_quantity(text: str, digits: int = 9) -> str:
    """Return a quantity as Go writes it: ``2Gi`` for ``2048Mi``, ``1500m`` for ``1.5``, ``1k`` for ``1000``.

    ``digits`` after the decimal point count, and what is beyond them is rounded away from zero. A sign, leading zeros
    and the like, which Go sometimes keeps as written, are left out here. Raises ValueError as parse_quantity().
    Source: ParseQuantity and CanonicalizeBytes in apimachinery/pkg/api/resource/quantity.go.
    """
    value, binary = parse_quantity(text), text.endswith("i")
    scale = 10**digits
    small = -(-abs(value) * scale // 1)
    amount = Fraction(min(small, _MOST * scale) if binary else small, scale)
    sign = "-" if value < 0 else ""
    if binary and amount.denominator == 1:
        whole, steps = _without_factor(amount.numerator, 1024)
        if steps:
            return f"{sign}{whole}{_BINARY[min(steps, len(_BINARY)) - 1]}"
    whole, exponent = _without_factor(int(amount * scale), 10)
    exponent -= digits
    whole, exponent = whole * 10 ** (exponent % 3), exponent - exponent % 3
    if not whole:
        return "0"
    written = _matched(text)["exponent"]
    if written and int(written) > _HIGHEST_EXPONENT:
        return text
    if written:
        return f"{sign}{whole}e{exponent}" if exponent else f"{sign}{whole}"
    # Go writes no suffix beyond the last one, which gives another number.
    return f"{sign}{whole}{_DECIMAL[exponent // 3 + 3]}" if exponent <= 18 else text


def _matched(text: str) -> re.Match[str]:
    """Return the parts of a quantity. Raises ValueError as parse_quantity()."""
    found = _QUANTITY.fullmatch(text)
    if not text or found is None:
        raise ValueError(NO_QUANTITY)
    # Without digits, Go reads what an int64 has room for with any digit.
    too_long = found["suffix"] in ("Pi", "Ei") or int(found["exponent"] or 0) < -9
    if too_long and not (found["whole"] or found["after"]):
        raise ValueError(NO_QUANTITY)
    return found


def _without_factor(value: int, factor: int) -> tuple[int, int]:
    """Return a value divided by a factor as often as it can be, and how often that is. Zero has no factors."""
    times = 0
    while value and value % factor == 0:
        value, times = value // factor, times + 1
    return value, times


def parse_percentage(text: str) -> Fraction | None:
    """Return the number before a final ``%``, or None when the text does not end in ``%``.

    Raises ValueError when the text before the ``%`` is not a number, or one that 32 bits cannot hold.
    """
    if not text.endswith("%"):
        return None
    number = text.rstrip("%")
    wrong = ValueError(f'"{text}" is not a percentage')
    if not re.fullmatch(r"[-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]{1,3})?", number):
        raise wrong
    found = Fraction(number)
    if abs(found) >= _BEYOND_SINGLE:
        raise wrong
    return found


def show_bytes(value: Fraction) -> str:
    """Return bytes in readable form, with at most one decimal: ``1.5Gi``, ``512Mi``, ``0``."""
    unit = next((unit for unit in ("Ti", "Gi", "Mi", "Ki") if value >= _SCALE[unit]), "")
    return f"{nearest_float(value / _SCALE[unit]):.1f}".replace(".0", "") + unit


def nearest_float(value: Fraction) -> float:
    """Return the floating-point number that is nearest to a value; the largest one for what is beyond it."""
    return float(min(value, Fraction(sys.float_info.max)))


_NANOSECONDS = {
    "ns": 1,
    "us": 1000,
    "\u00b5s": 1000,
    "\u03bcs": 1000,
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}
_DURATION_PART = re.compile(r"([0-9]*)(?:\.([0-9]*))?([^0-9.]*)", re.ASCII)


def parse_duration(text: str) -> int:
    """Return the nanoseconds of a Go duration such as ``1m30s``, ``1.5h`` or ``0``.

    Raises ValueError with Go's message for everything that time.ParseDuration refuses: no unit, no digits, overflow.
    """
    invalid = ValueError(f'time: invalid duration "{text}"')
    rest = text[1:] if text[:1] in ("+", "-") else text
    if rest == "0":
        return 0
    if not rest:
        raise invalid
    total = at = 0
    while at < len(rest):
        part = _DURATION_PART.match(rest, at)
        if part is None or not (part.group(1) or part.group(2)):
            raise invalid
        unit = part.group(3)
        if unit not in _NANOSECONDS:
            fault = f'unknown unit "{unit}"' if unit else "missing unit"
            raise ValueError(f'time: {fault} in duration "{text}"')
        total += _nanoseconds_of_part(part)
        if total > _MOST:
            raise invalid
        at = part.end()
    return -total if text[0] == "-" else total


def _nanoseconds_of_part(part: re.Match[str]) -> int:
    whole, digits, name = part.groups()
    unit = _NANOSECONDS[name]
    return int(whole or "0") * unit + _nanoseconds_of(digits or "", unit)


def _nanoseconds_of(digits: str, unit: int) -> int:
    """Return the nanoseconds of the digits after the point, with the float arithmetic that Go uses."""
    value, scale = 0, 1.0
    for digit in digits:
        if value * 10 + int(digit) > _MOST:
            break
        value = value * 10 + int(digit)
        scale *= 10
    return int(float(value) * (float(unit) / scale))


def format_duration(nanoseconds: int) -> str:
    """Return a duration as Go prints it: ``1m30s``, ``100ms``, ``4h0m0s``, ``0s``."""
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


class NodeCount(NamedTuple):
    """A number of nodes, or a percentage of them, as variables state it."""

    number: int
    percent: bool

    def of(self, nodes: int) -> int:
        """Return how many of so many nodes it is.

        A percentage is rounded down, as Ansible does for `serial` and Kubernetes for maxUnavailable
        (`GetScaledValueFromIntOrPercent`), but to at least one node.
        """
        return max(1, nodes * self.number // 100) if self.percent else self.number


def parse_node_count(value: Any) -> NodeCount | None:
    """Return the amount that a value states, such as 2, "2" or "20%"; None for any other value."""
    found = _NODE_COUNT.fullmatch(str(value).strip())
    return NodeCount(int(found.group(1)), bool(found.group(2))) if found else None
