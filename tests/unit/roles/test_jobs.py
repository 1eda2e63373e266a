# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plan, rollout and rollback as jobs of AWX: answers of survey types, small artifacts.

tests/e2e_fleet/test_runner.py has jobs that are stopped, on real kubelets.
"""

from __future__ import annotations

import json
from pathlib import Path

from tests.sim.played import PlayedCluster, played_ansible
from tests.support.plays.runner import Controller, answers

NODES = ("n1", "n2")


def test_plan_then_rollout_then_rollback(tmp_path: Path) -> None:
    """Each job accepts the answers of a survey and leaves a short artifact for the next one."""
    given = answers(*NODES)
    with PlayedCluster(*NODES, "n3") as fleet:
        before = fleet.runs()
        controller = Controller(played_ansible(tmp_path, fleet, kubelet_config={"maxPods": 80}))
        plan = controller.launch("plan.yml", given)
        assert plan.code == 0, plan.output
        assert (plan.artifacts["kubelet_plan"]["to_change"], plan.artifacts["kubelet_plan"]["refusals"]) == (2, 0)
        assert len(json.dumps(plan.artifacts)) < 500, plan.artifacts
        assert fleet.assigned == set()

        # The next job of a workflow gets the artifacts as variables.
        rollout = controller.launch("rollout.yml", given, **plan.artifacts)
        assert rollout.code == 0, rollout.output
        assert rollout.artifacts["kubelet_rollout"] == {
            "group": "n1:n2",
            "changed": 2,
            "untouched": 0,
            "unchanged": 0,
            "failed": 0,
            "skipped": 0,
            "failures": {},
        }
        assert fleet.runs() == {**before, **dict.fromkeys(NODES, 80)}

        ways = {
            **given,
            "kubelet_config_variant": "",
            "kubelet_config_serial": ["1", "50%"],
            "kubelet_config_hosts": ":".join(NODES),
        }
        rollback = controller.launch("rollback.yml", ways, **plan.artifacts, **rollout.artifacts)
        assert rollback.code == 0, rollback.output
        assert (rollback.artifacts["kubelet_rollout"]["changed"], fleet.runs()) == (2, before)
