# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A separate real file system for the store of a lab node: small enough to be filled, and it can be made read-only."""

from __future__ import annotations

import contextlib

from tests.lab.console import LabError, run
from tests.support.lab_node.node_bench import STORE, Bench

# /run of a node allows no devices.
DEVICE = "/dev/livenodes-test"
MEGABYTES = 8


class SmallDisk:
    """ext4 on a loop device of this machine, mounted in the node. Always call `close`."""

    def __init__(self, bench: Bench) -> None:
        self.node = bench.node
        self.image = self.node.folder / "small-disk"
        self.device = ""

    def mount(self) -> None:
        self.image.write_bytes(b"")
        run("truncate", f"--size={MEGABYTES}M", self.image)
        # No blocks reserved for root, for whom a full disk would otherwise still have space.
        run("mkfs.ext4", "-q", "-F", "-m", "0", "-b", "1024", "-N", "512", self.image)
        self.device = run("losetup", "--show", "--find", self.image).stdout.strip()
        number = self.device.removeprefix("/dev/loop")
        self.node.run(
            f"rm -f {DEVICE}; mknod {DEVICE} b 7 {number} && mkdir -p {STORE} && "
            f"mount {DEVICE} {STORE} && rmdir {STORE}/lost+found"
        )

    def fill(self) -> None:
        """Fill the disk to the last block."""
        self.node.run(
            f"mountpoint -q {STORE} && dd if=/dev/zero of={STORE}/filler bs=1k count={MEGABYTES}k", check=False
        )
        free = self.node.run(f"df --output=avail {STORE} | tail -1; mountpoint {STORE}").split()
        assert free[0] == "0" and f"{STORE} is a mountpoint" in " ".join(free), free

    def read_only(self) -> None:
        """Remount it read-only, as a kernel does with a damaged file system.

        Unlike a kernel, mount must wait for a moment in which the guard has no file open for writing, such as its lock.
        """
        remount = f"mount -o remount,ro {STORE}"
        self.node.run(f"for i in $(seq 100); do {remount} 2>/dev/null && exit 0; sleep 0.1; done; {remount}")

    def heal(self) -> None:
        self.node.run(f"mount -o remount,rw {STORE} && rm -f {STORE}/filler")

    def close(self) -> None:
        """Unmount and remove it; the folder below is unchanged."""
        with contextlib.suppress(LabError):
            self.node.run(f"mountpoint -q {STORE} && umount {STORE}; rm -f {DEVICE}", check=False)
        if self.device:
            run("losetup", "--detach", self.device, check=False)
            self.device = ""
        self.image.unlink(missing_ok=True)
