# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A trial leaves a state file that no kubelet of the node can read: the reverted kubelet gets the one from before."""

from __future__ import annotations

import json
import typing as t

import pytest

from tests.support.node_bench import STORE, Bench

STATE = "/var/lib/kubelet/cpu_manager_state"
ADDED = "/var/lib/kubelet/later_state"


@pytest.fixture
def bench(bench: Bench) -> t.Iterator[Bench]:
    """Yield node n1 with the guard; restore its state file afterwards."""
    bench.node.run(f"cp -p {STATE} {STATE}.saved")
    try:
        yield bench
    finally:
        bench.node.run(f"systemctl stop kubelet; mv {STATE}.saved {STATE}; rm -f {ADDED}", check=False)


def keep(bench: Bench) -> None:
    """Copy the state files before a switch, as the module does."""
    bench.python("""
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.store.kept_files import KeptFiles
KeptFiles("/var/lib/kubelet-config").save(Moment.now().boot_id, False)
""")


@pytest.mark.fault(case=12)
def test_a_reverted_kubelet_that_cannot_read_a_state_file_gets_the_former_one(bench: Bench) -> None:
    before = bench.node.run(f"cat {STATE}")
    assert json.loads(before)["policyName"] == "none"
    keep(bench)
    bench.assign({"maxPods": 50}, deadline=600)
    bench.wait(bench.healthy, 30, "healthz")
    bench.node.run(f"systemctl kill -s KILL kubelet; echo torn > {STATE}; echo new > {ADDED}")
    # A kubelet answers healthz for a moment before it reads the file.
    took = bench.wait(lambda: "none" in bench.node.run(f"cat {STATE}") and bench.healthy(), 120, "recovery", every=1)
    assert bench.active() == "store/local/config"
    ended = int(bench.node.run("systemctl show --property=NRestarts --value kubelet"))
    print(f"\nrecovery: {took:.1f} s, {ended} restarts")
    # The kubelet that was killed; once more on trial; twice after the revert.
    assert ended <= 5
    assert json.loads(bench.node.run(f"cat {STATE}"))["policyName"] == "none"
    assert bench.node.run(f"ls {ADDED} {STORE}/store/kept-files 2>/dev/null || true") == ""
    bench.wait(lambda: bench.status().get("reason") in ("state files restored", "recovered"), 30, "annotation")

    # Another change completes, and nothing is left of the restored files.
    keep(bench)
    source = bench.assign({"maxPods": 51}, deadline=3, confirm=60)
    bench.wait(bench.healthy, 30, "healthz")
    bench.confirm()
    bench.wait(lambda: source["uid"] in bench.node.run(f"cat {STORE}/store/meta/last-known-good"), 60, "graduation")
    bench.wait(lambda: bench.status().get("reason") == "passed its trial", 30, "annotation")
    status = bench.status()
    assert status["assigned"] == status["active"] == status["lastKnownGood"] and "error" not in status
    assert bench.configz()["maxPods"] == 51
    assert json.loads(bench.node.run(f"cat {STATE}"))["policyName"] == "none"
