# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A problem of a configuration, as a row, and a rule that finds problems, with the versions that check it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Callable, Iterator, NamedTuple, Sequence, Tuple

from ..fields.effective_config import EffectiveConfig

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


Finding = Tuple[str, str, str]
"""Path, message, remedy."""

IC = "invalid configuration: "
"""The start of most messages of the kubelet."""

FIRST_READ, LAST_READ = 20, 36
"""The first and last minor whose validation.go was read for these rules."""


def quoted(words: Sequence[str], comma: bool = True) -> str:
    """Return words in quotes as the kubelet lists them, with a comma before the last one or without it."""
    *others, last = [f'"{word}"' for word in words]
    return f"{', '.join(others)}{',' if comma else ''} or {last}"


class Rule(NamedTuple):
    """A rule. Versions are Kubernetes minors (20 for 1.20), both ends inclusive."""

    name: str
    since: int
    """The first minor with the rule; 0 for a rule that is older than the first minor read."""
    until: int | None
    """The last minor with the rule; None if the newest minor read still has it."""
    find: Callable[[EffectiveConfig], Iterator[Finding]]
    gates: tuple[str, ...] = ()
    """The feature gates that decide about the rule."""
    sure: bool = True
    """False where distributions of Kubernetes differ."""

    def holds_at(self, minor: int) -> bool:
        """Return whether a kubelet of this minor has the rule, as far as known."""
        return self.since <= minor and (self.until is None or minor <= self.until)

    def is_certain(self, config: EffectiveConfig) -> bool:
        """Return whether the kubelet of this configuration certainly refuses what breaks the rule.

        A kubelet outside the minors read may have dropped the rule. AllAlpha and AllBeta may change the default of a
        gate that the configuration does not name.
        """
        return (
            self.sure
            and self.holds_at(config.minor)
            and FIRST_READ <= config.minor <= LAST_READ
            and all(config.knows_gate(gate) for gate in self.gates)
        )
