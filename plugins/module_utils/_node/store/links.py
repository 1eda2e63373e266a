# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The link `active`, and the links that a revert renames to it.

A new symbolic link needs a free inode, with a target of 60 bytes or more also a free block (ext4). A rename needs
neither. So the links exist before a full disk needs them: `revert` for the trial, and `last-resort` to the local config
for as long as a kubelet may run anything else.
"""

from __future__ import annotations

import errno
import os

from ..system import files
from ..system.files import OS, FileError, StoreError

LOCAL_TARGET = "store/local/config"
_FULL = (errno.ENOSPC, errno.EDQUOT)


class Links:
    """The three links in a config folder. Targets are relative to it."""

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
        """Point `active` to a target by one rename. Raises FileError; `active` is then unchanged."""
        if files.link_target(self.prepared, self.fs) == target:
            files.move(self.prepared, self.active, self.fs)
            return
        try:
            files.swap_link(self.active, target, self.fs)
        except FileError as error:
            if (
                error.number not in _FULL
                or target != LOCAL_TARGET
                or files.link_target(self.last_resort, self.fs) != target
            ):
                raise
            files.move(self.last_resort, self.active, self.fs)
