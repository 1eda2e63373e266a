# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The fields whose values are secret, for errors about documents that cannot be read field by field."""

from __future__ import annotations

import re
from typing import Container

# The second is the name in 1.8 and 1.9. The table of all fields marks the first one too; a test compares them.
NAMES = ("staticPodURLHeader", "manifestURLHeader")
# From the first quotation mark to the last one: a quotation may contain others.
_QUOTATION = re.compile(r"([`'\"]).*\1", re.DOTALL)


def mentioned(document: Container[str]) -> bool:
    """Return whether a text, or a mapping, has one of the names."""
    return any(name in document for name in NAMES)


def unquoted(cause: str) -> str:
    """Return the cause of an error without what it quotes."""
    return _QUOTATION.sub("(not shown)", cause)
