# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The state file of the CPU manager on a real kubelet, which refuses to start with that of another policy: switched,
and reset.
"""

from __future__ import annotations

import json
import typing as t

import pytest

from tests.support.lab_node.role_bench import Role

STATE = "/var/lib/kubelet/cpu_manager_state"
STATIC = {"cpuManagerPolicy": "static", "kubeReserved": {"cpu": "500m"}}


def state(role: Role) -> str:
    return role.node.run(f"cat {STATE}")


def policy(role: Role) -> tuple[t.Any, t.Any]:
    """Return the policy of the running kubelet, and that of its state file."""
    return role.bench.configz()["cpuManagerPolicy"], json.loads(state(role))["policyName"]


def switched(role: Role, **variables: t.Any) -> dict[str, str]:
    """Switch to the policy `static`, with its state file; return the source."""
    source = role.bench.source()
    run = role.play(source, {**role.local, **STATIC}, kubelet_config_state_files="switch", **variables)
    assert run.code == 0, run.output
    assert policy(role) == ("static", "static")
    return source


@pytest.mark.fault(case=11)
def test_a_change_of_policy_is_refused_unless_asked_for(role: Role) -> None:
    layout, invocation, before = role.layout(), role.node.invocation_id(), state(role)
    run = role.play(role.bench.source(), {**role.local, **STATIC})
    assert (
        run.code and f"Node n1: {STATE} is for the policy none" in run.output and "Nothing was changed" in run.output
    ), run.output
    assert "kubelet_config_state_files" in run.output, run.output
    assert (role.layout(), role.node.invocation_id(), state(role)) == (layout, invocation, before)
    switched(role)
    gone = role.play(None, "", tasks_from="reset", kubelet_config_state_files="switch")
    assert gone.code == 0 and policy(role) == ("none", "none"), gone.output
