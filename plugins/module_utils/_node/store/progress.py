# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is remembered of a trial between two observations: `store/progress`.

The guard writes it. The module writes the verdict of a revert into it, so that the guard restarts the kubelet if the
controller does not.
"""

from __future__ import annotations

import os
from typing import NamedTuple

from ..records.json_file import RecordFile
from ..system import files


class Progress(NamedTuple):
    """What the guard remembers between two observations, across its own restart and the node's reboot.

    `verdict`: the reason of a revert that was decided and is not finished: it is finished by a start of the kubelet
    with the configuration that is active then. `due`: if the controller decided it, the time from which the guard
    restarts the kubelet, in seconds of CLOCK_MONOTONIC in `boot`; until then the controller does. `reported`: the stage
    of the trial that was last reported to the cluster.

    `failures`: ends of the kubelet that are evidence; `words`: what the last of these kubelets logged last; `refused`:
    whether these words show that it refused the configuration. `was_healthy`: whether the kubelet was ever healthy with
    the configuration. `reboots`: boots since the arming; `booted`: seconds at the first observation of this boot.
    `runtime`, `away`: why the container runtime did not answer, and when that was last observed. `excused`: the
    InvocationID of a kubelet whose end is no evidence, `killed`: of one that a signal ended, which systemd shows only
    until the next start.
    """

    name: str = ""
    boot: str = ""
    invocation: str = ""
    restarts: int = 0
    failures: int = 0
    healthy_since: float | None = None
    unhealthy_since: float | None = None
    was_healthy: bool = False
    verdict: str = ""
    due: float = 0.0
    reported: str = ""
    reboots: int = 0
    booted: float = 0.0
    runtime: str = ""
    away: float | None = None
    excused: str = ""
    killed: str = ""
    words: str = ""
    refused: bool = False


class ProgressFile:
    """The file. Reading never raises: an unreadable file counts as absent."""

    def __init__(self, config_dir: str, fs: files.OS | None = None) -> None:
        self.file = RecordFile(os.path.join(config_dir, "store", "progress"), Progress(), fs)
        self.path = self.file.path

    def read(self) -> Progress:
        """Return what is remembered, an empty Progress if nothing is."""
        return self.file.read() or Progress()

    def write(self, progress: Progress) -> None:
        """Write the progress. An empty one removes the file, also on a full disk. Raises files.FileError."""
        if progress == Progress():
            self.file.remove()
        else:
            self.file.write(progress)
