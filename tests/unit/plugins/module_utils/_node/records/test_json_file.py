# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The one form of the JSON files on a node, and what is not read as one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.records import json_file
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system.files import FileError


def test_the_form_is_sorted_and_ends_with_a_line(tmp_path: Path) -> None:
    """Any text is a file, also a lone surrogate: UTF-8 has no bytes for it."""
    value = {"b": [1.5, None], "a": "\udcff"}
    path = tmp_path / "some"
    json_file.save(str(path), value)
    assert path.read_bytes() == b'{\n  "a": "\\udcff",\n  "b": [\n    1.5,\n    null\n  ]\n}\n'
    assert json_file.load(str(path)) == value
    assert os.stat(path).st_mode & 0o777 == 0o600


def test_no_file_and_an_empty_one_hold_nothing(tmp_path: Path) -> None:
    path = tmp_path / "some"
    assert json_file.load(str(path)) is None and json_file.load(str(tmp_path / "none" / "some")) is None
    path.write_bytes(b"")
    assert json_file.load(str(path)) is None


@pytest.mark.usefixtures("no_garbage")
@pytest.mark.parametrize("data", [b"{", b"\xff", b" ", b"[" * 200_000], ids=range(4))
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
