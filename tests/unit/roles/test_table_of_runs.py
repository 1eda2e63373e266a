# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What every node runs after any run that ended in any way, and any other run after it: tests/support/plays/runs.py.

With an HTTP server as API server, and a model of the nodes. tests/contract/test_runs.py has rows for real kubelets.
"""

from __future__ import annotations

import copy
import typing as t
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import annotation
from tests.sim.switched import SwitchedCluster, switched_ansible
from tests.support.api import objects
from tests.support.plays import runs
from tests.support.plays.ansible import Ansible

SHORT = {
    ("rollback", "paused", "run again"),
    ("reset", "window", "rolled back"),
    ("migrate", "killed", "reset"),
}
"""One of each run, and of each that follows, in the short tier. test_endings.py has the rollout that is killed."""


class Fleet(SwitchedCluster):
    """Three nodes with native delivery that run their own file. Also models the reset of a checkpoint."""

    def __init__(self) -> None:
        super().__init__(*runs.NAMES, native=runs.NAMES)
        for name in runs.NAMES:
            self.nodes[name] = objects.node(name, config={})
            self.live[name] = self.local

    def _step(self, name: str, module: str, given: dict[str, t.Any]) -> dict[str, t.Any]:
        done = super()._step(name, module, given)
        state = given.get("state")
        if module == "kubelet_checkpoint" and state == "reset":
            trial = {"name": "local"}
            return {**done, "restart_needed": True, "trial": trial, "reasons": []}
        if module == "kubelet_checkpoint" and state == "removed":
            source = self.nodes[name]["spec"].get("configSource")
            self.nodes[name]["metadata"]["annotations"].pop(annotation.STATUS, None)
            self.live[name] = self.content(source["configMap"]) if source else self.local
            self.births[name] = self.clock()
        return done


class Simulated:
    """The stage of a table, which returns to the state after a first run instead of running that again."""

    field = "maxPods"
    values: t.ClassVar[dict[str, t.Any]] = {"L": 110, "1": 90, "2": 80}

    def __init__(self, fleet: Fleet, ansible: Ansible) -> None:
        self.fleet, self.ansible = fleet, ansible
        self.begun: dict[tuple[str, ...], t.Any] = {(): self.state()}

    def state(self) -> t.Any:
        """Return what is kept: Leases have expired when the next run begins."""
        fleet = self.fleet
        parts = ({**fleet.nodes}, {**fleet.configmaps}, fleet.live, fleet.births, fleet.stored, fleet.BEFORE)
        return copy.deepcopy(parts)

    def restore(self, *key: str) -> bool:
        """Return to a state if it is known."""
        if key in self.begun:
            nodes, configmaps, live, births, stored, before = copy.deepcopy(self.begun[key])
            fleet = self.fleet
            for name, node in nodes.items():
                fleet.nodes[name] = node
            for name, configmap in configmaps.items():
                fleet.configmaps[name] = configmap
            fleet.live, fleet.births, fleet.stored, fleet.BEFORE = live, births, stored, before
        return key in self.begun

    def reach(self, row: runs.Row) -> None:
        """Reach the state after the first run of a row."""
        prepared, begun = ("1" if row.playbook == "rollout" else "2",), (row.playbook, row.ending)
        if not self.restore(*prepared):
            self.restore()
            runs.prepare(self, row.playbook)
            self.begun[prepared] = self.state()
        if not self.restore(*begun):
            runs.begin(self, row.playbook, row.ending)
            self.begun[begun] = self.state()

    def runs(self) -> list[t.Any]:
        """Return the live values."""
        return [self.fleet.runs()[name] for name in runs.NAMES]

    def fail(self, playbook: str) -> None:
        """In a rollout its kubelet refuses the value; otherwise it does not react."""
        if playbook == "rollout":
            self.fleet.BEFORE = self.fleet.nodes["n2"]["spec"]["configSource"]["configMap"]["name"]
            self.fleet.refusing = {"n2"}
        else:
            self.fleet.deaf = {"n2"}

    def heal(self) -> None:
        """Let n2 react, and Leases expire."""
        self.fleet.refusing = set()
        if self.fleet.deaf:
            self.fleet.wake("n2")
        self.fleet.claims.items.clear()

    def watch(self) -> t.Callable[[], bool]:
        """return what shows whether n2 was written."""
        self.fleet.assigned.clear()
        return lambda: "n2" in self.fleet.assigned


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> t.Iterator[Simulated]:
    """One fleet for all rows."""
    home: Path = tmp_path_factory.mktemp("runs")
    with Fleet() as fleet:
        yield Simulated(fleet, switched_ansible(home, fleet, kubelet_config_wait_timeout=3))


@pytest.mark.parametrize(
    "row",
    [pytest.param(row, id=str(row), marks=[] if row[:3] in SHORT else [pytest.mark.long]) for row in runs.rows()],
)
def test_what_every_node_runs(stage: Simulated, row: runs.Row) -> None:
    stage.reach(row)
    runs.check(stage, row)
