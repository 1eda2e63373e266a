# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The guard's own two files beside the trial: what it remembers of the trial, and what it must still report."""

from __future__ import annotations

import os

from ..report.outbox import Outbox
from ..system import files
from .decide import Progress


class Records(Outbox):
    """`store/progress`, and the pending report. Reading never raises: an unreadable file counts as absent."""

    def __init__(self, config_dir: str, fs: files.OS | None = None) -> None:
        super().__init__(config_dir, fs)
        self.progress_path = os.path.join(config_dir, "store", "progress")

    def progress(self) -> Progress:
        """Return what is remembered, an empty Progress if nothing is."""
        try:
            return Progress(**self._load(self.progress_path))
        except TypeError:
            return Progress()

    def remember(self, progress: Progress) -> None:
        """Write the progress unless the file holds it already. An empty Progress removes the file, also on a full disk.

        Raises files.FileError.
        """
        if progress == Progress():
            files.remove(self.progress_path, self.fs)
        elif progress != self.progress():
            self._save(self.progress_path, progress._asdict())
