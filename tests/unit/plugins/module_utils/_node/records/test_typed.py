# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fields that were read from a file have the types that were written."""

from __future__ import annotations

import json
import typing as t
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.records import json_file


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
    assert json_file.fields(value, Some()) == Some(**value)


@pytest.mark.fault(case=75)
def test_a_file_of_another_version_is_read_and_its_unknown_fields_are_kept(tmp_path: Path) -> None:
    """As long as it is about the same subject."""
    file = json_file.RecordFile(str(tmp_path / "file"), Some())
    (tmp_path / "file").write_text('{"name": "a", "count": 1, "newer": [5], "format": 1}')
    assert file.read() == Some("a", 1)
    file.write(Some("a", 2))
    assert json.loads((tmp_path / "file").read_text()) == {"name": "a", "count": 2, "newer": [5], "format": 1}
    file.write(Some("b", 0))
    assert json.loads((tmp_path / "file").read_text()) == {"name": "b"}
    assert file.read() == Some("b")


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        "text",
        {"name": "a", "format": 2},
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
        json_file.fields(value, Some())
