# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The guard: watches a trial on the node and reverts it when it fails, without Ansible, SSH and the API server.

It has two entry points: `prestart` runs before every start of the kubelet, as a step of its unit; `tick` is called by a
service that runs only while there is something to wait for. Both observe, decide (decide.py) and act under the store's
lock. Every action can be repeated: the decision is written to disk before the first step and removed after the last.
A guard that is killed at any point, or a node that is rebooted, therefore continues where it stopped.
"""

from __future__ import annotations

import os
import sys
from typing import Callable

from ..store import installed, kept_files, statefiles
from ..store.store import Store
from ..store.store_reader import quietly
from ..store.trial import Moment, Progress, Trial
from ..system import command, health, last_words
from ..system.files import StoreError
from ..system.lock import locked
from . import decide, observe, pacing
from .base import STARTED, Settings, Started
from .decide import Facts, Unit
from .new_binary import NewBinary
from .without_trial import CALM_AFTER_SECONDS, CRASHED, WithoutTrial

FAST_SECONDS = 1.0
CALM_SECONDS = 10.0
LONGEST_SECONDS = 60.0
PRESTART = Unit(active="activating", sub="start-pre", known=False)


class Guard(NewBinary, WithoutTrial):
    """One node's guard.

    `ask` asks healthz of a process. `verify` asks the kubelet's log and the API server: it returns what contradicts the
    configuration on trial, empty for nothing. `away` returns why nothing answers on the container runtime's socket,
    empty when a process does. `started`: what the kubelet was started with.
    """

    def __init__(
        self,
        store: Store,
        settings: Settings,
        run: command.Run = command.execute,
        now: Callable[[], Moment] = Moment.now,
        ask: Callable[[int, str, int], str] = health.healthz,
        verify: Callable[[], str] | None = None,
        away: Callable[[str], str] = health.away,
        started: Started | None = None,
    ) -> None:
        super().__init__(store, settings, run, now, started or Started(STARTED))
        self.ask = ask
        self.verify = verify or self._verify
        self.away = away
        self.seen: observe.Kubelet | None = None
        self.requests = pacing.Requests()
        self.heard = ("", "")
        # The restarts of the kubelet that failed, as of a masked unit.
        self.restarts = pacing.Requests()
        self.signalled = ("", False)
        # The questions why the kubelet does not run.
        self.asked = pacing.Requests()

    # The two entry points

    def prestart(self) -> bool:
        """Count this start of the kubelet, and revert if it is one too many; return whether the service must run.

        Before, take up a change of the kubelet's unit. Then ask a new binary of the kubelet what it accepts, and help a
        reverted kubelet that cannot start, or not with the state files that are there.
        """
        self._attempt(self._renew_dropin)
        try:
            needed = self._count_start()
            needed = self._meet_binary(self._program()) or needed
            needed = (self.seen and self._restore_state_files(self.seen.unit.restarts)) or needed
        except Exception:
            # The kubelet starts all the same.
            self._note_start(fits=False)
            raise
        # A read-only disk may be writable at the next start.
        self._note_start(self._attempt(self._fit_state_files))
        return needed

    def _program(self) -> str:
        """Return the kubelet's binary: what the unit starts, unless another program does that."""
        program, known = (self.seen and self.seen.program) or "", (*self.settings.argv, "")[0]
        other = self.settings.folder and known and not os.path.basename(program).startswith("kubelet")
        return known if other or not program else program

    def _fit_state_files(self) -> None:
        """Let no state file of another policy end a kubelet that starts with another configuration than the last one.

        A revert whose terms are lost, or one to what no trial has prepared, has no state files to restore.
        """
        if self.started.last() == self._running():
            return
        argv, config = list(self.settings.argv), self._fields("active")
        if config:
            trial = quietly(self.store.trial)
            given_up = {entry["path"] for entry in trial.state_files} if trial else ()
            statefiles.fit(kept_files.root_folder(argv), config, argv, given_up)

    def _renew_dropin(self) -> None:
        # A guard that only waits does not load this.
        from ..unit.unit import Unit

        active = os.path.join(self.store.active, self.settings.key)
        if Unit(self.settings.unit, run=self.run).renew(active, self.settings.folder):
            sys.stderr.write("the kubelet's unit has changed: it starts with the new command\n")

    def _note_start(self, fits: bool) -> None:
        """Note what this start reads: what is active after all other steps; and whether the state files fit it."""
        if self.seen:
            self._note(self.seen.unit.invocation, fits)

    def _count_start(self) -> bool:
        seen = self.seen = observe.kubelet(self.settings.unit, self.run)
        unit = seen.unit._replace(active=PRESTART.active, sub=PRESTART.sub) if seen else PRESTART
        facts = self._facts(seen._replace(unit=unit) if seen else observe.Kubelet(unit))
        self.runtime_away = bool(facts.runtime)
        with locked(self.store.config_dir, self.settings.lock_seconds):
            self._publish_again()
            trial = self._trial()
            if trial is None or trial.failed:
                active, wanted = self._running(), self.store.resolve().target
                if trial and active == self.store.target(trial.to) != wanted:
                    # The guard or the node ended between the record of the revert and its rename.
                    self._revert(trial.failed, facts)
                elif trial is None and self.records.progress().verdict and active != wanted:
                    # The trial is unreadable.
                    self._revert(self.records.progress().verdict, facts)
                # A revert may have been decided without a start of the kubelet after it: this is that start.
                if trial:
                    self._report_again(trial)
                self._finish(trial)
                self._attempt(self._ensure_configuration)
                return self._crashing(facts) or self.records.report() is not None
            self._judge(trial, facts, starting=True)
        return True

    def tick(self) -> float | None:
        """Observe once and act; return the seconds until the next observation, None when nothing is left to do."""
        wait, asks = self._look(None)
        if asks:
            # Without the lock: an API server may answer late, and the kubelet's prestart step cannot wait.
            node = self.verify()
            self.requests = self.requests.after(
                not node, self.now().monotonic, pacing.FIRST_SECONDS, pacing.LONGEST_SECONDS
            )
            wait = self._look(node)[0]
        return wait

    def _look(self, node: str | None) -> tuple[float | None, bool]:
        """Observe and act, with what is known of the Node (see `Facts.node`).

        Returns what `tick` returns, and whether to observe again with an answer of the API server.
        """
        self.seen = observe.kubelet(self.settings.unit, self.run, self.seen)
        if self.seen is None:
            return FAST_SECONDS, False
        unit, pid = self.seen.unit, self.seen.pid
        ours = self._left_stopped(unit)
        healthy = self._healthy(pid) if unit.running and pid else None
        facts = self._facts(self.seen, healthy, node)
        wait = FAST_SECONDS
        with locked(self.store.config_dir, self.settings.lock_seconds):
            if observe.kubelet(self.settings.unit, self.run, self.seen) != self.seen:
                # The kubelet was restarted while another process held the lock: the observation is outdated.
                return FAST_SECONDS, False
            facts = facts._replace(now=self._when()[1])
            trial = self._trial()
            progress = self.records.progress()
            if trial and trial.failed and not progress.verdict and self._reads_another(unit):
                # A crash of the host has emptied the note of a revert whose restart is still due.
                progress = Progress(verdict=trial.failed)
                self._remember(progress)
            if trial is not None and not trial.failed:
                action = self._judge(trial, facts, starting=False)
                if action == decide.ASK:
                    return CALM_SECONDS, facts.now >= self.requests.due
                restart = action == decide.REVERT
                since = self.records.progress().healthy_since
                if node or (since is not None and facts.now - since > CALM_AFTER_SECONDS):
                    wait = CALM_SECONDS
                if self.blocked:
                    wait = min(LONGEST_SECONDS, FAST_SECONDS * 2.0**self.blocked)
            elif progress.verdict:
                restart = self._end_revert(trial, progress, facts)
                if not restart and not ours and self.records.progress().verdict:
                    return CALM_SECONDS if unit.active == "inactive" else FAST_SECONDS, False
            elif progress.reported == CRASHED:
                self._watch_recovery(progress, facts)
                restart, wait = False, CALM_SECONDS
            elif self.stopped.ours(unit.invocation):
                restart, wait = False, FAST_SECONDS if ours else CALM_SECONDS
            else:
                return None, False
        # Without the lock: the kubelet's prestart step takes it. What failed to restart it may last.
        now = self._when()[1]
        if (restart or ours) and now >= self.restarts.due:
            self.restarts = self.restarts.after(self._restart(unit.invocation), now, FAST_SECONDS, LONGEST_SECONDS)
        return max(wait, self.restarts.due - now), False

    def reportable(self) -> bool:
        """Whether there is something to report now: the kubelet's start only while it runs and no restart is due."""
        report = self.records.report()
        if report is None or not report.annotated or report.message:
            return report is not None
        return bool(self.seen and self.seen.since() and not self.records.progress().verdict)

    def _verify(self) -> str:
        done = command.execute(
            [*installed.program(sys.executable, self.store.config_dir), "verify"], pacing.API_SECONDS
        )
        if done.returncode == 0:
            sys.stderr.write(done.stderr)
            return ""
        return (done.stderr.strip().splitlines() or [f"the API server was not asked (exit {done.returncode})"])[-1]

    # Observing

    def _facts(self, seen: observe.Kubelet, healthy: bool | None = None, node: str | None = None) -> Facts:
        """Return the facts of this moment. Without the lock: the journal may answer late."""
        facts = Facts(*self._when(), unit=seen.unit, healthy=healthy, node=node)
        progress = self.records.progress()
        gone = decide.ended(progress, facts.boot, seen.unit)
        trial = quietly(self.store.trial)
        former = trial is not None and gone == trial.invocation and facts.boot == trial.armed.boot_id
        if seen.killed or gone == progress.killed or self._signalled(gone):
            facts = facts._replace(killed=bool(gone))
        elif gone and not former:
            if self.heard[0] != gone or not last_words.ended_at_start(self.heard[1]):
                self.heard = (gone, last_words.read(self.settings.unit, gone, self.run))
            words = self.heard[1]
            # A kubelet that was killed may have logged an error about its runtime last, by coincidence.
            facts = facts._replace(words=words, kind=last_words.kind(words) if last_words.ended_at_start(words) else "")
        if not (seen.unit.running and healthy):
            path = self._runtime_socket(self._fields("active"), trial)
            facts = facts._replace(runtime=self.away(path) if path else "")
        return facts

    def _signalled(self, gone: str) -> bool:
        """Whether the journal names a signal that ended this kubelet: systemd may show it until the next start only.

        The journal is asked once for each kubelet.
        """
        if self.signalled[0] != gone:
            self.signalled = (gone, last_words.killed(self.settings.unit, gone, self.run))
        return self.signalled[1]

    def _left_stopped(self, unit: Unit) -> bool:
        """Whether the kubelet does not run, although no operator has stopped it: we did, or systemd could not start it
        again without what its unit requires. Such a start may take long, so the journal is asked more than once.
        """
        if unit.active != "inactive":
            self.asked = pacing.Requests()
            return False
        now = self._when()[1]
        if now >= self.asked.due and not self.stopped.ours(unit.invocation):
            self.asked = self.asked.after(False, now, FAST_SECONDS, LONGEST_SECONDS)
            if last_words.needs_dependency(self.settings.unit, unit.invocation, self.run):
                self.stopped.note(unit.invocation)
        return self.stopped.ours(unit.invocation)

    def _healthy(self, pid: int) -> bool:
        place = observe.target(observe.argv(pid) or list(self.settings.argv), self.settings.folder)
        # A kubelet without healthz counts as healthy while it runs.
        return place.port == 0 or not self.ask(place.port, place.address, pid)

    def _trial(self) -> Trial | None:
        """Return the trial. The terms of an unreadable trial are unknown, so the configuration on trial is reverted."""
        try:
            return self.store.trial()
        except StoreError as error:
            read = self.seen and self.started.target(self.seen.unit.invocation)
            wanted = self._running() if self.store.reverted() else self.store.resolve().target
            # An interrupted reset, too: the kubelet was not restarted.
            outdated = wanted != (read or self._running())
            if outdated and not self.records.progress().verdict:
                self._remember(Progress(verdict=str(error)))
            return None
