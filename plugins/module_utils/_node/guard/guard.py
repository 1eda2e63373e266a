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
from typing import Callable, NamedTuple, Sequence

from ..store import installed, kept_files, statefiles
from ..store.store import Store
from ..store.store_reader import quietly
from ..store.trial import Moment, Progress, Trial
from ..system import command, health, last_words
from ..system.files import StoreError
from . import decide, observe, pacing
from .base import CRASHED, STARTED, Host, Settings, Started
from .decide import Facts, Unit
from .judging import Judging, Reverts
from .new_binary import NewBinary
from .without_trial import CALM_AFTER_SECONDS, WithoutTrial

FAST_SECONDS = 1.0
CALM_SECONDS = 10.0
LONGEST_SECONDS = 60.0
# Systemd answers at once, or the kubelet does not wait for it.
_LIMIT_SECONDS = 10.0


class Observing:
    """What the guard asks of healthz, the container runtime and the journal, each as seldom as possible.

    `ask`, `away`: see `Guard`. Without the store's lock: the journal may answer late.
    """

    def __init__(self, host: Host, ask: Callable[[int, str, int], str], away: Callable[[str], str]) -> None:
        self.host, self.ask, self.away = host, ask, away
        # Of the last kubelet that has ended: its InvocationID, and what it logged last, or whether a signal ended it.
        self._heard = ("", "")
        self._signalled = ("", False)
        # The questions why the kubelet does not run.
        self._asked = pacing.Requests()

    def facts_at_start(self, seen: observe.Kubelet) -> Facts:
        """Return the facts before a start of the kubelet."""
        unit = seen.unit._replace(active="activating", sub="start-pre")
        return self.facts(seen._replace(unit=unit))

    def facts(self, seen: observe.Kubelet, node: str | None = None) -> Facts:
        """Return the facts of this moment."""
        healthy, moment = self._healthy(seen), self.host.now()
        facts = Facts(moment.boot_id, moment.monotonic, seen.unit, healthy, node)
        progress, trial = self.host.records.progress(), quietly(self.host.store.trial)
        gone = decide.ended(progress, facts.boot, seen.unit)
        former = trial is not None and gone == trial.invocation and facts.boot == trial.armed.boot_id
        if seen.killed or gone == progress.killed or self._was_signalled(gone):
            facts = facts._replace(killed=bool(gone))
        elif gone and not former:
            words = self._last_words(gone)
            facts = facts._replace(words=words)
            # A kubelet that was killed may have logged an error about its runtime last, by coincidence.
            if last_words.ended_at_start(words):
                facts = facts._replace(kind=last_words.kind(words))
        path = "" if healthy else self.host.runtime_socket("active", trial)
        if path:
            facts = facts._replace(runtime=self.away(path))
        return facts

    def left_stopped(self, unit: Unit) -> bool:
        """Whether the kubelet does not run, although no operator has stopped it: we did, or systemd could not start it
        again without what its unit requires. Such a start may take long, so the journal is asked more than once.
        """
        if unit.active != "inactive":
            self._asked = pacing.Requests()
            return False
        now = self.host.now().monotonic
        if now >= self._asked.due and not self.host.stopped.ours(unit.invocation):
            self._asked = self._asked.after(False, now, FAST_SECONDS, LONGEST_SECONDS)
            if last_words.needs_dependency(unit.invocation, self.host.run):
                self.host.stopped.note(unit.invocation)
        return self.host.stopped.ours(unit.invocation)

    def _healthy(self, seen: observe.Kubelet) -> bool | None:
        if not (seen.unit.running and seen.pid):
            return None
        settings = self.host.settings
        words = observe.argv(seen.pid) or list(settings.argv)
        if health.joining(words):
            return None
        place = observe.target(words, settings.folder)
        # A kubelet without healthz counts as healthy while it runs.
        return place.port == 0 or not self.ask(place.port, place.address, seen.pid)

    def _was_signalled(self, gone: str) -> bool:
        """Whether the journal names a signal that ended this kubelet: systemd may show it until the next start only.

        The journal is asked once for each kubelet.
        """
        if self._signalled[0] != gone:
            self._signalled = (gone, last_words.killed(gone, self.host.run))
        return self._signalled[1]

    def _last_words(self, gone: str) -> str:
        """Return what this kubelet logged last. The journal is asked until it has words of an end at a start."""
        if self._heard[0] != gone or not last_words.ended_at_start(self._heard[1]):
            self._heard = (gone, last_words.read(self.host.settings.unit, gone, self.host.run))
        return self._heard[1]


class _Look(NamedTuple):
    """What follows one look, without the lock.

    `wait`: seconds until the next look, None when nothing is left to do. `restart`: whether the kubelet must be
    restarted, None if `wait` holds all the same. `asks`: whether to look again with an answer of the API server.
    """

    wait: float | None
    restart: bool | None = None
    asks: bool = False


class Guard:
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
        self.host = Host(store, settings, run, now, started or Started(STARTED))
        self.records = self.host.records
        self.observing = Observing(self.host, ask, away)
        self.reverts = Reverts(self.host)
        self.judging = Judging(self.host, self.reverts)
        self.new_binary = NewBinary(self.host, self.reverts)
        self.without_trial = WithoutTrial(self.host)
        self.verify = verify or self._verify
        self.seen: observe.Kubelet | None = None
        # The questions to the API server, and the restarts of the kubelet that failed, as of a masked unit.
        self.requests = pacing.Requests()
        self.restarts = pacing.Requests()

    def prestart(self) -> bool:
        """Count this start of the kubelet, and revert if it is one too many; return whether the service must run.

        Before, take up a change of the kubelet's unit. Then ask a new binary of the kubelet what it accepts, and help a
        reverted kubelet that cannot start, or not with the state files that are there.
        """
        last = self.host.started.take()
        self.host.attempt(self._renew_dropin)
        try:
            seen = self.seen = self.host.kubelet()
            known = seen or observe.UNKNOWN
            facts = self.observing.facts_at_start(known)
            needed = self._count_start(facts)
            needed = self.new_binary.meet(known.program) or needed
            if seen:
                needed = self.without_trial.restore_state_files(facts) or needed
        except Exception:
            # The kubelet starts all the same.
            self._note_start(self.seen, fits=False)
            raise
        # A read-only disk may be writable at the next start.
        self._note_start(seen, self.host.attempt(lambda: self._fit_state_files(last)))
        return needed

    def tick(self) -> float | None:
        """Observe once and act; return the seconds until the next observation, None when nothing is left to do."""
        look = self._look(None)
        if look.asks:
            # Without the lock: an API server may answer late, and the kubelet's prestart step cannot wait.
            node = self.verify()
            now = self.host.now().monotonic
            self.requests = self.requests.after(not node, now, pacing.FIRST_SECONDS, pacing.LONGEST_SECONDS)
            look = self._look(node)
        return look.wait

    def reportable(self) -> bool:
        """Whether there is something to report now: the kubelet's start only while it runs and no restart is due."""
        report = self.records.report()
        if report is None or not report.annotated or report.message:
            return report is not None
        return bool(self.seen and self.seen.since() and not self.records.progress().verdict)

    def _renew_dropin(self) -> None:
        # A guard that only waits does not load this.
        from ..unit.unit import Unit

        settings = self.host.settings
        active = os.path.join(self.host.store.active, settings.key)
        if Unit(settings.unit, run=self.host.run).renew(active, settings.folder):
            sys.stderr.write("the kubelet's unit has changed: it starts with the new command\n")

    def _count_start(self, facts: Facts) -> bool:
        with self.host.locked():
            self.host.publish_again()
            trial = self._trial(facts.unit)
            if trial is not None and not trial.failed:
                left = self.reverts.left(trial)
                self.judging.judge(trial, facts, starting=True)
                if left and self._trial(facts.unit) == trial:
                    # A full disk cannot record the revert. What it led to may end the kubelet as well.
                    self.without_trial.leave_unrecorded(facts)
                return True
            self.reverts.resume(trial, facts)
            self.host.attempt(self.without_trial.ensure_configuration)
            return self.without_trial.crashing(facts) or self.records.report() is not None

    def _fit_state_files(self, last: str) -> None:
        """Let no state file of another policy end a kubelet that starts with another configuration than the last one.

        `last`: the target of `active` that one was started with, empty if that is unknown.
        A revert whose terms are lost, or one to what no trial has prepared, has no state files to restore.
        """
        if last == self.host.running():
            return
        given_up: set[str] = set()
        on_trial = False
        trial = quietly(self.host.store.trial)
        if trial:
            given_up = {entry["path"] for entry in trial.state_files}
            on_trial = not trial.failed and self.host.leads_to(trial.to)
        unfit = self._unfit(self.host.settings.argv, given_up)
        if any(one.exists for one in unfit):
            # Before a file is given up, systemd is asked: the unit may have other flags than when it was last switched.
            ask = command.until(self.host.run, _LIMIT_SECONDS)
            paths = {one.path for one in unfit}
            unfit = [one for one in self._unfit(self.host.next_words(ask), given_up) if one.path in paths]
        statefiles.fit(unfit, on_trial)

    def _unfit(self, words: Sequence[str], given_up: set[str]) -> list[statefiles.Unfit]:
        config = self.host.config("active", words)
        if not config:
            return []
        return statefiles.unfit(kept_files.root_folder(words), config, words, given_up)

    def _note_start(self, seen: observe.Kubelet | None, fits: bool) -> None:
        """Note what a start reads: what is active after all other steps; and whether the state files fit it."""
        if seen:
            active = self.host.running()
            self.host.attempt(lambda: self.host.started.note(seen.unit.invocation, active, fits))

    def _look(self, node: str | None) -> _Look:
        """Observe and act, with what is known of the Node (see `Facts.node`)."""
        seen = self.seen = self.host.kubelet(self.seen)
        if seen is None:
            return _Look(FAST_SECONDS)
        ours = self.observing.left_stopped(seen.unit)
        facts = self.observing.facts(seen, node)
        with self.host.locked():
            if self.host.kubelet(seen) != seen:
                # The kubelet was restarted while another process held the lock: the observation is outdated.
                return _Look(FAST_SECONDS)
            look = self._act(facts._replace(now=self.host.now().monotonic), ours)
        if look.wait is None or look.restart is None:
            return look
        # What failed to restart it may last.
        now = self.host.now().monotonic
        if look.restart and now >= self.restarts.due:
            self.restarts = self.restarts.after(self._restart(seen.unit), now, FAST_SECONDS, LONGEST_SECONDS)
        return _Look(max(look.wait, self.restarts.due - now))

    def _act(self, facts: Facts, ours: bool) -> _Look:
        """Do what the facts require. `ours`: see `Observing.left_stopped`."""
        unit = facts.unit
        trial = self._trial(unit)
        progress = self._progress(trial, unit)
        if trial is not None and not trial.failed:
            action = self.judging.judge(trial, facts, starting=False)
            if action == decide.ASK:
                return _Look(CALM_SECONDS, asks=facts.now >= self.requests.due)
            return _Look(self._pause_within_trial(facts), ours or action == decide.REVERT)
        if progress.verdict:
            return self._end_revert(trial, progress, facts, ours)
        if progress.reported == CRASHED:
            self.without_trial.watch_recovery(progress, facts)
            return _Look(CALM_SECONDS, ours)
        if self.host.stopped.ours(unit.invocation):
            # It may still run: the order to stop it is noted first.
            if ours:
                return _Look(FAST_SECONDS, True)
            return _Look(CALM_SECONDS, False)
        return _Look(None)

    def _end_revert(self, trial: Trial | None, progress: Progress, facts: Facts, ours: bool) -> _Look:
        restart = self.reverts.end(trial, progress, facts) or ours
        if facts.unit.active == "inactive" and not restart:
            return _Look(CALM_SECONDS)
        return _Look(FAST_SECONDS, restart)

    def _trial(self, unit: Unit) -> Trial | None:
        """Return the trial. The terms of an unreadable trial are unknown, so the configuration on trial is reverted."""
        store = self.host.store
        try:
            return store.trial()
        except StoreError as error:
            wanted = read = self.host.running()
            if unit.known:
                read = self.host.started.target(unit.invocation) or read
            if not store.reverted():
                wanted = store.resolve().target
            # An interrupted reset, too: the kubelet was not restarted.
            if wanted != read and not self.records.progress().verdict:
                self.host.remember(Progress(verdict=str(error)))
            return None

    def _progress(self, trial: Trial | None, unit: Unit) -> Progress:
        """Return the progress. A crash of the host may have emptied the note of a revert whose restart is still due."""
        progress = self.records.progress()
        reads = self.host.started.target(unit.invocation) if unit.running else ""
        if trial and trial.failed and not progress.verdict and reads not in ("", self.host.running()):
            return Progress(verdict=trial.failed)
        return progress

    def _pause_within_trial(self, facts: Facts) -> float:
        """Return the seconds until the next look."""
        if self.reverts.blocked:
            return float(min(LONGEST_SECONDS, FAST_SECONDS * 2.0**self.reverts.blocked))
        since = self.records.progress().healthy_since
        if facts.node or (since is not None and facts.now - since > CALM_AFTER_SECONDS):
            return CALM_SECONDS
        return FAST_SECONDS

    def _restart(self, unit: Unit) -> bool:
        """Restart the kubelet; return whether systemd did that. Without the lock: the prestart step takes it."""
        name = self.host.settings.unit
        self.host.stopped.note(unit.invocation)
        # A unit that hit its start limit refuses to start until this state is reset.
        self.host.run(["systemctl", "reset-failed", name])
        if self.host.run(["systemctl", "restart", name]).returncode:
            return False
        # The prestart step has done both, if the kubelet's unit still has that step.
        with self.host.locked():
            seen = self.host.kubelet()
            if seen and not self.host.started.target(seen.unit.invocation):
                self._note_start(seen, fits=False)
            self.reverts.finish()
        return True

    def _verify(self) -> str:
        program = installed.program(sys.executable, self.host.store.config_dir)
        done = command.execute([*program, "verify"], pacing.API_SECONDS)
        if done.returncode == 0:
            sys.stderr.write(done.stderr)
            return ""
        lines = done.stderr.strip().splitlines()
        return lines[-1] if lines else f"the API server was not asked (exit {done.returncode})"
