# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads a store: what is assigned, last-known-good, on trial and active, and so what a kubelet should run.

Only `Links` changes something on the disk: the link `active`, and the links that a revert renames to it.
"""

from __future__ import annotations

import errno
import os
import typing as t

from ..records import json_file
from ..records.json_file import RecordFile
from ..system import files
from ..system.files import DISK, OS, FileError, StoreError
from . import meta, trial
from .checkpoints import Checkpoints
from .local import Local, LocalStore
from .meta import Source, SourceError
from .trial import ProgressFile, Trial

_DEFAULT_DIR = "/var/lib/kubelet-config"
LOCAL_TARGET = "store/local/config"
_FULL = (errno.ENOSPC, errno.EDQUOT)
T = t.TypeVar("T")


def quietly(read: t.Callable[[], T]) -> T | None:
    """Return what can be read, None for what is absent or cannot be read."""
    try:
        return read()
    except StoreError:
        return None


def wrong(act: t.Callable[[], t.Any]) -> str:
    """Do something with a store; return why that failed, empty if it did not."""
    try:
        act()
    except StoreError as error:
        return str(error)
    return ""


class Resolution(t.NamedTuple):
    """What the kubelet should run.

    `source` None is the local config. `target` is what `active` should point to; None when not even the local config is
    saved, so that only the unit's own files are left. `reasons`: why this is not the assigned source; empty when it is.
    """

    source: Source | None
    target: str | None
    reasons: tuple[str, ...]


class Graduated(t.NamedTuple):
    """The last-known-good source, and the version of the kubelet that verified it, such as `v1.20.2`."""

    source: Source
    kubelet_version: str


class Links:
    """The three links in a config folder. Targets are relative to it.

    A new symbolic link needs a free inode, with a target of 60 bytes or more also a free block (ext4). A rename needs
    neither. So the links exist before a full disk needs them: `revert` for the trial, and `last-resort` to the local
    config for as long as a kubelet may run anything else.
    """

    def __init__(self, config_dir: str, fs: OS) -> None:
        self.active = os.path.join(config_dir, "active")
        self.prepared = os.path.join(config_dir, "revert")
        self.last_resort = os.path.join(config_dir, "last-resort")
        self.fs = fs

    def running(self) -> str | None:
        """Return what `active` points to; None when there is no such link.

        Raises StoreError when it points out of the store.
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
                f"{self.active} points to {target!r}, out of the store: it was changed. Run again to restore it"
            )
        return target

    def prepare(self, target: str) -> None:
        """Create the links for a revert to `target`. Raises FileError."""
        for path, wanted in ((self.last_resort, LOCAL_TARGET), (self.prepared, target)):
            if files.link_target(path, self.fs) != wanted:
                files.swap_link(path, wanted, self.fs)

    def release(self, active: str | None) -> None:
        """Remove the links that are not needed while `active` leads there and no trial is armed. Raises FileError."""
        files.remove(self.prepared, self.fs)
        if active in (None, LOCAL_TARGET):
            files.remove(self.last_resort, self.fs)

    def point(self, target: str) -> None:
        """Point `active` to a target by one rename. Raises FileError; `active` is then unchanged.

        A copy of the config folder that has followed its links has a folder there, which no rename replaces.
        """
        with files.folder_set_aside(self.active, self.fs):
            self._replace(target)

    def _replace(self, target: str) -> None:
        """Replace `active` by a link to a target, on a full disk by one that exists. Raises FileError."""
        if files.link_target(self.prepared, self.fs) == target:
            files.move(self.prepared, self.active, self.fs)
            return
        try:
            files.swap_link(self.active, target, self.fs)
        except FileError as error:
            needs_last_resort = error.number in _FULL and target == LOCAL_TARGET
            if not needs_last_resort or files.link_target(self.last_resort, self.fs) != target:
                raise
            files.move(self.last_resort, self.active, self.fs)


class StoreReader:
    """The store under a config_dir. Reading needs no existing store."""

    def __init__(self, config_dir: str = _DEFAULT_DIR, fs: OS = DISK) -> None:
        self.fs = fs
        self.config_dir = config_dir
        self.links = Links(config_dir, self.fs)
        self.active = self.links.active
        self.folder = os.path.join(config_dir, "store")
        self.meta = os.path.join(self.folder, "meta")
        self.checkpoints = os.path.join(self.folder, "checkpoints")
        self.trial_path = os.path.join(self.folder, "trial")
        self.local_folder = os.path.join(self.folder, "local")
        self._checkpoints = Checkpoints(self.checkpoints, self.fs)
        self._local = LocalStore(self.local_folder, self.fs)
        self._progress = ProgressFile(config_dir, self.fs)
        self._graduated = RecordFile(os.path.join(self.folder, "graduated"), Graduated({}, ""), self.fs)

    def error(self) -> str:
        """Return why the kubelet does not run what is assigned; empty when it does. This is `error` of the status."""
        return "; ".join(self.resolve().reasons)

    def resolve(self, failed: Trial | None = None) -> Resolution:
        """Return what the kubelet should run: assigned, else last-known-good, else local. `failed`: the trial to use.

        No disk content makes it raise. If the trial of the assigned source failed, the source that the trial reverts to
        comes first. If the trial is unreadable, the assigned source is skipped unless it is last-known-good: it may
        have failed.
        """
        reasons: list[str] = []
        for source in self._candidates(reasons, failed):
            try:
                self.verify(source)
                return Resolution(source, self.target(source), tuple(reasons))
            except StoreError as error:
                reasons.append(str(error))
        damage = wrong(self.verify_local)
        if not damage:
            return Resolution(None, LOCAL_TARGET, tuple(reasons))
        # A store that was never switched to is not damaged.
        if reasons or quietly(self.running) is not None:
            reasons.append(damage)
        return Resolution(None, None, tuple(reasons))

    def _candidates(self, reasons: list[str], failed: Trial | None) -> t.Iterator[Source]:
        """Yield what may run instead of the local config, best first. `reasons` collects why a source is skipped."""
        assigned = None
        try:
            # A crash may have emptied the file: what failed was assigned.
            assigned = failed.to if failed else self.assigned()
            armed = failed or self._trial_of(assigned)
            if armed is not None and armed.to == assigned and armed.failed:
                reasons.append(armed.failed)
                if armed.revert_to is not None and armed.revert_to != assigned:
                    yield armed.revert_to
            elif assigned is None:
                return
            else:
                yield assigned
        except StoreError as error:
            if assigned is not None and assigned == quietly(self.last_known_good):
                # Only the trial is unreadable: a last-known-good source needs none.
                yield assigned
            else:
                reasons.append(str(error))
        yield from self._good_unless(assigned, reasons)

    def _trial_of(self, assigned: Source | None) -> Trial | None:
        """Return the trial. Raises as `trial` does, if there is an assigned source that an unreadable one may be of."""
        return quietly(self.trial) if assigned is None else self.trial()

    def _good_unless(self, assigned: Source | None, reasons: list[str]) -> t.Iterator[Source]:
        """Yield last-known-good, if there is one that is not assigned."""
        try:
            good = self.last_known_good()
        except StoreError as error:
            reasons.append(str(error))
            return
        if good is not None and good != assigned:
            yield good

    def assigned(self) -> Source | None:
        """Return the source the kubelet should run, None for its local config. Raises StoreError."""
        return self._source("assigned")

    def last_known_good(self) -> Source | None:
        """Return the source a revert leads to, None for the local config. Raises StoreError."""
        return self._source("last-known-good")

    def good_for_a_revert(self) -> Source | None:
        """Return last-known-good as far as it can be read; None if its last trial, a later one, has failed."""
        good, armed = quietly(self.last_known_good), quietly(self.trial)
        if armed is not None and armed.failed and armed.to == good:
            return None
        return good

    def graduated_with(self) -> str:
        """Return the kubelet version that verified the last-known-good ("v1.20.2"), empty when that is not known."""
        found = self._graduated.read()
        if found and found.source == quietly(self.last_known_good):
            return found.kubelet_version
        return ""

    def trial(self) -> Trial | None:
        """Return the armed or failed trial, None when there is none. Raises StoreError when it is unreadable.

        If the last one replaced the trial of what is assigned, and its own switch never happened, that counts again.
        """
        armed = self.last_armed()
        former = self.replaced_by(armed)
        if armed and former and former.to == quietly(self.assigned) and not self.switched_to(armed):
            return former
        return armed

    def replaced_by(self, armed: Trial | None) -> Trial | None:
        """Return the trial of what was assigned when this one was armed, None if there was none. Raises StoreError."""
        if armed is None or armed.replaced is None:
            return None
        return self._decoded(json_file.encode(armed.replaced))

    def last_armed(self) -> Trial | None:
        """Return the trial that was written last, also if its switch never happened. Raises as `trial` does."""
        data = json_file.read(self.trial_path, self.fs)
        return None if data is None else self._decoded(data)

    def _decoded(self, data: bytes) -> Trial:
        try:
            return trial.decode(data)
        except trial.TrialError as error:
            raise StoreError(f"{self.trial_path} {error}: assign again, or reset") from error

    def revert_pending(self) -> bool:
        """Return whether a start of the kubelet is missing since a revert made another configuration active."""
        armed, progress = quietly(self.trial), self._progress.read()
        return armed is not None and bool(armed.failed and progress.name == armed.name and progress.verdict)

    def revert_ended(self) -> bool:
        """Return whether the kubelet was started with the configuration that a revert made active."""
        armed = quietly(self.trial)
        return armed is not None and bool(armed.failed) and not self.revert_pending()

    def reverted(self) -> bool:
        """Return whether `active` leads to where a revert leads to, and not to what is assigned, as far as that shows
        without a trial: the link that was prepared for the revert has become `active`.
        """
        active = files.link_target(self.active, self.fs)
        prepared = files.link_target(self.links.prepared, self.fs)
        return active not in (None, self.target(quietly(self.assigned))) and prepared in (None, active)

    def switched_to(self, armed: Trial) -> bool:
        """Return whether what is on trial was assigned. A switch writes that first.

        A crash may have emptied the record. Then `active` leads to the source, or a revert has led away from it.
        """
        assigned = quietly(self.assigned)
        if assigned is not None or armed.to is None:
            return assigned == armed.to
        active, prepared = quietly(self.running), files.link_target(self.links.prepared, self.fs)
        reverted = active == self.target(armed.revert_to) and prepared is None
        return reverted or active == self.target(armed.to)

    def resetting(self) -> bool:
        """Return whether the local configuration is on trial and active."""
        armed = quietly(self.trial)
        on_trial = armed is not None and armed.to is None and not armed.failed
        return on_trial and quietly(self.assigned) is None and quietly(self.running) == LOCAL_TARGET

    def local(self) -> Local | None:
        """Return the saved local configuration, None when there is none. Raises StoreError when it is damaged."""
        return self._local.read()

    def running(self) -> str | None:
        """Return what `active` points to, relative to config_dir; None when there is no such link.

        Raises StoreError when it points out of the store.
        """
        return self.links.running()

    def active_source(self) -> Source | None:
        """Return the source whose checkpoint `active` points to, None for the local config or no link.

        Raises StoreError when the source is not known.
        """
        target = self.running()
        if target is None or target == LOCAL_TARGET:
            return None
        known = [quietly(self.assigned), quietly(self.last_known_good)]
        armed = quietly(self.trial)
        if armed:
            known += [armed.to, armed.revert_to]
        if armed and armed.replaced:
            # What an interrupted switch has left active.
            known.append(armed.replaced.get("to"))
        for source in known:
            if source and self.target(source) == target:
                return source
        raise StoreError(
            f"{self.active} points to {target}, which is neither assigned nor last-known-good nor on trial: "
            "assign a configuration or reset"
        )

    def usable(self) -> bool:
        """Return whether `active` leads to a whole config, whichever it is."""
        target, known = quietly(self.running), quietly(self._local.read)
        if target is None or known is None:
            return False
        if target == LOCAL_TARGET:
            return not wrong(self._local.verify)
        names = quietly(lambda: self._checkpoints.whole(os.path.join(self.config_dir, target)))
        return names is not None and known.key in names

    def verify_local(self) -> None:
        """Raise StoreError unless the local config is saved and whole."""
        self._local.verify()

    def target(self, source: t.Mapping[str, str] | None) -> str:
        """Return the target of `active` for a source, relative to config_dir. Raises SourceError."""
        if source is None:
            return LOCAL_TARGET
        return os.path.relpath(self._checkpoints.path(source), self.config_dir)

    def data(self, source: t.Mapping[str, str]) -> dict[str, bytes]:
        """Return a checkpoint's files without checking its digest. Raises StoreError."""
        return self._checkpoints.load(source)

    def verify(self, source: t.Mapping[str, str]) -> str:
        """Return the digest of a whole checkpoint. Raises StoreError when it is missing or damaged."""
        return self._checkpoints.verify(source)

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
