# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A revert to a checkpoint on an ext4 file system that has no free block, no free inode, or neither.

ext4 keeps a symbolic link of up to 59 bytes in its inode. The link to a checkpoint whose resourceVersion has five
digits is longer and needs a free block.
"""

from __future__ import annotations

import time
import typing as t

import pytest

from tests.lab.lab import Lab
from tests.support import settled
from tests.support.node_bench import Bench
from tests.support.small_disk import SmallDisk

BAD = {"evictionHard": {"memory.available": "lots"}}
REVISION = "10001"


@pytest.fixture
def bench(static_lab: Lab) -> t.Iterator[tuple[Bench, SmallDisk]]:
    """A node with its store on a disk of its own; afterwards it is as it was before."""
    bench = Bench(static_lab, "n1")
    disk = SmallDisk(bench)
    bench.bring()
    disk.mount()
    try:
        bench.open()
        yield bench, disk
    finally:
        bench.node.run("systemctl stop livenodes-kubelet-guard.service; systemctl stop kubelet", check=False)
        disk.close()
        bench.close()


@pytest.mark.parametrize(
    "missing", [pytest.param("blocks", marks=pytest.mark.long), pytest.param("inodes", marks=pytest.mark.long), "both"]
)
@pytest.mark.fault(case=20)
def test_the_guard_reverts_to_a_checkpoint(bench: tuple[Bench, SmallDisk], missing: str) -> None:
    node, disk = bench
    good = node.assign({settled.FIELD: settled.NEW}, deadline=2, confirm=60, revision=REVISION)
    node.confirm()
    node.wait(lambda: not node.on_trial(), 60, "graduation")
    node.assign(BAD, restart=False, revision=REVISION)
    if missing in ("inodes", "both"):
        disk.fill_inodes()
    if missing in ("blocks", "both"):
        disk.fill()
    node.node.run("systemctl restart kubelet", check=False)
    took = node.wait(lambda: good["uid"] in node.active() and node.healthy(), 60, "revert")
    assert settled.qps(node) == settled.NEW
    invocation = node.node.invocation_id()
    time.sleep(12)
    assert node.node.invocation_id() == invocation, "the guard restarted a kubelet whose configuration had not changed"
    disk.heal()
    print(f"\nrevert without free {missing}: {took:.1f} s")
    settled.settled(node, settled.NEW, 90)
