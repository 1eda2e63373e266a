# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One run of a tier: the quick gates, the lanes side by side, then the gates that run alone."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

from tools.gates import labs, process
from tools.gates.declaration import Tier
from tools.gates.outcome import Outcome, run_gate

LAB_PARTS = 1500
LAB_UP = 300
# Side by side; the labs of one row one after the other.
ROWS = (("lab",), ("lab_static", "lab_modern"), ("lab_guard", "lab_second"), ("lab_fleet", "lab_node_modern"))


class Run:
    """One run of the gates; each outcome is printed and kept as it comes."""

    def __init__(self, tier: Tier) -> None:
        self.tier = tier
        self.labs = labs.labs()
        self.outcomes: list[Outcome] = []
        self.deadline = time.monotonic() + tier.most

    def note(self, outcome: Outcome) -> Outcome:
        """Print and keep an outcome."""
        self.outcomes.append(outcome)
        process.emit(outcome.line())
        return outcome

    def left(self, limit: float) -> float:
        """Return the seconds that a step with this limit may take."""
        return min(limit, self.deadline - time.monotonic())

    def all(self) -> None:
        """Run the gates. Raises Interrupted."""
        quick = self.names("quick")
        with ThreadPoolExecutor(len(ROWS) + 3) as pool:
            parts = pool.submit(self.build)
            # The first one fills the environment that most gates share, at full speed: an idle one would delay all.
            for name in quick[:1]:
                self.run(name)
            slow = pool.submit(self.slow)
            for name in quick[1:]:
                self.run(name)
            parts.result()
            beside = pool.submit(self.beside)
            for lane in [*(pool.submit(self.row, names) for names in ROWS), beside, slow]:
                lane.result()
        for name in self.labs:
            self.lane(name, True)

    def names(self, lane: str, alone: bool = False) -> list[str]:
        """Return the gates of a lane: without those that run alone, or only these."""
        return [name for name, gate in self.tier.gates.items() if gate.lane == lane and gate.alone == alone]

    def run(self, name: str, environment: dict[str, str] | None = None, idle: bool = False) -> None:
        """Run one gate. Raises Interrupted."""
        limit = self.left(self.tier.gates[name].limits[self.tier.name])
        self.note(run_gate(name, limit, {"TIER": self.tier.name, **(environment or {})}, idle))

    def slow(self) -> None:
        """Run the gates that take long and block no other gate. Raises Interrupted."""
        for name in self.names("slow"):
            self.run(name, idle=True)

    def beside(self) -> None:
        """Run the gates that need no lab and take longer than a quick one. Raises Interrupted."""
        for name in self.names("beside"):
            self.run(name)

    def build(self) -> None:
        """Build the parts of the labs, which takes minutes the first time. Raises Interrupted."""
        if not any(gate.lane in self.labs for gate in self.tier.gates.values()) or labs.no_lab_here():
            return
        command = ["nice", *labs.LAB, "build"]
        status, seconds, log = process.run("lab parts", command, self.left(LAB_PARTS))
        if status == 0:
            self.note(Outcome("lab parts", "passed", seconds, passed=1))
            return
        process.show(log)
        reason = "not built in time" if status is None else f"exit status {status}"
        self.note(Outcome("lab parts", "failed", seconds, reason, failed=1, cases=process.last_lines(log)))
        for lab in self.labs.values():
            lab.trouble = "the parts of the labs could not be built"

    def row(self, lanes: tuple[str, ...]) -> None:
        """Run lanes one after the other, without the gates that run alone. Raises Interrupted."""
        for lane in lanes:
            self.lane(lane, False)

    def lane(self, lane: str, alone: bool) -> None:
        """Run the gates of a lab one after the other; take the lab down after its last gate. Raises Interrupted."""
        lab, names = self.labs[lane], self.names(lane, alone)
        if names and lab.trouble is None:
            lab.trouble = lab.obstacle()
            if not lab.trouble and self.note(lab.up(self.left(LAB_UP))).verdict == "failed":
                lab.trouble = f"the {lab.name} did not come up"
        for name in names:
            if not lab.trouble:
                self.run(name, lab.environment)
            elif lab.is_required():
                self.note(Outcome(name, "failed", 0, lab.trouble, failed=1))
            else:
                self.note(Outcome(name, "left out", 0, lab.trouble, skipped=1))
        if alone or not self.names(lane, True):
            self.close(lab)

    def close(self, lab: labs.Lab) -> None:
        """Take a lab down if this run brought it up."""
        closing = lab.down()
        if closing:
            self.note(closing)
