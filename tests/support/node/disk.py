# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A disk in memory that can lose, like a real one, everything that is not durable, and that can fail at any call.

A file's content is durable after `sync`, the names in a folder after `sync_folder`. At a power cut every other change
survives or not, independently of all others and of their order: no real file system is that bad. Only the two names of
a rename within a folder survive together: it is one transaction of a journal (ext4, xfs, btrfs).
"""

from __future__ import annotations

import errno
import functools
import itertools
import os
import random
import stat
import typing as t

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system.files import OS

MOST_STATES = 200
FILLING = ("mkdir", "create", "write", "symlink")
TOKENS = itertools.count()


class PowerCut(BaseException):
    """The machine is off; a BaseException, so that no handler runs."""


class File:
    def __init__(self, data: bytes = b"", mode: int = 0o600) -> None:
        self.live, self.durable, self.mode, self.uid = data, data, mode, 0


class Link:
    def __init__(self, target: str) -> None:
        self.target, self.mode, self.uid = target, 0o777, 0


class Folder:
    def __init__(self, mode: int = 0o700) -> None:
        self.live: dict[str, Node] = {}
        self.durable: dict[str, Node] = {}
        # Of renames that are not durable: the former name of each new one.
        self.renamed: dict[str, str] = {}
        self.mode, self.uid = mode, 0

    def put(self, name: str, node: Node | None) -> None:
        """Give a name to a node, or with None remove the name."""
        self.renamed = {new: old for new, old in self.renamed.items() if name not in (new, old)}
        if node is None:
            del self.live[name]
        else:
            self.live[name] = node


Node = File | Link | Folder


class Disk(OS):
    """`calls` lists the disk-changing calls, `changes` counts those that did not fail.

    The power is cut after `cut_after` calls.

    `failure(index, name)` returns the errno with which a call must fail, or 0.
    """

    def __init__(self, root: Folder | None = None) -> None:
        self.root = root or Folder()
        self.calls: list[str] = []
        self.changes = 0
        self.cut_after: int | None = None
        self.failure: t.Callable[[int, str], int] = lambda _index, _name: 0
        self.handles: dict[int, File] = {}

    # Disk-changing calls

    def mkdir(self, path: str, mode: int) -> None:
        self._call("mkdir", path)
        self._add(path, Folder(mode))

    def create(self, path: str, mode: int) -> int:
        self._call("create", path)
        file = File(b"", mode)
        self._add(path, file)
        handle = max(self.handles, default=2) + 1
        self.handles[handle] = file
        return handle

    def write(self, handle: int, data: bytes) -> int:
        file, half = self.handles[handle], data[: len(data) // 2]
        try:
            self._call("write", f"{len(data)} bytes")
        except OSError:
            file.live += half
            raise
        # Short writes are legal; a caller that ignores them leaves half a file.
        done = half if len(data) > 64 else data
        file.live += done
        return len(done)

    def sync(self, handle: int) -> None:
        self._call("sync", "")
        self.handles[handle].durable = self.handles[handle].live

    def sync_folder(self, path: str) -> None:
        self._call("sync_folder", path)
        folder = self._folder(path)
        folder.durable, folder.renamed = dict(folder.live), {}

    def rename(self, path: str, target: str) -> None:
        self._call("rename", f"{path} {target}")
        node, old = self._node(path), self._parent(target).live.get(os.path.basename(target))
        if isinstance(old, Folder) and old.live:
            raise OSError(errno.ENOTEMPTY, "Directory not empty")
        if isinstance(node, Folder) and old is not None and not isinstance(old, Folder):
            raise OSError(errno.ENOTDIR, "Not a directory")
        if isinstance(old, Folder) and not isinstance(node, Folder):
            raise OSError(errno.EISDIR, "Is a directory")
        former, folder = self._parent(path), self._parent(target)
        former.put(os.path.basename(path), None)
        folder.put(os.path.basename(target), node)
        if folder is former:
            folder.renamed[os.path.basename(target)] = os.path.basename(path)

    def symlink(self, target: str, path: str) -> None:
        self._call("symlink", f"{path} {target}")
        self._add(path, Link(target))

    def unlink(self, path: str) -> None:
        self._call("unlink", path)
        if isinstance(self._node(path), Folder):
            raise IsADirectoryError(errno.EISDIR, "Is a directory")
        self._parent(path).put(os.path.basename(path), None)

    def rmdir(self, path: str) -> None:
        self._call("rmdir", path)
        if self._folder(path).live:
            raise OSError(errno.ENOTEMPTY, "Directory not empty")
        self._parent(path).put(os.path.basename(path), None)

    # The others

    def close(self, handle: int) -> None:
        del self.handles[handle]

    def load(self, path: str) -> bytes:
        node = self._node(path)
        if isinstance(node, Link):
            raise OSError(errno.ELOOP, "Too many levels of symbolic links")
        if isinstance(node, Folder):
            raise IsADirectoryError(errno.EISDIR, "Is a directory")
        return node.live

    def lstat(self, path: str) -> os.stat_result:
        node = self._node(path)
        kind = {File: stat.S_IFREG, Link: stat.S_IFLNK, Folder: stat.S_IFDIR}[type(node)]
        size = len(node.live) if isinstance(node, File) else 0
        return os.stat_result((kind | node.mode, 0, 0, 1, node.uid, 0, size, 0, 0, 0))

    def listdir(self, path: str) -> list[str]:
        return list(self._folder(path).live)

    def readlink(self, path: str) -> str:
        node = self._node(path)
        if not isinstance(node, Link):
            raise OSError(errno.EINVAL, "Invalid argument")
        return node.target

    def user(self) -> int:
        return 0

    def token(self) -> str:
        return str(next(TOKENS))

    # For tests

    def look(self, path: str) -> bytes:
        """Return what a program reads at a path, following links. Raises FileNotFoundError."""
        done = "/"
        for part in path.strip("/").split("/"):
            node = self._node(os.path.join(done, part))
            done = os.path.normpath(os.path.join(done, node.target if isinstance(node, Link) else part))
        return self.load(done)

    def put(self, path: str, data: bytes) -> None:
        """Write a file at once and durably, as another program or a test does: no fault and no cut applies to it."""
        folder, name = self._parent(path), os.path.basename(path)
        folder.live[name] = folder.durable[name] = File(data)

    def tree(self, path: str = "/") -> dict[str, str]:
        """Return every path with its content, for comparisons."""
        found: dict[str, str] = {}
        for name, node in sorted(self._folder(path).live.items()):
            inner = os.path.join(path, name)
            found[inner] = (
                node.live.decode("latin-1")
                if isinstance(node, File)
                else f"-> {node.target}"
                if isinstance(node, Link)
                else "folder"
            )
            if isinstance(node, Folder):
                found.update(self.tree(inner))
        return found

    def copy(self) -> Disk:
        return Disk(_settled(self.root, lambda _node, options: options[-1]))

    def after_power_cut(self, seed: int = 0) -> t.Iterator[Disk]:
        """Yield every disk that a power cut may leave now; if there are very many, the extremes and a random choice."""
        counts: list[int] = []

        def count(_node: object, options: list[t.Any]) -> t.Any:
            counts.append(len(options))
            return options[-1]

        # The choice for a folder's entry decides whether the files below it exist. The points are therefore counted on
        # the fullest disk, and a choice beyond the end of the list selects the live state.
        _settled(self.root, count)
        total = 1
        for number in counts:
            total *= number
        if total <= MOST_STATES:
            choices: t.Iterable[tuple[int, ...]] = itertools.product(*[range(number) for number in counts])
        else:
            dice = random.Random(seed)
            choices = [(0,) * len(counts), tuple(number - 1 for number in counts)]
            choices += [tuple(dice.randrange(number) for number in counts) for dummy in range(MOST_STATES)]
        for choice in choices:
            rest = iter(choice)
            yield Disk(
                _settled(
                    self.root, lambda _node, options, rest=rest: options[next(rest, len(options) - 1) % len(options)]
                )
            )

    def one_after_power_cut(self, dice: random.Random) -> Disk:
        """Return one disk that a power cut may leave now."""
        return Disk(_settled(self.root, lambda _node, options: dice.choice(options)))

    def _call(self, name: str, what: str) -> None:
        if self.cut_after is not None and len(self.calls) >= self.cut_after:
            raise PowerCut
        index = len(self.calls)
        self.calls.append(f"{name} {what}".strip())
        number = self.failure(index, name)
        if number:
            raise OSError(number, os.strerror(number))
        self.changes += 1

    def _node(self, path: str) -> Node:
        node: Node = self.root
        for part in _parts(path):
            if not isinstance(node, Folder):
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
            if part not in node.live:
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
            node = node.live[part]
        return node

    def _folder(self, path: str) -> Folder:
        node = self._node(path)
        if not isinstance(node, Folder):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
        return node

    def _parent(self, path: str) -> Folder:
        return self._folder(os.path.dirname(path))

    def _add(self, path: str, node: Node) -> None:
        parent = self._parent(path)
        if os.path.basename(path) in parent.live:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
        parent.put(os.path.basename(path), node)


@functools.lru_cache(maxsize=4096)
def _parts(path: str) -> tuple[str, ...]:
    return tuple(part for part in path.split("/") if part)


def _settled(node: t.Any, choose: t.Callable[[t.Any, list[t.Any]], t.Any]) -> t.Any:
    """Return a durable copy of a node; `choose` decides about every change that is not durable."""
    if isinstance(node, Link):
        return Link(node.target)
    if isinstance(node, File):
        options = [node.live] if node.durable == node.live else list(dict.fromkeys([node.durable, b"", node.live]))
        fresh = File(options[0] if len(options) == 1 else choose(node, options), node.mode)
        fresh.uid = node.uid
        return fresh
    folder = Folder(node.mode)
    folder.uid = node.uid
    # The new name of a rename comes first, and decides for the former one.
    names = dict.fromkeys([*node.renamed, *node.durable, *node.live])
    lost: set[str] = set()
    for name in names:
        old, new = node.durable.get(name), node.live.get(name)
        if name in node.renamed.values():
            kept = old if any(node.renamed[other] == name and other in lost for other in node.renamed) else new
        else:
            kept = new if old is new else choose(node, [old, new])
        if kept is not new:
            lost.add(name)
        if kept is not None:
            folder.live[name] = _settled(kept, choose)
    folder.durable = dict(folder.live)
    return folder
