# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a change costs on a kubelet of one minor: its effect, the reason, and whether that is too much."""

from __future__ import annotations

from typing import Any, Container, Iterable, Iterator, Mapping

from ..fields import compare, fields, gates
from ..fields.field_row import DISRUPT, EFFECTS, FORBIDDEN, SAFE
from ..rules.problem import REFUSAL, Problem
from ..values import amounts, paths

_UNKNOWN = (DISRUPT, "this collection does not know the field, and the change needs a kubelet restart")

_ONE_WAY = {"lowering": -1, "raising": 1}
"""The words with which a part of a reason begins that holds for one direction only."""
_BESIDES = "the change needs a kubelet restart"

_FORWARD = "Declare the value that the node runs now, together with the others that you want, and run the rollout."
_KEEP = "Declare the live value, which keeps it in place of the node's own"


class Costs:
    """The costs of the changes from one configuration to another, on a kubelet of one minor."""

    def __init__(self, before: Mapping[str, Any], desired: Mapping[str, Any], minor: int) -> None:
        self._minor = minor
        self._before = paths.typed(before.get("featureGates"), dict)
        self._desired = paths.typed(desired.get("featureGates"), dict)

    def of(self, change: compare.Change) -> tuple[str, str]:
        """Return the effect of a change and its reason."""
        field = fields.owner(change.path)
        if field is None:
            return _UNKNOWN
        cost, keys = field.cost_at(self._minor), paths.parse(change.path)
        if field.path == "featureGates" and len(keys) == 2:
            cost = self._of_gate(str(keys[1])) or cost
        effect, reason = cost
        return effect, _of_direction(reason, _direction(change.before, change.after))

    def refusals(
        self, changes: Iterable[compare.Change], allow: str, own: Container[str] = (), back: bool = False
    ) -> Iterator[Problem]:
        """Yield a refusal for each change with an effect above `allow`. No layer declares the paths in `own`.

        `back`: they are the changes of a rollback or a reset, which no layer declares.
        """
        for change in changes:
            effect, reason = self.of(change)
            forbidden, accept = "Omit it from the configuration.", "Omit the field, or accept"
            if back:
                forbidden, accept = _FORWARD, "Accept"
            elif change.path in own:
                forbidden, accept = f"{_KEEP}.", f"{_KEEP}, or accept"
            if effect == FORBIDDEN:
                cause = f"this field must not be changed on a live node: {reason}"
                yield Problem(REFUSAL, change.path, cause, forbidden, "effect")
            elif EFFECTS.index(effect) > EFFECTS.index(allow):
                cause = f"the effect of the change is {effect}, above the allowed {allow}: {reason}"
                yield Problem(REFUSAL, change.path, cause, self.accept(effect, accept), "effect")

    @staticmethod
    def accept(effect: str, begin: str = "Accept") -> str:
        """Return the remedy for an effect above the allowed one."""
        return f"{begin} it with allow_effect={effect} (in roles: kubelet_config_allow_effect)."

    def _of_gate(self, name: str) -> tuple[str, str] | None:
        """Return what a change of a gate costs, None if it costs what the field featureGates costs.

        A gate that fields need costs what the strongest of these fields costs.
        """
        gate = gates.lookup(name)
        if gate is None or gate.at(self._minor) is None:
            return None
        if gate.enabled(self._minor, self._before) == gate.enabled(self._minor, self._desired):
            return SAFE, f"the gate stays {'on' if gate.enabled(self._minor, self._desired) else 'off'}"
        if not gate.kubelet:
            return SAFE, "the kubelet's own code does not use this gate"
        costs = []
        for path in gates.FIELDS_OF.get(name, ()):
            if fields.ALL[path].exists_at(self._minor):
                costs.append((path, *fields.ALL[path].cost_at(self._minor)))
        if not costs:
            return None
        path, effect, reason = max(costs, key=lambda cost: EFFECTS.index(cost[1]))
        return effect, f"as {path}, which needs the gate: {reason}"


def _of_direction(reason: str, direction: int) -> str:
    """Return the parts of a reason that hold for values that rise (1) or fall (-1), all of them for 0."""
    if not direction:
        return reason
    parts = [part for part in reason.split("; ") if _ONE_WAY.get(part.partition(" ")[0], direction) == direction]
    return "; ".join(parts) or _BESIDES


def _direction(before: Any, after: Any) -> int:
    """Return 1 if a value rises, -1 if it falls, 0 if that is not known, as for 0 and below, which mean no limit."""
    # Minutes and thousandths have one letter, and rise alike.
    for read in (_number, amounts.parse_quantity, amounts.parse_duration):
        try:
            first, second = read(before), read(after)
        except (ValueError, TypeError, AttributeError):
            continue
        if first <= 0 or second <= 0:
            return 0
        return (second > first) - (second < first)
    return 0


def _number(value: Any) -> Any:
    """Return a number. Raises TypeError for anything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError
    return value
