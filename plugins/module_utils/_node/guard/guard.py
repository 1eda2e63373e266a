# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The guard: watches a trial on the node and goes back by itself. Run by systemd, needs neither Ansible nor ssh nor the
API server.

Two ways in: `prestart` before every start of the kubelet (a step of its unit), `tick` from a service that runs only
while there is something to wait for. Both look, decide (decide.py) and act under the store's lock. Every act can be
repeated: what was decided is written down before the first step is taken, and struck out after the last, so that a
guard that is killed anywhere, or a node that is rebooted, goes on where it stopped.
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
from . import decide, observe, status_annotation
from .decide import Action, Facts, Progress, Terms, Unit
from .guard_files import Records

LOCK_SECONDS = 5.0
FAST_SECONDS = 1.0
# A kubelet that ends is met by the prestart step at its next start, so that a guard who has seen it healthy for a while
# may look less often.
CALM_AFTER_SECONDS = 60.0
CALM_SECONDS = 10.0
# Status of a kubelet that fails with a configuration that had been good: not ours to mend, but to be said.
CRASHED = "crashed"
PRESTART = Unit(active="activating", sub="start-pre")


class Settings(NamedTuple):
    """What the guard was installed for: the kubelet's unit, and for when no kubelet runs, or has no configuration, how
    it was then.

    `argv`: the kubelet's command line; `config`: the config file that the unit names without our drop-in; `key`: the
    name of the file it is pointed at.
    """

    unit: str = "kubelet.service"
    argv: Sequence[str] = ()
    config: str = ""
    key: str = DEFAULT_KEY
    lock_seconds: float = LOCK_SECONDS


class Guard:
    """One node's guard. `run` runs commands, `now` tells the time, `ask` asks healthz, `refuse` forgets a
    last-known-good that is none any more, `prove` asks the API server for the Node: it returns why that is no proof of
    the kubelet that runs, empty when it is.
    """

    def __init__(
        self,
        store: Store,
        settings: Settings,
        run: command.Run = command.execute,
        now: Callable[[], Moment] = Moment.now,
        ask: Callable[[int, str], str] = health.healthz,
        refuse: Callable[[Store, Settings, command.Run], None] | None = None,
        prove: Callable[[], str] | None = None,
    ) -> None:
        self.store = store
        self.settings = settings
        self.run = run
        self.now = now
        self.ask = ask
        self.refuse = refuse or refuse_outdated
        self.prove = prove or self._prove
        self.seen: observe.Kubelet | None = None
        self.records = Records(store.config_dir, store.fs)

    # -- the two ways in
    # -------------------------------------------------------------------------------------------------

    def prestart(self) -> bool:
        """Count this start, and run what was good if it is one too many; return whether the watching service has
        something to do.
        """
        seen = observe.kubelet(self.settings.unit, self.run)
        unit = seen.unit._replace(active=PRESTART.active, sub=PRESTART.sub) if seen else PRESTART
        with locked(self.store.config_dir, self.settings.lock_seconds):
            trial = self._trial()
            if trial is None or trial.failed:
                # Whoever decided to go back did not get to starting the kubelet: this start is it.
                if (
                    trial
                    and not self.records.progress().verdict
                    and self.records.progress().name == terms_of(trial).name
                ):
                    # It was not the guard that took the configuration back.
                    self._remember(Progress(verdict=trial.failed))
                    self._tell_back(trial.failed)
                self._finish(trial)
                self._keep(self._mend)
                return self._crashing(unit) or self.records.report() is not None
            self._judge(trial, Facts(*self._when(), unit=unit), starting=True)
        return True

    def tick(self) -> float | None:
        """Look once and act; return the seconds until it is worth to look again, None when there is nothing to wait for."""
        wait, asks = self._look(None)
        if asks:
            # Without the lock: an API server may take its time to answer, and the kubelet's prestart step has none.
            wait = self._look(self.prove())[0]
        return wait

    def _look(self, node: str | None) -> tuple[float | None, bool]:
        """Look and act, with what is known of the Node; return as `tick` does, and whether to look again with an answer
        of the API server.
        """
        self.seen = observe.kubelet(self.settings.unit, self.run, self.seen)
        if self.seen is None:
            return FAST_SECONDS, False
        unit, pid = self.seen.unit, self.seen.pid
        healthy = self._healthy(pid) if unit.running and pid else None
        wait = FAST_SECONDS
        with locked(self.store.config_dir, self.settings.lock_seconds):
            if observe.kubelet(self.settings.unit, self.run, self.seen) != self.seen:
                # While the lock was not to be had the kubelet was started anew: what was seen is of the one before.
                return FAST_SECONDS, False
            facts = Facts(*self._when(), unit=unit, healthy=healthy, node=node)
            trial = self._trial()
            progress = self.records.progress()
            if trial is not None and not trial.failed:
                action = self._judge(trial, facts, starting=False)
                if action == decide.ASK:
                    return CALM_SECONDS, True
                restart = action == decide.GO_BACK
                since = self.records.progress().healthy_since
                if node or (since is not None and facts.now - since > CALM_AFTER_SECONDS):
                    wait = CALM_SECONDS
            elif progress.verdict:
                restart = self._walk_back(progress.verdict, facts)
            elif progress.told == CRASHED:
                self._watch_recovery(progress, facts)
                return CALM_SECONDS, False
            else:
                return None, False
        # Without the lock: the kubelet's prestart step takes it.
        if restart:
            self._restart()
        return wait, False

    def tellable(self) -> bool:
        """Whether there is something to tell that can be told now: since when the kubelet runs only while it does, and
        is not about to be restarted.
        """
        report = self.records.report()
        if report is None or not report.annotated or report.message:
            return report is not None
        return bool(self.seen and self.seen.since() and not self.records.progress().verdict)

    def _prove(self) -> str:
        done = self.run([sys.executable, "-I", os.path.join(self.store.config_dir, "guard"), "prove"])
        return (
            ""
            if done.returncode == 0
            else (done.stderr.strip().splitlines() or [f"it could not be asked for (exit {done.returncode})"])[-1]
        )

    # -- looking
    # ---------------------------------------------------------------------------------------------------------

    def _when(self) -> tuple[str, float]:
        moment = self.now()
        return moment.boot_id, moment.monotonic

    def _healthy(self, pid: int) -> bool:
        place = observe.target(observe.argv(pid) or list(self.settings.argv))
        # A kubelet without healthz can be judged by its running alone.
        return place.port == 0 or not self.ask(place.port, place.address)

    def _trial(self) -> Trial | None:
        """Return the trial; of one that cannot be read nobody can tell what it allowed, and what it tried is taken back."""
        try:
            return self.store.trial()
        except StoreError as error:
            if not self.records.progress().verdict and self._running() != self.store.resolve().target:
                self._remember(Progress(verdict=str(error)))
            return None

    # -- judging
    # ---------------------------------------------------------------------------------------------------------

    def _judge(self, trial: Trial, facts: Facts, starting: bool) -> str:
        """Look, decide, act; return what is left to do without the lock: GO_BACK, to restart the kubelet; ASK, for its
        Node; else WAIT.
        """
        terms = terms_of(trial)
        progress = decide.observe(terms, self.records.progress(), facts)
        if starting and trial.state_files and self._running() == self.store.target(trial.to):
            self._keep(lambda: statefiles.clear(trial.state_files))
        action = decide.decide(terms, progress, facts)
        if action.what == decide.GO_BACK and not progress.verdict and _or_none(self.store.assigned) != trial.to:
            # Armed, and whoever armed it was cut off before the switch: there is nothing to go back from.
            self.store.disarm()
            self._remember(Progress())
            return decide.WAIT
        if action.what == decide.GO_BACK and not progress.verdict and self._running() != self.store.target(trial.to):
            # It went back already, and only the note of that could not be written: one restart was enough.
            self._keep(lambda: self._note_back(action.reason))
            return decide.WAIT
        if action.what == decide.GO_BACK:
            self._remember(progress._replace(verdict=action.reason))
            restart = self._walk_back(action.reason, facts)
            if starting or (facts.unit.invocation == trial.invocation and facts.boot == trial.armed.boot_id):
                # This very start runs what was good; or the kubelet never stopped running it.
                self._finish(trial if starting else None)
                return decide.WAIT
            return decide.GO_BACK if restart else decide.WAIT
        if action.what == decide.ASK:
            self._remember(progress)
            return decide.ASK
        if action.what == decide.GRADUATE:
            self.store.graduate(trial.to, trial.kubelet_version)
            self._tell("passed its trial")
            progress = Progress()
        elif action.what == decide.LEAVE:
            self._tell("left alone", error=action.reason)
            self.store.disarm()
            progress = Progress()
        else:
            progress = self._tell_stage(terms, progress, facts, action)
        self._remember(progress)
        return decide.WAIT

    def _tell_stage(self, terms: Terms, progress: Progress, facts: Facts, action: Action) -> Progress:
        """Tell the cluster once of each stage of a trial: begun (as a kubelet told of its restart), confirmed, in trouble."""
        stage = action.reason or (annotation.CONFIRMED if terms.confirmed else annotation.ON_TRIAL)
        if stage == progress.told or (facts.unit.invocation == terms.invocation and facts.boot == terms.boot):
            return progress
        self._tell(stage, event="" if progress.told else status_annotation.restarting(self._active()))
        return progress._replace(told=stage)

    def _walk_back(self, reason: str, facts: Facts) -> bool:
        """Point `active` to what was good; return whether the kubelet is to be restarted. Taken twice, the second time
        changes nothing.
        """
        try:
            self.refuse(self.store, self.settings, self.run)
            if self.store.roll_back(reason).target is None:
                self.store.renew_local(self.settings.config, self.settings.key)
        except StoreError as error:
            # Of a full disk: the note of it could not be written, the way back is taken all the same.
            sys.stderr.write(f"{error}\n")
        self._tell_back(reason)
        if facts.unit.active == "inactive":
            # Somebody stopped it, and will start it when they see fit.
            self._finish()
            return False
        return True

    def _note_back(self, reason: str) -> None:
        """Write down a way back that has been taken, and only then tell of it: until that can be written it is tried at
        every look.
        """
        self.store.roll_back(reason)
        self._tell_back(reason)
        self._remember(Progress())

    def _tell_back(self, reason: str) -> None:
        active = self._active()
        self._tell(
            "went back to " + ("last-known-good" if active else "the local configuration"),
            error=reason,
            event=f"{status_annotation.restarting(active)}: {reason}",
        )

    def _restart(self) -> None:
        # A unit that hit its start limit refuses to start until it is forgotten.
        self.run(["systemctl", "reset-failed", self.settings.unit])
        if self.run(["systemctl", "restart", self.settings.unit]).returncode == 0:
            # The prestart step has done it, if the kubelet's unit still has that.
            with locked(self.store.config_dir, self.settings.lock_seconds):
                self._finish()

    def _remember(self, progress: Progress) -> None:
        self._keep(lambda: self.records.remember(progress))

    def _finish(self, trial: Trial | None = None) -> None:
        """Strike out a way back that is at its end; with the trial: before a start, when the state files can be put back."""
        if self.records.progress().verdict:
            if trial and trial.armed.boot_id == self._when()[0]:
                # After a reboot the kubelet makes them anew for the pods that it starts anew.
                self._keep(lambda: statefiles.restore(trial.state_files))
            self._remember(Progress())

    def _keep(self, act: Callable[[], Any]) -> None:
        try:
            act()
        except (StoreError, OSError) as error:
            # A full disk must not keep the node from going back.
            sys.stderr.write(f"{error}\n")

    def _mend(self) -> None:
        """See to it that the kubelet has a configuration to start with, whatever happened to the one it ran."""
        target, found = self._running(), self.store.resolve()
        if found.target is None:
            # Never a dead kubelet: the file that it would read without us is on the node still.
            self.store.renew_local(self.settings.config, self.settings.key)
            self._tell(
                f"went back to {self.settings.config}",
                error="; ".join(found.reasons),
                event=status_annotation.restarting(None),
            )
        elif not self.store.usable() and self.store.settle().target != target:
            self._tell(
                "went back to what is whole",
                error=self.store.error(),
                event=status_annotation.restarting(self._active()),
            )

    # -- a kubelet that fails without a trial
    # ----------------------------------------------------------------------------

    def _crashing(self, unit: Unit) -> bool:
        """Say once of a kubelet that keeps failing with a configuration that had been good that it is left alone."""
        progress = self.records.progress()
        if unit.restarts < decide.MOST_FAILURES or progress.told == CRASHED:
            return progress.told == CRASHED
        self._tell(
            "left alone",
            error=f"the kubelet ended {unit.restarts} times, with a configuration that had been good: the cause lies elsewhere",
        )
        self._remember(Progress(told=CRASHED))
        return True

    def _watch_recovery(self, progress: Progress, facts: Facts) -> None:
        since = (
            progress.healthy_since
            if progress.invocation == facts.unit.invocation and progress.boot == facts.boot
            else None
        )
        since = (facts.now if since is None else since) if facts.healthy else None
        if since is not None and facts.now - since >= CALM_AFTER_SECONDS:
            self._tell("recovered", error=self.store.error())
            progress = Progress()
        else:
            progress = progress._replace(invocation=facts.unit.invocation, boot=facts.boot, healthy_since=since)
        self._remember(progress)

    # -- telling
    # ---------------------------------------------------------------------------------------------------------

    def _tell(self, reason: str, error: str = "", event: str = "") -> None:
        wall = time.time()
        status = status_annotation.status(
            _or_none(self.store.assigned), self._active(), _or_none(self.store.last_known_good), error, reason, wall
        )
        before = self.records.report()
        told = status_annotation.Report(status, event, bool(error), wall, status_annotation.suffix(wall))
        if before and before.message and event in ("", before.message):
            # The Event that could not be told yet is told with the newer status, and once.
            told = told._replace(
                message=before.message, warning=before.warning, time=before.time, name_suffix=before.name_suffix
            )
        self._keep(lambda: self.records.tell(told))

    def _active(self) -> Any:
        return _or_none(self.store.active_source)

    def _running(self) -> str | None:
        running: str | None = _or_none(self.store.running)
        return running


def terms_of(trial: Trial) -> Terms:
    """Return a trial as the decision takes it."""
    extra = trial.extra
    return Terms(
        name=f"{trial.armed.boot_id}/{trial.armed.monotonic}",
        boot=trial.armed.boot_id,
        armed=trial.armed.monotonic,
        invocation=trial.invocation,
        confirm_seconds=float(extra.get("confirm_seconds", trial.deadline_seconds)),
        hold_seconds=trial.deadline_seconds,
        was_healthy=bool(extra.get("was_healthy", True)),
        retreat=trial.back != trial.to,
        confirmed=trial.confirmed,
        unhealthy_seconds=float(extra.get("unhealthy_seconds", decide.UNHEALTHY_SECONDS)),
    )


def refuse_outdated(store: Store, settings: Settings, run: command.Run) -> None:
    """Forget a last-known-good that another kubelet version proved and the present kubelet refuses, so that the way
    back leads past it.
    """
    good = _or_none(store.last_known_good)
    proved = store.graduated_with()
    if not good or not proved or not settings.argv:
        return
    from ..system import binary

    if binary.version(settings.argv[0], run) in (None, proved):
        return
    text = _or_none(lambda: store.data(good)[good["kubeletConfigKey"]].decode())  # pylint: disable=unnecessary-lambda  # the reading is to be caught too
    if text and binary.check(text, settings.argv, run=run).verdict == "invalid":
        store.forget_good()


def _or_none(read: Callable[[], Any]) -> Any:
    try:
        return read()
    except (StoreError, KeyError, UnicodeDecodeError):
        return None
