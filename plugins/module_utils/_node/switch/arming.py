# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a switch arms before it begins: its trial, what a revert of that leads to, and the state files of that."""

from __future__ import annotations

import os
import typing as t

from ..store import statefiles
from ..store.checkpoints import describe
from ..store.kept_files import KeptFiles
from ..store.meta import Source
from ..store.store import Store
from ..store.store_reader import quietly, wrong
from ..store.trial import Moment, Trial
from .values import Inspected

TRIAL, END, SETTLE = "trial", "end", "settle"
"""How a reset returns to the local config: by a trial of that, or without one. Then the end of the last trial leads to
it, or an interrupted revert does, which is completed.
"""


class Arming:
    """The trials that a call of the module with these options may arm on a node of which this was found."""

    def __init__(self, store: Store, options: t.Mapping[str, t.Any], found: Inspected) -> None:
        self.store, self.options, self.found = store, options, found
        self.warnings: list[str] = []

    @property
    def healthy(self) -> bool:
        """Whether the kubelet was healthy before the call, as far as that is known."""
        return self.found.was_healthy is not False

    def way_back(self, source: Source, last: Trial | None) -> Source | None:
        """Return what a revert of `source` should lead to: what runs well and was confirmed, else last-known-good.

        `last`: the last trial. One that failed has led to what was confirmed before it, and one that is not over would.
        """
        store = self.store
        if last is not None and not last.failed and not last.confirmed and last.revert_to not in (None, source):
            return last.revert_to
        if last is not None and self.healthy and (last.failed or last.confirmed):
            confirmed = last.revert_to if last.failed else last.to
            if confirmed != source and quietly(store.running) == store.target(confirmed):
                return confirmed
        return store.good_for_a_revert()

    def unverified(self, active: Source) -> Trial | None:
        """Return the trial of what is active, until that was confirmed and its kubelet is healthy; else None.

        A switch that was interrupted has assigned another source: then it is the trial that this switch replaced.
        """
        last = quietly(self.store.trial)
        if last is not None and last.to != active:
            last = self.store.replaced_by(last)
        if last is None or last.to != active or last.failed or (last.confirmed and self.healthy):
            return None
        return last

    def return_to_local(self, active: Source) -> tuple[str, Source | None]:
        """Return how a reset returns from what is active to the local config, and what the trial of that reverts to.

        It reverts to what is active only if that runs well, as far as that is known.
        """
        last, tried = quietly(self.store.trial), self.unverified(active)
        if self._reverts_to_local(active, last):
            return SETTLE, None
        if last is None and not self.healthy:
            # Its trial is lost. Nothing else shows that what is active has ever run well.
            return TRIAL, self.whole(self.store.good_for_a_revert())
        if last is None or tried is None:
            return TRIAL, active
        self.whole(tried.revert_to)
        good = self.store.resolve(tried._replace(failed=self.options["reason"])).source
        is_known = tried.revert_to is not None or tried.confirmed
        if good is None and is_known and (self.healthy or last != tried):
            # Nothing else is whole. After an interrupted switch, a revert of the last trial may not lead there.
            return TRIAL, active
        if good is None:
            return END, None
        return TRIAL, good

    def _reverts_to_local(self, active: Source, last: Trial | None) -> bool:
        """Return whether what is active has failed, and its revert, which was interrupted, leads to the local one."""
        if last is None or last.to != active or not last.failed:
            return False
        return self.store.resolve().source is None

    def whole(self, good: Source | None) -> Source | None:
        """Return a source to revert to; None, which is the local config, if it is damaged: a revert skips it, too."""
        if good is None or not wrong(lambda: self.store.verify(good)):
            return good
        self.warnings.append(f"{describe(good)} is damaged: no revert will lead to it")
        return None

    def before_a_lost_reset(self) -> Source | None:
        """Return what ran before a reset whose trial is unreadable: its kubelet may never have been restarted."""
        store = self.store
        good = quietly(store.last_known_good)
        if good is None or quietly(store.running) != store.target(None) or not wrong(store.trial):
            return None
        if wrong(lambda: store.verify(good)):
            return None
        return good

    def trial(self, source: Source | None, good: Source | None) -> Trial:
        """Return the trial of a source, which reverts to `good` unless that failed last.

        If both are one source, the guard changes nothing: it is last-known-good, and of no other is more known.
        """
        revert_to, last = good, quietly(self.store.trial)
        if last is not None and last.failed and last.to == good:
            revert_to = self.store.resolve().source
        return Trial(
            source,
            revert_to,
            Moment.now(),
            self.options["trial_seconds"],
            invocation=self.found.invocation,
            kubelet_version=self.found.kubelet_version,
            state_files=self._state_files(revert_to),
            extra=self._extra(revert_to),
        )

    def _extra(self, revert_to: Source | None) -> dict[str, t.Any]:
        """Return what a trial has only if it matters; see Trial."""
        options, found = self.options, self.found
        extra: dict[str, t.Any] = {}
        if options["confirm_seconds"] is not None:
            extra["confirm_seconds"] = options["confirm_seconds"]
        if found.was_healthy is not None:
            extra["was_healthy"] = found.was_healthy
        if "attempt" in options:
            extra["attempt"] = options["attempt"]
        if not found.node_proof:
            extra["node_proof"] = False
        if self._leads_elsewhere(revert_to):
            extra["elsewhere"] = True
        earlier = self._unfinished(revert_to)
        if earlier and earlier.extra.get("was_healthy", True):
            # The kubelet may be down because of the earlier trial. What counts is how it ran before both.
            extra["was_healthy"] = True
        return extra

    def keep_files(self, fresh: Trial) -> None:
        """Copy the state files of a trial before its switch. Raises FileError, also for one that cannot be removed.

        With the state file of another policy a kubelet ends, and its guard could only log why it did not go.
        """
        for path in self.found.state_files:
            statefiles.check_removable(path)
        kept = KeptFiles(self.store.config_dir, self.store.fs)
        unknown = {os.path.basename(entry["path"]) for entry in fresh.state_files if entry["data"] is None}
        kept.save(fresh.armed.boot_id, bool(self._unfinished(fresh.revert_to)), unknown)

    def _state_files(self, revert_to: Source | None) -> list[dict[str, t.Any]]:
        """Return the manager state files that belong to the source that a revert leads to.

        Those that are there belong to what runs now. Those of a third source are not known: a revert to it leaves what
        is there, unless that is of another policy.
        """
        store, last = self.store, quietly(self.store.trial)
        taken = statefiles.take(self.found.state_files)
        saved = last.state_files if last and not store.revert_ended() else ()
        if self._unfinished(revert_to):
            return statefiles.of_another(saved, taken)
        if not self._leads_elsewhere(revert_to):
            return taken
        return statefiles.of_another([{**entry, "data": None} for entry in (*saved, *taken)], taken)

    def _leads_elsewhere(self, revert_to: Source | None) -> bool:
        """Return whether a revert leads to another source than the active one, such as when that one is damaged."""
        return (quietly(self.store.running) or self.store.target(None)) != self.store.target(revert_to)

    def _unfinished(self, revert_to: Source | None) -> Trial | None:
        """Return the trial that this one replaces, if both revert to the same source."""
        earlier = quietly(self.store.trial)
        if earlier and not self.store.revert_ended() and earlier.revert_to == revert_to:
            return earlier
        return None
