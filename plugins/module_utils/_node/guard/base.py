# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What all parts of the guard share: the store, its records, the clock and the report to the cluster."""

from __future__ import annotations

import os
import sys
import time
from typing import Any, Callable, Mapping, NamedTuple, Sequence

from ..report import status_annotation, textfile
from ..store.store import DEFAULT_KEY, Store
from ..store.trial import Moment, Progress
from ..system import command
from ..system.files import StoreError
from ..unit import ordered_stop
from . import observe
from .guard_files import Records, Started

LOCK_SECONDS = 5.0
STARTED = f"{ordered_stop.FOLDER}/started"
# A report has whole seconds, so a smaller step of the clock makes no heartbeat older than the start of its kubelet.
STEP_SECONDS = 2.0


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
    lock_seconds: float = LOCK_SECONDS
    metrics: str = ""


class Base:
    """The store and the records of one node. `run` runs commands, `now` returns the time, `started` is what the kubelet
    was started with.
    """

    def __init__(
        self, store: Store, settings: Settings, run: command.Run, now: Callable[[], Moment], started: Started
    ) -> None:
        self.store = store
        self.settings = settings
        self.run = run
        self.now = now
        self.started = started
        spare = os.path.join(os.path.dirname(started.path), "progress")
        self.records = Records(store.config_dir, store.fs, spare, started.fs)
        self.stopped = ordered_stop.OrderedStop(os.path.dirname(started.path), started.fs)
        # Why the metrics could not be written last: the same reason is reported once.
        self.unwritten = ""
        # By how many seconds the wall clock was ahead of the time since the boot at the last look.
        self._ahead: float | None = None

    def _when(self) -> tuple[str, float]:
        moment = self.now()
        return moment.boot_id, moment.monotonic

    def _clock_was_set(self) -> bool:
        """Whether the wall clock was set since this was last asked: a report from before has times by the former one.

        Nothing but a report depends on it.
        """
        moment = self.now()
        before, self._ahead = self._ahead, moment.wall - moment.monotonic
        return before is not None and abs(self._ahead - before) >= STEP_SECONDS

    def _remember(self, progress: Progress) -> None:
        self._attempt(lambda: self.records.remember(progress))

    def _attempt(self, act: Callable[[], Any]) -> bool:
        """Return whether this was possible: a full disk must not prevent a revert."""
        try:
            act()
        except (StoreError, OSError) as error:
            sys.stderr.write(f"{error}\n")
            return False
        return True

    def _report(self, reason: str, error: str = "", event: str = "") -> bool:
        """Queue a report and publish its metrics; return whether there was room for it."""
        wall = time.time()
        status = status_of(self.store, error, reason, wall)
        queued = self._attempt(lambda: self.records.queue(status, event, bool(error), wall))
        self._publish(status)
        return queued

    def _publish(self, status: Mapping[str, Any]) -> None:
        """Write the metrics of a status, where they are wanted. Needs the store's lock. Never raises."""
        try:
            if self.settings.metrics:
                textfile.write(self.settings.metrics, textfile.metrics(status))
            self.unwritten = ""
        except StoreError as error:
            if str(error) != self.unwritten:
                sys.stderr.write(f"the metrics are not written, the guard works without them: {error}\n")
            self.unwritten = str(error)

    def _publish_again(self) -> None:
        """Write the metrics if they are gone, as from a folder in memory after a boot. Needs the store's lock."""
        folder = self.settings.metrics
        # A folder that does not exist was reported with the last change. A kubelet's start is no change.
        if folder and os.path.isdir(folder) and not textfile.exists(folder):
            self._publish(status_of(self.store, error_of(self.store), "", time.time()))

    def _fields(self, target: str) -> Mapping[str, Any]:
        """Return the fields that the kubelet reads, or would read, while `active` leads to a target."""
        path = os.path.join(self.store.config_dir, target, self.settings.key)
        words, folder = list(self.settings.argv), self.settings.folder
        return observe.merged(words, folder, path) if folder else observe.config_of(path)

    def _active(self) -> Any:
        return or_none(self.store.active_source)

    def _running(self) -> str | None:
        running: str | None = or_none(self.store.running)
        return running


def status_of(store: Store, error: str, reason: str, wall: float) -> dict[str, Any]:
    """Return the status of a store, as of `wall` seconds since the epoch. A part that is unreadable counts as local."""
    return status_annotation.status(
        or_none(store.assigned), or_none(store.active_source), or_none(store.last_known_good), error, reason, wall
    )


def error_of(store: Store) -> str:
    """Return why a kubelet does not run what is assigned, and what of the store is damaged. Empty if all is well."""
    reasons = list(dict.fromkeys(store.resolve().reasons))
    # A store that was only staged has no local configuration yet.
    saved = store.verify_local if or_none(store.local) else store.local
    for read in (store.assigned, store.active_source, store.last_known_good, store.trial, saved):
        try:
            read()
        except StoreError as error:
            if not any(str(error) in reason for reason in reasons):
                reasons.append(str(error))
    return "; ".join(reasons)


def or_none(read: Callable[[], Any]) -> Any:
    try:
        return read()
    except (StoreError, KeyError, UnicodeDecodeError):
        return None
