# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Random changes on real nodes, with random kills of the kubelet, the guard, the controller and the node.

Each round changes two nodes at once. The long tier has 50 rounds, so 100 changes, and prints its figures as JSON.
"""

from __future__ import annotations

import json
import random
import statistics
import threading
import time
import typing as t

import pytest

from tests.support.lab import settled
from tests.support.lab_node.node_bench import Bench
from tests.support.lab_node.role_bench import Role
from tests.support.plays import boundaries
from tests.support.plays.ansible import Run

CONFIRM_SECONDS = 60
# The switch, two more starts of a kubelet that dies, the revert, the restart by the role, and an event.
MOST_STARTS = 6
# It passes every check before the switch. The kubelet ends, because the port is that of sshd.
DEADLY = {"readOnlyPort": 22}
GUARD = "systemctl kill -s KILL livenodes-kubelet-guard.service"
KUBELET = "systemctl kill -s KILL kubelet"
REBOOT = "node rebooted"
OK, FAILED, UNREACHABLE, KILLED = "ok", "failed", "unreachable", "killed"
"""What a run reports of a node; a controller that was killed reports nothing."""
EVENTS: dict[str, t.Callable[[Bench], object]] = {
    "nothing": lambda _bench: None,
    "kubelet killed": lambda bench: bench.node.run(KUBELET, check=False),
    "guard killed": lambda bench: bench.node.run(GUARD, check=False),
    REBOOT: lambda bench: bench.node.reboot(),
}


class Change:
    """One change of one node: what is assigned, what happens meanwhile, and how it ended."""

    def __init__(self, role: Role, name: str, dice: random.Random, value: int) -> None:
        self.bench = role.benches[name]
        self.before, self.value = value, settled.NEW if value == settled.OLD else settled.OLD
        self.deadly = dice.random() < 0.25
        self.event = dice.choice(list(EVENTS))
        self.delay = dice.uniform(0, 12)
        self.source = self.bench.source()
        self.config = {
            **self.bench.local(),
            settled.FIELD: self.value,
            **(DEADLY if self.deadly else {}),
        }
        self.seconds = 0.0
        self.starts = 0
        self.verdict = ""

    def __str__(self) -> str:
        kind = "deadly" if self.deadly else "good"
        return f"{self.bench.node.name}: {kind}, {self.event} after {self.delay:.0f} s"

    def happen(self) -> None:
        time.sleep(self.delay)
        EVENTS[self.event](self.bench)

    def reported(self, run: Run, now: int) -> None:
        """Assert that the run reports of this node what it ended with: `now` is the value that it runs."""
        name = self.bench.node.name
        self.verdict = KILLED if run.code == -9 else verdict(run, name)
        what = f"{self}, reported as {self.verdict}, runs {now}: {run.output}"
        if self.verdict == OK:
            assert now == self.value and not self.deadly, what
        elif self.verdict != KILLED and self.event != REBOOT:
            # Where the node is rebooted, the answer of a confirmation may be lost.
            assert self.verdict == FAILED and now == self.before, what
            assert f"Node {name} was reverted to its previous configuration: " in run.output, what
        assert self.verdict in (OK, KILLED) or self.deadly or self.event != "nothing", what

    def settle(self, begun: float) -> int:
        """Wait until the node runs what it must run; return that value."""
        taken = not self.deadly and settled.confirmed(self.bench, self.source)
        expected = self.value if taken else self.before
        settled.settled(self.bench, expected, CONFIRM_SECONDS + 60)
        self.seconds = time.time() - begun
        self.starts = self.bench.node.journal(1000, "kubelet", begun).count("Started kubelet.service")
        return expected


# With this seed each event happens once, to one deadly configuration and three good ones.
@pytest.mark.parametrize(
    ("rounds", "seed"), [pytest.param(2, 2094, id="each event"), pytest.param(50, 1, id="100", marks=pytest.mark.long)]
)
@pytest.mark.fault(case=28)
def test_random_changes(both: Role, rounds: int, seed: int) -> None:
    dice = random.Random(seed)
    values = dict.fromkeys(both.benches, settled.OLD)
    done: list[Change] = []
    killed = 0
    for number in range(rounds):
        changes = {name: Change(both, name, dice, values[name]) for name in both.benches}
        step = dice.choice(range(3, 10)) if dice.random() < 0.3 else boundaries.LAST
        begun = time.time()
        path = both.write(
            {name: (change.source, change.config) for name, change in changes.items()},
            kubelet_config_confirm_seconds=CONFIRM_SECONDS,
            kubelet_config_trial_seconds=5,
        )
        events = [threading.Thread(target=change.happen) for change in changes.values()]
        for event in events:
            event.start()
        run = boundaries.steps(both.ansible, path, lambda count, _name, step=step: count < step)
        for event in events:
            event.join()
        killed += run.code == -9
        for name, change in changes.items():
            values[name] = change.settle(begun)
            done.append(change)
            change.reported(run, values[name])
            print(
                f"\n{number:3} {change}, controller exit {run.code}, reported {change.verdict}: "
                f"{settled.FIELD} {values[name]} in {change.seconds:.0f} s, {change.starts} starts"
            )
            assert change.starts <= MOST_STARTS, run.output
    print(json.dumps(figures(done, killed), indent=2))
    assert {change.deadly for change in done} == {True, False} or rounds < 10


def verdict(run: Run, name: str) -> str:
    recap = run.recap(name)
    return UNREACHABLE if recap.get("unreachable") else FAILED if recap["failed"] else OK


def figures(done: t.Sequence[Change], killed: int) -> dict[str, t.Any]:
    seconds = [change.seconds for change in done]
    return {
        "changes": len(done),
        "deadly": sum(change.deadly for change in done),
        "controllers killed": killed,
        **{f"reported {each}": sum(change.verdict == each for change in done) for each in (OK, FAILED, UNREACHABLE)},
        **{event: sum(change.event == event for change in done) for event in EVENTS},
        "seconds until settled": {"median": round(statistics.median(seconds)), "most": round(max(seconds))},
        "starts of a kubelet": {"all": sum(change.starts for change in done), "most": max(c.starts for c in done)},
    }
