# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What all parts of the guard share: the store, the guard's own files, the clock and the report to the cluster."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
import time
from typing import Any, Callable, Iterator, Mapping, NamedTuple, Sequence

from ..records import json_file
from ..records.json_file import MemoryFile
from ..report import status_annotation, textfile
from ..report.status_annotation import Outbox
from ..store import installed
from ..store.local import DEFAULT_KEY
from ..store.meta import Source
from ..store.store import Store
from ..store.store_reader import StoreReader, quietly, wrong
from ..store.trial import MEMORY, Moment, OrderedStop, Progress, ProgressFile, Trial
from ..system import command, files, health
from ..system.files import FileError, StoreError
from ..system.lock import locked
from . import observe

_LOCK_SECONDS = 5.0
_NO_LOCK = (errno.EISDIR, errno.ELOOP, errno.ENXIO)
"""Why what is in the place of a lock cannot be opened: a folder, a link, a socket."""
STARTED = f"{MEMORY}/started"
CRASHED = "crashed"
"""Stage of a kubelet that fails with a configuration that worked before: the guard reports it and changes nothing."""
_NOTHING: tuple[Progress | None, Progress] = (None, Progress())


class Settings(NamedTuple):
    """What the guard was installed for.

    `unit`: the kubelet's unit. The others are for a node whose kubelet does not run or has no configuration. `argv`:
    the kubelet's command line at installation; `config`: the config file that the unit names without our drop-in;
    `key`: the name of the file that the kubelet reads under `active`. `folder`: the kubelet's drop-in folder with
    delivery `dropin`, empty with `checkpoint`; `config` is our link in it then.

    `metrics`: the folder of node_exporter's textfile collector that gets the status as metrics, empty for none.
    """

    unit: str = "kubelet.service"
    argv: Sequence[str] = ()
    config: str = ""
    key: str = DEFAULT_KEY
    folder: str = ""
    lock_seconds: float = _LOCK_SECONDS
    metrics: str = ""


class Records(Outbox):
    """`store/progress`, and the pending report. Reading never raises: an unreadable file counts as absent.

    `spare` is the path of a file in memory (/run), through `memory`, for what a full or read-only disk cannot hold.
    """

    def __init__(self, config_dir: str, fs: files.OS, spare: str, memory: files.OS = files.DISK) -> None:
        super().__init__(config_dir, fs)
        self.progress_file = ProgressFile(config_dir, fs)
        self.spare = spare
        self.memory = memory
        self._held = _NOTHING

    def progress(self) -> Progress:
        """Return what is remembered, an empty Progress if nothing is."""
        on_disk = self.progress_file.read()
        for before, now in (self._held, self._in_memory()):
            if before == on_disk:
                return now
        # Another process has written the file on the disk since: that is the newer one then.
        return on_disk

    def remember(self, progress: Progress) -> None:
        """Write the progress. An empty Progress removes the file, also on a full disk.

        Raises files.FileError. Memory holds it all the same until the next reboot, this process if memory is full too.
        """
        try:
            self.progress_file.write(progress)
            self._held = _NOTHING
        except files.FileError:
            self._held = self.progress_file.read(), progress
            files.make_folder(os.path.dirname(self.spare), self.memory)
            value = {"on_disk": self._held[0]._asdict(), "now": progress._asdict()}
            json_file.save(self.spare, value, self.memory)
            raise
        files.remove(self.spare, self.memory)

    def _in_memory(self) -> tuple[Progress | None, Progress]:
        """Return what the disk held when the spare file was written, and what that holds."""
        try:
            value = json_file.load(self.spare, self.memory)
            return json_file.fields(value["on_disk"], Progress()), json_file.fields(value["now"], Progress())
        except (files.FileError, ValueError, TypeError, KeyError):
            return _NOTHING


def verdict(store: StoreReader, armed: Trial) -> str:
    """Return why the guard has decided to end a trial that is not yet recorded as failed; empty if it has not."""
    spare = os.path.join(MEMORY, "progress")
    progress = Records(store.config_dir, store.fs, spare).progress()
    if progress.name != armed.name:
        return ""
    return progress.verdict


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
        # A full /run must not make the watching process take a start for an unknown one.
        self.file = MemoryFile(path, Start("", ""), fs)
        self.path, self.fs = path, fs

    def target(self, invocation: str) -> str:
        """Return what the kubelet of this InvocationID was started with; empty if that is unknown.

        It is unknown for a kubelet from before the guard, and where the prestart step was killed.
        """
        for start in (self.file.read(), self.file.held):
            if start and start.invocation == invocation:
                return start.target
        return ""

    def take(self) -> str:
        """Return what the last kubelet was started with, if its state files fit; empty if that is unknown.

        The note is removed: a start that is killed before it is noted, or of which systemd reports nothing, must not
        pass for the one before it.
        """
        start = self.file.read()
        with contextlib.suppress(files.FileError):
            files.remove(self.path, self.fs)
        if start and start.fits:
            return start.target
        return ""

    def note(self, invocation: str, target: str | None, fits: bool = True) -> None:
        """Note what a kubelet is started with. Raises files.FileError; this process knows it all the same."""
        self.file.write(Start(invocation, target or "", fits))


class Host:
    """What all parts of one node's guard share. `started`: what the kubelet was started with."""

    def __init__(
        self, store: Store, settings: Settings, run: command.Run, now: Callable[[], Moment], started: Started
    ) -> None:
        self.store, self.settings, self.run, self.now, self.started = store, settings, run, now, started
        # The folder of the guard's files in memory.
        self.memory = os.path.dirname(started.path)
        self.records = Records(store.config_dir, store.fs, os.path.join(self.memory, "progress"), started.fs)
        self.stopped = OrderedStop(self.memory, started.fs)
        # Why the metrics could not be written last: the same reason is reported once.
        self._unwritten = ""

    def kubelet(self, before: observe.Kubelet | None = None) -> observe.Kubelet | None:
        """Return what is observed of the kubelet, see `observe.kubelet`."""
        return observe.kubelet(self.settings.unit, self.run, before)

    def running(self) -> str | None:
        """Return the target of `active`, None if that is unknown."""
        return quietly(self.store.running)

    def leads_to(self, source: Source | None) -> bool:
        """Whether `active` leads to a source."""
        return self.running() == self.store.target(source)

    def active_source(self) -> Source | None:
        """Return the source that is active, None for the local configuration, and if that is unknown."""
        return quietly(self.store.active_source)

    def config(self, target: str, words: Sequence[str] | None = None) -> Mapping[str, Any]:
        """Return the fields that the kubelet reads, or would read, while `active` leads to a target.

        `words`: its command line, None for that of the settings.
        """
        path = os.path.join(self.store.config_dir, target, self.settings.key)
        if self.settings.folder:
            return observe.merged(words or self.settings.argv, self.settings.folder, path)
        return observe.config_of(path)

    def next_words(self, run: command.Run) -> list[str]:
        """Return the command line of the kubelet's next start, that of the settings if systemd does not show it."""
        # A guard that only waits does not load this.
        from ..unit.unit import Unit, UnitError

        try:
            words = Unit(self.settings.unit, run=run).next_command().argv
        except UnitError:
            words = []
        if not words or self.is_another(words[0]):
            return list(self.settings.argv)
        return words

    def is_another(self, program: str) -> bool:
        """Return whether a program is not the kubelet, but one that starts it."""
        return bool(self.settings.folder) and not health.is_kubelet(program)

    def runtime_socket(self, target: str, trial: Trial | None) -> str:
        """Return the socket of the container runtime that a kubelet with this target of `active` uses."""
        version = trial.kubelet_version if trial else self.store.graduated_with()
        return health.runtime_socket(self.config(target), self.settings.argv, version)

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the store. Raises LockError if another process has the lock.

        What cannot be a lock, such as a folder in its place, is one that no process has. It must not prevent a revert.
        """
        with contextlib.ExitStack() as stack:
            try:
                stack.enter_context(locked(self.store.config_dir, self.settings.lock_seconds))
            except FileError as error:
                if error.number not in _NO_LOCK:
                    raise
                sys.stderr.write(f"{error}\n")
            yield

    def attempt(self, act: Callable[[], Any]) -> bool:
        """Return whether this was possible: a full disk must not prevent a revert."""
        try:
            act()
        except (StoreError, OSError) as error:
            sys.stderr.write(f"{error}\n")
            return False
        return True

    def remember(self, progress: Progress) -> None:
        """Write the progress, as far as that is possible."""
        self.attempt(lambda: self.records.remember(progress))

    def queue_report(self, reason: str, error: str = "", event: str = "") -> bool:
        """Queue a report and publish its metrics; return whether there was room for it. Needs the store's lock."""
        wall = time.time()
        status = status_of(self.store, error, reason, wall)
        queued = self.attempt(lambda: self.records.queue(status, event, bool(error), wall))
        self._publish(status)
        return queued

    def publish_again(self) -> None:
        """Write the metrics if they are gone, as from a folder in memory after a boot. Needs the store's lock."""
        folder = self.settings.metrics
        # A folder that does not exist was reported with the last change. A kubelet's start is not a change.
        if folder and os.path.isdir(folder) and not textfile.exists(folder):
            self._publish(status_of(self.store, error_of(self.store), "", time.time()))

    def _publish(self, status: Mapping[str, Any]) -> None:
        """Write the metrics of a status, where they are wanted. Never raises."""
        folder, reason = self.settings.metrics, ""
        if folder:
            reason = wrong(lambda: textfile.write(folder, textfile.metrics(status)))
        if reason and reason != self._unwritten:
            sys.stderr.write(f"the metrics are not written, the guard works without them: {reason}\n")
        self._unwritten = reason


def status_of(store: Store, error: str, reason: str, wall: float) -> dict[str, Any]:
    """Return the status of a store, as of `wall` seconds since the epoch. A part that is unreadable counts as local."""
    return status_annotation.status(
        quietly(store.assigned), quietly(store.active_source), quietly(store.last_known_good), error, reason, wall
    )


def queue_again(store: Store, reason: str) -> None:
    """Queue a report of what runs, unless one is pending: a Node that was created again has lost its status.

    An error that the guard has reported stays, since only the guard sees its end. Needs the store's lock. Raises
    FileError.
    """
    outbox, now = Outbox(store.config_dir, store.fs), time.time()
    if outbox.report() is None:
        error = error_of(store) or _reported_error(store)
        outbox.queue(status_of(store, error, reason, now), "", False, now)


def _reported_error(store: Store) -> str:
    """Return the error that the guard has reported without a trial, empty for none."""
    binary = installed.binary_record(store.folder, store.fs).read()
    if binary is not None and binary.reported:
        return binary.reported
    if ProgressFile(store.config_dir, store.fs).read().reported == CRASHED:
        return "the kubelet kept ending, although this configuration worked before: look at its journal"
    return ""


def error_of(store: Store) -> str:
    """Return why a kubelet does not run what is assigned, and what of the store is damaged. Empty if all is well."""
    reasons = list(dict.fromkeys(store.resolve().reasons))
    # A store that was only staged has no local configuration yet.
    saved = store.verify_local if quietly(store.local) else store.local
    for read in (store.assigned, store.active_source, store.last_known_good, store.trial, saved):
        damage = wrong(read)
        if damage and not any(damage in reason for reason in reasons):
            reasons.append(damage)
    return "; ".join(reasons)
