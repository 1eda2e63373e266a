# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the guard must still report: one file, `store/report` below a config folder."""

from __future__ import annotations

import os
from typing import Any, Mapping

from ..records.json_file import RecordFile
from ..system import files
from ..system.lock import locked
from .status_annotation import Report, suffix


class Outbox:
    """The pending report. Reading never raises: an unreadable file counts as absent."""

    def __init__(self, config_dir: str, fs: files.OS | None = None) -> None:
        self.config_dir = config_dir
        self.fs = fs or files.OS()
        empty = Report({}, "", False, 0.0, "")
        self._file = RecordFile(os.path.join(config_dir, "store", "report"), empty, self.fs)
        self.report_path = self._file.path

    def report(self) -> Report | None:
        """Return the pending report, None if everything was sent."""
        return self._file.read()

    def write_report(self, report: Report) -> None:
        """Replace the pending report: the cluster needs the current state only. Raises files.FileError."""
        self._file.write(report)

    def queue(self, status: Mapping[str, Any], event: str, warning: bool, seconds: float) -> None:
        """Make a status and an Event (empty: none) the pending report, as of `seconds` since the epoch.

        An Event that was not sent yet is kept and sent once, with the newer status. Raises files.FileError.
        """
        before = self.report()
        report = Report(status, event, warning, seconds, suffix(seconds))
        if before and before.message and event in ("", before.message):
            report = report._replace(
                message=before.message, warning=before.warning, time=before.time, name_suffix=before.name_suffix
            )
        self.write_report(report)

    def sent(self, before: Report, after: Report | None) -> Report:
        """Replace a report by what is left of it to send (None: nothing), unless a newer one is pending.

        Returns what is left, or `before`. Raises files.FileError, LockError.
        """
        with locked(self.config_dir):
            now = self.report()
            if now == before and after is None:
                self._file.remove()
            elif now == before and after is not None:
                self.write_report(after)
        return after or before
