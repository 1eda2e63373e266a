# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the controller itself takes of a rollout, apart from what the nodes take, beside Ansible doing nothing on the
same hosts in the same batches.

    PYTHONPATH=<folder with ansible_collections>:. python -m tests.benchmarks.bench_rollout [--nodes 1000]

The nodes are simulated: each runs a new source a second after it saw it. The node time of a batch is from the moment at
which the first of its kubelets saw its source to the last report of them; what is left of the time of ansible-playbook,
from its start to its end, is the controller's.

The limit is for a machine on which Ansible takes BARE for a task that does nothing; a slower one has its share more,
measured in the same run, and MOST times the limit at most.
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import json
import re
import sys
import tempfile
import time
import typing as t
from pathlib import Path

from tests.lab.lab import Lab
from tests.support.ansible import Ansible, Run
from tests.support.simulated import Change, Simulated

PREFIX = "bench-"
SHARE = 10
"""Per cent of the nodes in a batch, and of those that may be unavailable."""
VARIABLES = {
    "kubelet_config_max_unavailable": f"{SHARE}%",
    "kubelet_config_serial": f"{SHARE}%",
    "kubelet_config_soak_seconds": 0,
}

LIMIT = 0.15
"""Seconds of the controller a node, in total."""
BARE = 0.03
"""Seconds that a task which does nothing may take without the limit being raised: two cores, Python 3.11 of Debian,
nobody else there.
"""
MOST = 1.5
"""So many times the limit is a failure on any machine."""
ATTEMPTS = 2
"""What others do on the machine can only make it slower, so that one measurement within the limit will do."""


@dataclasses.dataclass
class Measured:
    """Seconds of one rollout, of the bare play in the same batches, and of the rollout again."""

    wall: float
    batches: list[float]
    tasks: int
    rival: float
    unchanged: float

    @property
    def own(self) -> float:
        """What the controller itself took."""
        return self.wall - sum(self.batches)

    @property
    def bare(self) -> float:
        """What a task that does nothing took."""
        return self.rival / (self.tasks * len(self.batches))

    def limit(self, nodes: int) -> float:
        """What the controller may have taken here."""
        return LIMIT * nodes * min(max(1, self.bare / BARE), MOST)

    def table(self, nodes: int) -> str:
        """Return it for people."""
        verdict = "below" if self.own < self.limit(nodes) else "OVER"
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
            ("again, nothing to do", self.unchanged, ""),
        ]
        head = f"{nodes} nodes in {len(self.batches)} batches"
        lines = [f"{what:28} {value:8.2f} {value / nodes:9.3f}  {note}".rstrip() for what, value, note in rows]
        return "\n".join([f"{head:28} {'s':>8} {'s a node':>9}", *lines])


def node_times(changes: t.Sequence[Change], names: t.Sequence[str], size: int) -> list[float]:
    """Seconds that each batch of the nodes took. Raises AssertionError unless each node changed once, and each batch
    after the one before it.
    """
    seen, reported = ({change.node: getattr(change, moment) for change in changes} for moment in ("seen", "reported"))
    if sorted(change.node for change in changes) != sorted(names) or any(
        change.error or not change.restarted for change in changes
    ):
        raise AssertionError(f"{len(changes)} changes of {len(names)} nodes: {changes}")
    batches = [names[start : start + size] for start in range(0, len(names), size)]
    spans = [(min(seen[name] for name in batch), max(reported[name] for name in batch)) for batch in batches]
    if any(end > begin for (_begun, end), (begin, _end) in itertools.pairwise(spans)):
        raise AssertionError(f"batches overlap: {spans}")
    return [end - begin for begin, end in spans]


def timed(ansible: Ansible, playbook: str) -> tuple[float, Run]:
    """Seconds of a playbook, the start of Ansible included, and what it said."""
    begun = time.monotonic()
    run = ansible.playbook(playbook, "-e", json.dumps(VARIABLES))
    took = time.monotonic() - begun
    if run.code:
        raise AssertionError(run.output)
    return took, run


def tasks_a_batch(run: Run, name: str) -> int:
    """How many tasks the first host of a batch did for all of it, skipped ones too."""
    batches = run.output.partition("PLAY [Roll out")[2]
    return len(re.findall(rf"^(?:ok|changed|skipping): \[{name}\b", batches, re.MULTILINE))


def bare(home: Path, tasks: int) -> str:
    """Write a play that does nothing so many times a batch, in the batches of the rollout, and return its path."""
    nothing = {"name": "Nothing", "ansible.builtin.assert": {"that": True, "quiet": True}, "run_once": True}
    path = home / "bare.yml"
    path.write_text(
        json.dumps(
            [
                {
                    "hosts": "all",
                    "gather_facts": False,
                    "serial": VARIABLES["kubelet_config_serial"],
                    "tasks": [nothing] * tasks,
                }
            ]
        )
    )
    return str(path)


def measure(ansible: Ansible, fleet: Simulated, value: int) -> Measured:
    """Roll a value out that the nodes don't have yet, and measure that and what it is compared with."""
    ansible.variables(all={"kubelet_config": {"kubeAPIQPS": value}})
    fleet.changes.clear()
    wall, run = timed(ansible, "rollout")
    batches = node_times(fleet.changes, fleet.names, max(1, len(fleet.names) * SHARE // 100))
    tasks = tasks_a_batch(run, fleet.names[0])
    return Measured(wall, batches, tasks, timed(ansible, bare(ansible.home, tasks))[0], timed(ansible, "rollout")[0])


def main() -> int:
    """Measure, print, and fail when the limit is passed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--nodes", type=int, default=100)
    count = parser.parse_args().nodes
    lab = Lab.up(nodes=1)
    with tempfile.TemporaryDirectory() as home, Simulated(lab, count, prefix=PREFIX, delay=1.0) as fleet:
        hosts = Path(home) / "hosts.yml"
        hosts.write_text(json.dumps({"all": {"hosts": {name: {} for name in fleet.names}}}))
        ansible = Ansible(Path(home) / "home", lab.kubeconfig, hosts)
        # Another value each time: the sources are new ones also where an earlier run was cut off.
        first = 1000 + int(time.time()) % 100000
        for value in range(first, first + ATTEMPTS):
            measured = measure(ansible, fleet, value)
            print(measured.table(count))
            if measured.own < measured.limit(count):
                return 0
    return 1


if __name__ == "__main__":
    sys.exit(main())
