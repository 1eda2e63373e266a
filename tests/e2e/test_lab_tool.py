# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lab itself: killed during its start, started again, removed completely. This is a second lab beside the one that
the tests use.
"""

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
from tests.lab.processes import wait_for
from tests.support.pods import Pods, Seen

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
        "members": sorted(_members()),
        "mounts": [line for line in Path("/proc/mounts").read_text().splitlines() if place in line],
        "interfaces": [line for line in shown("ip", "-o", "link") if BRIDGE in line],
        "namespaces": [line for line in shown("ip", "netns") if BRIDGE in line],
        "cgroups": [str(path) for path in Path("/sys/fs/cgroup").rglob(f"*{BRIDGE}*")],
        "sysctls": shown("sysctl", "vm.overcommit_memory", "kernel.panic", "kernel.panic_on_oops"),
    }


def _members(*containing: bytes) -> set[int]:
    """Return the processes in the cgroups of the lab's nodes whose command contains one of the texts.

    Processes of containers lack the lab's mark.
    """
    found = set()
    for path in Path("/proc").glob("[0-9]*/cgroup"):
        try:
            command = path.with_name("cmdline").read_bytes()
            # A zombie has no command.
            if (
                command
                and BRIDGE in path.read_text()
                and (not containing or any(text in command for text in containing))
            ):
                found.add(int(path.parent.name))
        except OSError:
            continue
    return found


def _of_pods() -> set[int]:
    return _members(b"containerd-shim", b"sleep\0inf", b"sleep inf")


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


# The collection has no part in it, and each test of pods removes its own.
@pytest.mark.long
def test_pods_leave_no_trace(other: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Containers and their shims end with a reboot, with a power cut and with the lab, even if their pods remain."""
    for name, value in other.items():
        monkeypatch.setenv(name, value)
    place = str(tmp_path / "lab")
    before = _traces(place)
    up = _lab(other, "up", "--nodes", "1")
    assert up.returncode == 0, up.stdout + up.stderr
    made = Lab.attach()
    node, pods = made.node("n1"), Pods(made)
    names = (pods.create("bound", "n1"), pods.static("fixed", "n1"))
    last = pods.wait_ready(*names)
    running = _of_pods()
    # Two pods, each with a sandbox, a container, a shim, and `sleep` under a shell.
    assert len(running) >= 6
    for cut in (node.reboot, lambda: (node.kill(), node.start())):
        begun = time.monotonic()
        cut()
        # systemd would wait 90 s for a container that ignores SIGTERM.
        assert time.monotonic() - begun < 45
        made.wait_ready()
        now = {name: _restarted(pods, name, last[name].restarts["main"]) for name in names}
        assert {name: now[name].uid for name in names} == {name: last[name].uid for name in names}
        assert not _of_pods() & running
        last, running = now, _of_pods()
        assert running
    node.kill()
    assert not _members()
    node.start()
    down = _lab(other, "down")
    assert down.returncode == 0, down.stderr
    assert _traces(place) == before
    assert not Path(place).exists()


def _restarted(pods: Pods, name: str, restarts: int) -> Seen:
    def again() -> bool:
        now = pods.see(name)
        return now is not None and now.ready and now.restarts["main"] > restarts

    wait_for(f"another start of {name}", again, 60)
    return pods.wait_ready(name)[name]
