# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The store on a real file system that becomes full or read-only, at any step of the role or during a revert."""

from __future__ import annotations

import time
import typing as t
from pathlib import Path

import pytest

from tests.lab.lab import Lab
from tests.support.lab import settled
from tests.support.lab.small_disk import SmallDisk
from tests.support.lab_node.node_bench import STORE, Bench
from tests.support.lab_node.role_bench import AFTER, Role
from tests.support.plays import boundaries

FULL, READ_ONLY = "n1", "n2"
CAUSES = {FULL: "No space left on device", READ_ONLY: "Read-only file system"}
# The deadline of an unconfirmed trial; plays that do confirm must finish within it on a busy machine, too.
LEAST_SECONDS, TIMES = 12, 1.5
LOCAL = "store/local/config"
BAD = {"evictionHard": {"memory.available": "lots"}}
# The deadline of a trial whose disk becomes read-only before it, also on a busy machine.
DEADLINE = 12.0
# ext4 keeps a symbolic link of up to 59 bytes in its inode. The link to a checkpoint with a resourceVersion of five
# digits is longer and needs a free block.
LONG_REVISION = "10001"


class Place:
    """Both nodes with the store on a separate disk."""

    def __init__(self, role: Role) -> None:
        self.role = role
        self.benches = role.benches
        self.disks = {name: SmallDisk(bench) for name, bench in role.benches.items()}

    def open(self) -> None:
        for disk in self.disks.values():
            disk.mount()

    def close(self) -> None:
        for name, bench in self.benches.items():
            bench.node.run("systemctl stop livenodes-kubelet-guard.service; systemctl stop kubelet", check=False)
            self.disks[name].close()
            bench.close()

    def harm(self) -> None:
        self.disks[FULL].fill()
        self.disks[READ_ONLY].read_only()

    def heal(self) -> None:
        for disk in self.disks.values():
            disk.heal()


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


def message(output: str, name: str) -> str:
    """Return the last message of a failed node, empty for other nodes."""
    return next((line for line in reversed(output.splitlines()) if line.startswith(f"fatal: [{name}]: FAILED!")), "")


# Before the call that stages and switches, before the restart, before the confirmation. Minutes each: the two tests of
# the guard below are in the short tier.
@pytest.mark.long
@boundaries.some_or_each(1, 4)
@pytest.mark.fault(case=20)
def test_from_a_step_on(place: Place, numbers: t.Iterable[int]) -> None:
    role, seen = place.role, list[str]()
    failed = dict.fromkeys(place.benches, 0)
    confirm = 60.0
    for number in numbers:
        place.open()
        configs = {
            name: (bench.source(), {**bench.local(), settled.FIELD: settled.NEW})
            for name, bench in place.benches.items()
        }
        done = len(seen)

        def before(count: int, name: str, number: int = number, done: int = done) -> bool:
            if len(seen) == done and (count == number or name == AFTER):
                seen.append(name)
                place.harm()
            return True

        begun = time.monotonic()
        run = boundaries.steps(
            role.ansible,
            role.write(configs, kubelet_config_confirm_seconds=int(confirm), kubelet_config_trial_seconds=2),
            before,
        )
        ran = time.monotonic()
        assert len(seen) == done + 1 < 30, seen
        taken = {name: settled.confirmed(bench, configs[name][0]) for name, bench in place.benches.items()}
        for name, bench in place.benches.items():
            last = message(run.output, name)
            failed[name] += bool(last)
            assert bool(last) != taken[name], run.output
            assert not last or (CAUSES[name] in last and STORE in last), last
            bench.wait(
                lambda bench=bench: bench.healthy() and settled.qps(bench) in (settled.OLD, settled.NEW),
                30,
                "kubelet that is well",
            )
            settled.whole(bench)
        settled.runs(place.benches[FULL], settled.NEW if taken[FULL] else settled.OLD, confirm + 20)
        place.heal()
        healed = time.monotonic()
        for name, bench in place.benches.items():
            settled.settled(bench, settled.NEW if taken[name] else settled.OLD, confirm + 20)
        well = time.monotonic()
        again = role.ansible.playbook(str(role.write(configs, kubelet_config_trial_seconds=2)))
        assert again.code == 0, again.output
        confirm = max(LEAST_SECONDS, TIMES * (time.monotonic() - well))
        for bench in place.benches.values():
            assert settled.qps(bench) == settled.NEW
        print(
            f"\n{number:4} {seen[-1]}: {ran - begun:.1f} s, "
            f"disk healed {healed - ran:.1f} s later, kubelet healthy {well - healed:.1f} s after that, "
            f"again {time.monotonic() - well:.1f} s"
        )
        place.close()
        if seen[-1] == AFTER:
            break
    assert min(failed.values()) >= min(4, len(seen) - 2), failed


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


@pytest.mark.long
@pytest.mark.parametrize("missing", ["blocks", "inodes", "both"])
@pytest.mark.fault(case=20)
def test_the_guard_reverts_to_a_checkpoint(place: Place, missing: str) -> None:
    """Without a free block, a free inode, or either."""
    bench, disk = place.benches[FULL], place.disks[FULL]
    disk.mount()
    bench.open()
    good = bench.assign({settled.FIELD: settled.NEW}, deadline=2, confirm=60, revision=LONG_REVISION)
    bench.confirm()
    bench.wait(lambda: not bench.on_trial(), 60, "graduation")
    bench.assign(BAD, restart=False, revision=LONG_REVISION)
    if missing in ("inodes", "both"):
        disk.fill_inodes()
    if missing in ("blocks", "both"):
        disk.fill()
    bench.node.run("systemctl restart kubelet", check=False)
    took = bench.wait(lambda: good["uid"] in bench.active() and bench.healthy(), 60, "revert")
    assert settled.qps(bench) == settled.NEW
    stays(bench)
    disk.heal()
    print(f"\nrevert without free {missing}: {took:.1f} s")
    settled.settled(bench, settled.NEW, 90)
