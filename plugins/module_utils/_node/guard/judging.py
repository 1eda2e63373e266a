# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A trial is judged: the guard observes, decides (decide.py), graduates what holds and reverts what fails."""

from __future__ import annotations

import sys
from typing import Any, Mapping

from ..._config.values import annotation
from ..report import status_annotation
from ..store import statefiles
from ..store.store_reader import LOCAL_TARGET, quietly, wrong
from ..store.trial import Progress, Trial
from ..system import health, last_words
from ..system.files import StoreError
from ..system.lock import locked
from . import decide, evidence, observe
from .base import Base
from .decide import Action, Facts, Terms, Unit

# Stages of a revert that was reported: its kubelet must be started, or does not run.
REVERTED = "reverted"
STOPPED = "stopped"
_INTERRUPTED = "the switch was interrupted"


class Judging(Base):
    """What the guard does with a trial. Every method that changes the store needs its lock."""

    # How many looks in a row could not make `active` point elsewhere.
    blocked = 0

    def _judge(self, trial: Trial, facts: Facts, starting: bool) -> str:
        """Observe, decide and act; return what is left to do without the lock.

        REVERT: restart the kubelet. ASK: ask for its Node. WAIT: nothing.
        """
        terms = terms_of(trial)
        facts = facts._replace(former=self._read(trial, facts) != self.store.target(trial.to))
        if facts.runtime or facts.kind == last_words.RUNTIME:
            terms = terms._replace(other_runtime=self._other_runtime(trial))
        progress = decide.observe(terms, self.records.progress(), facts)
        action = decide.decide(terms, progress, facts)
        damage = self._damage(trial) if starting and action.what != decide.REVERT else ""
        if damage:
            action = Action(decide.REVERT, damage)
        left = self._running() != self.store.target(trial.to) and self.store.switched_to(trial)
        if action.what != decide.REVERT and left:
            # No kubelet reads it any more.
            full = "reverted on a full disk, the reason could not be recorded"
            action = Action(decide.REVERT, _INTERRUPTED if self._never_switched(trial) else full)
        if action.what in (decide.ASK, decide.GRADUATE) and quietly(self.store.assigned) != trial.to:
            action = Action(decide.KEEP, "an interrupted run assigned another configuration: run again")
        if action.what == decide.REVERT:
            return self._judge_failed(trial, progress, facts, action.reason, starting)
        if action.what == decide.ASK:
            self._remember(progress)
            return decide.ASK
        if action.what == decide.GRADUATE:
            self.store.graduate(trial.to, trial.kubelet_version)
            self._report("passed its trial")
            progress = Progress()
        elif action.what == decide.KEEP:
            self._report("not changed", error=action.reason)
            self.store.disarm()
            progress = Progress()
        else:
            progress = self._report_stage(terms, progress, facts, action)
        self._remember(progress)
        return decide.WAIT

    def _damage(self, trial: Trial) -> str:
        """Return what is wrong with the files of the configuration on trial; empty if nothing is or it is not active.

        A kubelet that is started with it would end at once, at best.
        """
        source = trial.to
        return wrong(lambda: self.store.verify(source)) if source is not None and self._on_trial() else ""

    def _other_runtime(self, trial: Trial) -> bool:
        """Whether the configuration on trial names another container runtime than the one that a revert leads to."""
        configs = (self._fields(self.store.target(source)) for source in (trial.to, trial.revert_to))
        return len({self._runtime_socket(config, trial) for config in configs}) > 1

    def _runtime_socket(self, config: Mapping[str, Any], trial: Trial | None) -> str:
        version = trial.kubelet_version if trial else self.store.graduated_with()
        return health.runtime_socket(config, self.settings.argv, version)

    def _judge_failed(self, trial: Trial, progress: Progress, facts: Facts, reason: str, starting: bool) -> str:
        """Act on a trial that failed; return what `_judge` returns."""
        if not progress.verdict and not self.store.switched_to(trial):
            # The module armed the trial and was stopped before the switch: there is nothing to revert.
            self.store.withdraw()
            self._remember(Progress())
            return decide.WAIT
        if not progress.verdict and not self._on_trial() and not self._never_switched(trial):
            # It is reverted already, and only the note of that could not be written.
            self._attempt(lambda: self._note_revert(reason))
            waits = starting or self._reads_active(trial, facts) or self._stopped_by_operator(facts)
            return decide.WAIT if waits else decide.REVERT
        self._remember(progress._replace(verdict=reason))
        restart = self._revert(reason, facts)
        if starting or (restart and self._reads_active(trial, facts)):
            # This start runs the former configuration; or the kubelet never stopped running it.
            self._finish(trial if starting else None)
            return decide.WAIT
        return decide.REVERT if restart else decide.WAIT

    def _report_stage(self, terms: Terms, progress: Progress, facts: Facts, action: Action) -> Progress:
        """Report each stage of a trial once: begun (with the Event of a kubelet's restart), confirmed, in trouble.

        Again if the clock was set: controllers compare the kubelet's start with later heartbeats of its Node.
        """
        was_set = self._clock_was_set()
        stage = action.reason or (annotation.CONFIRMED if terms.confirmed else annotation.ON_TRIAL)
        if facts.unit.invocation == terms.invocation and facts.boot == terms.boot:
            return progress
        if stage == progress.reported and not was_set:
            return progress
        self._report(stage, event="" if progress.reported else status_annotation.restarting(self._active()))
        return progress._replace(reported=stage)

    def _revert(self, reason: str, facts: Facts) -> bool:
        """Point `active` to the last good configuration; return whether the kubelet must be restarted.

        A second call changes nothing.
        """
        try:
            if self.store.revert(reason).target is None:
                self.store.renew_local(self.settings.config, self.settings.key)
        except StoreError as error:
            # On a full disk the note cannot be written; `active` is reverted all the same.
            sys.stderr.write(f"{error}\n")
            if self._on_trial():
                # The prepared link is that of a later trial, whose switch never happened.
                self._attempt(lambda: self.store.point(LOCAL_TARGET))
        if self.records.progress().reported not in (REVERTED, STOPPED):
            self._report_revert(reason)
        if self._stopped_by_operator(facts):
            # An operator stopped the kubelet and decides when it starts again: its prestart step ends the revert.
            self._remember(self.records.progress()._replace(reported=STOPPED))
            return False
        # A restart into the configuration that failed would only end another kubelet.
        changed = self._leads_back(quietly(self.store.trial))
        self.blocked = 0 if changed else self.blocked + 1
        return changed

    def _stopped_by_operator(self, facts: Facts) -> bool:
        return facts.unit.active == "inactive" and not self.stopped.ours(facts.unit.invocation)

    def _on_trial(self) -> bool:
        """Whether `active` leads to what a trial was armed for."""
        trial = quietly(self.store.trial)
        return trial is not None and self._running() == self.store.target(trial.to)

    def _leads_back(self, trial: Trial | None) -> bool:
        """Whether `active` leads away from what was on trial; or nothing else is left, since a reset was on trial and a
        new binary has refused what it would revert to.
        """
        if trial is None or self._running() != self.store.target(trial.to):
            return True
        return trial.to is None and trial.revert_to is None

    def _never_switched(self, trial: Trial) -> bool:
        """Whether `active` still leads to what a former, unfinished trial was armed for: the switch was interrupted.

        A revert leads away from that too, with the state files of what it leads to.
        """
        former = trial.replaced
        if former is None or former.get("failed"):
            return False
        return self._running() == self.store.target(former["to"]) != self.store.target(trial.revert_to)

    def _end_revert(self, trial: Trial | None, progress: Progress, facts: Facts) -> bool:
        """End a revert that was decided before; return whether the kubelet must be restarted for it."""
        if progress.due and progress.boot == facts.boot and facts.now < progress.due:
            # The controller decided it and is about to restart the kubelet.
            return False
        if progress.reported == STOPPED and self._stopped_by_operator(facts):
            return False
        if trial and self._leads_back(trial) and self._reads_active(trial, facts):
            # The kubelet never stopped running the former configuration. Or it was restarted, and only the note of the
            # revert could not be removed, as on a read-only file system.
            if not _unreported(trial, progress) or self._report_revert(progress.verdict):
                self._finish()
            return False
        self._remember(progress._replace(due=0.0))
        restart = self._revert(progress.verdict, facts)
        if restart and self._reads_active(trial, facts):
            self._finish()
            return False
        return restart

    def _reads_active(self, trial: Trial | None, facts: Facts) -> bool:
        """Whether the kubelet was started with what `active` leads to now, so that a restart would change nothing.

        False if that is unknown, and if systemd has given up: no other start brings that kubelet back.
        """
        if facts.unit.given_up:
            return False
        return self._read(trial, facts) == self._running()

    def _reads_another(self, unit: Unit) -> bool:
        """Whether the kubelet that runs was started with something else than what `active` leads to now."""
        return unit.running and self.started.target(unit.invocation) not in ("", self._running())

    def _read(self, trial: Trial | None, facts: Facts) -> str:
        """Return the target of `active` that the last kubelet was started with, empty if that is unknown."""
        noted = self.started.target(facts.unit.invocation)
        if noted or trial is None:
            return noted
        # A kubelet from before the guard, or its prestart step was killed.
        if facts.unit.invocation != trial.invocation or facts.boot != trial.armed.boot_id:
            return self.store.target(trial.to)
        # It was not restarted since the trial was armed. If that replaced an unfinished trial, it runs what that one
        # had put on trial; after a failed one, what that had reverted to. A revert may lead to neither.
        finished = trial.replaced is None or bool(trial.replaced.get("failed"))
        known = finished and not trial.extra.get("elsewhere")
        return self.store.target(trial.revert_to) if known else ""

    def _report_again(self, trial: Trial) -> None:
        """Report a revert that the store has recorded, unless that was done."""
        progress = self.records.progress()
        if _unreported(trial, progress):
            self._remember(progress._replace(verdict=trial.failed))
            self._report_revert(trial.failed)

    def _note_revert(self, reason: str) -> None:
        """Record a finished revert, then report it. Until both can be written, each observation tries again."""
        self.store.revert(reason)
        self._remember(Progress() if self._report_revert(reason) else Progress(verdict=reason))

    def _report_revert(self, reason: str) -> bool:
        """Report a revert; return whether there was room for the report."""
        active, good = self._active(), quietly(self.store.last_known_good)
        # A reset reverts to what ran before, which need not have graduated.
        former = "last-known-good" if active == good else "the previous configuration"
        queued = self._report(
            "reverted to " + (former if active else "the local configuration"),
            error=reason,
            event=f"{status_annotation.restarting(active)}: {reason}",
        )
        progress = self.records.progress()
        if queued and progress.verdict:
            self._remember(progress._replace(reported=REVERTED))
        return queued

    def _restart(self, invocation: str) -> bool:
        """Restart the kubelet, which has this InvocationID; return whether systemd did that."""
        self.stopped.note(invocation)
        # A unit that hit its start limit refuses to start until this state is reset.
        self.run(["systemctl", "reset-failed", self.settings.unit])
        if self.run(["systemctl", "restart", self.settings.unit]).returncode:
            return False
        # The prestart step has done both, if the kubelet's unit still has that step.
        with locked(self.store.config_dir, self.settings.lock_seconds):
            seen = observe.kubelet(self.settings.unit, self.run)
            if seen and not self.started.target(seen.unit.invocation):
                self._note(seen.unit.invocation, fits=False)
            self._finish()
        return True

    def _note(self, invocation: str, fits: bool) -> None:
        self._attempt(lambda: self.started.note(invocation, self._running(), fits))

    def _finish(self, trial: Trial | None = None) -> None:
        """Remove the note of a finished revert. With the trial, before a start, the state files are restored too."""
        if self.records.progress().verdict:
            if trial:
                # Also after a reboot: a kubelet drops what its state file holds of pods that are gone.
                self._attempt(lambda: statefiles.restore(trial.state_files))
            self._remember(Progress())


def _unreported(trial: Trial, progress: Progress) -> bool:
    """Whether a recorded revert was not reported: the controller decided it, or the guard or the node ended since."""
    if progress.reported in (REVERTED, STOPPED):
        return False
    by_controller = progress.name == trial.name and bool(progress.due or not progress.verdict)
    return by_controller or progress.verdict == trial.failed


def terms_of(trial: Trial) -> Terms:
    """Return a trial's terms, the input of `decide`."""
    extra = trial.extra
    return Terms(
        name=trial.name,
        boot=trial.armed.boot_id,
        armed=trial.armed.monotonic,
        invocation=trial.invocation,
        confirm_seconds=float(extra.get("confirm_seconds", trial.deadline_seconds)),
        hold_seconds=trial.deadline_seconds,
        was_healthy=bool(extra.get("was_healthy", True)),
        can_revert=trial.revert_to != trial.to,
        confirmed=trial.confirmed,
        unhealthy_seconds=float(extra.get("unhealthy_seconds", decide.UNHEALTHY_SECONDS)),
        boot_grace_seconds=float(extra.get("boot_grace_seconds", evidence.BOOT_GRACE_SECONDS)),
        recovery_seconds=float(extra.get("recovery_seconds", evidence.RECOVERY_SECONDS)),
    )
