# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""State files are restored on a real file system that is full: tmpfs and ext4, without a free block or a free inode."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import typing as t
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.store import kept_files, statefiles
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.store.kept_files import KeptFiles

NAMES = ["cpu_manager_state", "memory_manager_state", "dra_manager_state", "allocated_pods_state"]
TOOLS = ("mkfs.ext4", "mount", "umount")

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or not all(map(shutil.which, TOOLS)), reason="mounting a file system needs root and mkfs.ext4"
)


@pytest.fixture(params=["tmpfs", "ext4"])
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> t.Iterator[Path]:
    """Return the root of a small file system."""
    place, image = tmp_path / "disk", tmp_path / "image"
    place.mkdir()
    if request.param == "tmpfs":
        command = ["mount", "-t", "tmpfs", "-o", "size=256k,nr_inodes=64", "tmpfs", str(place)]
    else:
        image.write_bytes(b"\0" * (1 << 20))
        subprocess.run(["mkfs.ext4", "-q", "-F", "-m", "0", "-N", "64", str(image)], check=True)
        command = ["mount", "-o", "loop", str(image), str(place)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"this machine cannot mount {request.param}: {done.stderr.strip()}")
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)


def fill(place: Path, what: str) -> None:
    """Leave no free block, or no free inode."""
    with contextlib.suppress(OSError):
        if what == "blocks":
            with open(place / "filler", "wb", buffering=0) as stream:
                while True:
                    stream.write(b"\0" * 512)
        number = 0
        while what == "inodes":
            (place / f"filler-{number}").touch(exist_ok=False)
            number += 1
    with pytest.raises(OSError, match="No space left"):
        (place / "one_more").write_bytes(b"1" * 8192)
    (place / "one_more").unlink(missing_ok=True)


@pytest.mark.parametrize("what", ["blocks", "inodes"])
@pytest.mark.parametrize("changed", NAMES)
@pytest.mark.parametrize("first", [True, False], ids=["policy", "ended twice"])
@pytest.mark.fault(case=11)
@pytest.mark.fault(case=69)
def test_restored_on_a_full_disk(tmp_path: Path, disk: Path, what: str, changed: str, first: bool) -> None:
    """`first`: at the first start after the revert, as the files of a policy; else after two ends."""
    for name in NAMES:
        (disk / name).write_text(f"{name} before" * 300)
    config = tmp_path / "config"
    for folder in ("guard", "store"):
        (config / folder).mkdir(parents=True)
    (config / "guard/settings.json").write_text(json.dumps({"argv": ["/usr/bin/kubelet", f"--root-dir={disk}"]}))
    record = KeptFiles(str(config))
    assert record.save("b1", False)
    taken = statefiles.take([str(disk / changed)])
    # As the kubelet on trial does: its own file is a new one.
    (disk / changed).unlink()
    (disk / changed).write_text("{}")
    fill(disk, what)
    if first:
        statefiles.restore(taken)
    else:
        kept = record.read()
        assert kept and kept_files.restore(kept, "b1") == [str(disk / changed)]
    assert {name: (disk / name).read_text() for name in NAMES} == {name: f"{name} before" * 300 for name in NAMES}
    record.remove()
    assert not list(disk.glob("*.livenodes-kubelet"))
