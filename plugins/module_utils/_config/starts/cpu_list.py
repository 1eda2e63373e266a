# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lists of CPUs such as ``0-3,8``, read as k8s.io/utils/cpuset does, without counting their members one by one."""

from __future__ import annotations

import re
from typing import NamedTuple

_RANGE = re.compile(r"\+?([0-9]+)(?:-\+?([0-9]+))?", re.ASCII)


class Range(NamedTuple):
    """CPUs by their numbers, both ends inclusive. A range whose first number is above its last one is empty."""

    first: int
    last: int


def parse(text: str) -> list[Range]:
    """Return the ranges of a list, as written. Raises ValueError for what is no list of CPUs."""
    found = []
    for word in text.split(","):
        numbers = _RANGE.fullmatch(word)
        if numbers is None:
            raise ValueError(f'"{text}" is not a CPU list')
        first, last = numbers.groups()
        found.append(Range(int(first), int(last or first)))
    return found


def count(ranges: list[Range]) -> int:
    """Return the number of different CPUs."""
    total, end = 0, -1
    for one in sorted(ranges):
        total += max(0, one.last - max(one.first - 1, end))
        end = max(end, one.last)
    return total
