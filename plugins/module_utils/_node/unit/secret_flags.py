# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Masks the values of secret flags, such as `--manifest-url-header`, in texts that quote a unit or a command line."""

from __future__ import annotations

import re

HIDDEN = "********"


def masked(text: str) -> str:
    """Return a text with the value of each secret flag masked.

    The quoting of units, shells and systemd differs, so the mask covers everything up to the next flag or the end of
    the line.
    """
    # The table of all fields is the largest module, and most texts contain no such flag.
    from ..._config.fields import fields

    names = [name.replace("-", "[-_]") for name, flag in fields.FLAGS.items() if fields.ALL[flag.field].secret]
    value = r"(?:[^\n\\]|\\.)*?(?=[\s\"']--[a-z]|\n|$)"
    return re.sub(rf"(--(?:{'|'.join(names)}))(=|\s+){value}", rf"\1\2{HIDDEN}", text, flags=re.DOTALL)
