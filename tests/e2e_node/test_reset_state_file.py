# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A reset whose state file cannot be removed: the kubelet runs on, and the reset completes once the cause is gone."""

from __future__ import annotations

import json
import typing as t

import pytest

from tests.support.node_bench import STORE
from tests.support.role_bench import Role

STATE = "/var/lib/kubelet/cpu_manager_state"
STATIC = {"cpuManagerPolicy": "static", "kubeReserved": {"cpu": "500m"}}


def policy(role: Role) -> tuple[t.Any, t.Any]:
    """Return the policy of the running kubelet, and that of its state file."""
    return role.bench.configz()["cpuManagerPolicy"], json.loads(role.node.run(f"cat {STATE}"))["policyName"]


@pytest.fixture
def immutable(role: Role) -> t.Iterator[t.Callable[[str], str]]:
    """Yield a function that sets (`+i`) or removes (`-i`) an attribute of the state file; remove it afterwards."""

    def change(attribute: str) -> str:
        return role.node.run(f"chattr {attribute} {STATE} 2>&1", check=False)

    if "not supported" in change("-i"):
        pytest.skip("the file system of this node has no attributes of files")
    try:
        yield change
    finally:
        change("-i")
        # The node's own kubelet needs the state file of its own policy.
        role.play(None, "", tasks_from="reset", kubelet_config_state_files="switch")


@pytest.mark.fault(case=69)
def test_a_state_file_that_cannot_be_removed(role: Role, immutable: t.Callable[[str], str]) -> None:
    layout = role.layout()
    run = role.play(role.bench.source(), {**role.local, **STATIC}, kubelet_config_state_files="switch")
    assert run.code == 0 and policy(role) == ("static", "static"), run.output
    active, invocation = role.bench.active(), role.node.invocation_id()
    assert immutable("+i") == ""

    failed = role.play(None, "", tasks_from="reset", kubelet_config_state_files="switch")
    assert failed.code and "Node n1 was not reset" in failed.output, failed.output
    assert f"{STATE}: cannot remove: Operation not permitted" in failed.output, failed.output
    assert "lsattr" in failed.output, failed.output
    role.bench.wait(role.bench.healthy, 30, "healthz")
    assert role.node.invocation_id() == invocation, "the kubelet was not stopped"
    assert policy(role) == ("static", "static") and role.bench.active() == active
    assert f"{STORE}/guard/__main__.py prestart" in role.node.run("systemctl cat kubelet")

    assert immutable("-i") == ""
    reset = role.play(None, "", tasks_from="reset", kubelet_config_state_files="switch")
    assert reset.code == 0 and policy(role) == ("none", "none"), reset.output
    assert role.layout() == layout
