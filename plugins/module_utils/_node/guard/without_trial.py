# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the guard does without a trial: it keeps a configuration on disk, and reports a kubelet that keeps failing."""

from __future__ import annotations

import os
from functools import partial
from typing import Any, Sequence

from ..records.json_file import MemoryFile
from ..report import status_annotation
from ..store import kept_files, statefiles
from ..store.meta import Source
from ..store.store_reader import LOCAL_TARGET, quietly
from ..store.trial import Progress, Trial
from . import decide, evidence
from .base import CRASHED, Host
from .decide import Facts

# The prestart step notices a kubelet that ended at its next start, so the service may look less often once the kubelet
# has been healthy for a while.
CALM_AFTER_SECONDS = 60.0


class WithoutTrial:
    """What the guard does at a kubelet's start and while it fails, when no configuration is on trial."""

    def __init__(self, host: Host) -> None:
        self.host, self.store = host, host.store
        self.copies = kept_files.KeptFiles(self.store.config_dir, self.store.fs)
        # The first start after a revert that a full disk could not record.
        begun = kept_files.Begun("", "", 0.0, 0)
        self.begun = MemoryFile(os.path.join(host.memory, "begun"), begun, host.started.fs)
        # The ends of the kubelet since such a revert.
        self.ends = MemoryFile(os.path.join(host.memory, "ends"), Progress(), host.started.fs)

    def ensure_configuration(self) -> None:
        """Make sure that the kubelet has a configuration to start with, also when the active one was damaged.

        Needs the store's lock.
        """
        target, found, settings = self.host.running(), self.store.resolve(), self.host.settings
        if found.target is None:
            # The kubelet must always start: the file that it would read without us is still on the node.
            self.store.renew_local(settings.config, settings.key)
            own = "the local configuration" if settings.folder else settings.config
            event = status_annotation.restarting(None)
            self.host.queue_report(f"reverted to {own}", error="; ".join(found.reasons), event=event)
        elif not self.store.usable() and self.store.settle().target != target:
            self.host.queue_report(
                "reverted to an intact configuration",
                error=self.store.error(),
                event=status_annotation.restarting(self.host.active_source()),
            )

    def restore_state_files(self, facts: Facts) -> bool:
        """Restore the state files before this start, if the reverted kubelet has ended twice; return whether anything
        was restored. Raises LockError, files.FileError.

        An end while the runtime is away does not count: it shows nothing.
        """
        if self.copies.read() is None:
            return False
        with self.host.locked():
            kept, trial = self.copies.read(), quietly(self.store.trial)
            # A full disk does not hold that the trial failed.
            if kept is None or trial is None or (self.host.leads_to(trial.to) and not trial.failed):
                return False
            restored = ", ".join(self._restore(kept, trial, facts))
            if restored:
                ended = f"then the kubelet ended {kept_files.MOST_FAILURES} times, so the guard restored {restored}"
                self.host.queue_report("state files restored", error=f"{trial.failed or 'reverted'}; {ended}")
            return bool(restored)

    def _restore(self, kept: kept_files.Kept, trial: Trial, facts: Facts) -> list[str]:
        """Do what this start of the reverted kubelet requires; return the paths of the state files that changed."""
        moment = self.host.now()
        start = kept_files.Reverted(moment.boot_id, moment.monotonic, facts.unit.restarts)
        before = None
        if not facts.runtime:
            before = kept.reverted or self._begun(trial)
        next_step = kept_files.step(before, *start)
        if next_step == kept_files.WAIT:
            return []
        if next_step == kept_files.BEGIN:
            self.host.attempt(lambda: self.begun.write(kept_files.Begun(trial.name, *start)))
            self.host.attempt(lambda: self.copies.write(kept._replace(reverted=start)))
            return []
        changed = []
        if next_step == kept_files.RESTORE:
            changed = kept_files.restore(kept, start.boot)
        # What may be left later needs a spare copy of the policy before it: a full disk has no room for another.
        self.copies.remove(spares=not self._may_be_left())
        return changed

    def _begun(self, trial: Trial) -> kept_files.Reverted | None:
        found = self.begun.read()
        if found is None or found.trial != trial.name:
            return None
        return kept_files.Reverted(found.boot, found.seconds, found.restarts)

    def crashing(self, facts: Facts) -> bool:
        """Report once that a kubelet keeps failing with a configuration that worked before; return whether it does.

        A configuration that never became last-known-good is left. Needs the store's lock.
        """
        before = self.host.records.progress()
        if not facts.unit.known:
            return before.reported == CRASHED
        progress = counted(before, facts)
        error = crash(progress, facts)
        left = self._leave_unverified(progress, facts)
        if left:
            queued = self._report_left(left)
            # Once there is room, the recovery is reported instead.
            self.host.remember(Progress(reported="" if queued else CRASHED))
            return not queued
        if error and before.reported != CRASHED:
            self.host.queue_report("not changed", error=error)
        if error or before.reported == CRASHED:
            progress = progress._replace(reported=CRASHED)
        self.host.remember(progress)
        return progress.reported == CRASHED

    def leave_unrecorded(self, facts: Facts) -> None:
        """Leave what a revert has led to that a full disk cannot record, if that ends the kubelet as well.

        The guard reports it with the revert, once there is room. Needs the store's lock.
        """
        if not facts.unit.known:
            return
        progress = counted(self.ends.read() or Progress(), facts)
        self.host.attempt(lambda: self.ends.write(progress))
        self._leave_unverified(progress, facts)

    def _leave_unverified(self, progress: Progress, facts: Facts) -> str:
        """Leave what is active for last-known-good, else for the local configuration, if it keeps ending and never
        became last-known-good; return why, empty if it stays.

        A reset that failed may have led back to a configuration whose trial was not over: nothing else ends it.
        """
        excuse = evidence.excuse(facts.kind, facts.runtime, booting=False)
        if excuse or not crash(progress, facts):
            return ""
        if not self._may_be_left():
            return ""
        # The source of what is active is unknown after a crash that has emptied the trial.
        active, source, good = self.host.running(), self.host.active_source(), self.store.good_for_a_revert()
        ended = f"the kubelet ended {progress.failures} times with a configuration that never became last-known-good"
        reason = ended + decide.logged_last(facts.words)
        state_files = self._state_files_before(source)
        if quietly(self.store.assigned) == source:
            self.host.attempt(lambda: self.store.revert(reason))
        for target in (self.store.target(good), LOCAL_TARGET):
            if self.host.running() == active:
                # A full disk has no room for another link than the prepared one to the local configuration.
                self.host.attempt(partial(self.store.point, target))
        if self.host.running() == active:
            # What stays needs its state files.
            return ""
        self.host.attempt(lambda: statefiles.restore(state_files))
        # Its copies are those of what is left now. The start that follows may need a spare one.
        self.host.attempt(partial(self.copies.remove, spares=False))
        self._forget(source)
        return reason

    def _may_be_left(self) -> bool:
        """Return whether what is active never became last-known-good, and is not the local configuration."""
        good = quietly(self.store.last_known_good)
        return self.host.running() not in (None, LOCAL_TARGET, self.store.target(good))

    def _report_left(self, reason: str) -> bool:
        now = self.host.active_source()
        former = "last-known-good" if now else "the local configuration"
        return self.host.queue_report(f"reverted to {former}", error=reason, event=status_annotation.restarting(now))

    def _forget(self, source: Source | None) -> None:
        if source is None or self.host.attempt(lambda: self.store.forget(source)):
            return
        trial = quietly(self.store.trial)
        if trial and trial.to is None and trial.failed:
            # A full disk cannot record it. Without the trial of a reset, its local configuration stays.
            self.host.attempt(self.store.disarm)

    def _state_files_before(self, source: Source | None) -> Sequence[Any]:
        """Return the state files from before the trial of a source that a later trial has replaced."""
        later = quietly(self.store.last_armed)
        if later is None or not later.replaced or later.replaced.get("to") != source:
            return ()
        return list(later.replaced.get("state_files", ()))

    def watch_recovery(self, progress: Progress, facts: Facts) -> None:
        """Report that a kubelet that was failing has been healthy for a while. Needs the store's lock."""
        since = facts.now if facts.healthy else None
        same = progress.invocation == facts.unit.invocation and progress.boot == facts.boot
        if facts.healthy and same and progress.healthy_since is not None:
            since = progress.healthy_since
        is_calm = since is not None and facts.now - since >= CALM_AFTER_SECONDS
        if is_calm and self.host.queue_report("recovered", error=self.store.error()):
            progress = Progress()
        else:
            progress = progress._replace(invocation=facts.unit.invocation, boot=facts.boot, healthy_since=since)
        self.host.remember(progress)


def counted(progress: Progress, facts: Facts) -> Progress:
    """Return the progress after a start of the kubelet without a trial, with the ends of the kubelet before it.

    An end minutes after the one before counts as the first: no watcher knows whether it was healthy in between.
    """
    ends = facts.unit.restarts
    if not ends or facts.now < evidence.BOOT_GRACE_SECONDS:
        return Progress()
    failures = 1
    close = facts.now - progress.booted < evidence.RECOVERY_SECONDS
    if close and progress.boot == facts.boot and progress.restarts <= ends:
        failures = progress.failures + ends - progress.restarts
    invocation = facts.unit.invocation
    return Progress(boot=facts.boot, invocation=invocation, restarts=ends, failures=failures, booted=facts.now)


def crash(progress: Progress, facts: Facts) -> str:
    """Return why a kubelet keeps failing without a trial; empty if it does not."""
    if progress.failures < decide.MOST_FAILURES:
        return ""
    if evidence.refused(facts.kind, booting=False):
        return f"the kubelet refused the configuration: {facts.words}; it accepted this configuration before"
    times = f"the kubelet ended {progress.failures} times"
    excuse = evidence.excuse(facts.kind, facts.runtime, booting=False)
    if excuse:
        return f"{times}, and {excuse}"
    last = decide.logged_last(facts.words)
    return f"{times}, although this configuration worked before: the cause lies elsewhere{last}"
