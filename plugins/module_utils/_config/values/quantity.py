# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kubernetes resource quantities, parsed as k8s.io/apimachinery/pkg/api/resource.ParseQuantity does."""

from __future__ import annotations

import re
from fractions import Fraction

_QUANTITY = re.compile(
    r"(?P<number>[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+))"
    r"(?:(?P<exponent>[eE][-+]?[0-9]+)|(?P<suffix>[KMGTPE]i|[numkMGTPE])?)",
    re.ASCII,
)
_SCALE = {
    "": Fraction(1),
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 1000),
    "k": Fraction(10**3),
    "M": Fraction(10**6),
    "G": Fraction(10**9),
    "T": Fraction(10**12),
    "P": Fraction(10**15),
    "E": Fraction(10**18),
    "Ki": Fraction(2**10),
    "Mi": Fraction(2**20),
    "Gi": Fraction(2**30),
    "Ti": Fraction(2**40),
    "Pi": Fraction(2**50),
    "Ei": Fraction(2**60),
}
REFUSAL = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
"""The kubelet's message for a text that is not a quantity."""


def parse(text: str) -> Fraction:
    """Return the exact value of a quantity such as ``100Mi``, ``1.5``, ``500m`` or ``1e3``, in units (bytes, cores).

    Raises ValueError with the kubelet's message for anything else. An exponent of more than three digits is refused
    too: Go caps such values.
    """
    found = _QUANTITY.fullmatch(text)
    if found is None or len((found.group("exponent") or "").lstrip("eE+-")) > 3:
        raise ValueError(REFUSAL)
    scale = (
        Fraction(10) ** int(found.group("exponent")[1:])
        if found.group("exponent")
        else _SCALE[found.group("suffix") or ""]
    )
    return Fraction(found.group("number")) * scale


def parse_percentage(text: str) -> Fraction | None:
    """Return the number before a final ``%``, or None when the text does not end in ``%``.

    Raises ValueError when the text before the ``%`` is not a number.
    """
    if not text.endswith("%"):
        return None
    number = text.rstrip("%")
    if not re.fullmatch(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]{1,3})?", number, re.ASCII):
        raise ValueError(f'"{text}" is not a percentage')
    return Fraction(number)


def show_bytes(value: Fraction) -> str:
    """Return bytes in readable form, with at most one decimal: ``1.5Gi``, ``512Mi``, ``0``."""
    unit = next((unit for unit in ("Ti", "Gi", "Mi", "Ki") if value >= _SCALE[unit]), "")
    return f"{float(value / _SCALE[unit]):.1f}".replace(".0", "") + unit
