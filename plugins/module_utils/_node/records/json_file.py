# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The JSON files of store and guard: all have one form, and none is read or written through a link."""

from __future__ import annotations

import json
import os
import typing as t

from ..system import files
from ..system.files import OS


def encode(value: t.Any) -> bytes:
    """Return the content of a file: equal values have equal bytes, and a person can read them."""
    return (json.dumps(value, indent=2, sort_keys=True) + "\n").encode()


def decode(data: bytes) -> t.Any:
    """Return the value that a file holds. Raises ValueError for other content, however damaged it is."""
    try:
        return json.loads(data.decode())
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def load(path: str, fs: OS | None = None) -> t.Any:
    """Return the value of a file, None when there is none or it is empty. Raises FileError, ValueError as `decode`."""
    data = read(path, fs)
    return decode(data) if data else None


def read(path: str, fs: OS | None = None) -> bytes | None:
    """Return the bytes of a file, None when there is none.

    Raises FileError when it cannot be trusted, also because its folder is a link.
    """
    fs = fs or OS()
    return files.read(path, fs) if files.check_folder(os.path.dirname(path), fs) else None


def save(path: str, value: t.Any, fs: OS | None = None) -> None:
    """Replace a file, or create it in its folder. Raises FileError; the former file is unchanged then."""
    fs = fs or OS()
    files.check_folder(os.path.dirname(path), fs)
    files.write(path, encode(value), fs=fs)
