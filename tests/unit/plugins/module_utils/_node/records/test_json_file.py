# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The one form of the JSON files on a node, what is not read as one, and the types of a record."""

from __future__ import annotations

import json
import os
import typing as t
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.records import json_file
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system.files import FileError


def test_the_form_is_sorted_and_ends_with_a_line(tmp_path: Path) -> None:
    """Any text is a file, also a lone surrogate: UTF-8 has no bytes for it. No file and an empty one hold nothing."""
    value = {"b": [1.5, None], "a": "\udcff"}
    path = tmp_path / "some"
    json_file.save(str(path), value)
    assert path.read_bytes() == b'{\n  "a": "\\udcff",\n  "b": [\n    1.5,\n    null\n  ]\n}\n'
    assert json_file.load(str(path)) == value
    assert os.stat(path).st_mode & 0o777 == 0o600
    assert json_file.load(f"{path}2") is None and json_file.load(str(tmp_path / "none" / "some")) is None
    path.write_bytes(b"")
    assert json_file.load(str(path)) is None


DAMAGED = [b"{", b"\xff", b" ", b"[" * 200_000]


@pytest.mark.usefixtures("no_garbage")
@pytest.mark.parametrize("data", DAMAGED, ids=range(4))
def test_other_content_is_an_error(data: bytes) -> None:
    with pytest.raises(ValueError, match=r".") as raised:
        json_file.decode(data)
    assert not isinstance(raised.value, RecursionError)


def test_nothing_is_read_or_written_through_a_linked_folder(tmp_path: Path) -> None:
    inside, link = tmp_path / "inside", tmp_path / "link"
    inside.mkdir()
    (inside / "some").write_text("{}\n")
    link.symlink_to(inside)
    with pytest.raises(FileError, match=f"^{link}: is a symbolic link"):
        json_file.load(str(link / "some"))
    with pytest.raises(FileError, match=f"^{link}: is a symbolic link"):
        json_file.save(str(link / "some"), {"a": 1})
    assert json_file.load(str(inside / "some")) == {} and os.listdir(inside) == ["some"]


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
        *(None, [], "text", {"name": "a", "format": 2}, {"name": None}, {"sure": 1}, {"more": []}),
        *({"count": "3"}, {"count": 2.5}, {"count": True}, {"since": []}, {"since": float("inf")}),
        *({"at": "now"}, {"at": False}, {"at": float("nan")}, {"at": 10**400}),
    ],
)
def test_other_types_are_damage(value: t.Any) -> None:
    with pytest.raises(TypeError):
        json_file.fields(value, Some())


@pytest.mark.usefixtures("no_garbage")
@pytest.mark.parametrize(
    "data", [b"", b"[]", b"null", b"\0", b'{"name": 5}', b'{"name": "a", "format": 2}', *DAMAGED], ids=range(10)
)
def test_a_damaged_record_counts_as_absent_and_is_replaced(tmp_path: Path, data: bytes) -> None:
    """What the file holds already is not written again."""
    file = json_file.RecordFile(str(tmp_path / "file"), Some())
    assert file.read() is None
    (tmp_path / "file").write_bytes(data)
    assert file.read() is None
    file.write(Some("a", 1))
    before = os.stat(file.path)
    file.write(Some("a", 1))
    after = os.stat(file.path)
    assert file.read() == Some("a", 1) and (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    file.remove()
    assert file.read() is None
