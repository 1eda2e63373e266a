# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import os
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.guard.known_binary import (
    Binary,
    identity,
    record_of,
)


def found(path: Path) -> Binary:
    result = identity(str(path))
    assert result
    return result


def test_a_replaced_binary_is_another_one(tmp_path: Path) -> None:
    kubelet, link, other = tmp_path / "kubelet", tmp_path / "link", tmp_path / "other"
    assert identity(str(kubelet)) is None
    kubelet.write_text("1")
    link.symlink_to(kubelet)
    first, linked = found(kubelet), found(link)
    assert first.same(found(kubelet)) and first.same(first._replace(version="v1.20.2", settled=True))
    os.utime(kubelet, ns=(1, 1))
    assert not first.same(found(kubelet))
    other.write_text("1")
    os.utime(other, ns=(first.modified, first.modified))
    os.rename(other, kubelet)
    assert not first.same(found(kubelet)) and not linked.same(found(link)) and not first.same(linked)


BAD = b'{"path": "/k", "inode": 1, "size": 2, "modified": 3, "unanswered": "1"}'


@pytest.mark.usefixtures("no_garbage")
@pytest.mark.parametrize(
    "content", [b"", b"[]", b"{", b'{"path": "/k"}', b'{"other": 1}', b"\xff", BAD, b"[" * 200_000], ids=range(8)
)
def test_an_unreadable_record_counts_as_absent(tmp_path: Path, content: bytes) -> None:
    record = record_of(str(tmp_path))
    assert record.read() is None
    Path(record.path).write_bytes(content)
    assert record.read() is None
    known = Binary("/k", 1, 2, 3, "v1.20.2", True, 1, "why")
    record.write(known)
    before = os.stat(record.path)
    record.write(known)
    after = os.stat(record.path)
    assert record.read() == known and (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
