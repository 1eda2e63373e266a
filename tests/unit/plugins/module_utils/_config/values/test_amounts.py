# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Amounts: quantities, percentages, durations and counts of nodes."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import amounts


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1),
        ("100Mi", 100 * 2**20),
        ("1.5Gi", 3 * 2**29),
        ("500m", Fraction(1, 2)),
        ("1e3", 1000),
        ("1E-1", Fraction(1, 10)),
        ("1e0003", 1000),
        ("2E", 2 * 10**18),
        ("1Ei", 2**60),
        ("-5", -5),
        ("+.5", Fraction(1, 2)),
        ("5.", 5),
        ("0", 0),
        ("7n", Fraction(7, 10**9)),
        ("3u", Fraction(3, 10**6)),
        ("1k", 1000),
        ("1e100", 10**100),
        # As apimachinery of 0.20.2, 0.28.15 and 0.36.2 reads texts without digits.
        ("M", 0),
        ("Ti", 0),
        ("E", 0),
        ("-.e3", 0),
        ("e-9", 0),
        ("+", 0),
        # Larger than what any machine has.
        ("1e000123456789", 10**999),
        ("-1e1000", -(10**999)),
        ("1e-1000", Fraction(1, 10**999)),
    ],
)
def test_values(text: str, value: int | Fraction) -> None:
    assert amounts.parse_quantity(text) == value
    assert amounts.known_quantity(text) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        # As apimachinery of 1.20 reads them.
        ("10Mi", 10 * 2**20),
        ("-1", -1),
        ("+1.Gi", 2**30),
        ("0.5Gi", None),
        ("1.0Gi", None),
        ("10.5M", 10500000),
        ("1.50k", 1500),
        ("10.0", None),
        ("500m", None),
        ("0", 0),
        ("000000012Gi", 12 * 2**30),
        ("99999Gi", 99999 * 2**30),
        ("100000Gi", None),
        ("99Ti", 99 * 2**40),
        ("100Ti", None),
        ("1Pi", None),
        ("9e18", 9 * 10**18),
        ("1e19", None),
        ("1.5e3", 1500),
        ("10e-1", None),
        ("1E", 10**18),
        ("123456789012345678", 123456789012345678),
        ("-123456789012345678", -123456789012345678),
        ("1234567890123456789", None),
        ("1234567890123456.789k", None),
        ("Mi", 0),
        (".n", None),
        ("1e1000", None),
        ("0e1000", 0),
    ],
)
def test_integers(text: str, value: int | None) -> None:
    assert amounts.int64_of_quantity(text) == value


@pytest.mark.parametrize(
    "text",
    ["", "Pi", ".Ei", "e-10", "1K", "1 Gi", "<100Mi", "10%", "1.2.3", "1e", "1ee3", "1e1234567890", "--1", "\u0661"],
)
def test_what_is_no_quantity(text: str) -> None:
    with pytest.raises(ValueError, match="quantities must match"):
        amounts.parse_quantity(text)
    assert amounts.known_quantity(text) is None


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        # As apimachinery of 1.36.2 writes them.
        ("2048Mi", "2Gi"),
        ("1.5Gi", "1536Mi"),
        ("1023Ki", "1023Ki"),
        ("1.1Ki", "1126400m"),
        ("8Ei", "9223372036854775807"),
        ("-8.5Ei", "-9223372036854775807"),
        ("-1024Mi", "-1Gi"),
        ("0.5Ki", "512"),
        ("1000", "1k"),
        ("1500", "1500"),
        ("0.5", "500m"),
        ("1e4", "10e3"),
        ("1e-4", "100e-6"),
        ("1000e0", "1e3"),
        ("50e-1", "5"),
        ("0.1n", "1n"),
        ("-0.1n", "-1n"),
        ("0Mi", "0"),
        ("-0", "0"),
        ("9E", "9E"),
        ("1000P", "1E"),
        (".M", "0"),
        ("0e1000", "0"),
        ("1e-1000", "1e-9"),
        # Go shows 10e999.
        ("1e1000", "1e1000"),
        # Go keeps these as written.
        ("+1", "1"),
        ("010", "10"),
        ("5.", "5"),
        ("1E3", "1e3"),
        # Go shows 2000, which is read as 2k again.
        ("1.953125Ki", "2k"),
        # Go shows 1.
        ("1000E", "1000E"),
    ],
)
def test_the_form_that_go_writes(text: str, shown: str) -> None:
    assert amounts.canonical_quantity(text) == shown


def test_the_digits_that_count() -> None:
    assert [amounts.canonical_quantity("100n", digits) for digits in (9, 3)] == ["100n", "1m"]
    with pytest.raises(ValueError, match="quantities must match"):
        amounts.canonical_quantity("lots")


@given(st.from_regex(r"\A[-+]?[0-9]{1,12}(\.[0-9]{1,6})?([eE][-+]?[0-9]{1,2}|[KMGTPE]i|[numkMGTPE])?\Z"))
def test_a_form_has_the_same_value_and_is_its_own_form(text: str) -> None:
    for digits in (3, 9):
        shown = amounts.canonical_quantity(text, digits)
        assert amounts.canonical_quantity(shown, digits) == shown
        exact = amounts.parse_quantity(text)
        if abs(exact) < 2**63 - 1:
            assert 0 <= abs(amounts.parse_quantity(shown)) - abs(exact) < Fraction(1, 10**digits)


@pytest.mark.parametrize("read", [amounts.parse_quantity, amounts.parse_percentage])
def test_a_long_run_of_digits_that_ends_wrongly_is_refused_at_once(read: Callable[[str], object]) -> None:
    """By the square of the length, this would take minutes."""
    with pytest.raises(ValueError, match=r"quantities must match|is not a percentage"):
        read("9" * 200_000 + "x%")


def test_percentages() -> None:
    assert amounts.parse_percentage("10%") == 10
    assert amounts.parse_percentage("0.5%") == Fraction(1, 2)
    assert amounts.parse_percentage("1e1%") == amounts.parse_percentage("1E1%") == 10
    assert amounts.parse_percentage("5.%") == 5
    assert amounts.parse_percentage("10") is None
    # A kubelet reads 32 bits.
    for text in ("%", "x%", "<5%", "1e39%", f"{2**128 - 2**103}%"):
        with pytest.raises(ValueError, match="is not a percentage"):
            amounts.parse_percentage(text)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        *((same, same) for same in ("0", "1023", "1Ki", "1.5Gi", "1023Mi", "1Mi", "1Gi")),
        *(("10.04Ti", "10Ti"), ("2Pi", "2048Ti")),
    ],
)
def test_bytes_in_readable_form(value: str, shown: str) -> None:
    assert amounts.show_bytes(amounts.parse_quantity(value)) == shown


@given(st.integers(-(2**63) + 1, 2**63 - 1))
def test_round_trip_of_every_duration_go_can_hold(nanoseconds: int) -> None:
    text = amounts.format_duration(nanoseconds)
    assert amounts.parse_duration(text) == nanoseconds
    assert amounts.format_duration(amounts.parse_duration(text)) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("1.5m", "1m30s"),
        ("5m", "5m0s"),
        ("4h", "4h0m0s"),
        ("0", "0s"),
        ("+5s", "5s"),
        ("-1.5h", "-1h30m0s"),
        (".5s", "500ms"),
        ("5.s", "5s"),
        ("1us", "1\u00b5s"),
        ("1\u03bcs", "1\u00b5s"),
        ("0.3333333333333333333h", "20m0s"),
        # Go drops the digits for which an int64 has no room.
        ("0.33333333333333333333h", "20m0s"),
        ("0.99999999999999999999s", "1s"),
        ("1h15m30.918273645s", "1h15m30.918273645s"),
        ("9007199254.740993ms", "2501h59m59.254740993s"),
        ("100ns", "100ns"),
        ("-9223372036854775807ns", "-2562047h47m16.854775807s"),
        ("1m1ms", "1m0.001s"),
    ],
)
def test_forms(text: str, shown: str) -> None:
    assert amounts.format_duration(amounts.parse_duration(text)) == shown


@pytest.mark.parametrize(
    "text",
    [
        *("", "3", "-", "s", ".", "-.", ".s", "+.s", "1d", "1 s", "1s ", "1S", "\u0661s", "1.5", "1,5s"),
        *("3000000h", "9223372036854775.808ms"),
    ],
)
def test_what_go_refuses(text: str) -> None:
    with pytest.raises(ValueError, match="time: "):
        amounts.parse_duration(text)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("90", "missing unit in"),
        (".5", "missing unit in"),
        ("1h5", "missing unit in"),
        ("1d", 'unknown unit "d" in'),
        ("1h30 min", 'unknown unit " min" in'),
        ("h", "invalid"),
    ],
)
def test_what_is_wrong_with_a_unit(text: str, fault: str) -> None:
    with pytest.raises(ValueError, match=re.escape(f'time: {fault} duration "{text}"')):
        amounts.parse_duration(text)


@pytest.mark.parametrize(
    ("value", "of_30"),
    [
        *((2, 2), ("2", 2), (" 007 ", 7), ("0", 0), ("999999999", 999_999_999)),
        *(("0%", 1), ("1%", 1), ("19 %", 5), ("100%", 30), ("200%", 60)),
    ],
)
def test_node_counts(value: Any, of_30: int) -> None:
    found = amounts.parse_node_count(value)
    assert found and found.of(30) == of_30
    assert found.percent == ("%" in str(value))


@pytest.mark.parametrize(
    "value", [None, "", True, False, 5.0, -1, "-1", "1,1", "2  %", "%", "1e3", "٣", "1" * 10, [1], {}]
)
def test_what_is_no_node_count(value: Any) -> None:
    assert amounts.parse_node_count(value) is None
