# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a change costs on a kubelet of one minor: its effect, the reason, and whether that is too much."""

from __future__ import annotations

from typing import Iterable, Iterator

from ..fields import compare, fields
from ..fields.field_row import DISRUPT, EFFECTS, FORBIDDEN
from ..rules.problem import REFUSAL, Problem

_UNKNOWN = (DISRUPT, "this collection does not know the field, and the change needs a kubelet restart")


def of(change: compare.Change, minor: int) -> tuple[str, str]:
    """Return the effect of a change and its reason."""
    field = fields.owner(change.path)
    return field.cost_at(minor) if field else _UNKNOWN


def refusals(changes: Iterable[compare.Change], minor: int, allow: str) -> Iterator[Problem]:
    """Yield a refusal for each change with an effect above `allow`."""
    for change in changes:
        effect, reason = of(change, minor)
        if effect == FORBIDDEN:
            yield Problem(
                REFUSAL,
                change.path,
                f"this field must not be changed on a live node: {reason}",
                "Omit it from the configuration.",
                "effect",
            )
        elif EFFECTS.index(effect) > EFFECTS.index(allow):
            yield Problem(
                REFUSAL,
                change.path,
                f"the effect of the change is {effect}, above the allowed {allow}: {reason}",
                f"Omit the field, or accept it with allow_effect={effect} (in roles: kubelet_config_allow_effect).",
                "effect",
            )
