# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the guard does without a trial: it keeps a configuration on disk, and reports a kubelet that keeps failing."""

from __future__ import annotations

import os
from typing import Any, Sequence

from ..records.json_file import MemoryFile
from ..report import status_annotation
from ..store import kept_files, statefiles
from ..store.meta import Source
from ..store.store_reader import LOCAL_TARGET, quietly
from ..store.trial import Progress
from ..system.lock import locked
from . import decide, evidence
from .base import Base
from .decide import Facts

# The prestart step notices a kubelet that ended at its next start, so the service may look less often once the kubelet
# has been healthy for a while.
CALM_AFTER_SECONDS = 60.0
# Stage of a kubelet that fails with a configuration that worked before: the guard reports it and changes nothing.
CRASHED = "crashed"


class WithoutTrial(Base):
    """What the guard does at a kubelet's start and while it fails, when no configuration is on trial."""

    # Whether nothing answered on the runtime's socket before this start.
    runtime_away = False

    def _ensure_configuration(self) -> None:
        """Make sure that the kubelet has a configuration to start with, also when the active one was damaged."""
        target, found = self._running(), self.store.resolve()
        if found.target is None:
            # The kubelet must always start: the file that it would read without us is still on the node.
            self.store.renew_local(self.settings.config, self.settings.key)
            self._report(
                f"reverted to {'the local configuration' if self.settings.folder else self.settings.config}",
                error="; ".join(found.reasons),
                event=status_annotation.restarting(None),
            )
        elif not self.store.usable() and self.store.settle().target != target:
            self._report(
                "reverted to an intact configuration",
                error=self.store.error(),
                event=status_annotation.restarting(self._active()),
            )

    def _restore_state_files(self, restarts: int) -> bool:
        """Restore the state files before this start, if the reverted kubelet has ended twice; return whether anything
        was restored. Raises LockError, files.FileError.

        `restarts` is systemd's count of them. An end while the runtime is away does not count: it shows nothing.
        """
        record = kept_files.KeptFiles(self.store.config_dir, self.store.fs)
        if record.read() is None:
            return False
        with locked(self.store.config_dir, self.settings.lock_seconds):
            kept, trial = record.read(), quietly(self.store.trial)
            # A full disk does not hold that the trial failed.
            reverted = trial and (trial.failed or self._running() != self.store.target(trial.to))
            if kept is None or trial is None or not reverted:
                return False
            boot, now = self._when()
            begun = None if self.runtime_away else kept.reverted or self._begun(trial.name)
            next_step = kept_files.step(begun, boot, now, restarts)
            if next_step == kept_files.BEGIN:
                first = kept_files.Reverted(boot, now, restarts)
                self._attempt(lambda: self._in_memory.write(kept_files.Begun(trial.name, *first)))
                self._attempt(lambda: record.write(kept._replace(reverted=first)))
            if next_step in (kept_files.BEGIN, kept_files.WAIT):
                return False
            changed = kept_files.restore(kept, boot) if next_step == kept_files.RESTORE else []
            record.remove()
            if changed:
                self._report(
                    "state files restored",
                    error=f"{trial.failed or 'reverted'}; then the kubelet ended {kept_files.MOST_FAILURES} times, so "
                    f"the guard restored {', '.join(changed)}",
                )
            return bool(changed)

    @property
    def _in_memory(self) -> MemoryFile[kept_files.Begun]:
        path = os.path.join(os.path.dirname(self.started.path), "begun")
        return MemoryFile(path, kept_files.Begun("", "", 0.0, 0), self.started.fs)

    def _begun(self, trial: str) -> kept_files.Reverted | None:
        """Return the first start after the revert of a trial that a full disk could not record; None if unknown."""
        found = self._in_memory.read()
        return kept_files.Reverted(*found[1:]) if found and found.trial == trial else None

    def _crashing(self, facts: Facts) -> bool:
        """Report once that a kubelet keeps failing with a configuration that worked before; return whether it does.

        A configuration that never became last-known-good is left.
        """
        before = self.records.progress()
        if not facts.unit.known:
            return before.reported == CRASHED
        progress = counted(before, facts)
        error = crash(progress, facts)
        if error and not _excuse(facts) and self._leave_unverified(progress, facts):
            self._remember(Progress())
            return False
        if error and before.reported != CRASHED:
            self._report("not changed", error=error)
        crashed = bool(error) or before.reported == CRASHED
        self._remember(progress._replace(reported=CRASHED if crashed else ""))
        return crashed

    def _leave_unverified(self, progress: Progress, facts: Facts) -> bool:
        """Leave what is active for last-known-good, else for the local configuration; return whether that was done.

        A reset that failed may have led back to a configuration whose trial was not over: nothing else ends it.
        """
        # The source of what is active is unknown after a crash that has emptied the trial.
        active, source, good = self._running(), self._active(), quietly(self.store.last_known_good)
        if active in (None, LOCAL_TARGET, self.store.target(good)):
            return False
        ended = f"the kubelet ended {progress.failures} times with a configuration that never became last-known-good"
        reason = f"{ended}; it logged last: {facts.words}" if facts.words else ended
        self._attempt(lambda: statefiles.restore(self._state_files_before(source)))
        # Its copies are those of what is left now.
        self._attempt(kept_files.KeptFiles(self.store.config_dir, self.store.fs).remove)
        if source:
            self._attempt(lambda: self.store.forget(source))
        if quietly(self.store.assigned) == source:
            self._attempt(lambda: self.store.revert(reason))
        self._attempt(lambda: self.store.point(self.store.target(good)))
        self._report(
            "reverted to last-known-good" if good else "reverted to the local configuration",
            error=reason,
            event=status_annotation.restarting(self._active()),
        )
        return self._running() != active

    def _state_files_before(self, source: Source | None) -> Sequence[Any]:
        """Return the state files from before the trial of a source that a later trial has replaced."""
        later = quietly(self.store.last_armed)
        former = (later.replaced if later else None) or {}
        return former.get("state_files", ()) if former.get("to") == source else ()

    def _watch_recovery(self, progress: Progress, facts: Facts) -> None:
        same = progress.invocation == facts.unit.invocation and progress.boot == facts.boot
        begun = progress.healthy_since if same else None
        since = (facts.now if begun is None else begun) if facts.healthy else None
        if since is not None and facts.now - since >= CALM_AFTER_SECONDS:
            self._report("recovered", error=self.store.error())
            progress = Progress()
        else:
            progress = progress._replace(invocation=facts.unit.invocation, boot=facts.boot, healthy_since=since)
        self._remember(progress)


def counted(progress: Progress, facts: Facts) -> Progress:
    """Return the progress after a start of the kubelet without a trial, with the ends of the kubelet before it.

    An end minutes after the one before counts as the first: no watcher knows whether it was healthy in between.
    """
    ends = facts.unit.restarts
    if not ends or facts.now < evidence.BOOT_GRACE_SECONDS:
        return Progress()
    close = (
        progress.boot == facts.boot
        and progress.restarts <= ends
        and facts.now - progress.booted < evidence.RECOVERY_SECONDS
    )
    return Progress(
        boot=facts.boot,
        invocation=facts.unit.invocation,
        restarts=ends,
        failures=progress.failures + ends - progress.restarts if close else 1,
        booted=facts.now,
    )


def crash(progress: Progress, facts: Facts) -> str:
    """Return why a kubelet keeps failing without a trial; empty if it does not."""
    if progress.failures < decide.MOST_FAILURES:
        return ""
    if evidence.refused(facts.kind, booting=False):
        return f"the kubelet refused the configuration: {facts.words}; it accepted this configuration before"
    times = f"the kubelet ended {progress.failures} times"
    excuse = _excuse(facts)
    if excuse:
        return f"{times}, and {excuse}"
    last = f"; it logged last: {facts.words}" if facts.words else ""
    return f"{times}, although this configuration worked before: the cause lies elsewhere{last}"


def _excuse(facts: Facts) -> str:
    return evidence.excuse(facts.kind, facts.runtime, booting=False)
