# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every ending of a batch: a verdict, no lease, no cordon, and each node's source annotation names what it runs.

The playbook rollout with the real roles, an HTTP server as API server, and a model of the nodes.
"""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest

from tests.support.switched_cluster import SwitchedCluster, switched_ansible


@pytest.fixture
def fleet() -> t.Iterator[SwitchedCluster]:
    """Two nodes with checkpoint delivery."""
    with SwitchedCluster("n1", "n2") as made:
        yield made


# A switch makes this many calls on a node. The last one confirms.
CALLS = 4


def test_a_switch_makes_this_many_calls(tmp_path: Path, fleet: SwitchedCluster) -> None:
    run = switched_ansible(tmp_path, fleet, kubelet_config_drain="always").playbook("rollout")
    assert run.code == 0, run.output
    assert [len(steps) for steps in fleet.steps.values()] == [CALLS, CALLS], fleet.steps
    assert {name: live["maxPods"] for name, live in fleet.live.items()} == {"n1": 80, "n2": 80}
    assert fleet.marked("n1") == fleet.marked("n2") != fleet.BEFORE
    assert (fleet.cordoned(), fleet.claims.items) == (set(), {})


def some_or_each(*some: int) -> pytest.MarkDecorator:
    """Parametrise a test with some numbers of calls in the short tier, and with all in the long tier."""
    marks = [() if number in some else (pytest.mark.long,) for number in range(CALLS)]
    return pytest.mark.parametrize("calls", [pytest.param(number, marks=mark) for number, mark in enumerate(marks)])


@some_or_each(2)
def test_the_last_host_of_a_batch_is_lost(tmp_path: Path, fleet: SwitchedCluster, calls: int) -> None:
    """After any of its calls: every canary is the last host of its batch."""
    fleet.lost_after = {"n1": calls}
    run = switched_ansible(tmp_path, fleet, kubelet_config_drain="always").playbook("rollout")
    assert run.code != 0
    assert "Node n1: " in run.output and "cannot be reached" in run.output, run.output
    assert "Untouched hosts: n2" in run.output, run.output
    assert (fleet.cordoned(), fleet.claims.items) == (set(), {}), run.output
    assert fleet.live["n1"]["maxPods"] == 90 and fleet.honest("n1"), run.output
    assert fleet.steps["n2"] == ["kubelet_preflight_info"], "only the role drift has inspected it"


@some_or_each(1, 2)
def test_one_host_of_a_batch_is_lost(tmp_path: Path, fleet: SwitchedCluster, calls: int) -> None:
    """The other host of the batch is verified and confirmed."""
    fleet.lost_after = {"n1": calls}
    run = switched_ansible(tmp_path, fleet).playbook("rollout", "-e", "kubelet_config_serial=2")
    assert run.code != 0
    assert "Node n1: " in run.output and "cannot be reached" in run.output, run.output
    assert fleet.live["n1"]["maxPods"] == 90 and fleet.honest("n1"), run.output
    assert fleet.steps["n2"][-1] == "kubelet_checkpoint confirmed" and fleet.live["n2"]["maxPods"] == 80, run.output
    assert fleet.claims.items == {}
