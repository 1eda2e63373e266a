# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes the reports atomically."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
import typing as t


def write_json(path: str, document: t.Mapping[str, t.Any]) -> None:
    """Write the JSON report. Raises OSError when the folder cannot be written to."""
    # Without indentation Python uses its fast encoder, which takes a tenth of the time.
    write(path, json.dumps(document) + "\n")


def write(path: str, words: str) -> None:
    """Replace a file atomically, so that no reader sees a partial one. Raises OSError."""
    folder = os.path.dirname(path)
    os.makedirs(folder, exist_ok=True)
    handle, temporary = tempfile.mkstemp(prefix=f".{os.path.basename(path)}.", dir=folder)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as sink:
            sink.write(words)
        # The mode of an ordinary new file: with the 0600 of mkstemp, a web server could not serve it.
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
