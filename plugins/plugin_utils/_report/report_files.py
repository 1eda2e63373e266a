# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes the reports: whole or not at all."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
import typing as t


def write_json(path: str, document: t.Mapping[str, t.Any]) -> None:
    """Write the JSON report. Raises OSError when the folder cannot be written to."""
    # Indented it takes ten times as long: Python's fast encoder cannot do that.
    write(path, json.dumps(document) + "\n")


def write(path: str, words: str) -> None:
    """Replace a file at once, so that whoever reads it never sees half of it. Raises OSError."""
    folder = os.path.dirname(path)
    os.makedirs(folder, exist_ok=True)
    handle, temporary = tempfile.mkstemp(prefix=f".{os.path.basename(path)}.", dir=folder)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as sink:
            sink.write(words)
        # As any file a user makes: mkstemp's own 0600 would keep a web server from showing it.
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
