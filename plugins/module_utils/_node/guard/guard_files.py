# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The guard's own files: what it remembers of the trial, what it must still report, and what the kubelet reads."""

from __future__ import annotations

import os
from typing import Any

from ..records import json_file, typed
from ..report.outbox import Outbox
from ..store.progress import Progress, ProgressFile
from ..system import files


class Records(Outbox):
    """`store/progress`, and the pending report. Reading never raises: an unreadable file counts as absent.

    `spare` is the path of a file in memory (/run), through `memory`, for what a full or read-only disk cannot hold.
    """

    def __init__(
        self, config_dir: str, fs: files.OS | None = None, spare: str = "", memory: files.OS | None = None
    ) -> None:
        super().__init__(config_dir, fs)
        self.progress_file = ProgressFile(config_dir, fs)
        self.spare = spare
        self.memory = memory or files.OS()

    def progress(self) -> Progress:
        """Return what is remembered, an empty Progress if nothing is."""
        known = self.progress_file.read()
        try:
            value: Any = json_file.load(self.spare, self.memory) if self.spare else None
            # Another process has written the file on the disk since: that is the newer one.
            newest = value and typed.fields(value["on_disk"], Progress()) == known
            return typed.fields(value["now"], Progress()) if newest else known
        except (files.FileError, ValueError, TypeError, KeyError):
            return known

    def remember(self, progress: Progress) -> None:
        """Write the progress. An empty Progress removes the file, also on a full disk.

        Raises files.FileError. Until the next reboot the progress is remembered all the same.
        """
        try:
            self.progress_file.write(progress)
        except files.FileError:
            if self.spare:
                files.make_folder(os.path.dirname(self.spare), self.memory)
                value = {"on_disk": self.progress_file.read()._asdict(), "now": progress._asdict()}
                json_file.save(self.spare, value, self.memory)
            raise
        if self.spare:
            files.remove(self.spare, self.memory)


class Started:
    """What a kubelet was started with: the target of `active` at its start, noted by the prestart step.

    The file is in memory (/run): it can also be written while the disk of the store is full or read-only, and a reboot
    ends it together with the kubelet. Reading never raises.
    """

    def __init__(self, path: str, fs: files.OS | None = None) -> None:
        self.path = path
        self.fs = fs or files.OS()

    def target(self, invocation: str) -> str:
        """Return what the kubelet of this InvocationID was started with; empty if that is unknown.

        It is unknown for a kubelet from before the guard, and where the prestart step was killed.
        """
        try:
            value = json_file.load(self.path, self.fs)
            return str(value["target"]) if value["invocation"] == invocation else ""
        except (files.FileError, ValueError, TypeError, KeyError):
            return ""

    def note(self, invocation: str, target: str | None) -> None:
        """Note what a kubelet is started with. Raises files.FileError."""
        files.make_folder(os.path.dirname(self.path), self.fs)
        json_file.save(self.path, {"invocation": invocation, "target": target}, self.fs)
