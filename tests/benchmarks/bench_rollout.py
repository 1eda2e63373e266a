# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Measure the controller's share of a rollout, without the nodes' time, against a play that does nothing on the same
hosts in the same batches: its time, its CPU time with that of all its workers, and its memory.

    PYTHONPATH=<folder with ansible_collections>:. python -m tests.benchmarks.bench_rollout [--nodes 1000]

API server and nodes are simulated in a process of their own: each node runs a new source one second after it saw it.
The node time of a batch starts when the first of its kubelets sees its source, and ends with the last kubelet's report.
The controller's time is the rest of the time from the start of ansible-playbook to its end.

What fails the benchmark is a ratio: the controller's own time and CPU time against those of the bare play, measured in
the same run. On a busy machine both take longer. The table also shows the time a node, with a limit for a machine on
which Ansible takes BARE for a task that does nothing. On a slower one it is proportionally higher, up to MOST times.

The memory is the peak of ansible-playbook's main process above that of the bare play, which has the same inventory.
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import re
import sys
import tempfile
import typing as t
from pathlib import Path

from tests.benchmarks.scale.runs import Point, ansible, timed
from tests.benchmarks.scale.served import Served, name_of
from tests.support.plays.ansible import Ansible, Run, playbook_of

SHARE = 10
"""Per cent of the nodes in a batch, and of the nodes that may be unavailable."""
VARIABLES = {
    "kubelet_config_max_unavailable": f"{SHARE}%",
    "kubelet_config_serial": f"{SHARE}%",
    "kubelet_config_soak_seconds": 0,
}

LIMIT_RATIO = 5.0
"""The controller's time and CPU time, as multiples of those of the bare play, for fewer than MANY nodes."""
LIMIT = 0.15
"""Total seconds of the controller per node, as a guide."""
LIMIT_CPU = {1000: 0.04, 5000: 0.05}
"""Seconds of CPU of the controller per node, for so many nodes or more. Fewer nodes do not share the start of Ansible
enough."""
LIMIT_MEMORY = 60.0
"""KB of the controller per node. It includes the code that Ansible loads, so it applies from MANY nodes on."""
MANY = 1000
BARE = 0.03
"""Seconds of a task that does nothing, up to which the limit is not raised: two idle cores, Debian's Python 3.11."""
MOST = 1.5
"""The limits of a slow machine are at most this multiple of those of a fast one."""
ATTEMPTS = 2
"""Other programs can only slow the machine down, so one measurement within the limit is enough."""


@dataclasses.dataclass
class Measured:
    """The seconds of a rollout, of the bare play in the same batches, and of a repeated rollout."""

    wall: float
    cpu: float
    """Seconds of CPU of ansible-playbook and its workers, the bare play's included."""
    batches: list[float]
    tasks: int
    rival: float
    rival_cpu: float
    unchanged: float
    memory: float
    """MB of the rollout above those of the bare play."""

    @property
    def own(self) -> float:
        return self.wall - sum(self.batches)

    @property
    def bare(self) -> float:
        return self.rival / (self.tasks * len(self.batches))

    @property
    def slow(self) -> float:
        """Return how many times as high the limits are on this machine."""
        return min(max(1, self.bare / BARE), MOST)

    def limit(self, nodes: int) -> float:
        """Return the limit of the seconds of the controller on this machine."""
        return LIMIT * nodes * self.slow

    def limit_cpu(self, nodes: int) -> float:
        """Return the limit of its seconds of CPU on this machine; infinity for few nodes."""
        limits = [limit for many, limit in LIMIT_CPU.items() if nodes >= many]
        return max(limits, default=float("inf")) * nodes * self.slow

    def table(self, nodes: int) -> str:
        verdict = "below" if self.own < self.limit(nodes) else "OVER"
        most = self.limit_cpu(nodes) / nodes
        cpu = f"{'below' if self.cpu < most * nodes else 'OVER'} {most:.3f}; " if nodes >= MANY else ""
        rows = [
            ("ansible-playbook", self.wall, ""),
            ("node time", sum(self.batches), f"{min(self.batches):.2f} to {max(self.batches):.2f} s a batch"),
            (
                "the controller's own",
                self.own,
                f"{verdict} {self.limit(nodes) / nodes:.3f}; {self.own / self.rival:.2f} times the bare play",
            ),
            (
                "bare play in these batches",
                self.rival,
                f"{self.bare * 1000:.0f} ms for each of {self.tasks} tasks a batch",
            ),
            ("CPU", self.cpu, f"{cpu}{self.cpu / self.rival_cpu:.2f} times the bare play"),
            ("CPU of the bare play", self.rival_cpu, ""),
            ("again, nothing to do", self.unchanged, ""),
        ]
        head = f"{nodes} nodes in {len(self.batches)} batches"
        kept = self.memory / nodes * 1024
        note = f"{'below' if kept < LIMIT_MEMORY else 'OVER'} {LIMIT_MEMORY:.0f}" if nodes >= MANY else ""
        lines = [f"{what:28} {value:8.2f} {value / nodes:9.3f}  {note}".rstrip() for what, value, note in rows]
        memory = f"{'memory':28} {self.memory:8.0f} {kept:9.1f}  MB and KB a node above the bare play; {note}".rstrip(
            "; "
        )
        return "\n".join([f"{head:28} {'s':>8} {'s a node':>9}", *lines, memory])

    def within(self, nodes: int) -> bool:
        """Return whether the rollout is within all limits."""
        if nodes < MANY:
            return self.own < LIMIT_RATIO * self.rival and self.cpu < LIMIT_RATIO * self.rival_cpu
        memory = self.memory / nodes * 1024 < LIMIT_MEMORY
        return self.own < self.limit(nodes) and self.cpu < self.limit_cpu(nodes) and memory


def node_times(changes: t.Sequence[dict[str, t.Any]], names: t.Sequence[str], size: int) -> list[float]:
    """Return the seconds of each batch. Raises AssertionError unless each node changed once, in the batches' order."""
    seen, reported = ({change["node"]: change[moment] for change in changes} for moment in ("seen", "reported"))
    if sorted(change["node"] for change in changes) != sorted(names) or not all(change["good"] for change in changes):
        raise AssertionError(f"{len(changes)} changes of {len(names)} nodes: {changes}")
    batches = [names[start : start + size] for start in range(0, len(names), size)]
    spans = [(min(seen[name] for name in batch), max(reported[name] for name in batch)) for batch in batches]
    if any(end > begin for (_begun, end), (begin, _end) in itertools.pairwise(spans)):
        raise AssertionError(f"batches overlap: {spans}")
    return [end - begin for begin, end in spans]


def tasks_a_batch(run: Run, name: str) -> int:
    """Return how many tasks the first host of a batch ran for the whole batch, including skipped ones."""
    batches = run.output.partition("PLAY [First stage")[2]
    return len(re.findall(rf"^(?:ok|changed|skipping): \[{name}\b", batches, re.MULTILINE))


def bare(home: Path, tasks: int) -> str:
    nothing = {"name": "Nothing", "ansible.builtin.assert": {"that": True, "quiet": True}, "run_once": True}
    return playbook_of(home, {"serial": VARIABLES["kubelet_config_serial"], "tasks": [nothing] * tasks})


def measure(playing: Ansible, served: Served, names: t.Sequence[str], value: int) -> Measured:
    """Roll out a value that the nodes do not have yet; measure the rollout and the play to compare it with."""
    playing.variables(all={"kubelet_config": {"kubeAPIQPS": value}})
    served.taken()
    rollout = timed(playing, "rollout", VARIABLES)
    batches = node_times(served.taken()["changes"], names, max(1, len(names) * SHARE // 100))
    tasks = tasks_a_batch(rollout.run, names[0])
    rival = timed(playing, bare(playing.home, tasks), VARIABLES)
    again = timed(playing, "rollout", VARIABLES)
    return Measured(
        rollout.wall, rollout.cpu, batches, tasks, rival.wall, rival.cpu, again.wall, rollout.memory - rival.memory
    )


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--nodes", type=int, default=100)
    count = parser.parse_args().nodes
    names = [name_of(number) for number in range(count)]
    with tempfile.TemporaryDirectory() as home, Served(count) as served:
        playing = ansible(Path(home), served, Point(count, 1))
        for value in range(1, ATTEMPTS + 1):
            measured = measure(playing, served, names, value)
            print(measured.table(count))
            if measured.within(count):
                return 0
    return 1


if __name__ == "__main__":
    sys.exit(main())
