# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The guard's own two files beside the trial: what it remembers of it, and what it has yet to tell the cluster."""

from __future__ import annotations

import json
import os
from typing import Any, Mapping

from ..system import files
from ..system.lock import locked
from .decide import Progress
from .status_annotation import Report


class Records:
    """`store/progress` and `store/report` below a config folder. Reading never raises: what cannot be read is not there."""

    def __init__(self, config_dir: str, fs: files.OS | None = None) -> None:
        self.config_dir = config_dir
        self.fs = fs or files.OS()
        self.progress_path = os.path.join(config_dir, "store", "progress")
        self.report_path = os.path.join(config_dir, "store", "report")

    def progress(self) -> Progress:
        """Return what is remembered, an empty Progress if nothing is."""
        try:
            return Progress(**self._load(self.progress_path))
        except TypeError:
            return Progress()

    def remember(self, progress: Progress) -> None:
        """Write it unless it stands there already; to remember nothing works on a full disk too. Raises files.FileError."""
        if progress == Progress():
            files.remove(self.progress_path, self.fs)
        elif progress != self.progress():
            self._save(self.progress_path, progress._asdict())

    def report(self) -> Report | None:
        """Return what is to be told, None if all has been."""
        try:
            return Report(**self._load(self.report_path))
        except TypeError:
            return None

    def tell(self, report: Report) -> None:
        """Put a report in the place of any older one: the cluster needs to know how things are, not how they were.
        Raises files.FileError.
        """
        self._save(self.report_path, report._asdict())

    def progressed(self, before: Report, after: Report | None) -> Report:
        """Put what is left to tell (None: nothing) in the place of a report, unless another one took that meanwhile;
        return what is there now or was last.

        Raises files.FileError, LockError.
        """
        with locked(self.config_dir):
            now = self.report()
            if now == before and after is None:
                files.remove(self.report_path, self.fs)
            elif now == before and after is not None:
                self.tell(after)
        return after or before

    def _load(self, path: str) -> dict[str, Any]:
        try:
            value = json.loads((files.read(path, self.fs) or b"null").decode())
        except (files.FileError, ValueError):
            return {"unreadable": True}
        return value if isinstance(value, dict) else {"absent": True}

    def _save(self, path: str, value: Mapping[str, Any]) -> None:
        files.write(path, (json.dumps(value, sort_keys=True) + "\n").encode(), fs=self.fs)
