# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A change of the CPU manager's policy on a real kubelet, which refuses to start with another policy's state file."""

from __future__ import annotations

import base64
import json
import typing as t

import pytest

from tests.support.node_bench import STORE
from tests.support.role_bench import Role

STATE = "/var/lib/kubelet/cpu_manager_state"
STATIC = {"cpuManagerPolicy": "static", "kubeReserved": {"cpu": "500m"}}
BAD = {"evictionHard": {"memory.available": "lots"}}


def state(role: Role) -> str:
    return role.node.run(f"cat {STATE}")


def refusals(role: Role) -> int:
    """Return how often a kubelet of this node has ended because of its state file."""
    return int(
        role.node.run("journalctl --unit=kubelet --output=cat | grep -c 'differs from state checkpoint policy' || true")
    )


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


@pytest.mark.long
@pytest.mark.fault(case=11)
def test_a_revert_restores_the_old_state_file(role: Role) -> None:
    before = state(role)
    switched(role, kubelet_config_confirm=False, kubelet_config_confirm_seconds=45)
    took = role.bench.wait(
        lambda: role.bench.active() == "store/local/config" and role.bench.healthy(), 90, "revert", every=1
    )
    print(f"\nback {took:.1f} s after the play")
    role.bench.wait(lambda: policy(role) == ("none", "none"), 20, "old policy")
    assert state(role) == before


@pytest.mark.long
@pytest.mark.fault(case=11)
@pytest.mark.fault(case=31)
def test_a_reboot_before_the_confirmation_restores_the_old_state_file(role: Role) -> None:
    """The trial ends after the reboot. The kubelet must not find the state file of the policy `static` then."""
    before, refused = state(role), refusals(role)
    source = switched(role, kubelet_config_confirm=False, kubelet_config_confirm_seconds=60)
    role.lab.node("n1").reboot()
    took = role.bench.wait(
        lambda: role.bench.active() == "store/local/config" and role.bench.healthy(), 150, "revert", every=1
    )
    print(f"\nback {took:.1f} s after the reboot")
    role.bench.wait(lambda: policy(role) == ("none", "none"), 30, "old policy")
    assert state(role) == before and "static" not in state(role)
    assert refusals(role) == refused, "no start of the kubelet found the state file of another policy"
    role.bench.wait(lambda: role.bench.status().get("error"), 60, "annotation", every=1)
    assert role.bench.status()["assigned"]["configMap"] == source
    # The guard looks at the kubelet every second. The node may reboot before that.
    words = ("was not confirmed", "was rebooted before the kubelet was healthy")
    assert any(text in role.bench.status()["error"] for text in words), role.bench.status()


# Minutes; the revert before it restores the same file.
@pytest.mark.long
def test_a_kubelet_that_dies_after_the_switch_gets_its_old_state_file(role: Role) -> None:
    before, died = state(role), refusals(role)
    run = role.play(role.bench.source(), {**role.local, **STATIC, **BAD}, kubelet_config_state_files="switch")
    assert run.code and "was reverted to its previous configuration" in run.output, run.output
    role.bench.wait(lambda: role.bench.healthy() and policy(role) == ("none", "none"), 30, "old policy")
    assert state(role) == before
    # Only the guard acts.
    role.bench.bring()
    role.bench.assign(
        {**STATIC, **BAD}, state_files=[{"path": STATE, "data": base64.b64encode(before.encode()).decode()}]
    )
    took = role.bench.wait(lambda: role.bench.active() == "store/local/config" and role.bench.healthy(), 40, "revert")
    print(f"\nrecovery: {took:.1f} s")
    role.bench.wait(lambda: policy(role) == ("none", "none"), 20, "old policy")
    assert state(role) == before
    assert refusals(role) == died, "the configuration ended it, not the state file"


# Minutes; the revert above restores the same file.
@pytest.mark.long
def test_reset_after_a_change_of_policy_leaves_a_kubelet_that_runs(role: Role) -> None:
    uid = switched(role, kubelet_config_trial_seconds=1)["uid"]
    role.bench.wait(lambda: uid in role.node.run(f"cat {STORE}/store/meta/last-known-good"), 60, "graduation", every=1)
    invocation = role.node.invocation_id()
    refused = role.play(None, "", tasks_from="reset")
    assert (
        refused.code
        and f"{STATE} is for the policy static" in refused.output
        and "Nothing was changed" in refused.output
    ), refused.output
    assert role.node.invocation_id() == invocation and policy(role) == ("static", "static")
    gone = role.play(None, "", tasks_from="reset", kubelet_config_state_files="switch")
    assert gone.code == 0, gone.output
    assert policy(role) == ("none", "none")
