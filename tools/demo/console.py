# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the demo prints, in colour on a terminal."""

from __future__ import annotations

import os
import sys

COMMAND = "1"
FAILURE = "1;31"
SUCCESS = "1;32"
LIVE = "1;33"
HEADLINE = "1;36"


class DemoError(Exception):
    """A step did not end as expected."""


def colours() -> bool:
    """Return whether the output is a terminal that shows colours."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def show(text: str = "", code: str = "") -> None:
    """Print a line, in a colour (an ANSI code) on a terminal."""
    print(f"\033[{code}m{text}\033[0m" if code and colours() else text, flush=True)
