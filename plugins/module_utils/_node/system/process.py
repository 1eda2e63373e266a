# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What /proc shows of a process. A process may have any bytes there."""

from __future__ import annotations

import os


def command_line(pid: int, root: str = "/") -> list[str]:
    """Return a process's command line, empty when it has ended or has none.

    Bytes that are not UTF-8 are kept (surrogateescape), so that a path can be opened. `root`: the folder that /proc is
    in.
    """
    try:
        with open(os.path.join(root, f"proc/{pid}/cmdline"), "rb") as stream:
            words = stream.read().split(b"\0")
    except OSError:
        return []
    # The kernel ends each word, a title that the process has written may have no end.
    return [os.fsdecode(word) for word in (words if words[-1] else words[:-1])]
