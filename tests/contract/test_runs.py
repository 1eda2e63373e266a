# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What every node runs after a run that did not end well, and another one: rows of tests/support/plays/runs.py.

tests/unit/roles/test_table_of_runs.py has all rows, for a model of the nodes.
"""

from __future__ import annotations

import typing as t

import pytest

from tests.contract.clusters import NAMES, NODES, Contracted
from tests.support.plays import runs
from tests.support.plays.ansible import Ansible

LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
SHORT = ("rollout", "paused", "rolled back")
ROWS = {SHORT, ("rollback", "killed", "run again"), ("reset", "paused", "rolled back")}


class Played:
    """The stage of the table. Nothing fails here."""

    field = "eventBurst"
    values: t.ClassVar[dict[str, t.Any]] = {"L": 10, "1": 31, "2": 41}

    def __init__(self, cluster: Contracted, ansible: Ansible) -> None:
        self.cluster, self.ansible = cluster, ansible

    def runs(self) -> list[t.Any]:
        return [self.cluster.look(name).configz["eventBurst"] for name in NAMES]

    def fail(self, playbook: str) -> None:
        raise NotImplementedError

    def heal(self) -> None:
        """Let the Lease of a run that was killed expire."""
        for item in self.cluster.get(LEASES)["items"]:
            if item["metadata"]["name"].startswith("livenodes-"):
                self.cluster.call("DELETE", f"{LEASES}/{item['metadata']['name']}")

    def watch(self) -> t.Callable[[], bool]:
        """return what shows whether the source of n2 was changed."""
        before = self._source()
        return lambda: self._source() != before

    def _source(self) -> t.Any:
        return self.cluster.get(f"{NODES}/n2")["spec"].get("configSource")


@pytest.mark.parametrize(
    "row",
    [
        pytest.param(row, id=str(row), marks=pytest.mark.long_on_sim if row[:3] == SHORT else pytest.mark.long)
        for row in runs.rows()
        if row[:3] in ROWS
    ],
)
def test_what_every_node_runs(cluster: Contracted, ansible: Ansible, row: runs.Row) -> None:
    stage = Played(cluster, ansible)
    runs.prepare(stage, row.playbook)
    runs.begin(stage, row.playbook, row.ending)
    runs.check(stage, row)
