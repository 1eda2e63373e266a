# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The JSON files of store and guard: all have one form, and none is read or written through a link.

Most hold a named tuple. JSON that was damaged, or edited by hand, may hold values of other types.

The guard of one version and the module of another read each other's files. So a file has a `format` (a file without one
has 1), which changes when a known field gets another meaning. Fields that are not known are ignored, and kept when the
record is written again. A field that has its default value is not written.
"""

from __future__ import annotations

import json
import os
import typing as t

from ..system import files
from ..system.files import DISK, OS

_Fields = t.TypeVar("_Fields", bound=t.Tuple[t.Any, ...])

FORMAT = 1
# Later than any time in seconds, of any clock.
_LATEST = 1e12


def encode(value: t.Any) -> bytes:
    """Return the content of a file: equal values have equal bytes, and a person can read them."""
    return (json.dumps(value, indent=2, sort_keys=True) + "\n").encode()


def decode(data: bytes) -> t.Any:
    """Return the value that a file holds. Raises ValueError for other content, however damaged it is."""
    try:
        return json.loads(data.decode())
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def load(path: str, fs: OS = DISK) -> t.Any:
    """Return the value of a file, None when there is none or it is empty. Raises FileError, ValueError as `decode`."""
    data = read(path, fs)
    return decode(data) if data else None


def read(path: str, fs: OS = DISK) -> bytes | None:
    """Return the bytes of a file, None when there is none.

    Raises FileError when it cannot be trusted, also because its folder is a link.
    """
    return files.read(path, fs) if files.check_folder(os.path.dirname(path), fs) else None


def save(path: str, value: t.Any, fs: OS = DISK) -> None:
    """Replace a file, or create it in its folder. Raises FileError; the former file is unchanged then."""
    files.check_folder(os.path.dirname(path), fs)
    files.write(path, encode(value), fs=fs)


class RecordFile(t.Generic[_Fields]):
    """A file that holds one record: a named tuple of the type of `like`. Its first field names what it is about."""

    def __init__(self, path: str, like: _Fields, fs: files.OS | None = None) -> None:
        self.path = path
        self.like = like
        self.fs = fs or DISK

    def read(self) -> _Fields | None:
        """Return the record, None without one. Never raises: an unreadable file counts as absent."""
        try:
            return fields(load(self.path, self.fs), self.like)
        except (files.FileError, ValueError, TypeError):
            return None

    def write(self, record: _Fields) -> None:
        """Write a record unless the file holds it already. Raises files.FileError."""
        before = self.read()
        if record != before:
            same = before is not None and before[0] == record[0]
            kept = unknown(load(self.path, self.fs), self.like) if same else {}
            save(self.path, {**kept, **written(record)}, self.fs)

    def remove(self) -> None:
        """Remove the file, which a full disk does not prevent. Raises files.FileError."""
        files.remove(self.path, self.fs)


class MemoryFile(RecordFile[_Fields]):
    """A record in memory (/run), for what a full or read-only disk cannot hold. A boot removes it with its folder."""

    held: _Fields | None = None

    def write(self, record: _Fields) -> None:
        """Write a record. Raises files.FileError; this process knows it all the same (`held`)."""
        try:
            files.make_folder(os.path.dirname(self.path), self.fs)
            super().write(record)
        except files.FileError:
            self.held = record
            raise


def fields(value: t.Any, like: _Fields) -> _Fields:
    """Return a mapping that was read as a named tuple of the type of `like`, which has a value of the right type in
    each field: None stands for a number or None.

    Raises TypeError for anything else, and for a format that only a newer version knows.
    """
    if not isinstance(value, dict) or value.get("format", FORMAT) != FORMAT:
        raise TypeError("it is not a record of a known format")
    names: tuple[str, ...] = like._fields  # type: ignore[attr-defined]
    found = type(like)(**{name: held for name, held in value.items() if name in names})
    for name, right, held in zip(names, like, found):
        if not _fits(held, right):
            raise TypeError(f"{name} has another type")
    return found


def written(record: t.Any) -> dict[str, t.Any]:
    """Return what a file holds of a named tuple: the fields that have no default value, or another one."""
    defaults = record._field_defaults
    return {name: held for name, held in record._asdict().items() if name not in defaults or held != defaults[name]}


def unknown(value: t.Mapping[str, t.Any], like: t.Any) -> dict[str, t.Any]:
    """Return the fields of a mapping that a named tuple of the type of `like` does not have."""
    return {name: held for name, held in value.items() if name not in like._fields}


def number(value: t.Any) -> float:
    """Return a number of seconds. Raises TypeError."""
    if not _is_number(value):
        raise TypeError("it is not a number of seconds")
    return float(value)


def _fits(held: t.Any, right: t.Any) -> bool:
    if right is None or isinstance(right, float):
        return (held is None and right is None) or _is_number(held)
    return isinstance(held, type(right)) and isinstance(held, bool) == isinstance(right, bool)


def _is_number(value: t.Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and -_LATEST <= value <= _LATEST
