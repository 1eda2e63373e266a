# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from fractions import Fraction

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import quantity


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1),
        ("100Mi", 100 * 2**20),
        ("1.5Gi", 3 * 2**29),
        ("500m", Fraction(1, 2)),
        ("1e3", 1000),
        ("1E-1", Fraction(1, 10)),
        ("2E", 2 * 10**18),
        ("1Ei", 2**60),
        ("-5", -5),
        ("+.5", Fraction(1, 2)),
        ("5.", 5),
        ("0", 0),
        ("7n", Fraction(7, 10**9)),
        ("3u", Fraction(3, 10**6)),
        ("1k", 1000),
    ],
)
def test_values(text: str, value: int | Fraction) -> None:
    assert quantity.parse(text) == value


@pytest.mark.parametrize(
    "text",
    ["", "Mi", "1K", "1mi", "1Gb", "1 Gi", "<100Mi", "10%", "1.2.3", "1e", "1ee3", ".", "1e9999", "--1", "\u0661"],
)
def test_what_is_no_quantity(text: str) -> None:
    with pytest.raises(ValueError, match="quantities must match"):
        quantity.parse(text)


def test_percentages() -> None:
    assert quantity.parse_percentage("10%") == 10
    assert quantity.parse_percentage("0.5%") == Fraction(1, 2)
    assert quantity.parse_percentage("1e1%") == quantity.parse_percentage("1E1%") == 10
    assert quantity.parse_percentage("5.%") == 5
    assert quantity.parse_percentage("10") is None
    for text in ("%", "x%", "<5%"):
        with pytest.raises(ValueError, match="is not a percentage"):
            quantity.parse_percentage(text)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("0", "0"),
        ("1023", "1023"),
        ("1Ki", "1Ki"),
        ("1.5Gi", "1.5Gi"),
        ("1023Mi", "1023Mi"),
        ("1Mi", "1Mi"),
        ("1Gi", "1Gi"),
        ("10.04Ti", "10Ti"),
        ("2Pi", "2048Ti"),
    ],
)
def test_bytes_in_readable_form(value: str, shown: str) -> None:
    assert quantity.show_bytes(quantity.parse(value)) == shown
