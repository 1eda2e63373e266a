# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The kubelet's binary at its last start: the file `store/binary`."""

from __future__ import annotations

import os
from typing import NamedTuple

from ..records.json_file import RecordFile
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


def record_of(folder: str, fs: files.OS | None = None) -> RecordFile[Binary]:
    """Return the record below a store's folder."""
    return RecordFile(os.path.join(folder, "binary"), Binary("", 0, 0, 0), fs)


def identity(path: str) -> Binary | None:
    """Return which binary is at a path, links followed; None when there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return Binary(path, found.st_ino, found.st_size, found.st_mtime_ns)
