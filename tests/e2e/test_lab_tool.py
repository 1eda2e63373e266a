# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lab itself, as a second one: killed during its start, started again, removed completely."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import typing as t
from pathlib import Path

import pytest

from tests.lab.lab import Lab

ROOT = Path(__file__).resolve().parents[2]
BRIDGE = "lnt-br0"


@pytest.fixture
def other(lab: Lab, tmp_path: Path) -> t.Iterator[dict[str, str]]:
    """Yield the environment of a second lab; always remove that lab."""
    environment = {
        **os.environ,
        "LIVENODES_LAB_DIR": str(tmp_path / "lab"),
        "LIVENODES_LAB_BRIDGE": BRIDGE,
        "LIVENODES_LAB_SUBNET": "10.219.0.0/24",
    }
    yield environment
    _lab(environment, "down")


def _lab(environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tests.lab", *arguments],
        cwd=ROOT,
        env=environment,
        text=True,
        capture_output=True,
        check=False,
        timeout=300,
    )


def _traces(place: str) -> dict[str, list[str]]:
    """Return everything of this lab that could be left on the machine."""

    def shown(*command: str) -> list[str]:
        return subprocess.run(command, text=True, capture_output=True, check=True).stdout.splitlines()

    mark = f"LIVENODES_LAB_DIR={place}".encode()
    processes = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            text = path.read_bytes() + path.with_name("environ").read_bytes()
        except OSError:
            continue
        if place.encode() in text.replace(mark, b""):
            processes.append(text[:200].decode(errors="replace"))
    return {
        "processes": processes,
        "members": _members(),
        "mounts": [line for line in Path("/proc/mounts").read_text().splitlines() if place in line],
        "interfaces": [line for line in shown("ip", "-o", "link") if BRIDGE in line],
        "namespaces": [line for line in shown("ip", "netns") if BRIDGE in line],
        "cgroups": [str(path) for path in Path("/sys/fs/cgroup").rglob(f"*{BRIDGE}*")],
        "sysctls": shown("sysctl", "vm.overcommit_memory", "kernel.panic", "kernel.panic_on_oops"),
    }


def _members() -> list[int]:
    """Return the processes in the cgroups of the lab's nodes: those of containers lack the lab's mark."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cgroup"):
        try:
            # A zombie has no command.
            if BRIDGE in path.read_text() and path.with_name("cmdline").read_bytes():
                found.append(int(path.parent.name))
        except OSError:
            continue
    return sorted(found)


def test_killed_up_again_down(other: dict[str, str], tmp_path: Path) -> None:
    """SIGKILL after two seconds; then a complete start; then a second start that changes nothing; then the removal."""
    place = str(tmp_path / "lab")
    before = _traces(place)
    with subprocess.Popen(
        [sys.executable, "-m", "tests.lab", "up", "--nodes", "1"],
        cwd=ROOT,
        env=other,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as first:
        time.sleep(2)
        first.send_signal(signal.SIGKILL)
    up = _lab(other, "up", "--nodes", "1")
    assert up.returncode == 0, up.stdout + up.stderr
    # The comparison at the end is meaningful: the traces exist now.
    assert _traces(place)["processes"] and _traces(place)["interfaces"] and _traces(place)["cgroups"]
    status = _lab(other, "status")
    assert (status.returncode, "10.219.0.11" in status.stdout) == (0, True)
    started = [
        line
        for line in _lab(other, "up", "--nodes", "1").stdout.splitlines()
        if "booting" in line or "starting" in line
    ]
    assert started == []
    down = _lab(other, "down")
    assert down.returncode == 0, down.stderr
    assert _traces(place) == before
    assert not Path(place).exists()
    assert _lab(other, "status").returncode == 3


def test_a_foreign_folder_is_not_changed(other: dict[str, str], tmp_path: Path) -> None:
    """A folder with other content is neither used for a lab nor removed."""
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "precious").write_text("keep")
    for command in (("up", "--nodes", "1"), ("down",)):
        refused = _lab({**other, "LIVENODES_LAB_DIR": str(folder)}, *command)
        assert refused.returncode != 0
        assert str(folder) in refused.stdout + refused.stderr
    assert (folder / "precious").read_text() == "keep"
