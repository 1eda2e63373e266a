# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A problem of a configuration, as a row."""

from __future__ import annotations

from dataclasses import asdict, dataclass

REFUSAL = "refusal"
"""Nothing may be written: the kubelet would ignore the value or crash."""
WARNING = "warning"
"""The kubelet may reject or overrides the value, or the value can only be checked on the host."""


@dataclass(frozen=True)
class Problem:
    """A finding. ``message`` is the cause, if possible the kubelet's own message; ``remedy`` is what to do."""

    severity: str
    path: str
    message: str
    remedy: str
    rule: str
    """A stable identifier of the rule, for filtering."""
    value: str = ""
    """The value that breaks a rule of the kubelet's validation, on one line; otherwise empty."""

    def row(self) -> dict[str, str]:
        """Return the problem as a plain mapping, without an empty ``value``."""
        return {key: text for key, text in asdict(self).items() if text or key != "value"}
