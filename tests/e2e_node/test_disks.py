# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The store on a real file system that becomes full or read-only, before a revert."""

from __future__ import annotations

import time
import typing as t
from pathlib import Path

import pytest

from tests.lab.lab import Lab
from tests.support.lab import settled
from tests.support.lab.small_disk import SmallDisk
from tests.support.lab_node.node_bench import Bench
from tests.support.lab_node.role_bench import Role

FULL, READ_ONLY = "n1", "n2"
LOCAL = "store/local/config"
BAD = {"evictionHard": {"memory.available": "lots"}}
# The deadline of a trial whose disk becomes read-only before it, also on a busy machine.
DEADLINE = 12.0


class Place:
    """Both nodes with the store on a separate disk."""

    def __init__(self, role: Role) -> None:
        self.benches = role.benches
        self.disks = {name: SmallDisk(bench) for name, bench in role.benches.items()}

    def close(self) -> None:
        for name, bench in self.benches.items():
            bench.node.run("systemctl stop livenodes-kubelet-guard.service; systemctl stop kubelet", check=False)
            self.disks[name].close()
            bench.close()


@pytest.fixture
def place(static_lab: Lab, tmp_path: Path) -> t.Iterator[Place]:
    """Yield both nodes; restore them afterwards."""
    place = Place(Role(static_lab, tmp_path, FULL, READ_ONLY))
    for bench in place.benches.values():
        bench.bring()
    try:
        yield place
    finally:
        place.close()


def stays(bench: Bench) -> None:
    """Assert that a guard that cannot record its revert does not repeat it."""
    invocation = bench.node.invocation_id()
    time.sleep(12)
    assert bench.node.invocation_id() == invocation, "the guard restarted a kubelet whose configuration had not changed"


@pytest.mark.fault(case=20)
def test_the_guard_reverts_on_a_full_disk(place: Place) -> None:
    """The guard cannot record the reason then; in the end it reports a missing confirmation."""
    bench, disk = place.benches[FULL], place.disks[FULL]
    disk.mount()
    bench.open()
    bench.assign(BAD, restart=False)
    disk.fill()
    bench.node.run("systemctl restart kubelet", check=False)
    took = bench.wait(lambda: bench.active() == LOCAL and bench.healthy(), 60, "revert")
    stays(bench)
    disk.heal()
    # A report that could not be sent or recorded is repeated after a minute at most (LONGEST_PAUSE of the guard).
    reported = bench.wait(lambda: bench.status().get("error"), 120, "annotation", every=1)
    print(f"\nrecovery on a full disk: {took:.1f} s, reported {reported:.1f} s after the recovery")
    settled.settled(bench, settled.OLD, 30)


@pytest.mark.parametrize("changes", [{settled.FIELD: settled.NEW}, pytest.param(BAD, marks=pytest.mark.long)])
@pytest.mark.fault(case=20)
def test_the_guard_reverts_once_a_read_only_disk_is_writable(place: Place, changes: dict[str, t.Any]) -> None:
    bench, disk = place.benches[READ_ONLY], place.disks[READ_ONLY]
    disk.mount()
    bench.open()
    bench.assign(changes, deadline=DEADLINE, restart=False)
    armed = time.monotonic()
    disk.read_only()
    bench.node.run("systemctl restart kubelet", check=False)
    time.sleep(max(0.0, armed + DEADLINE + 4 - time.monotonic()))
    if changes != BAD:
        # No confirmation arrived; the kubelet keeps this configuration because there is no other.
        assert bench.healthy() and settled.qps(bench) == settled.NEW
    assert bench.active() != LOCAL
    disk.heal()
    took = settled.settled(bench, settled.OLD, 60)
    print(f"\nrecovery {took:.1f} s after the disk was writable again")
