# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A step of a call that does several of them: its failure names it."""

from __future__ import annotations

import contextlib
from typing import Iterator

from ..system import config_summary
from ..system.store_error import StoreError
from ..unit.unit import UnitError


class StepError(Exception):
    """A step failed, after those before it were done. `step`: its name; the message begins with it."""

    def __init__(self, step: str, reason: str) -> None:
        super().__init__(f"{step} failed: {reason}")
        self.step = step


@contextlib.contextmanager
def step(name: str, text: str = "") -> Iterator[None]:
    """Raise StepError for a step that fails. The secrets of the configuration `text` are masked in its message."""
    try:
        yield
    except (StoreError, UnitError, OSError) as error:
        raise StepError(name, config_summary.without_secrets([str(error)], text)[0]) from error
