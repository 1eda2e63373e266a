# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether our units can name a folder, and whether only root could have written what is in it: the kubelet's
configuration and the guard's program.

Root's kubelet reads the one, and systemd runs the other as root. A user who can write to a folder above them can
replace both, so the whole chain counts, and a sticky bit does not help: it protects only what exists already.
"""

from __future__ import annotations

import errno
import os
import stat

from ..system.files import DISK, OS, FileError, link_target
from . import unitfile

TOP = "/"
"""Unless it is `/`, this folder and those above it are trusted: tests run below one that every user may write to."""
# The limit of the kernel (path_resolution(7)).
_MOST_LINKS = 40


def check_config_dir(path: str, fs: OS = DISK) -> None:
    """Raise FileError unless a store may be here: our units name it, and only root can write to it.

    A revert, a reset and a removal do not need it: refusing them would keep a configuration that failed.
    """
    wrong = unitfile.unfit(path)
    if wrong:
        raise FileError(path, wrong, "set another config_dir")
    target = link_target(path, fs)
    if target is not None:
        # Its mount would not be waited for, and no folder of the store may lead out of it.
        raise FileError(path, f"is a symbolic link to {target}", "set config_dir to that folder, or to another one")
    check_chain(path, fs)


def check_chain(path: str, fs: OS = DISK, instead: str = "set another config_dir") -> None:
    """Raise FileError unless this folder and every folder above it belong to root and are writable by root alone.

    Links are followed; where they lead is checked too. Folders that do not exist yet are trusted: root creates them.
    `instead`: what helps as well as a repair of the folder.
    """
    done, rest, links = "/", os.path.join(os.getcwd(), path).split("/"), 0
    try:
        _check("/", fs.lstat("/"), path, fs, instead)
        while rest:
            part = rest.pop(0)
            if part in ("", "."):
                continue
            if part == "..":
                done = os.path.dirname(done)
                continue
            inner = os.path.join(done, part)
            found = fs.lstat(inner)
            if stat.S_ISLNK(found.st_mode):
                links += 1
                if links > _MOST_LINKS:
                    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
                target = fs.readlink(inner)
                if target.startswith("/"):
                    done = "/"
                rest = target.split("/") + rest
                continue
            _check(inner, found, path, fs, instead)
            done = inner
    except FileNotFoundError:
        return
    except OSError as error:
        raise FileError.of(path, "examine", error) from error


def _check(folder: str, found: os.stat_result, path: str, fs: OS, instead: str) -> None:
    if TOP != "/" and (folder == TOP or TOP.startswith(folder.rstrip("/") + "/")):
        return
    if not stat.S_ISDIR(found.st_mode):
        raise FileError(folder, "is not a folder", f"move it away, or {instead}")
    mode = f"(mode {stat.S_IMODE(found.st_mode):04o})"
    if found.st_uid not in (0, fs.user()):
        raise FileError(
            folder,
            f"belongs to user {found.st_uid}, not to root {mode}: that user could replace {path}",
            f"check its content, then chown it to root, or {instead}",
        )
    if found.st_mode & 0o022:
        raise FileError(
            folder,
            f"others may write to it {mode}: they could replace {path}",
            f"check its content, then chmod go-w it, or {instead}",
        )
