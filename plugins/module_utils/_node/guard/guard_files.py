# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The guard's own two files beside the trial: what it remembers of the trial, and what it must still report."""

from __future__ import annotations

from ..report.outbox import Outbox
from ..store.progress import Progress, ProgressFile
from ..system import files


class Records(Outbox):
    """`store/progress`, and the pending report. Reading never raises: an unreadable file counts as absent."""

    def __init__(self, config_dir: str, fs: files.OS | None = None) -> None:
        super().__init__(config_dir, fs)
        self.progress_file = ProgressFile(config_dir, fs)

    def progress(self) -> Progress:
        """Return what is remembered, an empty Progress if nothing is."""
        return self.progress_file.read()

    def remember(self, progress: Progress) -> None:
        """Write the progress. An empty Progress removes the file, also on a full disk. Raises files.FileError."""
        self.progress_file.write(progress)
