# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The state file of the CPU manager on a real kubelet, which refuses to start with that of another policy: switched,
reverted, reset, torn, and one that cannot be removed.
"""

from __future__ import annotations

import json
import typing as t

import pytest

from tests.support.lab_node.node_bench import STORE, Bench
from tests.support.lab_node.role_bench import Role

STATE = "/var/lib/kubelet/cpu_manager_state"
STATIC = {"cpuManagerPolicy": "static", "kubeReserved": {"cpu": "500m"}}
ADDED = "/var/lib/kubelet/later_state"


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
    switched(role)
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


@pytest.fixture
def bench(bench: Bench) -> t.Iterator[Bench]:
    """Yield node n1 with the guard; restore its state file afterwards."""
    bench.node.run(f"cp -p {STATE} {STATE}.saved")
    try:
        yield bench
    finally:
        bench.node.run(f"systemctl stop kubelet; mv {STATE}.saved {STATE}; rm -f {ADDED}", check=False)


def keep(bench: Bench) -> None:
    """Copy the state files before a switch, as the module does."""
    bench.python("""
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.store.kept_files import KeptFiles
KeptFiles("/var/lib/kubelet-config").save(Moment.now().boot_id, False)
""")


@pytest.mark.long
@pytest.mark.fault(case=12)
def test_a_reverted_kubelet_that_cannot_read_a_state_file_gets_the_former_one(bench: Bench) -> None:
    before = bench.node.run(f"cat {STATE}")
    assert json.loads(before)["policyName"] == "none"
    keep(bench)
    bench.assign({"maxPods": 50}, deadline=600)
    bench.wait(bench.healthy, 30, "healthz")
    bench.node.run(f"systemctl kill -s KILL kubelet; echo torn > {STATE}; echo new > {ADDED}")
    # A kubelet answers healthz for a moment before it reads the file.
    took = bench.wait(lambda: "none" in bench.node.run(f"cat {STATE}") and bench.healthy(), 120, "recovery", every=1)
    assert bench.active() == "store/local/config"
    ended = int(bench.node.run("systemctl show --property=NRestarts --value kubelet"))
    print(f"\nrecovery: {took:.1f} s, {ended} restarts")
    # The kubelet that was killed; once more on trial; twice after the revert.
    assert ended <= 5
    assert json.loads(bench.node.run(f"cat {STATE}"))["policyName"] == "none"
    assert bench.node.run(f"ls {ADDED} {STORE}/store/kept-files 2>/dev/null || true") == ""
    bench.wait(lambda: bench.status().get("reason") in ("state files restored", "recovered"), 30, "annotation")

    # Another change completes, and nothing is left of the restored files.
    keep(bench)
    source = bench.assign({"maxPods": 51}, deadline=3, confirm=60)
    bench.wait(bench.healthy, 30, "healthz")
    bench.confirm()
    bench.wait(lambda: source["uid"] in bench.node.run(f"cat {STORE}/store/meta/last-known-good"), 60, "graduation")
    bench.wait(lambda: bench.status().get("reason") == "passed its trial", 30, "annotation")
    status = bench.status()
    assert status["assigned"] == status["active"] == status["lastKnownGood"] and "error" not in status
    assert bench.configz()["maxPods"] == 51
    assert json.loads(bench.node.run(f"cat {STATE}"))["policyName"] == "none"
