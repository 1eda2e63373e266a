# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the controller itself takes of a rollout, apart from what the nodes take, beside Ansible doing nothing on the same hosts in the same batches.

    PYTHONPATH=<folder with ansible_collections>:. python -m tests.benchmarks.bench_rollout [--nodes 1000]

The nodes are simulated: each runs a new source a second after it saw it. The node time of a batch is from the moment at which the first of its kubelets
saw its source to the last report of them; what is left of the time of ansible-playbook, from its start to its end, is the controller's.
"""
from __future__ import annotations

import argparse
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
VARIABLES = {"kubelet_config_max_unavailable": f"{SHARE}%", "kubelet_config_serial": f"{SHARE}%", "kubelet_config_soak_seconds": 0}

LIMIT = 0.15
"""Seconds of the controller a node, in total."""
NOISE = 1.5
"""The table says OVER from the limit on; so many times the limit is a failure, on a machine that others may be using."""


def node_times(changes: t.Sequence[Change], names: t.Sequence[str], size: int) -> list[float]:
    """Seconds that each batch of the nodes took. Raises AssertionError unless each node changed once, and each batch after the one before it."""
    seen, reported = ({change.node: getattr(change, moment) for change in changes} for moment in ("seen", "reported"))
    if sorted(change.node for change in changes) != sorted(names) or any(change.error or not change.restarted for change in changes):
        raise AssertionError(f"{len(changes)} changes of {len(names)} nodes: {changes}")
    batches = [names[start:start + size] for start in range(0, len(names), size)]
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
    path.write_text(json.dumps([{"hosts": "all", "gather_facts": False, "serial": VARIABLES["kubelet_config_serial"], "tasks": [nothing] * tasks}]))
    return str(path)


def main() -> int:
    """Measure, print, and fail when the limit is passed by more than noise explains."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--nodes", type=int, default=100)
    count = parser.parse_args().nodes
    lab = Lab.up(nodes=1)
    with tempfile.TemporaryDirectory() as home, Simulated(lab, count, prefix=PREFIX, delay=1.0) as fleet:
        hosts = Path(home) / "hosts.yml"
        hosts.write_text(json.dumps({"all": {"hosts": {name: {} for name in fleet.names}}}))
        ansible = Ansible(Path(home) / "home", lab.kubeconfig, hosts)
        # As another value each time, the sources are new ones also where an earlier run was cut off.
        ansible.variables(all={"kubelet_config": {"kubeAPIQPS": 1000 + int(time.time()) % 100000}})
        wall, run = timed(ansible, "rollout")
        nodes = node_times(fleet.changes, fleet.names, max(1, count * SHARE // 100))
        tasks = tasks_a_batch(run, fleet.names[0])
        rival, _run = timed(ansible, bare(Path(home), tasks))
        unchanged, _run = timed(ansible, "rollout")
    own = wall - sum(nodes)
    limit = f"below {LIMIT:.3f}" if own / count < LIMIT else f"OVER {LIMIT:.3f}"
    print(f"{count} nodes in {len(nodes)} batches{'':6}{'s':>8} {'s a node':>9}")
    for what, value, note in (
            ("ansible-playbook", wall, ""), ("node time", sum(nodes), f"{min(nodes):.2f} to {max(nodes):.2f} s a batch"),
            ("the controller's own", own, limit), (f"bare play, tasks a batch: {tasks}", rival, f"the controller takes {own / rival:.2f} times that"),
            ("again, nothing to do", unchanged, "")):
        print(f"{what:28} {value:8.2f} {value / count:9.3f}  {note}".rstrip())
    return 0 if own / count < LIMIT * NOISE else 1


if __name__ == "__main__":
    sys.exit(main())
