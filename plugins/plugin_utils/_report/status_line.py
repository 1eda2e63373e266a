# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A line at the bottom of a terminal that does not mix with other output."""

from __future__ import annotations

import os
import shutil
import typing as t

ERASE = "\r\x1b[2K"


class StatusLine:
    """A line that is erased before any other output to the terminal and drawn again by the next show().

    The state of the terminal is not changed: a killed process leaves a line behind and nothing else.
    """

    def __init__(self, stream: t.TextIO, others: t.Iterable[t.TextIO] = ()) -> None:
        self._stream = stream
        self._shown = ""
        # A prompt occupies the last line: the status line must not be drawn then.
        self._free = True
        self._owner = os.getpid()
        self._guarded: list[tuple[t.Any, t.Any]] = []
        self._write = stream.write
        for one in {id(one): one for one in (stream, *others)}.values():
            self._guarded.append((one, one.write))
            # Ansible wraps these methods the same way.
            one.write = self._guard(one.write)  # type: ignore[method-assign]  # close() restores it

    def show(self, line: str) -> None:
        """Draw the line; it replaces the previous one."""
        if self._free and line != self._shown:
            self._write(f"{ERASE}{line}")
            self._stream.flush()
            self._shown = line

    def clear(self) -> None:
        """Erase the line."""
        # A forked process shares the terminal but does not own the line.
        if self._shown and os.getpid() == self._owner:
            self._write(ERASE)
            self._stream.flush()
            self._shown = ""

    def close(self) -> None:
        """Erase the line and release the streams."""
        self.clear()
        for stream, write in self._guarded:
            stream.write = write
        self._guarded = []

    @staticmethod
    def width() -> int:
        """Return the number of characters that fit. The last column is not used: it would start a new line."""
        return max(20, shutil.get_terminal_size((80, 24)).columns - 1)

    def _guard(self, write: t.Callable[[str], int]) -> t.Callable[[str], int]:
        def guarded(words: str) -> int:
            self.clear()
            if words:
                self._free = words.endswith(("\n", "\r"))
            return write(words)

        return guarded
