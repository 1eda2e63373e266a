# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run the gates that noxfile.py declares and report how each one ended.

Usage: python -m tools.gates [--long] [GATE ...]      without names: all gates of the tier

A failing gate does not stop the others. The quick gates run one after the other, while the parts of the labs are built
beside them. The gates that need a lab of tests/lab follow, in lanes side by side: they mostly wait for kubelets. The
gates that run alone start when all lanes are empty. The gates `beside` the labs have a lane of their own, and so have
the slow gates, at the lowest priority.

lab         the lab that LIVENODES_LAB_* names, three nodes whose kubelets have dynamic configuration
lab_static  the lab that LIVENODES_LAB2_DIR, LIVENODES_LAB2_BRIDGE and LIVENODES_LAB2_SUBNET name: two nodes whose
            kubelets read a file only
lab_fleet   the lab that LIVENODES_LAB3_DIR, LIVENODES_LAB3_BRIDGE and LIVENODES_LAB3_SUBNET name: seven nodes
lab_second  the lab that LIVENODES_LAB4_DIR, LIVENODES_LAB4_BRIDGE and LIVENODES_LAB4_SUBNET name: three nodes as in
            `lab`, brought up after lab_guard
lab_guard   the lab that LIVENODES_LAB5_DIR, LIVENODES_LAB5_BRIDGE and LIVENODES_LAB5_SUBNET name: two nodes as in
            lab_static
lab_modern  the lab that LIVENODES_LAB6_DIR, LIVENODES_LAB6_BRIDGE and LIVENODES_LAB6_SUBNET name: three nodes with
            later versions of Kubernetes, where their binaries are; see `Other versions` in tests/lab/README.md
lab_node_modern  the lab that LIVENODES_LAB7_DIR, LIVENODES_LAB7_BRIDGE and LIVENODES_LAB7_SUBNET name: two nodes as in
            lab_static, with one later version, where its binaries are

A lab is brought up before its first gate. It is taken down after its last gate if this run brought it up. Each gate has
a time limit; processes that it leaves running are ended with it.

LAB=require  leaving the lab gates out is a failure
LAB=skip     leave them out
LAB_KUBERNETES=require  leaving out a gate of lab_modern or lab_node_modern for lack of binaries is a failure; for that,
             LAB=require is not enough
(otherwise)  leave them out where no lab can run, and report why

Variables of the caller's shell that would change what a gate does are removed (tools/clean_environment.py).

The last line is `N passed, N failed`, perhaps followed by `, N skipped`: test cases where the runner counts them, else
one for the gate. The line before it compares the run with the budget of the short tier; to exceed the budget is no
failure. Exit status: 0 when nothing failed, 1 otherwise, 130 after an interrupt.
"""

from __future__ import annotations

import os
import signal
import sys
import time

from tools.clean_environment import clean
from tools.gates import process, records
from tools.gates.declaration import Tier, declared
from tools.gates.lanes import Run
from tools.gates.outcome import Outcome, summary


def main(tier: Tier) -> int:
    """Run the gates of a tier and print the summary; return the exit status."""
    process.REPORTS.mkdir(parents=True, exist_ok=True)
    # Also SIGINT: a shell starts its background jobs with that ignored, and the gates would inherit it.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_signal: process.INTERRUPTED.set())
    work, interrupted = Run(tier), False
    started = time.monotonic()
    if tier.name == "long":
        process.emit(records.table(tier.gates))
    try:
        work.all()
    except process.Interrupted:
        interrupted = True
        seconds, reason = time.monotonic() - started, "the gates after this did not run"
        work.outcomes.append(Outcome("(interrupted)", "failed", seconds, reason, failed=1))
    finally:
        # A second interrupt must not leave half a lab behind.
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
        process.INTERRUPTED.clear()
        for lab in work.labs.values():
            work.close(lab)
    if tier.name == "long":
        records.keep(work.outcomes, tier.gates)
        process.emit(records.table(tier.gates))
    process.emit(summary(work.outcomes, time.monotonic() - started, tier.budget))
    return 130 if interrupted else int(any(outcome.failed for outcome in work.outcomes))


if __name__ == "__main__":
    # Needs nox, which `main` does not.
    import noxfile

    clean(os.environ)
    words = sys.argv[1:]
    chosen = declared("long" if "--long" in words else "short", noxfile)
    sys.exit(main(chosen.only([word for word in words if word != "--long"])))
