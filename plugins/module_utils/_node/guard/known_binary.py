# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The kubelet's binary at its last start: the file `store/binary`."""

from __future__ import annotations

import os
from typing import NamedTuple

from ..records import json_file, typed
from ..system import files


class Binary(NamedTuple):
    """A kubelet's binary, and what is known of it.

    `inode`, `size`, `modified` (nanoseconds) are those of the file that `path` leads to. `settled`: there is nothing
    more to ask. `unanswered`: how often it gave no clear answer. `reported`: what was last reported of it.
    """

    path: str
    inode: int
    size: int
    modified: int
    version: str = ""
    settled: bool = False
    unanswered: int = 0
    reported: str = ""

    def same(self, other: Binary) -> bool:
        """Whether this is the same file, unchanged."""
        return self[:4] == other[:4]


class BinaryFile:
    """The file below a store's folder. Reading never raises: an unreadable file counts as absent."""

    def __init__(self, folder: str, fs: files.OS | None = None) -> None:
        self.path = os.path.join(folder, "binary")
        self.fs = fs

    def read(self) -> Binary | None:
        """Return the recorded binary, None without a record."""
        try:
            return typed.fields(json_file.load(self.path, self.fs), Binary("", 0, 0, 0))
        except (files.FileError, ValueError, TypeError):
            return None

    def write(self, binary: Binary) -> None:
        """Record a binary unless the file holds it already. Raises files.FileError."""
        if binary != self.read():
            json_file.save(self.path, binary._asdict(), self.fs)


def identity(path: str) -> Binary | None:
    """Return which binary is at a path, links followed; None when there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return Binary(path, found.st_ino, found.st_size, found.st_mtime_ns)
