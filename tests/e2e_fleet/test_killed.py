# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The controller of a rollout is killed before each of its steps; the tests of the role checkpoint cover its steps on
the node.
"""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
import yaml

from tests.support import boundaries
from tests.support.ansible import ROOT, Ansible
from tests.support.fleet import Fleet, changed

MIXED, NATIVE = ("n1", "n3"), ("n1", "n2")
ROLLOUT = Path("rollout")
GATE = "Gate | Check whether this batch may begin"
ASSIGN = "Assign the config sources of the batch"
WAIT = "Wait until the kubelets of the batch run what they should"
LEAVE = "Batch | Clean up"
FINISH = "Finish | Release the lease"
Steps = t.Iterable[int | str]
SETTINGS = {"kubelet_config_serial": "2", "kubelet_config_lease_seconds": "4", "kubelet_config_soak_seconds": "1"}


def of_the_node() -> set[str]:
    """Return the names of the steps of the role checkpoint."""
    files = [*(ROOT / "roles/checkpoint/tasks").glob("*.yml"), *(ROOT / "roles/checkpoint/handlers").glob("*.yml")]
    return {name for path in files for task in yaml.safe_load(path.read_text()) for name in _names(task)}


def _names(task: dict[str, object]) -> set[str]:
    parts: t.Any = [task.get(part, []) for part in ("block", "rescue", "always")]
    inner = [inner for part in parts for inner in part]
    return {str(task["name"])} | {name for each in inner for name in _names(each)}


class Controller:
    """Rolls out a value to some nodes."""

    def __init__(self, ansible: Ansible, nodes: tuple[str, ...], qps: int) -> None:
        self.ansible = ansible
        self.arguments = ("-e", f"kubelet_config_hosts={':'.join(nodes)}")
        ansible.variables(all={**SETTINGS, "kubelet_config": {"kubeAPIQPS": qps}})

    def killed(self, before_step: int | str) -> list[str]:
        """Run until a step (its name, or its number without those on the node) and kill it; return the steps so far."""
        begun: list[str] = []
        others = of_the_node()

        def reached() -> bool:
            return before_step in (len(begun), begun[-1])

        def before(_count: int, name: str) -> bool:
            if name in others:
                return True
            begun.append(name)
            return not reached()

        done = boundaries.steps(self.ansible, ROLLOUT, before, *self.arguments)
        assert done.code == (-9 if reached() else 0), done.output
        return begun

    def completes(self) -> None:
        """Run again, to the end."""
        again = self.ansible.playbook("rollout", *self.arguments)
        assert again.code == 0, again.output


@pytest.mark.parametrize(
    ("early", "late"),
    [
        pytest.param((ASSIGN,), (WAIT, FINISH), id="some steps"),
        pytest.param(range(1, 100), range(1, 100), id="each step", marks=pytest.mark.long),
    ],
)
@pytest.mark.fault(case=17)
def test_killed_before_a_step(fleet: Fleet, ansible: Ansible, early: Steps, late: Steps) -> None:
    """A second run completes the rollout, the dead run's lease expires soon, no kubelet restarts twice for one value.

    Up to the assignment each run is killed one step later than the previous one and changes no node. After that each
    step has its own value, on nodes whose switch Ansible does not do.
    """
    started = fleet.look()
    # Different from the values of earlier tests.
    new = max(glance.qps for glance in started.values()) + 1
    controller = Controller(ansible, MIXED, new)
    for step in early:
        reached = controller.killed(step)
        assert step in (len(reached), reached[-1]), reached
        if reached[-1] == ASSIGN:
            break
    assert changed(started, fleet.look()) == set()
    assert len(reached) > 15 and reached[-1] == ASSIGN and GATE in reached, reached
    controller.completes()
    after = fleet.look()
    assert changed(started, after) == set(MIXED) and {after[name].qps for name in MIXED} == {new}
    assert fleet.leases() == []

    first = len(reached) + 1
    for turn, late_step in enumerate(late):
        step = late_step if isinstance(late_step, str) else late_step + first - 1
        before = fleet.look()
        value = new + 1 + turn
        controller = Controller(ansible, NATIVE, value)
        reached = controller.killed(step)
        if step not in (len(reached), reached[-1]):
            assert isinstance(step, int), reached
            break
        between = fleet.look()
        controller.completes()
        after = fleet.look()
        for name in NATIVE:
            assert after[name].qps == value, reached[-1]
            assert (before[name].invocation != between[name].invocation) + (
                between[name].invocation != after[name].invocation
            ) == 1, (reached[-1], name)
        assert changed(before, after) == set(NATIVE), reached[-1]
    assert {LEAVE, FINISH} <= set(reached), reached
