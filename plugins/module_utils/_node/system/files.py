# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files that survive a power cut: no file is ever seen half written, and a finished change stays.

All disk access goes through one small class, `OS`, so that a test can stop it after any call or make any call fail.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import typing as t

TEMPORARY = "tmp_"
"""Prefix of unfinished files, the same as the kubelet's (pkg/kubelet/kubeletconfig/util/files)."""

_REMEDIES = {
    errno.ENOSPC: "free some space or inodes there, then run again",
    errno.EDQUOT: "raise the quota or free some space there, then run again",
    errno.EROFS: "the file system is read-only: check for disk errors (dmesg), remount it writable, then run again",
    errno.EACCES: "run as root; with SELinux or AppArmor check for a denial",
    errno.EPERM: "run as root; check for an immutable attribute (lsattr)",
    errno.EIO: "the disk fails: see dmesg",
    errno.EEXIST: "something else has this name: find out what made it, and move it away",
    errno.EISDIR: "a folder is in the place of a file of ours: move it away",
    errno.ELOOP: "a symbolic link is in the place of a file of ours: remove it",
}


class StoreError(Exception):
    """The store cannot do what was requested, or is damaged. The text names the file, the cause and the remedy."""


class FileError(StoreError):
    """A file could not be read, written or trusted. `path` names it; the text states the cause and the remedy too."""

    def __init__(self, path: str, cause: str, remedy: str = "", number: int = 0) -> None:
        super().__init__(f"{path}: {cause}" + (f"; {remedy}" if remedy else ""))
        self.path = path
        self.cause = cause
        self.number = number

    @classmethod
    def of(cls, path: str, doing: str, error: OSError) -> FileError:
        """Return the error for an OSError that happened while `doing` something with a path."""
        number = error.errno or 0
        return cls(path, f"cannot {doing}: {error.strerror or error}", _REMEDIES.get(number, ""), number)


class OS:
    """The system calls of the store. Those up to `rmdir` change the disk."""

    def mkdir(self, path: str, mode: int) -> None:
        """Create one folder with exactly this mode, whatever the umask is."""
        os.mkdir(path, mode)
        os.chmod(path, mode)

    def create(self, path: str, mode: int) -> int:
        """Create a file that must not exist, with exactly this mode whatever the umask is; return its handle."""
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
        try:
            os.fchmod(handle, mode)
        except OSError:
            os.close(handle)
            raise
        return handle

    def write(self, handle: int, data: bytes) -> int:
        """Write some of the data; return the number of bytes."""
        return os.write(handle, data)

    def sync(self, handle: int) -> None:
        os.fsync(handle)

    def sync_folder(self, path: str) -> None:
        """Make a folder's entries durable."""
        handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

    def rename(self, path: str, target: str) -> None:
        """Rename a file, link or folder; an existing file or link is replaced."""
        os.rename(path, target)

    def symlink(self, target: str, path: str) -> None:
        os.symlink(target, path)

    def unlink(self, path: str) -> None:
        os.unlink(path)

    def rmdir(self, path: str) -> None:
        os.rmdir(path)

    def close(self, handle: int) -> None:
        os.close(handle)

    def load(self, path: str) -> bytes:
        """Return a regular file's content; a symbolic link is an error (ELOOP)."""
        # O_NONBLOCK: a FIFO in the file's place must not block.
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(handle, "rb") as file:
            mode = os.fstat(handle).st_mode
            if stat.S_ISDIR(mode):
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
            if not stat.S_ISREG(mode):
                raise OSError(errno.EINVAL, "not a regular file")
            return file.read()

    def lstat(self, path: str) -> os.stat_result:
        """Return the status of the path itself, links not followed."""
        return os.lstat(path)

    def listdir(self, path: str) -> list[str]:
        return os.listdir(path)

    def readlink(self, path: str) -> str:
        return os.readlink(path)

    def user(self) -> int:
        """Return our user id; files of other users than this one and root are not trusted."""
        return os.geteuid()

    def token(self) -> str:
        """Return a token for a unique temporary name, different from those that a power cut left behind."""
        return os.urandom(6).hex()


DISK = OS()


def write(path: str, data: bytes, mode: int = 0o600, fs: OS = DISK, scratch: str | None = None) -> None:
    """Replace or create a file: it always holds all old or all new bytes; on return the new ones are durable.

    `scratch` is the folder for the temporary file, on the same file system; by default the file's own folder. Raises
    FileError; the old file is then unchanged and no temporary file is left.
    """
    with _replacing(path, "write", fs, scratch) as temporary:
        _fill(temporary, data, mode, fs)
    if scratch and scratch != os.path.dirname(path):
        sync_folder(scratch, fs)


def write_folder(path: str, content: t.Mapping[str, tuple[bytes, int]], fs: OS = DISK, mode: int = 0o700) -> None:
    """Create a folder with files (name, possibly in subfolders: bytes and mode): it exists whole or not at all.

    The folder must not exist, its parent must. Raises FileError; then nothing of it is left.
    """
    with _replacing(path, "write", fs) as temporary:
        fs.mkdir(temporary, mode)
        subfolders = sorted({*map(os.path.dirname, content)} - {""})
        for name in subfolders:
            fs.mkdir(os.path.join(temporary, name), mode)
        for name in sorted(content):
            _fill(os.path.join(temporary, name), content[name][0], content[name][1], fs)
        for name in subfolders:
            fs.sync_folder(os.path.join(temporary, name))
        # Its entries first: a folder that is renamed durably before its entries are durable could turn out empty.
        fs.sync_folder(temporary)


def swap_link(path: str, target: str, fs: OS = DISK) -> None:
    """Change the target of a symbolic link by one rename: it always points to the old or to the new target.

    Raises FileError; the link is then unchanged.
    """
    with _replacing(path, "set the link", fs) as temporary:
        fs.symlink(target, temporary)


def move(path: str, target: str, fs: OS = DISK) -> None:
    """Rename a file, link or folder to another name in the same folder, durably. What is there is replaced, but not a
    folder with content. Needs no free block and no free inode.

    Raises FileError; both are then unchanged.
    """
    try:
        fs.rename(path, target)
    except OSError as error:
        raise FileError.of(target, "replace", error) from error
    sync_folder(os.path.dirname(target), fs)


@contextlib.contextmanager
def _replacing(path: str, doing: str, fs: OS, scratch: str | None = None) -> t.Iterator[str]:
    """Yield the path for what then becomes `path` by one rename, durably. Raises FileError; nothing of it is left."""
    temporary = _temporary(scratch or os.path.dirname(path), os.path.basename(path), fs)
    try:
        yield temporary
        fs.rename(temporary, path)
    except OSError as error:
        # Best effort: the error that led here is the one to report.
        with contextlib.suppress(OSError):
            _remove_tree(temporary, fs)
        raise FileError.of(path, doing, error) from error
    sync_folder(os.path.dirname(path), fs)


def _temporary(folder: str, name: str, fs: OS) -> str:
    return os.path.join(folder, f"{TEMPORARY}{name}.{fs.token()}")


def make_folder(path: str, fs: OS = DISK, mode: int = 0o700) -> None:
    """Create a folder and its parents durably; an existing folder is not changed. Raises FileError."""
    if _examined(path, fs) is not None:
        return
    parent = os.path.dirname(path)
    make_folder(parent, fs, mode)
    try:
        fs.mkdir(path, mode)
    except OSError as error:
        raise FileError.of(path, "create the folder", error) from error
    sync_folder(parent, fs)


@contextlib.contextmanager
def folder_set_aside(path: str, fs: OS) -> t.Iterator[None]:
    """If there is a folder at a path, give it a temporary name, durably; its own again if the block fails.

    Raises FileError.
    """
    found = _examined(path, fs)
    if found is None or not stat.S_ISDIR(found.st_mode):
        yield
        return
    aside = _temporary(os.path.dirname(path), os.path.basename(path), fs)
    move(path, aside, fs)
    try:
        yield
    except FileError:
        move(aside, path, fs)
        raise


def remove(path: str, fs: OS = DISK) -> bool:
    """Remove a file or link durably; return whether it existed. Raises FileError."""
    try:
        fs.unlink(path)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise FileError.of(path, "remove", error) from error
    sync_folder(os.path.dirname(path), fs)
    return True


def remove_folder(path: str, fs: OS = DISK) -> None:
    """Remove a folder and its content. It is renamed first, so that it is never seen with a part of its files.

    Links are removed, never followed. Raises FileError.
    """
    parent, name = os.path.split(path)
    temporary = path if name.startswith(TEMPORARY) else _temporary(parent, name, fs)
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
    """Remove a file, link or folder, links not followed. Raises FileError."""
    found = _examined(path, fs)
    if found is not None and stat.S_ISDIR(found.st_mode):
        remove_folder(path, fs)
    elif found is not None:
        remove(path, fs)


def sync_folder(path: str, fs: OS) -> None:
    """Make a folder's entries durable. Raises FileError."""
    try:
        fs.sync_folder(path)
    except OSError as error:
        raise FileError.of(path, "make the change durable", error) from error


def read(path: str, fs: OS = DISK) -> bytes | None:
    """Return a file's bytes, None when there is none.

    Raises FileError when it is unreadable, a link, not a regular file, or of an untrusted owner.
    """
    try:
        check_owner(path, fs)
        return fs.load(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise FileError.of(path, "read", error) from error


def link_target(path: str, fs: OS) -> str | None:
    """Return what a link points to, None where there is none that can be read."""
    try:
        return fs.readlink(path)
    except OSError:
        return None


def check_folder(path: str, fs: OS) -> bool:
    """Return whether there is a trusted folder.

    Raises FileError for anything else: a link (it could lead out of the store), or a folder that others may write to.
    """
    found = _examined(path, fs)
    if found is None:
        return False
    if not stat.S_ISDIR(found.st_mode):
        raise FileError(path, "is a symbolic link or a file in the place of a folder of ours", "move it away")
    check_owner(path, fs)
    return True


def below(root: str, path: str) -> str:
    """Return where a file of the node is, by its absolute path: below `root`, which is `/` on a node."""
    return os.path.join(root, path.lstrip("/"))


def plain(path: str) -> str:
    """Return a folder's path as a program knows its own: without a slash at its end.

    One with `..` is not changed, since a link may be before that.
    """
    return path if ".." in path.split("/") else os.path.normpath(path)


def text(path: str) -> str:
    """Return the text of a file of the node, links followed; what is no UTF-8 is kept (surrogateescape).

    Raises OSError, also for a path that no file can have.
    """
    if "\0" in path:
        raise OSError(errno.EINVAL, "a path cannot contain a null byte", path)
    with open(path, encoding="utf-8", errors="surrogateescape", opener=at_once) as stream:
        return stream.read()


def at_once(path: str, flags: int) -> int:
    """Open a file for `open` (its option `opener`). Raises OSError for a FIFO, and does not wait for its writer."""
    handle = os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC)
    if stat.S_ISFIFO(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(errno.EINVAL, "is a FIFO, not a file", path)
    return handle


def sha256(data: bytes) -> str:
    # It loads OpenSSL, a quarter of the guard's memory: a guard that only waits does not need it.
    import hashlib  # pylint: disable=import-outside-toplevel

    return hashlib.sha256(data).hexdigest()


def check_owner(path: str, fs: OS) -> None:
    """Raise FileError when users other than root and us could have written this; OSError when it cannot be examined."""
    found = fs.lstat(path)
    if found.st_uid not in (0, fs.user()):
        raise FileError(
            path, f"belongs to user {found.st_uid}, not to root", "find out why, then remove it or chown it to root"
        )
    if not stat.S_ISLNK(found.st_mode) and found.st_mode & 0o022:
        raise FileError(
            path,
            f"others may write to it (mode {stat.S_IMODE(found.st_mode):04o})",
            "check its content, then chmod go-w it",
        )


def _examined(path: str, fs: OS) -> os.stat_result | None:
    """Return the status of the path itself, None when nothing is there. Raises FileError."""
    try:
        return fs.lstat(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise FileError.of(path, "examine", error) from error


def _fill(path: str, data: bytes, mode: int, fs: OS) -> None:
    handle = fs.create(path, mode)
    try:
        rest = data
        while rest:
            rest = rest[fs.write(handle, rest) :]
        fs.sync(handle)
    finally:
        fs.close(handle)


def _remove_tree(path: str, fs: OS) -> None:
    if not stat.S_ISDIR(fs.lstat(path).st_mode):
        fs.unlink(path)
        return
    for name in fs.listdir(path):
        _remove_tree(os.path.join(path, name), fs)
    fs.rmdir(path)
