# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A trial is judged: the guard observes, decides (decide.py), graduates what holds and reverts what fails.

A revert goes from its verdict, over the rename of `active`, to a start of the kubelet with what is active then.
"""

from __future__ import annotations

import sys

from ..report import status_annotation
from ..store import statefiles
from ..store.store_reader import LOCAL_TARGET, quietly, wrong
from ..store.trial import Progress, Trial
from ..system import last_words
from ..system.files import StoreError
from . import decide, evidence
from .base import Host
from .decide import Action, Facts, Terms

# Stages of a revert that was reported: its kubelet must be started, or does not run.
REVERTED = "reverted"
_STOPPED = "stopped"

# A report has whole seconds, so a smaller step of the clock makes no heartbeat older than the start of its kubelet.
_STEP_SECONDS = 2.0


class Reverts:
    """What leads a kubelet away from a trial that failed. Each method that changes the store needs its lock."""

    def __init__(self, host: Host) -> None:
        self.host, self.store, self.records = host, host.store, host.records
        # How many looks in a row could not make `active` point elsewhere.
        self.blocked = 0

    def left(self, trial: Trial) -> str:
        """Return why no kubelet reads what is on trial any more; empty if `active` leads to it."""
        if self.host.leads_to(trial.to) or not self.store.switched_to(trial):
            return ""
        if self._never_switched(trial):
            return "the switch was interrupted"
        return "reverted on a full disk, the reason could not be recorded"

    def read(self, trial: Trial | None, facts: Facts) -> str:
        """Return the target of `active` that the last kubelet was started with, empty if that is unknown."""
        noted = self.host.started.target(facts.unit.invocation)
        if noted or trial is None:
            return noted
        # A kubelet from before the guard, or its prestart step was killed.
        if facts.unit.invocation != trial.invocation or facts.boot != trial.armed.boot_id:
            return self.store.target(trial.to)
        # It was not restarted since the trial was armed. If that replaced an unfinished trial, it runs what that one
        # had put on trial; after a failed one, what that had reverted to. A revert may lead to neither.
        unfinished = trial.replaced is not None and not trial.replaced.get("failed")
        if unfinished or trial.extra.get("elsewhere"):
            return ""
        return self.store.target(trial.revert_to)

    def fail(self, trial: Trial, progress: Progress, facts: Facts, reason: str, starting: bool) -> bool:
        """Revert a trial that failed; return whether the kubelet must be restarted. `starting`: it starts anyway."""
        if not progress.verdict and not self.store.switched_to(trial):
            # The module armed the trial and was stopped before the switch: there is nothing to revert.
            self.store.withdraw()
            self.host.remember(Progress())
            return False
        if not progress.verdict and not self.host.leads_to(trial.to) and not self._never_switched(trial):
            # It is reverted already, and only the note of that could not be written.
            self.host.attempt(lambda: self._note(trial, reason))
            return not (starting or self._reads_active(trial, facts) or self._stopped_by_operator(facts))
        self.host.remember(progress._replace(verdict=reason))
        restart = self._revert(reason, facts)
        if starting:
            # This start runs the former configuration.
            self.finish(trial)
            return False
        return restart and not self._finish_unstopped(trial, facts)

    def resume(self, trial: Trial | None, facts: Facts) -> None:
        """End a revert at a start of the kubelet, also one that was interrupted. The trial failed, or is unreadable."""
        active, wanted = self.host.running(), self.store.resolve().target
        if trial:
            verdict, on_trial = trial.failed, active == self.store.target(trial.to)
        else:
            verdict = self.records.progress().verdict
            on_trial = bool(verdict)
        if on_trial and active != wanted:
            # The guard or the node ended between the record of the revert and its rename.
            self._revert(verdict, facts)
        # A revert may have been decided without a start of the kubelet after it: this is that start.
        progress = self.records.progress()
        if trial and _unreported(trial, progress):
            self.host.remember(progress._replace(verdict=trial.failed))
            self.report(trial.failed)
        self.finish(trial)

    def end(self, trial: Trial | None, progress: Progress, facts: Facts) -> bool:
        """End a revert that was decided before; return whether the kubelet must be restarted for it."""
        if progress.due and progress.boot == facts.boot and facts.now < progress.due:
            # The controller decided it and is about to restart the kubelet.
            return False
        if progress.reported == _STOPPED and self._stopped_by_operator(facts):
            return False
        if trial and self._leads_back(trial) and self._reads_active(trial, facts):
            # The kubelet never stopped running the former configuration. Or it was restarted, and only the note of the
            # revert could not be removed, as on a read-only file system.
            if not _unreported(trial, progress) or self.report(progress.verdict):
                self.finish()
            return False
        self.host.remember(progress._replace(due=0.0))
        return self._revert(progress.verdict, facts) and not self._finish_unstopped(trial, facts)

    def report(self, reason: str) -> bool:
        """Report a revert; return whether there was room for the report."""
        active, good = self.host.active_source(), quietly(self.store.last_known_good)
        former = "the local configuration"
        if active:
            # A reset reverts to what ran before, which need not have graduated.
            former = "last-known-good" if active == good else "the previous configuration"
        event = f"{status_annotation.restarting(active)}: {reason}"
        queued = self.host.queue_report(f"reverted to {former}", error=reason, event=event)
        progress = self.records.progress()
        if queued and progress.verdict:
            self.host.remember(progress._replace(reported=REVERTED))
        return queued

    def finish(self, trial: Trial | None = None) -> None:
        """Remove the note of a finished revert. With the trial, before a start, the state files are restored too."""
        if self.records.progress().verdict:
            if trial:
                # Also after a reboot: a kubelet drops what its state file holds of pods that are gone.
                self.host.attempt(lambda: statefiles.restore(trial.state_files))
            self.host.remember(Progress())

    def _revert(self, reason: str, facts: Facts) -> bool:
        """Point `active` to the last good configuration; return whether the kubelet must be restarted.

        A second call changes nothing.
        """
        settings = self.host.settings
        try:
            if self.store.revert(reason).target is None:
                self.store.renew_local(settings.config, settings.key)
        except StoreError as error:
            # On a full disk the note cannot be written; `active` is reverted all the same.
            sys.stderr.write(f"{error}\n")
            trial = quietly(self.store.trial)
            if trial and self.host.leads_to(trial.to):
                # The prepared link is that of a later trial, whose switch never happened.
                self.host.attempt(lambda: self.store.point(LOCAL_TARGET))
        if self.records.progress().reported not in (REVERTED, _STOPPED):
            self.report(reason)
        if self._stopped_by_operator(facts):
            # An operator stopped the kubelet and decides when it starts again: its prestart step ends the revert.
            self.host.remember(self.records.progress()._replace(reported=_STOPPED))
            return False
        # A restart into the configuration that failed would only end another kubelet.
        changed = self._leads_back(quietly(self.store.trial))
        self.blocked = 0 if changed else self.blocked + 1
        return changed

    def _stopped_by_operator(self, facts: Facts) -> bool:
        return facts.unit.active == "inactive" and not self.host.stopped.ours(facts.unit.invocation)

    def _leads_back(self, trial: Trial | None) -> bool:
        """Whether `active` leads away from what was on trial; or nothing else is left, since a reset was on trial and a
        new binary has refused what it would revert to.
        """
        if trial is None or not self.host.leads_to(trial.to):
            return True
        return trial.to is None and trial.revert_to is None

    def _never_switched(self, trial: Trial) -> bool:
        """Whether `active` still leads to what a former, unfinished trial was armed for: the switch was interrupted.

        A revert leads away from that too, with the state files of what it leads to.
        """
        former = trial.replaced
        if former is None or former.get("failed"):
            return False
        return self.host.leads_to(former["to"]) and not self.host.leads_to(trial.revert_to)

    def waits_for_restart(self, trial: Trial, facts: Facts) -> bool:
        """Whether the kubelet was started with something else than what is active: the module was stopped before the
        restart.
        """
        return self.read(trial, facts) != self.host.running() and not self._stopped_by_operator(facts)

    def _reads_active(self, trial: Trial | None, facts: Facts) -> bool:
        """Whether the kubelet was started with what `active` leads to now, so that a restart would change nothing.

        False if that is unknown, and if systemd has given up: no other start brings that kubelet back.
        """
        if facts.unit.given_up:
            return False
        return self.read(trial, facts) == self.host.running()

    def _finish_unstopped(self, trial: Trial | None, facts: Facts) -> bool:
        """Finish a revert to what the kubelet never stopped running; return whether it is one."""
        unstopped = self._reads_active(trial, facts)
        if unstopped:
            self.finish()
        return unstopped

    def _note(self, trial: Trial, reason: str) -> None:
        """Record a finished revert, then report it. Until both can be written, each observation tries again."""
        led_to, good = self.store.target(trial.revert_to), self.store.target(quietly(self.store.last_known_good))
        if self.host.running() in (None, led_to) or led_to in (good, LOCAL_TARGET):
            self.store.revert(reason)
        else:
            # What was never verified may have been left as well: the kubelet stays with what it runs now.
            self.store.record(trial._replace(failed=reason, revert_to=self.host.active_source()))
        queued = self.report(reason)
        self.host.remember(Progress(verdict="" if queued else reason))


class Judging:
    """What the guard does with a trial. `judge` needs the store's lock."""

    def __init__(self, host: Host, reverts: Reverts) -> None:
        self.host, self.store, self.reverts = host, host.store, reverts
        # The wall clock minus the time since the boot at the last look, in seconds.
        self._ahead: float | None = None

    def judge(self, trial: Trial, facts: Facts, starting: bool) -> str:
        """Observe, decide and act; return what is left to do without the lock.

        REVERT: restart the kubelet. ASK: ask for its Node. WAIT: nothing.
        """
        terms = terms_of(trial)
        facts = facts._replace(former=self.reverts.read(trial, facts) != self.store.target(trial.to))
        if facts.runtime or facts.kind == last_words.RUNTIME:
            terms = terms._replace(other_runtime=self._other_runtime(trial))
        progress = decide.observe(terms, self.host.records.progress(), facts)
        action = self._action(trial, decide.decide(terms, progress, facts), starting)
        if action.what == decide.REVERT:
            if self.reverts.fail(trial, progress, facts, action.reason, starting):
                return decide.REVERT
            return decide.WAIT
        if action.what == decide.ASK:
            self.host.remember(progress)
            return decide.ASK
        if action.what == decide.GRADUATE:
            self.store.graduate(trial.to, trial.kubelet_version)
            self.host.queue_report("passed its trial")
            progress = Progress()
        elif action.what == decide.KEEP:
            self.host.queue_report("not changed", error=action.reason)
            self.store.disarm()
            self.host.remember(Progress())
            restart = not starting and self.reverts.waits_for_restart(trial, facts)
            return decide.REVERT if restart else decide.WAIT
        else:
            progress = self._report_stage(terms, progress, facts, action)
        self.host.remember(progress)
        return decide.WAIT

    def _action(self, trial: Trial, decided: Action, starting: bool) -> Action:
        """Return what to do, where the store does not allow what was decided from the facts."""
        if decided.what == decide.REVERT:
            return decided
        source = trial.to
        if starting and source is not None and self.host.leads_to(source):
            # A kubelet that is started with damaged files would end at once, at best.
            damage = wrong(lambda: self.store.verify(source))
        else:
            damage = self.reverts.left(trial)
        if damage:
            return Action(decide.REVERT, damage)
        if decided.what in (decide.ASK, decide.GRADUATE) and quietly(self.store.assigned) != trial.to:
            return Action(decide.KEEP, "an interrupted run assigned another configuration: run again")
        return decided

    def _other_runtime(self, trial: Trial) -> bool:
        """Whether the configuration on trial names another container runtime than the one that a revert leads to."""
        on_trial, former = self.store.target(trial.to), self.store.target(trial.revert_to)
        return self.host.runtime_socket(on_trial, trial) != self.host.runtime_socket(former, trial)

    def _report_stage(self, terms: Terms, progress: Progress, facts: Facts, action: Action) -> Progress:
        """Report each stage of a trial once: begun (with the Event of a kubelet's restart), confirmed, in trouble.

        Again if the clock was set: controllers compare the kubelet's start with later heartbeats of its Node.
        """
        was_set = self._clock_was_set()
        stage = action.reason or terms.stage
        if facts.unit.invocation == terms.invocation and facts.boot == terms.boot:
            return progress
        if stage == progress.reported and not was_set:
            return progress
        event = ""
        if not progress.reported:
            event = status_annotation.restarting(self.host.active_source())
        self.host.queue_report(stage, event=event)
        return progress._replace(reported=stage)

    def _clock_was_set(self) -> bool:
        """Whether the wall clock was set since this was last asked: a report from before has times by the former one.

        Nothing but a report depends on it.
        """
        moment = self.host.now()
        before, self._ahead = self._ahead, moment.wall - moment.monotonic
        return before is not None and abs(self._ahead - before) >= _STEP_SECONDS


def _unreported(trial: Trial, progress: Progress) -> bool:
    """Whether a recorded revert was not reported: the controller decided it, or the guard or the node ended since."""
    if progress.reported in (REVERTED, _STOPPED):
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
