# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lock of a store: the module and the guard never change it at the same time."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import time
import typing as t

from . import command, files
from .files import StoreError

_POLL_SECONDS = 0.1
# How long a run waits for another one, or for the guard, which holds the lock for one change only.
PATIENCE = 30.0


class LockError(StoreError):
    """Another process held the store's lock for too long; the text names it."""


@contextlib.contextmanager
def locked(config_dir: str, seconds: float | None = None) -> t.Iterator[None]:
    """Hold the store's lock, after waiting for it up to `seconds`, by default PATIENCE. The kernel releases it when its
    holder dies.

    Raises LockError that names the holder, FileError when the lock's file cannot be created.
    """
    path = os.path.join(config_dir, "lock")
    if seconds is None:
        seconds = PATIENCE
    deadline = time.monotonic() + seconds
    while True:
        # Inside the loop: the previous holder may have removed the whole store.
        files.make_folder(config_dir)
        handle, holder = _open(path), ""
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # If the previous holder removed the whole store, this lock is on a deleted file that no process can see.
            if _is_at(handle, path):
                break
            os.close(handle)
            continue
        except OSError as error:
            holder = os.pread(handle, 20, 0).decode("ascii", "replace").strip()
            os.close(handle)
            if error.errno not in (errno.EAGAIN, errno.EACCES):
                raise files.FileError.of(path, "lock", error) from error
        if time.monotonic() >= deadline:
            raise LockError(
                f"{config_dir} has been in use by process {holder or 'unknown'}{_name(holder)} for {seconds:g} s: "
                "wait for it to finish, or end it, then run again"
            )
        time.sleep(_POLL_SECONDS)
    try:
        _sign(handle)
        yield
    finally:
        os.close(handle)


def _sign(handle: int) -> None:
    """Write our pid, for the messages of waiting processes only: a full disk must not prevent a revert."""
    with contextlib.suppress(OSError):
        os.ftruncate(handle, 0)
        os.pwrite(handle, str(os.getpid()).encode(), 0)


def _open(path: str) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise files.FileError.of(path, "lock", error) from error


def _is_at(handle: int, path: str) -> bool:
    try:
        return os.fstat(handle).st_ino == os.lstat(path).st_ino
    except FileNotFoundError:
        return False


def _name(pid: str) -> str:
    """Return the command of a process for messages; empty when it is unknown."""
    if not pid.isdecimal():
        return ""
    words = " ".join(" ".join(command.of_process(int(pid))).split())
    # For messages: not every reader of them accepts bytes that are not text.
    shown = os.fsencode(words[:100]).decode("utf-8", "replace")
    return f" ({shown})" if shown else ""
