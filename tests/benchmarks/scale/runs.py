# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One run of a playbook against a served cluster: its time, CPU, memory of its processes, requests and bytes."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import re
import signal
import threading
import time
import typing as t
from pathlib import Path

from tests.benchmarks.scale.served import Served, name_of
from tests.support.plays.ansible import Ansible, Run, extra, spent

PLAYBOOKS = ("plan", "rollout", "drift", "prune")
SHARE = "10%"
"""Of the nodes in a batch."""
WATCH_SECONDS = 0.5
NATIVE, FOLLOWERS = "native", "followers"
"""How the nodes get their configuration."""


@dataclasses.dataclass
class Point:
    """What is measured."""

    nodes: int
    variants: int
    canary: bool = False
    """Whether a batch of one node comes first."""
    way: str = NATIVE


@dataclasses.dataclass
class Figures:
    """A finished run. Memory is in MB: the main process, and the largest of the others."""

    playbook: str
    nodes: int
    variants: int
    wall: float
    cpu: float
    memory: float
    worker_memory: float
    server_cpu: float
    kinds: dict[str, dict[str, int]]
    way: str = NATIVE

    @property
    def requests(self) -> int:
        return sum(kind["requests"] for kind in self.kinds.values())

    @property
    def bytes(self) -> int:
        return sum(kind["bytes"] for kind in self.kinds.values())


class Memory(threading.Thread):
    """Watches the peak memory (VmHWM) of a process and of all its descendants, which share its session."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self.pid, self.peaks = pid, {pid: 0.0}
        self.ended = threading.Event()

    def run(self) -> None:
        while not self.ended.wait(WATCH_SECONDS):
            for entry in os.scandir("/proc"):
                if entry.name.isdigit():
                    with contextlib.suppress(OSError, IndexError):
                        self._look(int(entry.name))

    def _look(self, pid: int) -> None:
        # The process was started as the leader of a session.
        if os.getsid(pid) != self.pid:
            return
        found = re.search(r"^VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
        if found:
            self.peaks[pid] = max(self.peaks.get(pid, 0.0), int(found[1]) / 1024)

    def result(self) -> tuple[float, float]:
        """Return the peak of the main process, and of the largest other one, in MB."""
        self.ended.set()
        self.join()
        return self.peaks[self.pid], max((peak for pid, peak in self.peaks.items() if pid != self.pid), default=0.0)


class Timed(t.NamedTuple):
    """A finished run: its seconds and its seconds of CPU, with the start of Ansible, and its peak memory in MB."""

    wall: float
    cpu: float
    run: Run
    memory: float
    worker_memory: float


def timed(playing: Ansible, playbook: str, variables: t.Mapping[str, t.Any]) -> Timed:
    """Run a playbook. All its workers have ended and count with it. Raises AssertionError if it fails."""
    begun, before = time.monotonic(), spent()
    with playing.start(playbook, *extra(**variables)) as process:
        memory = Memory(process.pid)
        memory.start()
        try:
            output, _nothing = process.communicate()
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    wall, cpu = time.monotonic() - begun, spent() - before
    assert process.returncode == 0, output[-5000:]
    return Timed(wall, cpu, Run(process.returncode, output), *memory.result())


def ansible(home: Path, served: Served, point: Point) -> Ansible:
    """Return ansible-playbook with the served cluster. Node number N declares variant N modulo the variants."""
    first = 1000 + int(time.time()) % 100000
    hosts: dict[str, t.Any] = {
        name_of(number): {"kubelet_config_host": {"kubeAPIQPS": first + number % point.variants}}
        if point.variants > 1
        else {}
        for number in range(point.nodes)
    }
    made = Ansible.of_api(home / "home", served.url, {"all": {"hosts": hosts}}).as_installed()
    made.variables(all={"kubelet_config": {"kubeAPIQPS": first, "kubeAPIBurst": first}})
    return made


def measured(playing: Ansible, served: Served, point: Point, playbook: str) -> Figures:
    """Run a playbook. Raises AssertionError if it fails."""
    given = {
        "kubelet_config_max_unavailable": SHARE,
        "kubelet_config_serial": [1, SHARE] if point.canary else SHARE,
        "kubelet_config_soak_seconds": 0,
        "kubelet_config_wait_timeout": 900,
        "kubelet_config_drift": "report",
    }
    served.taken()
    took = timed(playing, playbook, given)
    found = served.taken()
    figures = (took.wall, took.cpu, took.memory, took.worker_memory, found["server_cpu"], found["kinds"])
    return Figures(playbook, point.nodes, point.variants, *figures, point.way)
