# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is installed on a node: the guard beside a store, with its settings (the file `guard/settings.json`), and the
kubelet's binary at its last start (the file `store/binary`).
"""

from __future__ import annotations

import os
import typing as t

from ..records import json_file
from ..records.json_file import RecordFile
from ..system.files import DISK, OS, FileError

# A script that is named by its path has no byte code.
SCRIPT = "__main__.py"
TEXTS = ("unit", "config", "key", "folder", "metrics")


def settings(config_dir: str, fs: OS = DISK) -> dict[str, t.Any]:
    """Return the settings of the installed guard, empty when there are none or they are damaged.

    `argv` is a list of texts, every other setting that we know is a text.
    """
    try:
        found = json_file.load(path(config_dir), fs)
    except (FileError, ValueError):
        return {}
    if not isinstance(found, dict) or not isinstance(found.get("argv", []), list):
        return {}
    for text in (*found.get("argv", []), *(found.get(name, "") for name in TEXTS)):
        if not isinstance(text, str):
            return {}
    return found


def program(interpreter: str, config_dir: str) -> list[str]:
    """Return the command line of the guard's program, up to one of its own commands. It writes no byte code."""
    return [interpreter, "-I", "-B", os.path.join(config_dir, "guard", SCRIPT)]


def path(config_dir: str) -> str:
    """Return where the settings are."""
    return os.path.join(config_dir, "guard", "settings.json")


class Binary(t.NamedTuple):
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


def binary_record(folder: str, fs: OS = DISK) -> RecordFile[Binary]:
    """Return the record below a store's folder."""
    return RecordFile(os.path.join(folder, "binary"), Binary("", 0, 0, 0), fs)


def identity(path: str) -> Binary | None:
    """Return which binary is at a path, links followed; None when there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return Binary(path, found.st_ino, found.st_size, found.st_mtime_ns)
