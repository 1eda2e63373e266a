# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kubelets that show no user what they run, with a guard on the node: `kubelet_config_allow_hidden`."""

from __future__ import annotations

import pytest

from tests.lab.console import LabError
from tests.support.ansible import Ansible
from tests.support.node_bench import Bench

N3 = ("-e", "kubelet_config_hosts=n3")
ACCEPTED = {"kubelet_config_trial_seconds": 1, "kubelet_config_soak_seconds": 15, "kubelet_config_allow_hidden": True}


@pytest.mark.parametrize("bench", ["n3"], indirect=True)
@pytest.mark.parametrize(
    ("delivery", "field"),
    [
        ("dropin", "enableServer"),
        pytest.param("dropin", "enableDebuggingHandlers", marks=pytest.mark.long),
        pytest.param("checkpoint", "enableServer", marks=pytest.mark.long),
        ("checkpoint", "enableDebuggingHandlers"),
    ],
)
def test_rolled_out_soaked_and_reset(bench: Bench, ansible: Ansible, delivery: str, field: str) -> None:
    before, started = bench.configz(), bench.node.invocation_id()
    ansible.variables(workers_a={"kubelet_config": {field: False}, "kubelet_config_delivery": delivery, **ACCEPTED})
    run = ansible.playbook("rollout", *N3)
    assert run.code == 0, run.output
    assert bench.node.invocation_id() != started and bench.healthy()
    with pytest.raises(LabError, match=r"404|error trying to reach service"):
        bench.lab.get("/api/v1/nodes/n3/proxy/configz")
    status = bench.status()
    assert status["active"] == status["assigned"] and not status.get("error")

    again = ansible.playbook("plan", *N3)
    assert again.code != 0 and f"with {field}: false, so that no user can read its live values" in again.output

    back = ansible.playbook("reset", *N3)
    assert back.code == 0, back.output
    assert bench.configz() == before
