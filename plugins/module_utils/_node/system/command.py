# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs a command on the node."""

from __future__ import annotations

import subprocess
from typing import Callable, Sequence

Run = Callable[[Sequence[str]], "subprocess.CompletedProcess[str]"]

LIMIT = 60


def execute(argv: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Run a command and return it with its output as text; never raises.

    The return code is 127 for a program that does not exist, and 124 after `LIMIT` seconds, as in a shell.
    """
    try:
        return subprocess.run(
            list(argv),
            check=False,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=LIMIT,
            text=True,
            errors="replace",
        )
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(list(argv), 124, "", f"{argv[0]} did not end within {LIMIT} s")
    except OSError as error:
        return subprocess.CompletedProcess(list(argv), 127, "", str(error))
