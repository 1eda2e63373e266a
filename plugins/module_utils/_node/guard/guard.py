# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The guard: watches a trial on the node and reverts it when it fails. systemd runs it; it needs neither Ansible nor
SSH nor the API server.

It has two entry points: `prestart` runs before every start of the kubelet, as a step of its unit; `tick` is called by a
service that runs only while there is something to wait for. Both observe, decide (decide.py) and act under the store's
lock. Every action can be repeated: the decision is written to disk before the first step and removed after the last.
A guard that is killed at any point, or a node that is rebooted, therefore continues where it stopped.
"""

from __future__ import annotations

import os
import sys
import time
from typing import Any, Callable, NamedTuple, Sequence

from ..._config.values import annotation
from ..store import statefiles
from ..store.store import DEFAULT_KEY, Store
from ..store.trial import Moment, Trial
from ..system import command, health
from ..system.lock import locked
from ..system.store_error import StoreError
from . import decide, observe, outdated_good, status_annotation
from .decide import Action, Facts, Progress, Terms, Unit
from .guard_files import Records

LOCK_SECONDS = 5.0
FAST_SECONDS = 1.0
# The prestart step notices a kubelet that ended at its next start, so the service may look less often once the kubelet
# has been healthy for a while.
CALM_AFTER_SECONDS = 60.0
CALM_SECONDS = 10.0
LONGEST_SECONDS = 60.0
# Stage of a kubelet that fails with a configuration that worked before: the guard reports it and changes nothing.
CRASHED = "crashed"
PRESTART = Unit(active="activating", sub="start-pre")


class Settings(NamedTuple):
    """What the guard was installed for.

    `unit`: the kubelet's unit. The others are for a node whose kubelet does not run or has no configuration. `argv`:
    the kubelet's command line at installation; `config`: the config file that the unit names without our drop-in;
    `key`: the name of the file that the kubelet reads under `active`.
    """

    unit: str = "kubelet.service"
    argv: Sequence[str] = ()
    config: str = ""
    key: str = DEFAULT_KEY
    lock_seconds: float = LOCK_SECONDS


class Guard:
    """One node's guard.

    `run` runs commands, `now` returns the time, `ask` asks healthz. `verify` asks the API server for the Node: it
    returns why the Node does not verify the running kubelet, empty when it does.
    """

    def __init__(
        self,
        store: Store,
        settings: Settings,
        run: command.Run = command.execute,
        now: Callable[[], Moment] = Moment.now,
        ask: Callable[[int, str], str] = health.healthz,
        verify: Callable[[], str] | None = None,
    ) -> None:
        self.store = store
        self.settings = settings
        self.run = run
        self.now = now
        self.ask = ask
        self.verify = verify or self._verify
        self.seen: observe.Kubelet | None = None
        self.records = Records(store.config_dir, store.fs)
        # How many looks in a row could not make `active` point elsewhere.
        self.blocked = 0

    # The two entry points

    def prestart(self) -> bool:
        """Count this start of the kubelet, and revert if it is one too many; return whether the service must run."""
        seen = observe.kubelet(self.settings.unit, self.run)
        unit = seen.unit._replace(active=PRESTART.active, sub=PRESTART.sub) if seen else PRESTART
        with locked(self.store.config_dir, self.settings.lock_seconds):
            trial = self._trial()
            if trial is None or trial.failed:
                # A revert may have been decided without a start of the kubelet after it: this is that start.
                progress = self.records.progress()
                if trial and not progress.verdict and progress.name == terms_of(trial).name:
                    # The controller reverted the configuration, not the guard.
                    self._remember(Progress(verdict=trial.failed))
                    self._report_revert(trial.failed)
                self._finish(trial)
                self._attempt(self._ensure_configuration)
                return self._crashing(unit) or self.records.report() is not None
            self._judge(trial, Facts(*self._when(), unit=unit), starting=True)
        return True

    def tick(self) -> float | None:
        """Observe once and act; return the seconds until the next observation, None when nothing is left to do."""
        wait, asks = self._look(None)
        if asks:
            # Without the lock: an API server may answer late, and the kubelet's prestart step cannot wait.
            wait = self._look(self.verify())[0]
        return wait

    def _look(self, node: str | None) -> tuple[float | None, bool]:
        """Observe and act, with what is known of the Node (see `Facts.node`).

        Returns what `tick` returns, and whether to observe again with an answer of the API server.
        """
        self.seen = observe.kubelet(self.settings.unit, self.run, self.seen)
        if self.seen is None:
            return FAST_SECONDS, False
        unit, pid = self.seen.unit, self.seen.pid
        healthy = self._healthy(pid) if unit.running and pid else None
        wait = FAST_SECONDS
        with locked(self.store.config_dir, self.settings.lock_seconds):
            if observe.kubelet(self.settings.unit, self.run, self.seen) != self.seen:
                # The kubelet was restarted while another process held the lock: the observation is outdated.
                return FAST_SECONDS, False
            facts = Facts(*self._when(), unit=unit, healthy=healthy, node=node)
            trial = self._trial()
            progress = self.records.progress()
            if trial is not None and not trial.failed:
                action = self._judge(trial, facts, starting=False)
                if action == decide.ASK:
                    return CALM_SECONDS, True
                restart = action == decide.REVERT
                since = self.records.progress().healthy_since
                if node or (since is not None and facts.now - since > CALM_AFTER_SECONDS):
                    wait = CALM_SECONDS
                if self.blocked:
                    wait = min(LONGEST_SECONDS, FAST_SECONDS * 2.0**self.blocked)
            elif progress.verdict:
                restart = self._revert(progress.verdict, facts)
            elif progress.reported == CRASHED:
                self._watch_recovery(progress, facts)
                return CALM_SECONDS, False
            else:
                return None, False
        # Without the lock: the kubelet's prestart step takes it.
        if restart:
            self._restart()
        return wait, False

    def reportable(self) -> bool:
        """Whether there is something to report now. The kubelet's start is reported only while the kubelet runs and is
        not about to be restarted.
        """
        report = self.records.report()
        if report is None or not report.annotated or report.message:
            return report is not None
        return bool(self.seen and self.seen.since() and not self.records.progress().verdict)

    def _verify(self) -> str:
        done = self.run([sys.executable, "-I", os.path.join(self.store.config_dir, "guard"), "verify"])
        if done.returncode == 0:
            return ""
        return (done.stderr.strip().splitlines() or [f"the API server was not asked (exit {done.returncode})"])[-1]

    # Observing

    def _when(self) -> tuple[str, float]:
        moment = self.now()
        return moment.boot_id, moment.monotonic

    def _healthy(self, pid: int) -> bool:
        place = observe.target(observe.argv(pid) or list(self.settings.argv))
        # A kubelet without healthz counts as healthy while it runs.
        return place.port == 0 or not self.ask(place.port, place.address)

    def _trial(self) -> Trial | None:
        """Return the trial. The terms of an unreadable trial are unknown, so the configuration on trial is reverted."""
        try:
            return self.store.trial()
        except StoreError as error:
            if not self.records.progress().verdict and self._running() != self.store.resolve().target:
                self._remember(Progress(verdict=str(error)))
            return None

    # Judging

    def _judge(self, trial: Trial, facts: Facts, starting: bool) -> str:
        """Observe, decide and act; return what is left to do without the lock.

        REVERT: restart the kubelet. ASK: ask for its Node. WAIT: nothing.
        """
        terms = terms_of(trial)
        progress = decide.observe(terms, self.records.progress(), facts)
        if starting and trial.state_files and self._running() == self.store.target(trial.to):
            self._attempt(lambda: statefiles.clear(trial.state_files))
        action = decide.decide(terms, progress, facts)
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

    def _judge_failed(self, trial: Trial, progress: Progress, facts: Facts, reason: str, starting: bool) -> str:
        """Act on a trial that failed; return what `_judge` returns."""
        if not progress.verdict and _or_none(self.store.assigned) != trial.to:
            # The module armed the trial and was stopped before the switch: there is nothing to revert.
            self.store.withdraw()
            self._remember(Progress())
            return decide.WAIT
        if not progress.verdict and self._running() != self.store.target(trial.to):
            # It is reverted already, and only the note of that could not be written: one restart was enough.
            self._attempt(lambda: self._note_revert(reason))
            return decide.WAIT
        self._remember(progress._replace(verdict=reason))
        restart = self._revert(reason, facts)
        if starting or (facts.unit.invocation == trial.invocation and facts.boot == trial.armed.boot_id):
            # This start runs the former configuration; or the kubelet never stopped running it.
            self._finish(trial if starting else None)
            return decide.WAIT
        return decide.REVERT if restart else decide.WAIT

    def _report_stage(self, terms: Terms, progress: Progress, facts: Facts, action: Action) -> Progress:
        """Report each stage of a trial once: begun (with the Event of a kubelet's restart), confirmed, in trouble."""
        stage = action.reason or (annotation.CONFIRMED if terms.confirmed else annotation.ON_TRIAL)
        if stage == progress.reported or (facts.unit.invocation == terms.invocation and facts.boot == terms.boot):
            return progress
        self._report(stage, event="" if progress.reported else status_annotation.restarting(self._active()))
        return progress._replace(reported=stage)

    def _revert(self, reason: str, facts: Facts) -> bool:
        """Point `active` to the last good configuration; return whether the kubelet must be restarted.

        A second call changes nothing.
        """
        try:
            outdated_good.forget_outdated(self.store, self.settings.argv, self.run)
            if self.store.revert(reason).target is None:
                self.store.renew_local(self.settings.config, self.settings.key)
        except StoreError as error:
            # On a full disk the note cannot be written; `active` is reverted all the same.
            sys.stderr.write(f"{error}\n")
        self._report_revert(reason)
        if facts.unit.active == "inactive":
            # An operator stopped the kubelet and decides when it starts again.
            self._finish()
            return False
        trial = _or_none(self.store.trial)
        changed = trial is None or self._running() != self.store.target(trial.to)
        # A restart into the configuration that failed would only end another kubelet.
        self.blocked = 0 if changed else self.blocked + 1
        return changed

    def _note_revert(self, reason: str) -> None:
        """Record a finished revert, then report it. Until the record can be written, each observation tries again."""
        self.store.revert(reason)
        self._report_revert(reason)
        self._remember(Progress())

    def _report_revert(self, reason: str) -> None:
        active = self._active()
        self._report(
            "reverted to " + ("last-known-good" if active else "the local configuration"),
            error=reason,
            event=f"{status_annotation.restarting(active)}: {reason}",
        )

    def _restart(self) -> None:
        # A unit that hit its start limit refuses to start until this state is reset.
        self.run(["systemctl", "reset-failed", self.settings.unit])
        if self.run(["systemctl", "restart", self.settings.unit]).returncode == 0:
            # The prestart step has finished it, if the kubelet's unit still has that step.
            with locked(self.store.config_dir, self.settings.lock_seconds):
                self._finish()

    def _remember(self, progress: Progress) -> None:
        self._attempt(lambda: self.records.remember(progress))

    def _finish(self, trial: Trial | None = None) -> None:
        """Remove the note of a finished revert. With the trial, before a start, the state files are restored too."""
        if self.records.progress().verdict:
            if trial:
                # After a reboot the kubelet creates new ones for the pods that it starts, but does not start with those
                # of another policy.
                rebooted = trial.armed.boot_id != self._when()[0]
                put_right = statefiles.remove_changed if rebooted else statefiles.restore
                self._attempt(lambda: put_right(trial.state_files))
            self._remember(Progress())

    def _attempt(self, act: Callable[[], Any]) -> None:
        try:
            act()
        except (StoreError, OSError) as error:
            # A full disk must not prevent a revert.
            sys.stderr.write(f"{error}\n")

    def _ensure_configuration(self) -> None:
        """Make sure that the kubelet has a configuration to start with, also when the active one was damaged."""
        target, found = self._running(), self.store.resolve()
        if found.target is None:
            # The kubelet must always start: the file that it would read without us is still on the node.
            self.store.renew_local(self.settings.config, self.settings.key)
            self._report(
                f"reverted to {self.settings.config}",
                error="; ".join(found.reasons),
                event=status_annotation.restarting(None),
            )
        elif not self.store.usable() and self.store.settle().target != target:
            self._report(
                "reverted to an intact configuration",
                error=self.store.error(),
                event=status_annotation.restarting(self._active()),
            )

    # A kubelet that fails without a trial

    def _crashing(self, unit: Unit) -> bool:
        """Report once that a kubelet keeps failing with a configuration that worked before; return whether it does."""
        progress = self.records.progress()
        if unit.restarts < decide.MOST_FAILURES or progress.reported == CRASHED:
            return progress.reported == CRASHED
        self._report(
            "not changed",
            error=f"the kubelet ended {unit.restarts} times, "
            "although this configuration worked before: the cause lies elsewhere",
        )
        self._remember(Progress(reported=CRASHED))
        return True

    def _watch_recovery(self, progress: Progress, facts: Facts) -> None:
        since = (
            progress.healthy_since
            if progress.invocation == facts.unit.invocation and progress.boot == facts.boot
            else None
        )
        since = (facts.now if since is None else since) if facts.healthy else None
        if since is not None and facts.now - since >= CALM_AFTER_SECONDS:
            self._report("recovered", error=self.store.error())
            progress = Progress()
        else:
            progress = progress._replace(invocation=facts.unit.invocation, boot=facts.boot, healthy_since=since)
        self._remember(progress)

    # Reporting

    def _report(self, reason: str, error: str = "", event: str = "") -> None:
        wall = time.time()
        status = status_annotation.status(
            _or_none(self.store.assigned), self._active(), _or_none(self.store.last_known_good), error, reason, wall
        )
        self._attempt(lambda: self.records.queue(status, event, bool(error), wall))

    def _active(self) -> Any:
        return _or_none(self.store.active_source)

    def _running(self) -> str | None:
        running: str | None = _or_none(self.store.running)
        return running


def terms_of(trial: Trial) -> Terms:
    """Return a trial's terms, the input of `decide`."""
    extra = trial.extra
    return Terms(
        name=f"{trial.armed.boot_id}/{trial.armed.monotonic}",
        boot=trial.armed.boot_id,
        armed=trial.armed.monotonic,
        invocation=trial.invocation,
        confirm_seconds=float(extra.get("confirm_seconds", trial.deadline_seconds)),
        hold_seconds=trial.deadline_seconds,
        was_healthy=bool(extra.get("was_healthy", True)),
        can_revert=trial.revert_to != trial.to,
        confirmed=trial.confirmed,
        unhealthy_seconds=float(extra.get("unhealthy_seconds", decide.UNHEALTHY_SECONDS)),
    )


def _or_none(read: Callable[[], Any]) -> Any:
    try:
        return read()
    except (StoreError, KeyError, UnicodeDecodeError):
        return None
