# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The guard's own files: what it remembers of the trial, what it must still report, and what the kubelet reads."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

from ..records import json_file
from ..records.json_file import RecordFile
from ..report.status_annotation import Outbox
from ..store.store_reader import StoreReader
from ..store.trial import Progress, ProgressFile, Trial
from ..system import files
from ..unit import ordered_stop

_NOTHING: tuple[Progress | None, Progress] = (None, Progress())


class Records(Outbox):
    """`store/progress`, and the pending report. Reading never raises: an unreadable file counts as absent.

    `spare` is the path of a file in memory (/run), through `memory`, for what a full or read-only disk cannot hold.
    """

    def __init__(
        self, config_dir: str, fs: files.OS = files.DISK, spare: str = "", memory: files.OS = files.DISK
    ) -> None:
        super().__init__(config_dir, fs)
        self.progress_file = ProgressFile(config_dir, fs)
        self.spare = spare
        self.memory = memory
        self._held = _NOTHING

    def progress(self) -> Progress:
        """Return what is remembered, an empty Progress if nothing is."""
        on_disk = self.progress_file.read()
        # Another process may have written the file on the disk since: that is the newer one then.
        return next((now for before, now in (self._held, self._in_memory()) if before == on_disk), on_disk)

    def remember(self, progress: Progress) -> None:
        """Write the progress. An empty Progress removes the file, also on a full disk.

        Raises files.FileError. Until the next reboot the progress is remembered all the same; if memory is full too,
        until the end of this process.
        """
        try:
            self.progress_file.write(progress)
            self._held = _NOTHING
        except files.FileError:
            self._held = self.progress_file.read(), progress
            if self.spare:
                files.make_folder(os.path.dirname(self.spare), self.memory)
                value = {"on_disk": self._held[0]._asdict(), "now": progress._asdict()}
                json_file.save(self.spare, value, self.memory)
            raise
        if self.spare:
            files.remove(self.spare, self.memory)

    def _in_memory(self) -> tuple[Progress | None, Progress]:
        """Return what the disk held when the spare file was written, and what that holds."""
        try:
            value: Any = json_file.load(self.spare, self.memory) if self.spare else None
            return json_file.fields(value["on_disk"], Progress()), json_file.fields(value["now"], Progress())
        except (files.FileError, ValueError, TypeError, KeyError):
            return _NOTHING


def verdict(store: StoreReader, armed: Trial) -> str:
    """Return why the guard has decided to end a trial that is not yet recorded as failed; empty if it has not."""
    spare = os.path.join(ordered_stop.FOLDER, "progress")
    progress = Records(store.config_dir, store.fs, spare).progress()
    return progress.verdict if progress.name == armed.name else ""


class Start(NamedTuple):
    """A start of the kubelet: its InvocationID, and the target of `active`, empty for none.

    `fits`: whether the state files fit it, as far as the guard could make them fit.
    """

    invocation: str
    target: str
    fits: bool = True


class Started:
    """What a kubelet was started with: the target of `active` at its start, noted by the prestart step.

    The file is in memory (/run): it can also be written while the disk of the store is full or read-only, and a reboot
    ends it together with the kubelet. Reading never raises.
    """

    def __init__(self, path: str, fs: files.OS = files.DISK) -> None:
        self.file = RecordFile(path, Start("", ""), fs)
        self.path, self.fs = path, self.file.fs
        # A full /run must not make the watching process take a start for an unknown one.
        self._held = Start("", "")

    def target(self, invocation: str) -> str:
        """Return what the kubelet of this InvocationID was started with; empty if that is unknown.

        It is unknown for a kubelet from before the guard, and where the prestart step was killed.
        """
        known = (self.file.read(), self._held)
        return next((start.target for start in known if start and start.invocation == invocation), "")

    def last(self) -> str:
        """Return what the last kubelet that was noted was started with, if its state files fit that; empty after a
        boot, and if that is unknown.
        """
        start = self.file.read() or self._held
        return start.target if start.fits else ""

    def note(self, invocation: str, target: str | None, fits: bool = True) -> None:
        """Note what a kubelet is started with. Raises files.FileError; this process knows it all the same."""
        start = Start(invocation, target or "", fits)
        try:
            files.make_folder(os.path.dirname(self.path), self.fs)
            self.file.write(start)
        except files.FileError:
            self._held = start
            raise
