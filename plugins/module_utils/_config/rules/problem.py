# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is wrong with a configuration, as one row."""

from __future__ import annotations

from dataclasses import asdict, dataclass

REFUSAL = "refusal"
"""Nothing may be written: the kubelet would ignore the value or die of it."""
WARNING = "warning"
"""The kubelet is expected to reject or override this by itself, or it cannot be judged without the host."""


@dataclass(frozen=True)
class Problem:
    """One finding. ``message`` says the cause, where possible in the kubelet's own words; ``remedy`` what to do."""

    severity: str
    path: str
    message: str
    remedy: str
    rule: str
    """A stable identifier of the rule, for filtering."""

    def row(self) -> dict[str, str]:
        """Return the problem as a plain mapping."""
        return asdict(self)
