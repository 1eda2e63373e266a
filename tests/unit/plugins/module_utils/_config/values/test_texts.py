# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Texts with a form: addresses, CPU lists, versions, paths and command lines."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import paths, short_texts


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


@pytest.mark.parametrize(
    ("words", "value", "place"),
    [
        (["/k", "--config-dir=/a"], "/a", (1, 1)),
        (["/k", "--config-dir", "/a"], "/a", (1, 2)),
        (["/k", "--config_dir=/a", "--v=2"], "/a", (1, 1)),
        (["--config-dir=/a", "--config-dir="], "", (1, 1)),
        (["--config-dir"], "", (0, 1)),
        (["--config-directory=/a", "config-dir", "-config-dir=/a"], None, None),
        (["--", "--config-dir=/a"], None, None),
    ],
)
def test_the_last_use_of_a_flag_counts(words: list[str], value: str | None, place: tuple[int, int] | None) -> None:
    assert short_texts.flag(words, "config-dir") == value
    assert short_texts.flag_words(words, "config-dir") == place
