# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""SELinux labels of what this collection writes on a node, where SELinux is enabled."""

from __future__ import annotations

import os
from typing import Sequence

from ..system import command

ENABLED = "/sys/fs/selinux/enforce"
"""A file that exists while SELinux is enabled (selinux(8))."""


def restore(paths: Sequence[str], run: command.Run, enabled: str = ENABLED) -> str:
    """Give files and folders the labels of the node's policy; return why that failed, empty if it did not.

    New files get the label of their folder. A policy may have another one for them.
    """
    if not os.path.exists(enabled):
        return ""
    done = run(["restorecon", "-R", *paths])
    if done.returncode == 0:
        return ""
    reason = (done.stderr or done.stdout).strip().splitlines()[-1:] or [f"exit {done.returncode}"]
    return f"the SELinux labels of {', '.join(paths)} were not restored: {reason[0]}. Run restorecon -R on them"
