# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run the gates of declared.py and report how each one ended.

Usage: python -m tools.gates [--long] [GATE ...]      without names: all gates of the tier

A failing gate does not stop the others. The quick gates run one after the other, while the parts of the labs are built
beside them. The gates that need a lab of tests/lab follow, in lanes side by side: they mostly wait for kubelets. The
gates that run alone start when all lanes are empty. The gates `beside` the labs have a lane of their own, and so have
the slow gates, at the lowest priority.

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

from tools.collection_tree import clean
from tools.gates import process, records
from tools.gates.declared import chosen
from tools.gates.gate import BUDGET, Gate
from tools.gates.lanes import Run
from tools.gates.outcome import Outcome, summary

STOPPING = (signal.SIGINT, signal.SIGTERM)


def main(tier: str, gates: t.Mapping[str, Gate]) -> int:
    """Run these gates of a tier and print the summary; return the exit status."""
    process.REPORTS.mkdir(parents=True, exist_ok=True)
    # Also SIGINT: a shell starts its background jobs with that ignored, and the gates would inherit it.
    for number in STOPPING:
        signal.signal(number, lambda *_signal: process.INTERRUPTED.set())
    work, interrupted = Run(tier, gates), False
    started = time.monotonic()
    if tier == "long":
        process.emit(records.table(gates))
    try:
        work.all()
    except process.Interrupted:
        interrupted = True
        seconds, reason = time.monotonic() - started, "the gates after this did not run"
        work.outcomes.append(Outcome("(interrupted)", "failed", seconds, reason, failed=1))
    finally:
        # A second interrupt must not leave half a lab behind.
        for number in STOPPING:
            signal.signal(number, signal.SIG_IGN)
        process.INTERRUPTED.clear()
        for lab in work.labs.values():
            work.close(lab)
    if tier == "long":
        records.keep(work.outcomes, gates)
        process.emit(records.table(gates))
    budget = BUDGET if tier == "short" else None
    process.emit(summary(work.outcomes, time.monotonic() - started, budget))
    return 130 if interrupted else int(any(outcome.failed for outcome in work.outcomes))


if __name__ == "__main__":
    clean(os.environ)
    words = sys.argv[1:]
    asked_tier = "long" if "--long" in words else "short"
    sys.exit(main(asked_tier, chosen(asked_tier, [word for word in words if word != "--long"])))
