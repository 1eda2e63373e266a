# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import paths


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
