# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One run of a tier: the quick gates, the lanes side by side, then the gates that run alone."""

from __future__ import annotations

import time
import typing as t
from concurrent.futures import ThreadPoolExecutor

from tools.gates import declared, labs, process
from tools.gates.gate import MOST, Gate
from tools.gates.outcome import Outcome, run_gate, run_step

LAB_PARTS = 1500
LAB_UP = 300


class Run:
    """One run of gates, given by name; each outcome is printed and kept as it comes."""

    def __init__(self, tier: str, gates: t.Mapping[str, Gate]) -> None:
        self.tier = tier
        self.gates = gates
        self.labs = declared.labs()
        self.outcomes: list[Outcome] = []
        self.deadline = time.monotonic() + MOST[tier]

    def all(self) -> None:
        """Run the gates. Raises Interrupted."""
        quick = self.names("quick")
        with ThreadPoolExecutor(len(declared.ROWS) + 3) as pool:
            parts = pool.submit(self.build)
            # The first one fills the environment that most gates share, at full speed: an idle one would delay all.
            self.run(quick[:1])
            slow = pool.submit(self.run, self.names("slow"), idle=True)
            self.run(quick[1:])
            parts.result()
            beside = pool.submit(self.run, self.names("beside"))
            rows = [pool.submit(self.row, lanes) for lanes in declared.ROWS]
            for running in [*rows, beside, slow]:
                running.result()
        for lane in self.labs:
            self.lane(lane, alone=True)

    def names(self, lane: str, alone: bool = False) -> list[str]:
        """Return the gates of a lane: without those that run alone, or only these."""
        return [name for name, gate in self.gates.items() if gate.lane == lane and gate.alone == alone]

    def run(self, names: t.Iterable[str], environment: t.Mapping[str, str] | None = None, idle: bool = False) -> None:
        """Run gates one after the other, `idle` ones at the lowest priority. Raises Interrupted."""
        for name in names:
            limit = self.left(self.gates[name].limits[self.tier])
            self.note(run_gate(name, limit, {"TIER": self.tier, **(environment or {})}, idle))

    def left(self, limit: float) -> float:
        """Return the seconds that a step with this limit may take."""
        return min(limit, self.deadline - time.monotonic())

    def note(self, outcome: Outcome) -> Outcome:
        """Print and keep an outcome."""
        self.outcomes.append(outcome)
        process.emit(outcome.line())
        return outcome

    def build(self) -> None:
        """Build the parts of the labs, which takes minutes the first time. Raises Interrupted."""
        if not any(gate.lane in self.labs for gate in self.gates.values()) or labs.no_lab_here():
            return
        command = ["nice", *labs.LAB, "build"]
        if self.note(run_step("lab parts", command, self.left(LAB_PARTS))).failed:
            for lab in self.labs.values():
                lab.trouble = "the parts of the labs could not be built"

    def row(self, lanes: tuple[str, ...]) -> None:
        """Run lanes one after the other, without the gates that run alone. Raises Interrupted."""
        for lane in lanes:
            self.lane(lane, alone=False)

    def lane(self, lane: str, alone: bool) -> None:
        """Run the gates of a lab one after the other; take the lab down after its last gate. Raises Interrupted."""
        lab, names = self.labs[lane], self.names(lane, alone)
        if names and lab.trouble is None:
            lab.trouble = lab.obstacle()
            if not lab.trouble and self.note(lab.up(self.left(LAB_UP))).failed:
                lab.trouble = f"the {lab.name} did not come up"
        if not lab.trouble:
            self.run(names, lab.environment())
        elif lab.is_required():
            for name in names:
                self.note(Outcome(name, "failed", 0, lab.trouble, failed=1))
        else:
            for name in names:
                self.note(Outcome(name, "left out", 0, lab.trouble, skipped=1))
        if alone or not self.names(lane, alone=True):
            self.close(lab)

    def close(self, lab: labs.Lab) -> None:
        """Take a lab down if this run brought it up."""
        closing = lab.down()
        if closing:
            self.note(closing)
