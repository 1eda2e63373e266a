# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Texts with a form: amounts, durations, counts, addresses, CPU lists, versions and paths."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import amounts, paths, short_texts


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
    ],
)
def test_integers(text: str, value: int | None) -> None:
    assert amounts.int64_of_quantity(text) == value


@pytest.mark.parametrize(
    "text",
    ["", "Mi", "1K", "1mi", "1Gb", "1 Gi", "<100Mi", "10%", "1.2.3", "1e", "1ee3", ".", "1e9999", "--1", "\u0661"],
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
        "",
        "3",
        "-",
        "s",
        ".",
        "-.",
        ".s",
        "+.s",
        "1d",
        "1 s",
        "1s ",
        "1S",
        "\u0661s",
        "3000000h",
        "9223372036854775.808ms",
        "1.5",
        "1,5s",
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
        (2, 2),
        ("2", 2),
        (" 007 ", 7),
        ("0", 0),
        ("0%", 1),
        ("1%", 1),
        ("19 %", 5),
        ("100%", 30),
        ("200%", 60),
        ("999999999", 999_999_999),
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


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("10.96.0.10", "10.96.0.10"),
        ("10.096.0.10", "10.96.0.10"),
        ("010.000.00.0001", "10.0.0.1"),
        ("fd00::1", "fd00::1"),
        ("::", "::"),
        ("::ffff:10.096.0.10", "::ffff:a60:a"),
    ],
)
def test_addresses_of_a_kubelet(text: str, shown: str) -> None:
    assert short_texts.address(text) == short_texts.address(shown)
    assert short_texts.address(text).version == (6 if ":" in text else 4)


@pytest.mark.parametrize(
    "text", ["", "dns.local", "10.0.0", "10.0.0.256", "fe80::1%eth0", "10.0.0.1/8", "[::1]", "0x0a.0.0.1"]
)
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(ValueError):
        short_texts.address(text)


@pytest.mark.parametrize(
    ("text", "loopback"), [("127.0.0.1", True), ("127.8.0.1", True), ("::1", True), ("0.0.0.0", False), ("x", False)]
)
def test_loopback(text: str, loopback: bool) -> None:
    assert short_texts.is_loopback(text) is loopback


@pytest.mark.parametrize(
    ("one", "other", "both"),
    [
        ("0.0.0.0", "127.0.0.1", True),
        ("127.0.0.1", "::", True),
        ("127.0.0.1", "127.000.0.1", True),
        ("192.0.2.1", "127.0.0.1", False),
        ("localhost", "127.0.0.1", False),
    ],
)
def test_servers_that_cannot_share_a_port(one: str, other: str, both: bool) -> None:
    for pair in ((one, other), (other, one)):
        assert short_texts.overlap(*pair) is both


@pytest.mark.parametrize(
    ("text", "ranges", "count"),
    [
        ("0", [(0, 0)], 1),
        ("0-3,8", [(0, 3), (8, 8)], 5),
        ("+0-1", [(0, 1)], 2),
        ("4,0-2,1-3", [(4, 4), (0, 2), (1, 3)], 5),
        ("3-1", [(3, 1)], 0),
        # Ten digits cost no time.
        ("0-9999999999", [(0, 9999999999)], 10**10),
    ],
)
def test_lists(text: str, ranges: list[tuple[int, int]], count: int) -> None:
    found = short_texts.cpu_ranges(text)
    assert found == ranges
    assert short_texts.cpu_count(found) == count


@pytest.mark.parametrize("text", ["", "0-", "-1", " 0", "0,,1", "0-1-2", "a", "٣", "0;1"])
def test_what_is_no_list(text: str) -> None:
    with pytest.raises(ValueError, match="is not a CPU list"):
        short_texts.cpu_ranges(text)


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), min_size=1, max_size=6))
def test_the_count_is_that_of_the_members(pairs: list[tuple[int, int]]) -> None:
    found = short_texts.cpu_ranges(",".join(f"{first}-{last}" for first, last in pairs))
    assert short_texts.cpu_count(found) == len({cpu for first, last in pairs for cpu in range(first, last + 1)})


@pytest.mark.parametrize(
    ("version", "minor"),
    [
        ("v1.20.2", 20),
        ("1.29.11-gke.5", 29),
        ("v1.23.0-alpha.1+abc", 23),
        ("v1.33", 33),
        ("", None),
        (None, None),
        ("nonsense", None),
        ("v2.1.0", None),
        # Python reads no number of so many digits, and a node chooses this text.
        (f"v1.{'9' * 5000}.0", None),
    ],
)
def test_minor(version: Any, minor: int | None) -> None:
    assert short_texts.minor_of(version) == minor


@given(st.lists(st.text(max_size=6) | st.integers(0, 99), max_size=4))
def test_shown_paths_are_parsed_without_loss(keys: list[str | int]) -> None:
    assert paths.parse(paths.show(tuple(keys))) == tuple(keys)


@pytest.mark.parametrize(
    ("path", "text", "field"),
    [
        (("maxPods",), "maxPods", "maxPods"),
        (("authentication", "webhook", "enabled"), "authentication.webhook.enabled", "authentication.webhook.enabled"),
        (("evictionHard", "memory.available"), 'evictionHard["memory.available"]', "evictionHard.memory.available"),
        (("reservedMemory", 0, "limits"), "reservedMemory[0].limits", "reservedMemory[].limits"),
        (("a.b", "c"), '["a.b"].c', "a.b.c"),
        ((), "(top level)", ""),
    ],
)
def test_notation(path: paths.Path, text: str, field: str) -> None:
    assert paths.show(path) == text
    assert paths.field_path(path) == field
    if path:
        assert paths.top(text) == path[0]


@pytest.mark.parametrize("text", ["a..b", ".a", "a[b]", 'a"b"', "a[0]b", "a b", "a."])
def test_what_is_no_path(text: str) -> None:
    with pytest.raises(ValueError, match="is not a path"):
        paths.parse(text)


@pytest.mark.parametrize("text", ["", ".a", "[0].a", "(top level)"])
def test_what_begins_with_no_field(text: str) -> None:
    with pytest.raises(ValueError, match="does not begin with a field"):
        paths.top(text)


@pytest.mark.parametrize(
    ("keys", "value"),
    [((), {"a": [{"b": None}], "c": 3}), (("c",), 3), (("c", "d"), None), (("a", 0, "b"), None), (("x", "y"), None)],
)
def test_the_value_at_a_path(keys: tuple[str | int, ...], value: object) -> None:
    assert paths.value_at({"a": [{"b": None}], "c": 3}, keys) == value


def test_values_of_a_type() -> None:
    assert paths.present({"a": None, "b": 0, "c": ""}) == {"b": 0, "c": ""}
    assert [paths.typed(3, kind) for kind in (dict, list, str, int)] == [{}, [], "", 3]
