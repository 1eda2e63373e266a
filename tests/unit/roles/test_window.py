# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A rollout whose next batch would end after its window pauses, as by the ConfigMap, and the next run completes it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from tests.sim.switched import SwitchedCluster, switched_ansible
from tests.support.plays.ansible import extra

PLAYBOOKS = Path(__file__).resolve().parents[3] / "playbooks"
NAMES = ("n1", "n2", "n3", "n4")
# The guards of the first batch would wait so many seconds; the second one soaks longer than the window lasts.
QUICK = {"kubelet_config_confirm_seconds": 1, "kubelet_config_serial": "1", "kubelet_config_wait_timeout": 6}


def options(minutes: int, soak: int = 0) -> tuple[str, ...]:
    soaks = {"kubelet_config_canary_soak_seconds": 0, "kubelet_config_soak_seconds": soak}
    return extra(**QUICK, **soaks, kubelet_config_window_minutes=minutes)


def test_a_batch_that_would_end_too_late_does_not_begin(tmp_path: Path) -> None:
    with SwitchedCluster(*NAMES, native=NAMES) as fleet:
        ansible = switched_ansible(tmp_path, fleet)
        report = tmp_path / "report.json"
        run = ansible.playbook(
            "rollout",
            *options(minutes=2, soak=600),
            ANSIBLE_CALLBACKS_ENABLED="livenodes.kubelet.rollout",
            LIVENODES_KUBELET_REPORT_JSON=str(report),
            ANSIBLE_SHOW_CUSTOM_STATS="true",
        )
        assert run.code == 2, run.output
        assert fleet.assigned == {"n1"} and not fleet.claims.items
        assert "the window of 2 minutes ends in" in run.output and "Untouched hosts: n3, n4" in run.output, run.output
        result = json.JSONDecoder().raw_decode(run.output.partition("RUN: ")[2].strip())[0]["kubelet_rollout"]
        # ansible-core 2.17 returns texts.
        assert {name: int(result[name]) for name in ("changed", "untouched", "failed")} == {
            "changed": 1,
            "untouched": 3,
            "failed": 0,
        }, result
        found = json.loads(report.read_text())
        assert found["outcome"] == "paused" and found["paused"]["by"] == "kubelet_config_window_minutes"
        again = ansible.playbook("rollout", *options(minutes=60))
        assert again.code == 0 and fleet.assigned == set(NAMES), again.output
        assert {*fleet.runs().values()} == {80}


@pytest.mark.parametrize("playbook", ["rollout", "rollback", "reset", "migrate"])
def test_a_window_counts_from_the_start_of_the_run(playbook: str) -> None:
    """Not from the end of the plan, which may take minutes."""
    plays = yaml.safe_load((PLAYBOOKS / f"{playbook}.yml").read_text())
    tasks = [task for play in plays for task in play.get("tasks", ())]
    (prepare,) = (task for task in tasks if task["name"] == "Prepare")
    assert prepare["vars"]["__kubelet_config_began"] == "{{ require_checked.began }}"
