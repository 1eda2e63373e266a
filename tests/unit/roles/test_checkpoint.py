# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The role `checkpoint` sequences: the preflight decides, and the tasks branch on the decisions."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

TASKS = Path(__file__).resolve().parents[3] / "roles/checkpoint/tasks"
# Searches in texts and in lists of problems, and facts from which a task would have to decide.
DECIDING = re.compile(r"startswith|selectattr|\bselect\(|is (match|search)\b|\.problems\b|\.check\b|\.host\b|\.form\b")


@pytest.mark.parametrize("name", sorted(path.name for path in TASKS.glob("*.yml")))
def test_no_task_searches_in_what_the_preflight_found(name: str) -> None:
    lines = (TASKS / name).read_text().splitlines()
    assert [line for line in lines if DECIDING.search(line)] == []
