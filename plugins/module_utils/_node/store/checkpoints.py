# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The checkpoints of a store: ``<folder>/<uid>/<resourceVersion>/<key>``, as the kubelets of 1.11 to 1.23 keep them.

Each folder has a file ``<resourceVersion>.sha256`` beside it, in the format of sha256sum, made durable before the
folder appears. A checkpoint without this file, or one that does not match it, is damaged. (`cd <resourceVersion> &&
sha256sum -c ../<resourceVersion>.sha256`)
"""

from __future__ import annotations

import os
import typing as t

from ..system import files
from ..system.files import OS, StoreError
from . import meta

SUMS = ".sha256"


class Checkpoints:
    """The folder of all checkpoints."""

    def __init__(self, folder: str, fs: OS) -> None:
        self.folder = folder
        self.fs = fs

    def path(self, source: t.Mapping[str, str]) -> str:
        """Return where a source's checkpoint is or would be. Raises SourceError."""
        whole = meta.checked(source)
        return os.path.join(self.folder, whole["uid"], whole["resourceVersion"])

    def is_saved(self, source: t.Mapping[str, str], data: t.Mapping[str, str]) -> bool:
        """Return whether `save` has nothing to do. Raises as `save` does."""
        content = _checked(source, data)
        path = self.path(source)
        if not self._exists(path):
            return False
        try:
            same = self._verified(path) == _sums(content)
        except StoreError:
            return False
        if not same:
            raise StoreError(
                f"{path} holds other content than {describe(source)}, although both have one uid and "
                "resourceVersion (was the cluster's etcd restored?): push the configuration under a new name"
            )
        return True

    def save(self, source: t.Mapping[str, str], data: t.Mapping[str, str]) -> str:
        """Save all data of a ConfigMap; return the folder. A whole one is not changed, a damaged one repaired in place.

        Raises SourceError for invalid keys, StoreError when the folder is whole with other content (uid and
        resourceVersion of a ConfigMap identify one content), FileError.
        """
        path = self.path(source)
        if self.is_saved(source, data):
            return path
        content = _checked(source, data)
        files.make_folder(os.path.dirname(path), self.fs)
        files.write(path + SUMS, _sums(content), fs=self.fs)
        if self._exists(path):
            self._repair(path, content)
        else:
            files.write_folder(path, {key: (value, 0o600) for key, value in content.items()}, self.fs)
        return path

    def verify(self, source: t.Mapping[str, str]) -> str:
        """Return the digest (hex SHA-256) of a whole checkpoint that has its kubeletConfigKey. Raises StoreError."""
        whole = meta.checked(source)
        path = self.path(whole)
        if not self._exists(path):
            raise StoreError(f"{path} does not exist: stage {describe(whole)} again")
        sums = self._verified(path)
        if f"  {whole['kubeletConfigKey']}\n".encode() not in sums:
            raise StoreError(f"{path} has no file {whole['kubeletConfigKey']}: name another kubeletConfigKey")
        return files.sha256(sums)

    def whole(self, path: str) -> list[str]:
        """Return the names of the files in a checkpoint's folder that matches its digest. Raises StoreError."""
        if not self._exists(path):
            raise StoreError(f"{path} does not exist")
        return [os.fsdecode(line.partition(b"  ")[2]) for line in self._verified(path).splitlines()]

    def load(self, source: t.Mapping[str, str]) -> dict[str, bytes]:
        """Return a checkpoint's files without checking its digest: a kubelet writes none. Raises StoreError."""
        path = self.path(source)
        if not self._exists(path):
            raise StoreError(f"{path} does not exist")
        return self._content(path)

    def collect(self, keep: t.Collection[str]) -> list[str]:
        """Remove every checkpoint whose folder is not in `keep`, and temporary files of interrupted work.

        Returns the removed folders. Raises FileError.
        """
        removed = []
        for uid in self._names(self.folder):
            place = os.path.join(self.folder, uid)
            if not files.check_folder(place, self.fs):
                continue
            for name in self._names(place):
                path = os.path.join(place, name)
                if name.startswith(files.TEMPORARY):
                    files.remove_any(path, self.fs)
                elif name.endswith(SUMS):
                    continue
                elif path not in keep:
                    files.remove_folder(path, self.fs)
                    removed.append(path)
            # Digests last: while a folder exists, its digest does.
            left = self._names(place)
            for name in left:
                if name.endswith(SUMS) and name[: -len(SUMS)] not in left:
                    files.remove(os.path.join(place, name), self.fs)
            if not self._names(place):
                files.remove_folder(place, self.fs)
        return removed

    def _names(self, path: str) -> list[str]:
        try:
            return sorted(self.fs.listdir(path))
        except FileNotFoundError:
            return []
        except OSError as error:
            raise files.FileError.of(path, "list", error) from error

    def _exists(self, path: str) -> bool:
        """Whether there is a folder. Every folder of its path in the store must be ours, and not a link."""
        return all(
            files.check_folder(place, self.fs)
            for place in (os.path.dirname(self.folder), self.folder, os.path.dirname(path), path)
        )

    def _content(self, path: str) -> dict[str, bytes]:
        found = {}
        for name in self._names(path):
            data = files.read(os.path.join(path, name), self.fs)
            if data is not None:
                found[name] = data
        return found

    def _verified(self, path: str) -> bytes:
        """Return the digests of a folder that matches them. Raises StoreError."""
        recorded = files.read(path + SUMS, self.fs)
        actual = _sums(self._content(path))
        if recorded is None:
            raise StoreError(
                f"{path} has no digest beside it ({os.path.basename(path)}{SUMS}), so it may be incomplete: "
                "stage it again"
            )
        if recorded != actual:
            raise StoreError(
                f"{path} does not match its digest ({os.path.basename(path)}{SUMS}), it was changed or damaged: "
                "stage it again"
            )
        return recorded

    def _repair(self, path: str, content: t.Mapping[str, bytes]) -> None:
        """Repair a damaged folder file by file. A kubelet may be running on it, so it must not vanish at any moment."""
        parent = os.path.dirname(path)
        for name in self._names(path):
            if name not in content:
                files.remove_any(os.path.join(path, name), self.fs)
        for key in sorted(content):
            files.write(os.path.join(path, key), content[key], fs=self.fs, scratch=parent)


def describe(source: t.Mapping[str, str]) -> str:
    """Return the name of a source for messages."""
    return f"ConfigMap {source['namespace']}/{source['name']} at resourceVersion {source['resourceVersion']}"


def _checked(source: t.Mapping[str, str], data: t.Mapping[str, str]) -> dict[str, bytes]:
    """Return the files a checkpoint will have. Raises SourceError for invalid names or content."""
    key = meta.checked(source)["kubeletConfigKey"]
    content = {meta.check_key(name): text.encode() for name, text in data.items()}
    if key not in content:
        raise meta.SourceError(
            f"{describe(source)} has no key {key!r}, only {', '.join(sorted(content)) or 'none'}: "
            "name one of them as kubeletConfigKey"
        )
    if not content[key].strip():
        raise meta.SourceError(
            f"{describe(source)}: key {key!r} is empty, and no kubelet starts with an empty file: push a configuration"
        )
    return content


def _sums(content: t.Mapping[str, bytes]) -> bytes:
    # A damaged folder may have names that are not UTF-8.
    return b"".join(f"{files.sha256(content[name])}  ".encode() + os.fsencode(name) + b"\n" for name in sorted(content))
