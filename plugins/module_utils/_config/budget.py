# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How many nodes of a group may be unavailable at once."""

from __future__ import annotations

import re
from typing import Any, Collection

_NUMBER = re.compile(r"([0-9]+) ?(%?)", re.ASCII)


def limit(wanted: Any, nodes: int) -> int:
    """Return how many of so many nodes may be unavailable, by a number or a percentage such as ``20%``.

    A percentage is rounded down, as Kubernetes does for maxUnavailable (``GetScaledValueFromIntOrPercent``), but to one
    node at least: none could never begin. Raises ValueError, worded for people, for none, for more than 100 % and for
    anything else.
    """
    found = None if isinstance(wanted, bool) else _NUMBER.fullmatch(str(wanted).strip())
    if found is None:
        raise ValueError(f"{wanted!r} is neither a number of nodes nor a percentage of them: give for example 2 or 20%")
    number, percent = int(found.group(1)), bool(found.group(2))
    if not number:
        raise ValueError(f"{str(wanted).strip()} would let no node be changed at all: give 1 or more")
    if percent and number > 100:
        raise ValueError(f"{str(wanted).strip()} is more than all nodes: give 100% at most")
    return max(1, nodes * number // 100) if percent else number


def left(allowed: int, unavailable: Collection[str], batch: Collection[str]) -> int:
    """Return how many nodes a batch may have now: what is allowed, less the unavailable nodes that are not in it; 0 at
    least.

    A node in the batch is under way whatever its state, so it counts once. The batch may begin when it has no more
    nodes than this.
    """
    return max(0, allowed - len(set(unavailable) - set(batch)))
