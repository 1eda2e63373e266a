# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The store of config checkpoints on a node: what the kubelet was told to run, runs, and falls back to.

::

    <config_dir>/active                          -> store/checkpoints/<uid>/<resourceVersion>, or store/local/config; the kubelet runs with
                                                    --config=<config_dir>/active/<key>
    <config_dir>/store/meta/assigned             what it was told (empty: its local config)
    <config_dir>/store/meta/last-known-good      what it falls back to (empty: its local config)
    <config_dir>/store/checkpoints/              see checkpoints.py
    <config_dir>/store/trial                     see trial.py
    <config_dir>/store/graduated                 which kubelet version the last-known-good proved itself with
    <config_dir>/store/local/                    see local.py

Every change is one rename, made durable before the next one begins. In any state a power cut can leave, `active` points
to a whole folder and `resolve()` finds a whole config. Whoever changes a store holds its lock (lock.py).
"""

from __future__ import annotations

import errno
import json
import os
import typing as t

from ..system import files
from ..system.files import OS, FileError
from ..system.store_error import StoreError
from . import meta, trial
from .active_choice import LOCAL_TARGET, Resolution, quietly, resolve
from .checkpoints import Checkpoints, describe
from .local import DEFAULT_KEY, File, Local, LocalStore, take
from .meta import Source, SourceError
from .trial import Moment, Trial

__all__ = [
    "DEFAULT_DIR",
    "DEFAULT_KEY",
    "File",
    "Moment",
    "Resolution",
    "Source",
    "Store",
    "StoreError",
    "Trial",
    "describe",
    "take",
]

DEFAULT_DIR = "/var/lib/kubelet-config"


class Store:
    """The store under a config_dir. Reading changes nothing and needs no store to be there."""

    def __init__(self, config_dir: str = DEFAULT_DIR, fs: OS | None = None) -> None:
        self.fs = fs or OS()
        self.config_dir = config_dir
        self.active = os.path.join(config_dir, "active")
        self.folder = os.path.join(config_dir, "store")
        self.meta = os.path.join(self.folder, "meta")
        self.checkpoints = os.path.join(self.folder, "checkpoints")
        self.trial_path = os.path.join(self.folder, "trial")
        self.local_folder = os.path.join(self.folder, "local")
        self._checkpoints = Checkpoints(self.checkpoints, self.fs)
        self._local = LocalStore(self.local_folder, self.fs)

    # What it holds

    def assigned(self) -> Source | None:
        """Return the source the kubelet was told to run, None for its local config. Raises StoreError when that cannot
        be read.
        """
        return self._source("assigned")

    def last_known_good(self) -> Source | None:
        """Return the source the kubelet falls back to, None for its local config. Raises StoreError when that cannot be
        read.
        """
        return self._source("last-known-good")

    def graduated_with(self) -> str:
        """Return the kubelet version the last-known-good proved itself with ("v1.20.2"), empty when that is not known."""
        try:
            found = json.loads((files.read(os.path.join(self.folder, "graduated"), self.fs) or b"null").decode())
            known = self.last_known_good()
        except (ValueError, FileError, StoreError):
            return ""
        same = isinstance(found, dict) and known is not None and found.get("source") == known
        return str(found.get("kubelet_version", "")) if same else ""

    def trial(self) -> Trial | None:
        """Return the trial that is armed, or that failed; None when there is none. Raises StoreError when it cannot be read."""
        data = files.read(self.trial_path, self.fs)
        try:
            return None if data is None else trial.decode(data)
        except trial.TrialError as error:
            raise StoreError(f"{self.trial_path} {error}: assign again, or reset") from error

    def local(self) -> Local | None:
        """Return what was there before us, None when nothing is remembered. Raises StoreError when it is damaged."""
        return self._local.read()

    def running(self) -> str | None:
        """Return what `active` points to, relative to config_dir; None when there is no such link. Raises StoreError
        when it leads elsewhere.
        """
        try:
            target = self.fs.readlink(self.active)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise FileError.of(self.active, "read the link", error) from error
        parts = target.split("/")
        inside = len(parts) == 4 and parts[:2] == ["store", "checkpoints"] and not {"", ".", ".."} & set(parts)
        if target != LOCAL_TARGET and not inside:
            raise StoreError(
                f"{self.active} points to {target!r}, out of the store: somebody changed it; run again to set it right"
            )
        return target

    def active_source(self) -> Source | None:
        """Return the source whose checkpoint `active` points to, None for the local config or none. Raises StoreError
        when it is not a known one.
        """
        target = self.running()
        if target is None or target == LOCAL_TARGET:
            return None
        known = [quietly(self.assigned), quietly(self.last_known_good)]
        armed = quietly(self.trial)
        known += [armed.to, armed.back] if armed else []
        found: Source | None = next((source for source in known if source and self.target(source) == target), None)
        if found is not None:
            return found
        raise StoreError(
            f"{self.active} points to {target}, which is neither assigned nor last-known-good nor on trial: "
            "assign a configuration or reset"
        )

    def error(self) -> str:
        """Return why the kubelet does not run what was assigned; empty when it does. The `error` of the node's status."""
        return "; ".join(self.resolve().reasons)

    def usable(self) -> bool:
        """Tell whether `active` leads to a whole config, whichever it is."""
        try:
            target, known = self.running(), self._local.read()
            if target is None or known is None:
                return False
            if target == LOCAL_TARGET:
                self._local.verify()
                return True
            return known.key in self._checkpoints.whole(os.path.join(self.config_dir, target))
        except StoreError:
            return False

    def verify_local(self) -> None:
        """Raise StoreError unless the local config is remembered and whole."""
        self._local.verify()

    def target(self, source: t.Mapping[str, str] | None) -> str:
        """Return what `active` has to point to for a source, relative to config_dir. Raises StoreError for an unfit source."""
        return LOCAL_TARGET if source is None else os.path.relpath(self._checkpoints.path(source), self.config_dir)

    def data(self, source: t.Mapping[str, str]) -> dict[str, bytes]:
        """Return a checkpoint's files, also one that a kubelet wrote: its digest is not looked at. Raises StoreError."""
        return self._checkpoints.load(source)

    def verify(self, source: t.Mapping[str, str]) -> str:
        """Return the digest of a checkpoint that is whole. Raises StoreError when it is missing or damaged."""
        return self._checkpoints.verify(source)

    def resolve(self) -> Resolution:
        """Return what the kubelet should run: assigned, else last-known-good, else local; raises for nothing that is on
        the disk.

        An assigned source whose trial failed is passed over, first in favour of what its trial names as the way back.
        One is passed over too while the trial cannot be read and it is not last-known-good, as nothing says then that
        it did not fail.
        """
        return resolve(self)

    # What changes it

    def remember_local(
        self, content: t.Mapping[str, File], config: str, key: str = DEFAULT_KEY, pretend: bool = False
    ) -> bool:
        """Keep files as they were before us (`take` reads them), once; return whether this was new.

        `config` names the kubelet's own config file among them. `key` is the file name the kubelet is to be pointed at
        under `active`, for this config and for every source until the store is removed: so each way back is one rename,
        whatever it leads to. Raises StoreError when there is no config file, or it has paths relative to its folder.
        """
        if not pretend:
            files.make_folder(self.folder, self.fs)
        return self._local.remember(content, config, key, pretend)

    def stage(self, source: t.Mapping[str, str], data: t.Mapping[str, str]) -> str:
        """Keep a ConfigMap's data as a checkpoint, with its digest; return its folder. Does nothing when it is there
        and whole.

        Raises StoreError for keys and names that are no plain file names, links and foreign owners in the way, and disk
        errors.
        """
        return self._checkpoints.save(source, data)

    def is_staged(self, source: t.Mapping[str, str], data: t.Mapping[str, str]) -> bool:
        """Tell whether `stage` has nothing to do. Raises as `stage` does."""
        return self._checkpoints.is_saved(source, data)

    def arm(self, armed: Trial) -> Trial:
        """Write the trial of a config, before the switch to it; return it with the digests filled in. One that failed
        is only noted.

        Raises StoreError when the config or the way back is not whole, or they want another key than the kubelet is
        pointed at.
        """
        if armed.failed:
            self.record(armed)
            return armed
        known = self._local.offer()
        digests = {}
        for name, source in (("to", armed.to), ("back", armed.back)):
            if source is not None:
                self._check_key(source, known)
                digests[name] = self.verify(source)
        armed = armed.but(digests=digests)
        self.record(armed)
        return armed

    def record(self, armed: Trial) -> None:
        """Write the trial as it is: for the guard's own notes. Raises StoreError."""
        files.check_folder(self.folder, self.fs)
        files.write(self.trial_path, armed.encode(), fs=self.fs)

    def disarm(self) -> bool:
        """Remove the trial; return whether there was one. Raises StoreError."""
        return files.remove(self.trial_path, self.fs)

    def switch(self, source: t.Mapping[str, str] | None) -> bool:
        """Assign a source (None: the local config) and make it what the kubelet starts with; return whether `active`
        changed.

        Its trial has to be armed before. Raises StoreError when the config is not whole or there would be no way back.
        """
        known = self._local.offer()
        if source is not None:
            self._check_key(source, known)
            self.verify(source)
        self._write_source("assigned", source)
        if quietly(self.last_known_good) is None and files.read(self._meta("last-known-good"), self.fs) is None:
            self._write_source("last-known-good", None)
        return self.point(self.target(source))

    def point(self, target: str) -> bool:
        """Make `active` point to a target (`target`, or a Resolution's), by one rename; return whether it did not
        before. Raises StoreError.
        """
        if quietly(self.running) == target:
            return False
        files.swap_link(self.active, target, self.fs)
        return True

    def settle(self) -> Resolution:
        """Point `active` at what the kubelet should run, if it is not; return that. For the start of a kubelet. Raises
        StoreError.
        """
        return self._settle(self.resolve())

    def renew_local(self, config: str, key: str) -> Resolution:
        """Settle on the local config when nothing else is whole: what is remembered of it, else the node's own config
        file as it is now, under `key`.

        Raises StoreError when that is not there or could not be run from here.
        """
        try:
            self._local.offer()
        except StoreError:
            files.make_folder(self.folder, self.fs)
            self._local.renew({config: take(config)}, config, key)
        return self.settle()

    def roll_back(self, reason: str) -> Resolution:
        """Take the assigned config back: note why, and point `active` at the way back. `assigned` goes on naming it, as
        in a node's status.

        Raises StoreError. When only the note cannot be written (a full disk), the way back is taken all the same,
        before that is raised.
        """
        assigned = quietly(self.assigned)
        if assigned is None:
            return self.settle()
        armed = quietly(self.trial)
        if armed is None or armed.to != assigned:
            armed = Trial(assigned, quietly(self.last_known_good), Moment.now())
        failed = armed.but(failed=reason)
        try:
            self.record(failed)
        finally:
            resolution = self._settle(resolve(self, failed))
        return resolution

    def graduate(self, source: t.Mapping[str, str], kubelet_version: str) -> None:
        """Make the assigned source the last-known-good, proven with a kubelet of this version ("v1.20.2"), and end its
        trial.

        Raises StoreError when another one is assigned, it was taken back, or its checkpoint is not whole.
        """
        whole = meta.checked(source)
        if self.assigned() != whole:
            raise StoreError(f"{describe(whole)} cannot become last-known-good: it is not what is assigned")
        armed = self.trial()
        if armed is not None and armed.to == whole and armed.failed:
            raise StoreError(f"{describe(whole)} cannot become last-known-good: it was taken back ({armed.failed})")
        self.verify(whole)
        note = {"kubelet_version": kubelet_version, "source": whole}
        files.write(
            os.path.join(self.folder, "graduated"),
            (json.dumps(note, indent=2, sort_keys=True) + "\n").encode(),
            fs=self.fs,
        )
        self._write_source("last-known-good", whole)
        self.disarm()

    def forget_good(self) -> None:
        """Make the local config what the kubelet falls back to, as when the last-known-good does not fit the present
        kubelet. Raises StoreError.
        """
        armed, good = quietly(self.trial), quietly(self.last_known_good)
        if armed is not None and armed.back is not None and armed.back == good:
            self.record(armed.but(back=None))
        self._write_source("last-known-good", None)
        files.remove(os.path.join(self.folder, "graduated"), self.fs)

    def reset(self) -> bool:
        """Assign the local config and forget last-known-good and trial; return whether `active` changed. The kubelet
        then has to be restarted.
        """
        if not self._local.exists():
            # Nothing was ever switched: there is no `active`, and no kubelet that looks for it.
            return False
        self._local.offer()
        self._write_source("assigned", None)
        changed = self.point(LOCAL_TARGET)
        self.disarm()
        self.forget_good()
        return changed

    def remove(self) -> bool:
        """Remove all that is ours under config_dir; return whether there was anything. Only when no unit points to it
        any more.

        Raises StoreError while anything but the local config is active.
        """
        if self.running() not in (None, LOCAL_TARGET):
            raise StoreError(f"{self.active} is in use: reset first, and restart the kubelet without our drop-in")
        if not files.check_folder(self.config_dir, self.fs):
            return False
        files.remove(self.active, self.fs)
        files.remove_folder(self.folder, self.fs)
        self._sweep(self.config_dir)
        files.remove(os.path.join(self.config_dir, "lock"), self.fs)
        if not self.fs.listdir(self.config_dir):
            try:
                files.remove_folder(self.config_dir, self.fs)
            except FileError as error:
                # A file system of its own is mounted there.
                if error.number != errno.EBUSY:
                    raise
        return True

    def collect_garbage(self, keep: t.Iterable[t.Mapping[str, str]] = ()) -> list[str]:
        """Remove the checkpoints nobody needs; return their folders. Assigned, active, last-known-good and both ends of
        the trial stay, and `keep`.

        Raises StoreError, with nothing removed, when any of these cannot be read.
        """
        armed = self.trial()
        sources = [self.assigned(), self.last_known_good(), *keep] + ([armed.to, armed.back] if armed else [])
        kept = {self._checkpoints.path(source) for source in sources if source is not None}
        target = self.running()
        kept |= {os.path.join(self.config_dir, target)} if target else set()
        for folder in (self.config_dir, self.folder, self.meta):
            self._sweep(folder)
        return self._checkpoints.collect(kept)

    # How

    def _meta(self, name: str) -> str:
        return os.path.join(self.meta, name)

    def _source(self, name: str) -> Source | None:
        for folder in (self.folder, self.meta):
            if not files.check_folder(folder, self.fs):
                return None
        data = files.read(self._meta(name), self.fs)
        try:
            return meta.decode(data or b"")
        except SourceError as error:
            raise StoreError(f"{self._meta(name)}: {error}") from error

    def _write_source(self, name: str, source: t.Mapping[str, str] | None) -> None:
        data = meta.encode(source)
        if not (files.check_folder(self.folder, self.fs) and files.check_folder(self.meta, self.fs)):
            files.make_folder(self.meta, self.fs)
        if files.read(self._meta(name), self.fs) != data:
            files.write(self._meta(name), data, fs=self.fs)

    def _settle(self, resolution: Resolution) -> Resolution:
        if resolution.target is not None:
            self.point(resolution.target)
        return resolution

    def check_key(self, source: t.Mapping[str, str]) -> None:
        """Raise StoreError when a source has its configuration under another key than the kubelet is pointed at."""
        known = self._local.read()
        if known is not None:
            self._check_key(source, known)

    def _check_key(self, source: t.Mapping[str, str], known: Local) -> None:
        key = meta.checked(source)["kubeletConfigKey"]
        if key != known.key:
            raise StoreError(
                f"{describe(source)} has its configuration under the key {key!r}, and the kubelet of this node is pointed at the file "
                f"{known.key!r}: use that key, or reset the node first"
            )

    def _sweep(self, folder: str) -> None:
        """Remove what interrupted work left in a folder."""
        if not files.check_folder(folder, self.fs):
            return
        for name in self.fs.listdir(folder):
            if name.startswith(files.TEMPORARY):
                files.remove_any(os.path.join(folder, name), self.fs)
