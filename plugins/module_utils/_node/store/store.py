# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The store of config checkpoints on a node: what the kubelet should run, runs, and falls back to.

::

    <config_dir>/active                          -> store/checkpoints/<uid>/<resourceVersion>, or store/local/config;
                                                    the kubelet runs with --config=<config_dir>/active/<key>
    <config_dir>/revert, last-resort             see store_reader.py
    <config_dir>/store/meta/assigned             what the kubelet should run (empty: its local config)
    <config_dir>/store/meta/last-known-good      what a revert leads to (empty: the local config)
    <config_dir>/store/checkpoints/              see checkpoints.py
    <config_dir>/store/trial                     see trial.py
    <config_dir>/store/graduated                 which kubelet version verified the last-known-good
    <config_dir>/store/local/                    see local.py

Every change is one rename, made durable before the next one begins. After a power cut at any point, `active` points to
a whole folder and `resolve()` finds a whole config. A process that changes a store must hold its lock (lock.py).
"""

from __future__ import annotations

import contextlib
import errno
import os
import typing as t

from ..records import json_file
from ..system import files
from ..system.files import FileError, StoreError
from . import meta
from .checkpoints import describe
from .kept_files import KeptFiles
from .local import DEFAULT_KEY, File, take
from .store_reader import LOCAL_TARGET, Graduated, Resolution, StoreReader, quietly
from .trial import Moment, Progress, Trial


class Store(StoreReader):
    """The store under a config_dir: reading (store_reader.py), and changing it."""

    def remember_local(
        self, content: t.Mapping[str, File], config: str, key: str = DEFAULT_KEY, pretend: bool = False
    ) -> bool:
        """Save files as they were before us (`take` reads them), once; return whether this was new.

        `config` names the kubelet's own config file among them. `key` is the file name that the kubelet reads under
        `active`, for this config and for every source until the store is removed: so every revert is one rename. Raises
        StoreError when there is no config file, or it has paths relative to its folder.
        """
        if not pretend:
            files.make_folder(self.folder, self.fs)
        return self._local.remember(content, config, key, pretend)

    def stage(self, source: t.Mapping[str, str], data: t.Mapping[str, str]) -> str:
        """Save a ConfigMap's data as a checkpoint, with its digest; return its folder. Does nothing if it is whole.

        Raises StoreError for names that are not plain file names, links and foreign owners in the way, disk errors.
        """
        return self._checkpoints.save(source, data)

    def is_staged(self, source: t.Mapping[str, str], data: t.Mapping[str, str]) -> bool:
        """Return whether `stage` has nothing to do. Raises as `stage` does."""
        return self._checkpoints.is_saved(source, data)

    def arm(self, armed: Trial) -> Trial:
        """Write the trial of a config, before the switch to it; return it with its digests. A failed one is recorded.

        A last-known-good that has failed on trial again is forgotten. Raises StoreError when the config or what it
        reverts to is not whole, or has another key than the kubelet reads.
        """
        if armed.failed:
            self.record(armed)
            return armed
        self._local.offer()
        digests = {}
        for name, source in (("to", armed.to), ("revert_to", armed.revert_to)):
            if source is not None:
                self.check_key(source)
                digests[name] = self.verify(source)
        armed = armed._replace(digests=digests, replaced=self._former(armed))
        if self.good_for_a_revert() != quietly(self.last_known_good):
            # Only the trial that this one replaces shows that it has failed.
            self.forget_good()
        self.links.prepare(self.target(armed.revert_to))
        self.record(armed)
        return armed

    def record(self, armed: Trial) -> None:
        """Write the trial without any check. Raises StoreError."""
        files.check_folder(self.folder, self.fs)
        files.write(self.trial_path, armed.encode(), fs=self.fs)

    def disarm(self) -> None:
        """Remove the trial. Raises StoreError."""
        files.remove(self.trial_path, self.fs)
        self.links.release(quietly(self.running))
        KeptFiles(self.config_dir, self.fs).remove()

    def withdraw(self) -> None:
        """End a trial whose switch never happened. If it replaced another trial, that one counts. Raises StoreError."""
        counts = self.trial()
        if counts == self.last_armed():
            self.disarm()
        elif counts is not None:
            self.links.prepare(self.target(counts.revert_to))

    def switch(self, source: t.Mapping[str, str] | None) -> bool:
        """Assign a source (None: the local config) and point `active` to it; return whether `active` changed.

        Its trial must be armed before. Raises StoreError when the config is not whole or no revert would be possible.
        """
        self._local.offer()
        if source is not None:
            self.check_key(source)
            self.verify(source)
        self._write_source("assigned", source)
        if quietly(self.last_known_good) is None and files.read(self._meta("last-known-good"), self.fs) is None:
            self._write_source("last-known-good", None)
        return self.point(self.target(source))

    def point(self, target: str) -> bool:
        """Point `active` to a target (`target`, or a Resolution's), by one rename; return whether it changed.

        Raises StoreError.
        """
        if quietly(self.running) == target:
            return False
        self.links.point(target)
        return True

    def settle(self, failed: Trial | None = None) -> Resolution:
        """Point `active` to what the kubelet should run, see `resolve`; return that. Called before a kubelet's start.

        Raises StoreError.
        """
        resolution = self.resolve(failed)
        if resolution.target is None and quietly(self._local.offer) is not None:
            # Only the copy that the kubelet reads was damaged, and is whole again.
            resolution = self.resolve(failed)
        if resolution.target is not None:
            self.point(resolution.target)
        return resolution

    def renew_local(self, config: str, key: str) -> Resolution:
        """Settle on the local config when nothing else is whole: the saved one, else the file `config`, under `key`.

        Raises StoreError when that file is absent or cannot be run from the store.
        """
        try:
            self._local.offer()
        except StoreError:
            files.make_folder(self.folder, self.fs)
            self._local.renew({config: take(config)}, config, key)
        return self.settle()

    def refresh_local(self, config: str, pretend: bool = False) -> bool:
        """Make the node's config file as it is now the local config, in place of the copy of the first switch; return
        whether it was another one.

        The node's own files are not changed, and with `pretend` nothing is. Raises StoreError, with the former copy in
        place, when that file is absent or cannot be run from the store.
        """
        known, now = self._local.read(), take(config)
        if known is None or now.data == known.files[known.config].data:
            return False
        self._local.renew({**known.files, config: now}, config, known.key, pretend)
        return True

    def lay_over(self, link: str) -> bool:
        """Make an empty override the local config, for a kubelet that reads `active` as a drop-in by this link;
        return whether it was another one. The other saved files stay. Raises StoreError.
        """
        if self._local.offer().config == link:
            return False
        self._local.lay_over(link)
        return True

    def revert(self, reason: str, restart_due: Moment | None = None) -> Resolution:
        """Revert the assigned config: record the reason, and point `active` to what its trial reverts to.

        `assigned` still names the failed config, as in a node's status. With `restart_due` the guard restarts the
        kubelet then, unless it was started before. Raises StoreError. When only the record cannot be written (a full
        disk), `active` is reverted before the error is raised.
        """
        assigned, armed = quietly(self.assigned), quietly(self.trial)
        if assigned is None and armed is not None and armed.to and self.switched_to(armed):
            # A crash has emptied `assigned`, and the trial shows what it was.
            assigned = armed.to
            with contextlib.suppress(StoreError):
                self._write_source("assigned", assigned)
        if assigned is None and (armed is None or armed.to is not None):
            return self.settle()
        if armed is None or armed.to != assigned:
            armed = Trial(assigned, quietly(self.last_known_good), Moment.now())
        failed = armed._replace(failed=reason)
        try:
            if restart_due is not None:
                # First: a module that is stopped after the record would leave a revert without a restart.
                self._order_restart(armed, reason, restart_due)
            self.record(failed)
        finally:
            resolution = self.settle(failed)
        return resolution

    def graduate(self, source: t.Mapping[str, str] | None, kubelet_version: str) -> None:
        """Make the assigned source the last-known-good, verified by a kubelet of this version ("v1.20.2"), and end its
        trial. The local config (None) needs none.

        Raises StoreError when another source is assigned, this one was reverted, or its checkpoint is not whole.
        """
        if source is None:
            self.reset()
            return
        whole = meta.checked(source)
        if self.assigned() != whole:
            raise StoreError(f"{describe(whole)} cannot become last-known-good: another source is assigned")
        armed = self.trial()
        if armed is not None and armed.to == whole and armed.failed:
            raise StoreError(f"{describe(whole)} cannot become last-known-good: it was reverted ({armed.failed})")
        self.verify(whole)
        self._graduated.write(Graduated(whole, kubelet_version))
        self._write_source("last-known-good", whole)
        self.disarm()

    def forget_good(self) -> None:
        """Make the local config the last-known-good. Raises StoreError."""
        self._write_source("last-known-good", None)
        self._graduated.remove()

    def forget(self, source: t.Mapping[str, str]) -> None:
        """Never revert to a source again, as when a new kubelet version refuses it. Raises StoreError.

        A trial that would revert to it reverts to last-known-good if that is another source, else to the local config.
        """
        armed, good = quietly(self.trial), quietly(self.last_known_good)
        instead = None if good == source else self.good_for_a_revert()
        if armed is not None and armed.revert_to == source:
            if not armed.failed:
                self.links.prepare(self.target(instead))
            self.record(armed._replace(revert_to=instead))
            # The copies belong to what is forgotten.
            KeptFiles(self.config_dir, self.fs).remove()
        if good == source:
            self.forget_good()

    def accept(self, source: t.Mapping[str, str], kubelet_version: str) -> None:
        """Record that a kubelet of this version ("v1.21.0") accepts a source that another version verified.

        What graduates later, or has graduated, is tied to this version then. Raises StoreError.
        """
        armed = quietly(self.trial)
        if armed is not None and armed.to == source and armed.kubelet_version != kubelet_version:
            self.record(armed._replace(kubelet_version=kubelet_version))
        if quietly(self.last_known_good) == source and self.graduated_with() != kubelet_version:
            self._graduated.write(Graduated(dict(source), kubelet_version))

    def reset(self) -> None:
        """Assign the local config and forget last-known-good and trial. Raises StoreError."""
        if not self._local.exists():
            # Nothing was ever switched: there is no `active`, and no kubelet reads it.
            return
        self._local.offer()
        self._write_source("assigned", None)
        self.point(LOCAL_TARGET)
        self.disarm()
        self._progress.write(Progress())
        self.forget_good()

    def remove(self) -> bool:
        """Remove all our files under config_dir; return whether there were any. No unit may point to them any more.

        Raises StoreError unless the local config is active.
        """
        if self.running() not in (None, LOCAL_TARGET):
            raise StoreError(f"{self.active} is in use: reset first, and restart the kubelet without our drop-in")
        if not files.check_folder(self.config_dir, self.fs):
            return False
        files.remove(self.active, self.fs)
        self.links.release(None)
        files.remove_folder(self.folder, self.fs)
        self._sweep(self.config_dir)
        files.remove(os.path.join(self.config_dir, "lock"), self.fs)
        if not self.fs.listdir(self.config_dir):
            try:
                files.remove_folder(self.config_dir, self.fs)
            except FileError as error:
                # It is a mount point.
                if error.number != errno.EBUSY:
                    raise
        return True

    def collect_garbage(self, keep: t.Iterable[t.Mapping[str, str]] = ()) -> list[str]:
        """Remove unused checkpoints; return their folders. Assigned, active, last-known-good, both sources of the trial
        and those in `keep` stay.

        Raises StoreError, with nothing removed, when any of these is unreadable.
        """
        trials = (self.trial(), self.last_armed())
        sources = [self.assigned(), self.last_known_good(), *keep]
        for armed in trials:
            if armed:
                sources += [armed.to, armed.revert_to]
        kept = {self._checkpoints.path(source) for source in sources if source is not None}
        target = self.running()
        if target:
            kept.add(os.path.join(self.config_dir, target))
        for folder in (self.config_dir, self.folder, self.meta):
            self._sweep(folder)
        return self._checkpoints.collect(kept)

    # Helpers

    def _former(self, armed: Trial) -> dict[str, t.Any] | None:
        """Return the trial of what is assigned, which `armed` replaces before its own source is assigned.

        Also one that failed: until then, only its trial keeps a kubelet from starting with what was reverted.
        """
        former, assigned = quietly(self.trial), quietly(self.assigned)
        # A former trial of another source was never switched to either.
        if former is None or assigned == armed.to or former.to != assigned:
            return None
        return t.cast("dict[str, t.Any]", json_file.decode(former._replace(replaced=None).encode()))

    def _order_restart(self, armed: Trial, reason: str, due: Moment) -> None:
        progress = self._progress.read()
        if progress.name != armed.name:
            progress = Progress(name=armed.name)
        self._progress.write(progress._replace(boot=due.boot_id, verdict=reason, due=due.monotonic))

    def _write_source(self, name: str, source: t.Mapping[str, str] | None) -> None:
        data = meta.encode(source)
        if not (files.check_folder(self.folder, self.fs) and files.check_folder(self.meta, self.fs)):
            files.make_folder(self.meta, self.fs)
        if files.read(self._meta(name), self.fs) != data:
            files.write(self._meta(name), data, fs=self.fs)

    def check_key(self, source: t.Mapping[str, str]) -> None:
        """Raise StoreError when a source has its configuration under another key than the kubelet reads."""
        known, key = self._local.read(), meta.checked(source)["kubeletConfigKey"]
        if known is not None and key != known.key:
            raise StoreError(
                f"{describe(source)} has its configuration under the key {key!r}, but the kubelet of this node reads "
                f"the file {known.key!r}: use that key, or reset the node first"
            )

    def _sweep(self, folder: str) -> None:
        """Remove the temporary files of interrupted work in a folder."""
        if not files.check_folder(folder, self.fs):
            return
        for name in self.fs.listdir(folder):
            if name.startswith(files.TEMPORARY):
                files.remove_any(os.path.join(folder, name), self.fs)
