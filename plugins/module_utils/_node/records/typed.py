# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Named tuples from files: JSON that was damaged, or edited by hand, may hold values of other types.

The guard of one version and the module of another read each other's files. So a file has a `format` (a file without one
has 1), which changes when a known field gets another meaning. Fields that are not known are ignored, and kept when the
record is written again. A field that has its default value is not written.
"""

from __future__ import annotations

from typing import Any, Generic, Mapping, TypeVar

from ..system import files
from . import json_file

Fields = TypeVar("Fields", bound=tuple)  # type: ignore[type-arg]

FORMAT = 1
# Later than any time in seconds, of any clock.
_LATEST = 1e12


class RecordFile(Generic[Fields]):
    """A file that holds one record: a named tuple of the type of `like`, as for `fields`. Its first field names what
    the record is about.
    """

    def __init__(self, path: str, like: Fields, fs: files.OS | None = None) -> None:
        self.path = path
        self.like = like
        self.fs = fs or files.OS()

    def read(self) -> Fields | None:
        """Return the record, None without one. Never raises: an unreadable file counts as absent."""
        try:
            return fields(json_file.load(self.path, self.fs), self.like)
        except (files.FileError, ValueError, TypeError):
            return None

    def write(self, record: Fields) -> None:
        """Write a record unless the file holds it already. Raises files.FileError."""
        before = self.read()
        if record != before:
            same = before is not None and before[0] == record[0]
            json_file.save(self.path, {**(self._unknown() if same else {}), **written(record)}, self.fs)

    def remove(self) -> None:
        """Remove the file, which a full disk does not prevent. Raises files.FileError."""
        files.remove(self.path, self.fs)

    def _unknown(self) -> dict[str, Any]:
        return unknown(json_file.load(self.path, self.fs), self.like)


def fields(value: Any, like: Fields) -> Fields:
    """Return a mapping that was read as a named tuple of the type of `like`, which has a value of the right type in
    each field: None stands for a number or None.

    Raises TypeError for a value that is no mapping, for missing fields, for values of other types, and for a format
    that only a newer version knows.
    """
    if not isinstance(value, dict) or value.get("format", FORMAT) != FORMAT:
        raise TypeError("it is no record of a known format")
    found = type(like)(**{name: held for name, held in value.items() if name in _names(like)})
    for name, right, held in zip(_names(like), like, found):
        if not _fits(held, right):
            raise TypeError(f"{name} has another type")
    return found


def written(record: Any) -> dict[str, Any]:
    """Return what a file holds of a named tuple: the fields that have no default value, or another one."""
    defaults = record._field_defaults
    return {name: held for name, held in record._asdict().items() if name not in defaults or held != defaults[name]}


def unknown(value: Mapping[str, Any], like: Any) -> dict[str, Any]:
    """Return the fields of a mapping that a named tuple of the type of `like` does not have."""
    return {name: held for name, held in value.items() if name not in _names(like)}


def number(value: Any) -> float:
    """Return a number of seconds. Raises TypeError."""
    if not _is_number(value):
        raise TypeError("it is no number of seconds")
    return float(value)


def _names(like: Any) -> tuple[str, ...]:
    names: tuple[str, ...] = like._fields
    return names


def _fits(held: Any, right: Any) -> bool:
    if right is None or isinstance(right, float):
        return (held is None and right is None) or _is_number(held)
    return isinstance(held, type(right)) and isinstance(held, bool) == isinstance(right, bool)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and -_LATEST <= value <= _LATEST
