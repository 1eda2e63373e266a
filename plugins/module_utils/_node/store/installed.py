# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The guard that is installed beside a store: its settings, the file `guard/settings.json`."""

from __future__ import annotations

import os
import typing as t

from ..records import json_file
from ..system.files import OS, FileError

TEXTS = ("unit", "config", "key", "folder", "metrics")


def settings(config_dir: str, fs: OS | None = None) -> dict[str, t.Any]:
    """Return the settings of the installed guard, empty when there are none or they are damaged.

    `argv` is a list of texts, every other setting that we know is a text.
    """
    try:
        found = json_file.load(path(config_dir), fs)
    except (FileError, ValueError):
        return {}
    if not isinstance(found, dict):
        return {}
    words = found.get("argv", [])
    texts = [found.get(name, "") for name in TEXTS] + (words if isinstance(words, list) else [words, None])
    return found if all(isinstance(text, str) for text in texts) else {}


def path(config_dir: str) -> str:
    """Return where the settings are."""
    return os.path.join(config_dir, "guard", "settings.json")
