# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fields that were read from a file have the types that were written."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.records import typed


class Some(t.NamedTuple):
    """A field of each type."""

    name: str = ""
    count: int = 0
    at: float = 0.0
    since: float | None = None
    sure: bool = False
    more: t.Mapping[str, t.Any] = {}


@pytest.mark.parametrize(
    "value", [{}, {"name": "a", "count": 3, "at": 2.5, "since": 1, "sure": True, "more": {"b": []}}, {"at": 4}]
)
def test_what_was_written_is_read(value: dict[str, t.Any]) -> None:
    assert typed.fields(value, Some()) == Some(**value)


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        "text",
        {"other": 1},
        {"name": None},
        {"count": "3"},
        {"count": 2.5},
        {"count": True},
        {"at": "now"},
        {"at": False},
        {"at": float("nan")},
        {"at": 10**400},
        {"since": []},
        {"since": float("inf")},
        {"sure": 1},
        {"more": []},
    ],
)
def test_other_types_are_damage(value: t.Any) -> None:
    with pytest.raises(TypeError):
        typed.fields(value, Some())
