# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the demo prints, in colour on a terminal, and how it is stopped."""

from __future__ import annotations

import os
import signal
import sys
import typing as t

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


def table(rows: t.Sequence[t.Sequence[object]], code: str = LIVE) -> None:
    """Print rows in columns; the first row is the head."""
    texts = [[str(cell) for cell in row] for row in rows]
    widths = [max(len(row[column]) for row in texts) for column in range(len(texts[0]))]
    for row in texts:
        show("  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip(), code)


def end(*_signal: object) -> None:
    """Stop as for Ctrl-C. When the terminal is closed, discard the output so that printing cannot stop the cleanup."""
    if _signal and _signal[0] == signal.SIGHUP:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
    raise KeyboardInterrupt
