# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files that survive a power cut: nothing is ever seen half written, and what was reported as done stays done.

All disk access goes through one small class, `OS`, so that a test can stop it after any call or make any call fail.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import typing as t

from .store_error import StoreError

TEMPORARY = "tmp_"
"""Prefix of what is not finished yet, as the kubelet names its own (pkg/kubelet/kubeletconfig/util/files)."""

_REMEDIES = {
    errno.ENOSPC: "free some space or inodes there, then run again",
    errno.EDQUOT: "raise the quota or free some space there, then run again",
    errno.EROFS: "the file system is read-only: look for disk errors (dmesg), remount it writable, then run again",
    errno.EACCES: "run as root; with SELinux or AppArmor look for a denial",
    errno.EPERM: "run as root; look for an immutable attribute (lsattr)",
    errno.EIO: "the disk fails: look at dmesg",
    errno.ELOOP: "a symbolic link stands where a file of ours belongs: remove it",
}


class FileError(StoreError):
    """A file could not be read, written or trusted. `path` names it; the text also has the cause and the remedy."""

    def __init__(self, path: str, cause: str, remedy: str = "", number: int = 0) -> None:
        super().__init__(f"{path}: {cause}" + (f"; {remedy}" if remedy else ""))
        self.path = path
        self.cause = cause
        self.number = number

    @classmethod
    def of(cls, path: str, doing: str, error: OSError) -> FileError:
        """From an OSError met while `doing` something with a path."""
        return cls(
            path, f"cannot {doing}: {error.strerror or error}", _REMEDIES.get(error.errno or 0, ""), error.errno or 0
        )


class OS:
    """The system calls the store is made of. Those of the first group change the disk."""

    def mkdir(self, path: str, mode: int) -> None:
        """Make one folder."""
        os.mkdir(path, mode)

    def create(self, path: str, mode: int) -> int:
        """Make a file that must not exist, for writing."""
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)

    def write(self, handle: int, data: bytes) -> int:
        """Write some of the data; return how much."""
        return os.write(handle, data)

    def sync(self, handle: int) -> None:
        """Make a file's content durable."""
        os.fsync(handle)

    def sync_folder(self, path: str) -> None:
        """Make a folder's entries durable."""
        handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

    def rename(self, path: str, target: str) -> None:
        """Rename a file, link or folder; a file or link that was there is replaced."""
        os.rename(path, target)

    def symlink(self, target: str, path: str) -> None:
        """Make a symbolic link."""
        os.symlink(target, path)

    def unlink(self, path: str) -> None:
        """Remove a file or link."""
        os.unlink(path)

    def rmdir(self, path: str) -> None:
        """Remove an empty folder."""
        os.rmdir(path)

    def close(self, handle: int) -> None:
        """Close a file."""
        os.close(handle)

    def load(self, path: str) -> bytes:
        """Return a regular file's content; a symbolic link is an error (ELOOP)."""
        # O_NONBLOCK: a FIFO in the file's place must not hang us.
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(handle, "rb") as file:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise OSError(errno.EINVAL, "not a regular file")
            return file.read()

    def lstat(self, path: str) -> os.stat_result:
        """Return what stands at the path itself."""
        return os.lstat(path)

    def listdir(self, path: str) -> list[str]:
        """Return the names in a folder."""
        return os.listdir(path)

    def readlink(self, path: str) -> str:
        """Return where a link points."""
        return os.readlink(path)

    def user(self) -> int:
        """Return who we are; what belongs to others than this user and root is not trusted."""
        return os.geteuid()

    def token(self) -> str:
        """Return something to make a temporary name unique: leftovers of a power cut keep theirs."""
        return os.urandom(6).hex()


def write(path: str, data: bytes, mode: int = 0o600, fs: OS | None = None, scratch: str | None = None) -> None:
    """Replace or make a file: at any moment it holds its old bytes or all of the new ones, and on return the new ones
    for good.

    `scratch` is the folder for the temporary file, on the same file system, if not the file's own.
    Raises FileError; the old file then stands as it was and nothing else is left.
    """
    fs = fs or OS()
    temporary = os.path.join(scratch or os.path.dirname(path), f"{TEMPORARY}{os.path.basename(path)}.{fs.token()}")
    try:
        _fill(temporary, data, mode, fs)
        fs.rename(temporary, path)
    except OSError as error:
        _discard(temporary, fs)
        raise FileError.of(path, "write", error) from error
    sync_folder(os.path.dirname(path), fs)
    if scratch and scratch != os.path.dirname(path):
        sync_folder(scratch, fs)


def write_folder(
    path: str, content: t.Mapping[str, tuple[bytes, int]], fs: OS | None = None, mode: int = 0o700
) -> None:
    """Make a folder with files (name, possibly in subfolders: bytes and mode): it is there whole or not at all.

    Raises FileError; then nothing of it is left. The folder must not exist, its parent must.
    """
    fs = fs or OS()
    parent = os.path.dirname(path)
    temporary = os.path.join(parent, f"{TEMPORARY}{os.path.basename(path)}.{fs.token()}")
    try:
        fs.mkdir(temporary, mode)
        subfolders = sorted({os.path.dirname(name) for name in content if os.path.dirname(name)})
        for name in subfolders:
            fs.mkdir(os.path.join(temporary, name), mode)
        for name in sorted(content):
            _fill(os.path.join(temporary, name), content[name][0], content[name][1], fs)
        for name in subfolders:
            fs.sync_folder(os.path.join(temporary, name))
        # The names in it first: a folder that was renamed durably while its entries were not would be an empty one.
        fs.sync_folder(temporary)
        fs.rename(temporary, path)
    except OSError as error:
        _discard_tree(temporary, fs)
        raise FileError.of(path, "write", error) from error
    sync_folder(parent, fs)


def swap_link(path: str, target: str, fs: OS | None = None) -> None:
    """Make a symbolic link point elsewhere, by one rename: it always points to the old or to the new target.

    Raises FileError; the link then is as it was.
    """
    fs = fs or OS()
    temporary = os.path.join(os.path.dirname(path), f"{TEMPORARY}{os.path.basename(path)}.{fs.token()}")
    try:
        fs.symlink(target, temporary)
        fs.rename(temporary, path)
    except OSError as error:
        _discard(temporary, fs)
        raise FileError.of(path, "set the link", error) from error
    sync_folder(os.path.dirname(path), fs)


def make_folder(path: str, fs: OS | None = None, mode: int = 0o700) -> None:
    """Make a folder and its parents durably; one that exists stays as it is. Raises FileError."""
    fs = fs or OS()
    if _is_there(path, fs):
        return
    parent = os.path.dirname(path)
    make_folder(parent, fs, mode)
    try:
        fs.mkdir(path, mode)
    except OSError as error:
        raise FileError.of(path, "make the folder", error) from error
    sync_folder(parent, fs)


def remove(path: str, fs: OS | None = None) -> bool:
    """Remove a file or link durably; return whether it was there. Raises FileError."""
    fs = fs or OS()
    try:
        fs.unlink(path)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise FileError.of(path, "remove", error) from error
    sync_folder(os.path.dirname(path), fs)
    return True


def remove_folder(path: str, fs: OS | None = None) -> None:
    """Remove a folder and all in it: first it gets a temporary name, so that it is never seen with a part of its files.

    Links are removed, never followed. Raises FileError.
    """
    fs = fs or OS()
    parent, name = os.path.split(path)
    temporary = path if name.startswith(TEMPORARY) else os.path.join(parent, f"{TEMPORARY}{name}.{fs.token()}")
    try:
        if temporary != path:
            fs.rename(path, temporary)
            fs.sync_folder(parent)
        _remove_tree(temporary, fs)
    except FileNotFoundError:
        return
    except OSError as error:
        raise FileError.of(path, "remove", error) from error
    sync_folder(parent, fs)


def remove_any(path: str, fs: OS) -> None:
    """Remove whatever stands at a path, links not followed. Raises FileError."""
    try:
        folder = stat.S_ISDIR(fs.lstat(path).st_mode)
    except FileNotFoundError:
        return
    except OSError as error:
        raise FileError.of(path, "look at", error) from error
    if folder:
        remove_folder(path, fs)
    else:
        remove(path, fs)


def sync_folder(path: str, fs: OS) -> None:
    """Make a folder's entries durable. Raises FileError."""
    try:
        fs.sync_folder(path)
    except OSError as error:
        raise FileError.of(path, "make the change durable", error) from error


def read(path: str, fs: OS | None = None) -> bytes | None:
    """Return a file's bytes, None when there is none.

    Raises FileError when it cannot be read, is a link, no regular file, or belongs to somebody we do not trust.
    """
    fs = fs or OS()
    try:
        check_owner(path, fs)
        return fs.load(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise FileError.of(path, "read", error) from error


def check_folder(path: str, fs: OS) -> bool:
    """Tell whether there is a folder that we may trust.

    Raises FileError when something else stands there: a link (it could lead out of the store), or a folder others may
    write to.
    """
    try:
        found = fs.lstat(path)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise FileError.of(path, "look at", error) from error
    if not stat.S_ISDIR(found.st_mode):
        raise FileError(path, "is a symbolic link or a file where a folder of ours belongs", "move it away")
    check_owner(path, fs)
    return True


def sha256(data: bytes) -> str:
    """Return the digest in hexadecimal."""
    # It comes with OpenSSL, a quarter of the guard's memory: a guard that only waits does without.
    import hashlib  # pylint: disable=import-outside-toplevel

    return hashlib.sha256(data).hexdigest()


def check_owner(path: str, fs: OS) -> None:
    """Raise FileError when somebody else than root and we could have written this; OSError when it cannot be told."""
    found = fs.lstat(path)
    if found.st_uid not in (0, fs.user()):
        raise FileError(
            path,
            f"belongs to user {found.st_uid}, not to root",
            "find out who put it there, then remove it or chown it to root",
        )
    if not stat.S_ISLNK(found.st_mode) and found.st_mode & 0o022:
        raise FileError(
            path,
            f"others may write to it (mode {stat.S_IMODE(found.st_mode):04o})",
            "chmod go-w it after checking its content",
        )


def _is_there(path: str, fs: OS) -> bool:
    try:
        fs.lstat(path)
        return True
    except FileNotFoundError:
        return False
    except OSError as error:
        raise FileError.of(path, "look at", error) from error


def _fill(path: str, data: bytes, mode: int, fs: OS) -> None:
    handle = fs.create(path, mode)
    try:
        rest = data
        while rest:
            rest = rest[fs.write(handle, rest) :]
        fs.sync(handle)
    finally:
        fs.close(handle)


def _discard(path: str, fs: OS) -> None:
    """Best effort: the cause that brought us here is the one to report."""
    with contextlib.suppress(OSError):
        fs.unlink(path)


def _discard_tree(path: str, fs: OS) -> None:
    with contextlib.suppress(OSError):
        _remove_tree(path, fs)


def _remove_tree(path: str, fs: OS) -> None:
    if not stat.S_ISDIR(fs.lstat(path).st_mode):
        fs.unlink(path)
        return
    for name in fs.listdir(path):
        _remove_tree(os.path.join(path, name), fs)
    fs.rmdir(path)
