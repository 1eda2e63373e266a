# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run the gates of declared.py and report how each one ended.

Usage: python -m tools.gates [--long] [GATE ...]      without names: all gates of the tier

A failing gate does not stop the others. The quick gates run one after the other, and beside them, also one after the
other, the gates `single`, which use one processor. Meanwhile the parts of the labs are built. The gates that need a lab
of tests/lab follow, in lanes side by side: they mostly wait for kubelets. The gates that run alone start when all lanes
are empty. The gates `beside` the labs have a lane of their own, and so have the slow gates, at the lowest priority.

The labs of the lanes are in declared.py. LIVENODES_LAB_DIR, LIVENODES_LAB_BRIDGE and LIVENODES_LAB_SUBNET name the lab
of the lane `lab`; LIVENODES_LABn_DIR and so on name the lab with the number n. Those of lab_modern and lab_node_modern
have other versions of Kubernetes, where their binaries are; see `Other versions` in tests/lab/README.md.

A lab is brought up before its first gate. It is taken down after its last gate if this run brought it up. Each gate has
a time limit; processes that it leaves running are ended with it.

LAB=require  leaving the lab gates out is a failure
LAB=skip     leave them out
LAB_KUBERNETES=require  leaving out a gate of lab_modern or lab_node_modern for lack of binaries is a failure; for that,
             LAB=require is not enough
(otherwise)  leave them out where no lab can run, and report why

Variables of the caller's shell that would change what a gate does are removed (tools/collection_tree.py).

The last line is `N passed, N failed`, perhaps followed by `, N skipped`: test cases where the runner counts them, else
one for the gate. The line before it compares the run with the budget of the short tier; to exceed the budget is no
failure. Exit status: 0 when nothing failed, 1 otherwise, 130 after an interrupt.
"""

from __future__ import annotations

import os
import signal
import sys
import time
import typing as t
from concurrent.futures import ThreadPoolExecutor

from tools.collection_tree import clean
from tools.gates import declared, labs, records, steps
from tools.gates.gate import BUDGET, MOST, Gate
from tools.gates.steps import Outcome

LAB_PARTS = 1500
LAB_UP = 300
STOPPING = (signal.SIGINT, signal.SIGTERM)


def main(tier: str, gates: t.Mapping[str, Gate]) -> int:
    """Run these gates of a tier and print the summary; return the exit status."""
    steps.REPORTS.mkdir(parents=True, exist_ok=True)
    # Also SIGINT: a shell starts its background jobs with that ignored, and the gates would inherit it.
    for number in STOPPING:
        signal.signal(number, lambda *_signal: steps.INTERRUPTED.set())
    work, interrupted = Run(tier, gates), False
    started = time.monotonic()
    if tier == "long":
        steps.emit(records.table(gates))
    try:
        work.all()
    except steps.Interrupted:
        interrupted = True
        seconds, reason = time.monotonic() - started, "the gates after this did not run"
        work.outcomes.append(Outcome("(interrupted)", "failed", seconds, reason, failed=1))
    finally:
        # A second interrupt must not leave half a lab behind.
        for number in STOPPING:
            signal.signal(number, signal.SIG_IGN)
        steps.INTERRUPTED.clear()
        for lab in work.labs.values():
            work.close(lab)
    budget = BUDGET if tier == "short" else None
    if tier == "long":
        records.keep(work.outcomes, gates)
        steps.emit(records.table(gates))
    steps.emit(steps.summary(work.outcomes, time.monotonic() - started, budget))
    return 130 if interrupted else int(any(outcome.failed for outcome in work.outcomes))


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
        with ThreadPoolExecutor(len(declared.ROWS) + 4) as pool:
            parts = pool.submit(self.build)
            # The first one fills the environment that most gates share, at full speed: an idle one would delay all.
            self.run(quick[:1])
            slow = pool.submit(self.run, self.names("slow"), idle=True)
            single = pool.submit(self.run, self.names("single"))
            self.run(quick[1:])
            single.result()
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

    def build(self) -> None:
        """Build the parts of the labs, which takes minutes the first time. Raises Interrupted."""
        lanes = {gate.lane for gate in self.gates.values()}
        if lanes.isdisjoint(self.labs) or labs.no_lab_here():
            return
        command = ["nice", *labs.LAB, "build"]
        if self.note(steps.run_step("lab parts", command, self.left(LAB_PARTS))).failed:
            for lab in self.labs.values():
                lab.trouble = "the parts of the labs could not be built"

    def run(self, names: t.Iterable[str], environment: t.Mapping[str, str] | None = None, idle: bool = False) -> None:
        """Run gates one after the other, `idle` ones at the lowest priority. Raises Interrupted."""
        for name in names:
            limit = self.left(self.gates[name].limits[self.tier])
            self.note(steps.run_gate(name, limit, {"TIER": self.tier, **(environment or {})}, idle))

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

    def left(self, limit: float) -> float:
        """Return the seconds that a step with this limit may take."""
        return min(limit, self.deadline - time.monotonic())

    def note(self, outcome: Outcome) -> Outcome:
        """Print and keep an outcome."""
        self.outcomes.append(outcome)
        steps.emit(outcome.line())
        return outcome


if __name__ == "__main__":
    clean(os.environ)
    asked, words = "short", sys.argv[1:]
    if "--long" in words:
        asked = "long"
        words.remove("--long")
    sys.exit(main(asked, declared.chosen(asked, words)))
