# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the module kubelet_checkpoint does: reach one state of the store, under its lock, or predict the changes."""

from __future__ import annotations

import contextlib
import os
import typing as t

from ..._config.values import annotation
from ..guard import base
from ..install import guard_install
from ..store.checkpoints import describe
from ..store.local import take
from ..store.meta import Source
from ..store.store import Store
from ..store.store_reader import quietly, wrong
from ..store.trial import Moment, Trial
from ..system.command import execute
from ..system.files import StoreError
from ..system.lock import locked
from ..unit import trust
from . import arming, values
from .values import NOTHING, Inspected

GUARD = guard_install.SERVICE_PATH
# After a revert the controller restarts the kubelet. If it has not after these seconds, the guard does.
RESTART_SECONDS = 60.0

Options = t.Dict[str, t.Any]
Result = t.Dict[str, t.Any]


def apply(options: Options, pretend: bool, found: Inspected = NOTHING, store: Store | None = None) -> Result:
    """Bring the store into `options["state"]`, or only predict (`pretend`) what that would change.

    `options`: those of the module. `found`: what an inspection of the node found for the store. Returns the module's
    result: changed, restart_needed, assigned, active, lastKnownGood, error, trial, config, checkpoint, removed, diff,
    warnings. Raises StoreError.
    """
    if options["data"]:
        options = {**options, "data": values.texts(options["data"])}
    store = store or Store(options["config_dir"])
    if options["state"] in ("staged", "assigned") or (options["state"] == "confirmed" and not store.resetting()):
        trust.check_config_dir(store.config_dir, store.fs)
    # A node without a store is reset already, and not even a lock file may be left on it.
    pretend = pretend or (options["state"] in ("reset", "removed") and not os.path.lexists(store.config_dir))
    with contextlib.nullcontext() if pretend else locked(store.config_dir):
        run = _Run(store, options, pretend, found)
        getattr(run, options["state"])()
        return run.result()


class _Run:
    """One call of the module. `source` is the requested config source."""

    def __init__(self, store: Store, options: Options, pretend: bool, found: Inspected) -> None:
        self.store, self.options, self.pretend, self.found = store, options, pretend, found
        self.former_target, self.former_text = quietly(store.running), values.active_text(store)
        self.changed = False
        self.warnings: list[str] = []
        self.collected: list[str] = []
        self.predicted: Result = {}
        self.unwritten = False
        self.gone = False
        self.waiting = False
        self.local_text: bytes | None = None
        self.source = values.source(options.get("source"))
        self.arming = arming.Arming(store, options, found)

    # The states

    def staged(self) -> None:
        source, data = self._source(), self.options["data"]
        self.store.check_key(source)
        self._remember(source)
        if data is None:
            self.store.verify(source)
        elif not self.store.is_staged(source, data):
            self._change(lambda: self.store.stage(source, data))

    def assigned(self) -> None:
        source = self._source()
        fresh = quietly(self.store.assigned) != source
        if fresh:
            values.check_standing(self.store, self.found.standing)
        self.staged()
        armed = quietly(self.store.trial)
        failed = armed is not None and armed.to == source and bool(armed.failed)
        if fresh or failed or quietly(self.store.running) != self.store.target(source):
            back = self.arming.way_back(source, armed)
            if back != source:
                back = self.arming.whole(back)
            self._switch(source, good=back)
        elif os.path.exists(GUARD) and not self.pretend:
            self._report_again(armed)
        self._collect()

    def _report_again(self, armed: Trial | None) -> None:
        """Let the guard report what is done already; while a trial lasts, the guard reports it at its end."""
        if armed is not None and not armed.confirmed:
            return
        # On a full disk, the next change reports it.
        with contextlib.suppress(StoreError):
            base.queue_again(self.store, annotation.CONFIRMED if armed else "")
        start_guard()

    def confirmed(self) -> None:
        assigned, armed = self.store.assigned(), self.store.trial()
        values.check_trial(self.options, armed)
        source = self.source or assigned
        if source is None and armed is not None and armed.to is None:
            # The kubelet was verified with the file that it had before us.
            self._check_not_reverted(armed)
            self._change(self.store.reset, lastKnownGood=None, trial=None)
            return
        if source is None or assigned != source:
            now = describe(assigned) if assigned else "local"
            raise StoreError(
                f"{self.store.config_dir}: {values.named(source)} cannot be confirmed, because the assigned source is "
                f"{now}: assign a source first"
            )
        if armed is None or armed.to != source:
            if self.store.last_known_good() == source:
                return
            raise StoreError(
                f"{self.store.config_dir}: {describe(source)} cannot be confirmed, it has no trial: assign it again"
            )
        self._check_not_reverted(armed)
        if not armed.confirmed:
            passed = armed._replace(confirmed=True)
            self._change(lambda: self.store.record(passed), trial=values.trial(passed))

    def _check_not_reverted(self, armed: Trial) -> None:
        """Raise StoreError for a trial that the guard has decided to end, also if it has done no more than that."""
        reason = armed.failed or base.verdict(self.store, armed)
        if not reason and quietly(self.store.running) != self.store.target(armed.to):
            reason = f"{self.store.active} leads to another configuration"
        if reason:
            raise StoreError(f"{values.named(armed.to)} cannot be confirmed, because the node reverted it: {reason}")

    def rolled_back(self) -> None:
        store = self.store
        assigned, good, armed = quietly(store.assigned), quietly(store.last_known_good), quietly(store.trial)
        if armed is not None and armed.to != assigned:
            armed = None
        name = armed.name if armed else None
        if self.options.get("trial") not in (None, name):
            # Another run has armed what is on trial now.
            return
        if self.options["unconfirmed_only"] and (armed is None or armed.confirmed):
            return
        if armed is None and assigned not in (None, good):
            armed = Trial(assigned, good, Moment.now())
        if armed is None or armed.failed:
            self._settle_active()
        else:
            self._revert(armed)

    def reset(self) -> None:
        if quietly(self.store.assigned) is not None:
            values.check_standing(self.store, self.found.standing)
        if os.path.exists(GUARD) and self._reset_on_trial():
            return
        self._forget()
        self._collect()

    def removed(self) -> None:
        store = self.store
        if quietly(store.running) not in (None, store.target(None)):
            raise StoreError(f"{store.active} is in use: reset the node first")
        self._forget()
        if os.path.lexists(store.folder) or os.path.lexists(store.active):
            self._change(store.remove)
            self.gone = True

    # Helpers

    def _reset_on_trial(self) -> bool:
        """Let the guard watch the reset; return whether that is so, or nothing is left that it must watch."""
        store = self.store
        if store.resetting():
            return True
        if store.revert_pending() and quietly(store.running) == store.target(None):
            # The guard's step before the next start of the kubelet restores what belongs to the local config.
            self.waiting = True
            return True
        before = self.arming.before_a_lost_reset()
        if before is not None:
            self._switch(None, good=before)
            self._collect()
            return True
        active = quietly(store.active_source)
        if active is None:
            return False
        if wrong(lambda: store.verify(active)):
            self.warnings.append(f"{describe(active)} is damaged: the guard cannot revert a failed reset")
            return False
        self._refresh_local(active)
        self._return_to_local(active)
        self._collect()
        return True

    def _forget(self) -> None:
        """Make the local config the assigned and the active one, without a trial."""
        store = self.store
        held = (quietly(store.assigned), quietly(store.last_known_good), quietly(store.trial), quietly(store.running))
        unreadable = any(wrong(read) for read in (store.assigned, store.last_known_good, store.trial, store.running))
        if unreadable or held not in ((None, None, None, None), (None, None, None, store.target(None))):
            self._change(store.reset, assigned=None, active=None, lastKnownGood=None, error="", trial=None)

    def _change(self, act: t.Callable[[], object], **predicted: t.Any) -> None:
        """Change the store, unless that is only predicted. `predicted`: what the result has then."""
        self.changed = True
        self.predicted = predicted or self.predicted
        if not self.pretend:
            act()

    def _switch(self, source: Source | None, good: Source | None) -> None:
        """Arm the trial of a source (None: the local config), start the guard, switch. `good`: see `Arming.trial`."""
        fresh = self.arming.trial(source, good)

        def switch() -> None:
            self.arming.keep_files(fresh)
            self.store.arm(fresh)
            try:
                self._wake_guard(fresh)
            except StoreError:
                self.store.withdraw()
                raise
            try:
                self.store.switch(source)
            except StoreError as error:
                self._undo(fresh, str(error))
                raise

        predicted = {"assigned": source, "active": source, "lastKnownGood": self.store.good_for_a_revert()}
        self._change(switch, **predicted, error="", trial=values.trial(fresh))

    def _undo(self, armed: Trial, reason: str) -> None:
        """End a trial whose switch failed. What a full disk cannot hold, the guard finds at its next look."""
        with contextlib.suppress(StoreError):
            if quietly(self.store.assigned) == armed.to:
                self.store.revert(reason)
            else:
                self.store.withdraw()

    def _return_to_local(self, active: Source) -> None:
        """Put the local config on trial, unless the end of the last trial leads to it."""
        how, good = self.arming.return_to_local(active)
        armed = quietly(self.store.trial)
        if how == arming.TRIAL:
            self._switch(None, good)
            return
        if how == arming.END and armed is not None:
            self._revert(armed)
        else:
            self._settle_active()
        self.waiting = True

    def _refresh_local(self, active: Source) -> None:
        """Make the node's own config file as it is now the local config: without us the kubelet reads that one."""
        store, config = self.store, self.found.local_config
        if config is None:
            return
        if quietly(store.local) is None:
            self._change(lambda: store.renew_local(config, active["kubeletConfigKey"]))
        elif store.refresh_local(config, pretend=True):
            self.local_text = take(config).data
            self._change(lambda: store.refresh_local(config))

    def _settle_active(self) -> None:
        """Point `active` to the source that must run, if it points to another one."""
        store = self.store
        found = store.resolve()
        # Only the copy of the local configuration may be damaged, which settling restores.
        leads_somewhere = found.target is not None or quietly(store.local) is not None
        if leads_somewhere and os.path.lexists(store.active) and found.target != quietly(store.running):
            self._change(store.settle, active=found.source)

    def _revert(self, armed: Trial) -> None:
        """End a trial as failed and revert `active`."""
        store, reason = self.store, self.options["reason"]
        failed = armed._replace(failed=reason)
        found = store.resolve(failed)
        predicted = {"active": found.source, "error": "; ".join(found.reasons), "trial": values.trial(failed)}
        now = Moment.now()
        due = now._replace(monotonic=now.monotonic + RESTART_SECONDS)
        try:
            self._change(lambda: store.revert(reason, due), **predicted)
        except StoreError as error:
            if found.target != quietly(store.running):
                raise
            # On a full disk `active` is reverted all the same, and the caller must restart the kubelet.
            self.warnings.append(f"the configuration is reverted, but the store did not record the reason: {error}")
            self.unwritten = True
        if self.pretend:
            return
        # The guard may have ended: it runs only while a configuration is on trial.
        problem = start_guard()
        if problem:
            self.warnings.append(f"only this run restarts the kubelet, because the guard does not start: {problem}")

    def _source(self) -> Source:
        if self.source is None:
            raise StoreError(f"state={self.options['state']} needs the option source: set it")
        return self.source

    def _remember(self, source: Source) -> None:
        """Save the files that are there before us; the first time only."""
        config = self.found.local_config
        if quietly(self.store.local) is not None or config is None:
            if self.options["state"] == "assigned" and self.store.local() is None:
                raise StoreError(
                    f"{self.store.config_dir}: the local configuration is not saved, so no revert to it would be "
                    "possible: reset the node, then switch it again"
                )
            return
        own = {config: take(config)}
        if self.store.remember_local(own, config, source["kubeletConfigKey"], pretend=True):
            self._change(lambda: self.store.remember_local(own, config, source["kubeletConfigKey"]))

    def _wake_guard(self, armed: Trial) -> None:
        """Start the guard before the switch. Raises StoreError when it is installed and does not watch the trial."""
        if os.path.exists(GUARD):
            problem = start_guard(armed.name)
            if problem:
                raise StoreError(f"no guard would watch this configuration, so nothing was switched: {problem}")
        else:
            self.warnings.append(
                "no guard is installed, so nothing reverts this configuration if it fails: "
                "install one with the role checkpoint"
            )

    def _collect(self) -> None:
        if self.pretend:
            return
        try:
            self.collected = self.store.collect_garbage([self.source] if self.source else [])
        except StoreError as error:
            self.warnings.append(f"old checkpoints were not removed: {error}")

    def result(self) -> Result:
        store = self.store
        armed = quietly(store.trial)
        state = self._state(armed)
        target, text = self._configuration(state["active"])
        unfinished = self.waiting or values.waits_for_restart(armed, state["assigned"], self.found.invocation)
        return {
            **state,
            "changed": self.changed,
            "restart_needed": target not in (None, self.former_target) or unfinished,
            "config": os.path.join(store.active, values.config_name(store, self.source)),
            "checkpoint": os.path.join(store.config_dir, store.target(self.source)) if self.source else None,
            "removed": self.collected,
            "warnings": [*self.arming.warnings, *self.warnings],
            "diff": values.diff(self.former_text, text, store.active),
        }

    def _state(self, armed: Trial | None) -> Result:
        """Return the store's references, error and trial after the call, or as predicted."""
        state: Result = {
            "assigned": quietly(self.store.assigned),
            "active": quietly(self.store.active_source),
            "lastKnownGood": quietly(self.store.last_known_good),
            "error": self.store.error(),
            "trial": values.trial(armed) if armed is not None else None,
        }
        if self.pretend or self.unwritten:
            state.update(self.predicted)
        return state

    def _configuration(self, active: Source | None) -> tuple[str | None, bytes | None]:
        """Return the target and the text of `active` after the call, or as predicted."""
        if self.gone:
            # Removing the store changes no kubelet's configuration: no kubelet reads it any more.
            return None, self.former_text
        if self.pretend and "active" in self.predicted:
            return self.store.target(active), self._planned(active)
        return quietly(self.store.running), values.active_text(self.store)

    def _planned(self, source: Source | None) -> bytes | None:
        """Return the text of a source that is not active yet."""
        if source is None and self.local_text:
            return self.local_text
        if source is not None and source == self.source and self.options["data"]:
            return str(self.options["data"].get(source["kubeletConfigKey"], "")).encode()
        return values.text_of(self.store, source)


def start_guard(trial: str = "") -> str:
    """Start the guard, if one is installed; return why it does not start, or does not see the armed `trial`."""
    if not os.path.exists(GUARD):
        return ""
    done = execute(["systemctl", "start", os.path.basename(GUARD)])
    if done.returncode:
        return f"{done.stderr.strip()}. See `journalctl -u {os.path.basename(GUARD)}`."
    if not trial:
        return ""
    return guard_install.problem(GUARD, trial, execute)
