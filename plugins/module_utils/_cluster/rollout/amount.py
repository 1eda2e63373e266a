# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A number of nodes, or a percentage of them, as variables state it."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

# No rollout needs more digits, and Python reads no number of thousands of them.
_FORM = re.compile(r"([0-9]{1,9}) ?(%?)", re.ASCII)


class Amount(NamedTuple):
    """A number of nodes, or a percentage."""

    number: int
    percent: bool

    def of(self, nodes: int) -> int:
        """Return how many of so many nodes it is.

        A percentage is rounded down, as Ansible does for `serial` and Kubernetes for maxUnavailable
        (`GetScaledValueFromIntOrPercent`), but to at least one node.
        """
        return max(1, nodes * self.number // 100) if self.percent else self.number


def parse(value: Any) -> Amount | None:
    """Return the amount that a value states, such as 2, "2" or "20%"; None for any other value."""
    found = _FORM.fullmatch(str(value).strip())
    return Amount(int(found.group(1)), bool(found.group(2))) if found else None
