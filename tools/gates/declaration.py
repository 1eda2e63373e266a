# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What noxfile.py declares about a gate and about the tiers."""

from __future__ import annotations

import dataclasses
import typing as t


@dataclasses.dataclass(frozen=True)
class Gate:
    """One gate: its lane, the seconds it may take by tier, and whether it runs alone, after all lanes."""

    name: str
    lane: str
    limits: t.Mapping[str, float]
    alone: bool = False


@dataclasses.dataclass(frozen=True)
class Tier:
    """One tier: its gates in their order, its hard limit in seconds, and the seconds it should take, if declared."""

    name: str
    gates: t.Mapping[str, Gate]
    most: float
    budget: float | None = None

    def only(self, names: t.Sequence[str]) -> Tier:
        """Return the tier with the named gates, all for an empty list. Raises SystemExit for unknown names."""
        unknown = [name for name in names if name not in self.gates]
        if unknown:
            tier = f"no such gate in the {self.name} tier: {', '.join(unknown)}"
            raise SystemExit(f"{tier}; its gates are {', '.join(self.gates)}")
        chosen = {name: self.gates[name] for name in names} if names else self.gates
        return dataclasses.replace(self, gates=chosen)


def declared(name: str, noxfile: t.Any) -> Tier:
    """Return a tier, `short` or `long`, as the module `noxfile` declares it in GATES, MOST and BUDGET."""
    gates = {gate.name: gate for gate in noxfile.GATES if name in gate.limits}
    return Tier(name, gates, noxfile.MOST[name], noxfile.BUDGET if name == "short" else None)
