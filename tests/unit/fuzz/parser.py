# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A parser under test, and what some of them need: a session, files."""

from __future__ import annotations

import os
import tempfile
import typing as t
from pathlib import Path

from hypothesis import strategies as st


class Answering:
    """A session of which each request has the same answer."""

    kubelets = None

    def __init__(self, value: t.Any) -> None:
        self.value = value

    def request(self, *_words: t.Any, **_options: t.Any) -> t.Any:
        return self.value

    def text(self, *_words: t.Any, **_options: t.Any) -> t.Any:
        return self.value


class Parser(t.NamedTuple):
    """What it gets, the call, and the errors that it documents."""

    inputs: st.SearchStrategy[t.Any]
    call: t.Callable[[t.Any], object]
    errors: tuple[type[Exception], ...] = ()


# Removed when Python ends.
HOLDER = tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)
FOLDER = Path(HOLDER.name)


def kept(read: t.Callable[[str], object], name: str) -> t.Callable[[bytes], object]:
    """Return a call that reads a file of this name below a config folder."""

    def call(data: bytes) -> object:
        path = FOLDER / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return read(str(FOLDER))

    return call
