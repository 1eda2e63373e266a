# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a kubelet that does not run was stopped by us: a file in memory (/run).

`systemctl restart` stops a kubelet before its dependencies start. If one of them fails (`Requires=`), the kubelet stays
inactive as if an operator had stopped it, also when the dependency is back. So each restart that is ordered notes which
kubelet it stops. A later start has another InvocationID: a stop after it is an operator's.
"""

from __future__ import annotations

import contextlib
import os
from typing import NamedTuple

from ..records.json_file import MemoryFile
from ..system import files

FOLDER = "/run/livenodes-kubelet-guard"
NAME = "stopped"


class _Stopped(NamedTuple):
    """The InvocationID of the kubelet that was ordered to stop."""

    invocation: str


class OrderedStop:
    """The note below a folder."""

    def __init__(self, folder: str = FOLDER, fs: files.OS = files.DISK) -> None:
        self.file = MemoryFile(os.path.join(folder, NAME), _Stopped(""), fs)

    def note(self, invocation: str) -> None:
        """Note which kubelet is about to be stopped. Never raises."""
        with contextlib.suppress(files.FileError):
            self.file.write(_Stopped(invocation))

    def ours(self, invocation: str) -> bool:
        """Return whether the last kubelet, which has this InvocationID, was stopped by us."""
        return _Stopped(invocation) in (self.file.read(), self.file.held)
