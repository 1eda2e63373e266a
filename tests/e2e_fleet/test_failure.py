# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What stops a rollout, and the state of the nodes afterwards."""

from __future__ import annotations

import pytest

from tests.lab.lab import Lab
from tests.support.ansible import Ansible
from tests.support.control_plane import ControlPlaneNode
from tests.support.fleet import Fleet, changed
from tests.support.pods import Pods
from tests.support.views import eventually

# It passes every check before the switch. The kubelet ends, because the port is that of sshd.
DEADLY = {"readOnlyPort": 22}
A = ("-e", "kubelet_config_hosts=workers_a")
B = ("-e", "kubelet_config_hosts=workers_b")
ZONE = "lab.livenodes.io/zone"


# The contract has the other delivery: tests/contract/test_rollout.py, a bad value.
@pytest.mark.parametrize("group", ["n3:n5:n4", pytest.param("n1:n3", marks=pytest.mark.long)])
@pytest.mark.fault(case=3)
def test_a_failed_canary_is_reverted_and_the_others_are_not_changed(fleet: Fleet, ansible: Ansible, group: str) -> None:
    """With both deliveries: in the second group, the kubelet of the canary itself refuses the value."""
    canary, *others = group.split(":")
    config = {"kubeAPIQPS": -1} if canary == "n1" else DEADLY
    ansible.variables(all={"kubelet_config": config, "kubelet_config_allow_invalid": True})
    before = fleet.look()
    run = ansible.playbook("rollout", "-e", f"kubelet_config_hosts={group}", "-e", "kubelet_config_serial=1,100%")
    assert run.code != 0
    after = fleet.look()
    assert after[canary].qps == before[canary].qps
    assert changed(before, after) == {canary}
    verdict = next(line for line in run.output.splitlines() if f"Node {canary} " in line and "Untouched hosts" in line)
    assert f"Untouched hosts: {', '.join(others)}" in verdict and "running its previous configuration" in verdict, (
        verdict
    )
    assert verdict.count(canary) == 1 and ".;" not in verdict, verdict
    assert fleet.leases() == []


@pytest.mark.long
def test_as_many_failures_as_are_allowed(fleet: Fleet, ansible: Ansible) -> None:
    """The rollout continues, and fails at its end."""
    ansible.variables(all={"kubelet_config": {"kubeAPIQPS": 61}})
    ansible.host_variables(n3={"kubelet_config_host": DEADLY})
    before = fleet.look()
    run = ansible.playbook("rollout", "-e", "kubelet_config_hosts=n3:n4:n5", "-e", "kubelet_config_max_failed=1")
    assert run.code != 0
    assert "1 of 3 nodes failed: n3" in run.output, run.output
    after = fleet.look()
    assert [after[name].qps for name in ("n3", "n4", "n5")] == [before["n3"].qps, 61, 61]
    assert fleet.leases() == []


@pytest.mark.fault(case=26)
def test_a_lost_pod_fails_its_node(lab: Lab, fleet: Fleet, ansible: Ansible, pods: Pods) -> None:
    """The configuration is valid and the node is Ready; the node is reverted anyway, unless the loss is allowed."""
    pods.create("victim", "n6", owner=("ReplicaSet", "web"))
    pods.wait_ready("victim")
    ansible.variables(all={"kubelet_config": {"kubeAPIQPS": 62}})
    before = fleet.look()
    process = ansible.start("rollout", "-e", "kubelet_config_hosts=n6:n4", "-e", "kubelet_config_soak_seconds=20")
    try:
        eventually(lambda: fleet.qps()["n6"] == 62, 120, "n6 is switched")
        lab.node("n6").run(
            "ctr --namespace=k8s.io tasks ls | awk '/RUNNING/ {print $1}' | "
            "xargs -n1 ctr --namespace=k8s.io tasks kill --signal SIGKILL"
        )
        output = process.communicate(timeout=300)[0]
    finally:
        process.kill()
    assert process.returncode != 0
    assert "Node n6" in output and "victim" in output and "Untouched hosts: n4" in output, output
    after = fleet.look()
    assert (after["n6"].qps, changed(before, after)) == (before["n6"].qps, {"n6"})
    again = ansible.playbook("rollout", "-e", "kubelet_config_hosts=n6")
    assert again.code == 0 and fleet.qps()["n6"] == 62, again.output


def placed(lab: Lab, fleet: Fleet, pods: Pods) -> None:
    """Let n6 run a pod that needs a label of the Node, then change the label."""
    lab.kubectl("label", "node", "n6", f"{ZONE}=a", "--overwrite")
    # It takes longer than the watch of the kubelet, which would reject the pod without the label.
    fleet.look()
    pods.create("placed", "n6", owner=("ReplicaSet", "web"), spec={"nodeSelector": {ZONE: "a"}})
    pods.wait_ready("placed")
    lab.kubectl("label", "node", "n6", f"{ZONE}=b", "--overwrite")


# Minutes; tests/unit/.../_cluster/rollout/test_gate.py has the refusal, and .../stages/test_soak_pods.py a label that
# changes after it.
@pytest.mark.long
@pytest.mark.fault(case=29)
def test_a_pod_that_a_changed_label_rejects(lab: Lab, fleet: Fleet, ansible: Ansible, pods: Pods) -> None:
    """A kubelet admits its pods again when it starts, by the labels that its Node has then."""
    ansible.variables(all={"kubelet_config": {"kubeAPIQPS": 68}})
    group = ("-e", "kubelet_config_hosts=n6:n4", "-e", "kubelet_config_soak_seconds=20")
    try:
        placed(lab, fleet, pods)
        before, running = fleet.look(), pods.see("placed")
        run = ansible.playbook("rollout", *group)
        assert run.code != 0
        assert f"n6: default/placed needs {ZONE}=a, the node has b" in run.output, run.output
        assert changed(before, fleet.look()) == set()
        assert running and running.phase == "Running" and pods.see("placed") == running
        allowed = ansible.playbook("rollout", *group, "-e", "kubelet_config_allow_pod_loss=1")
        assert allowed.code == 0, allowed.output
        assert [fleet.qps()[name] for name in ("n6", "n4")] == [68, 68]
        state = lab.kubectl("get", "pod", "placed", "-o", "jsonpath={.status.phase} {.status.reason}")
        assert state == "Failed NodeAffinity"
    finally:
        pods.delete("placed")
        lab.kubectl("label", "node", "n6", f"{ZONE}-")


# tests/contract/test_gate.py and tests/unit/roles/test_resets_and_migrations.py have the budget.
@pytest.mark.long
@pytest.mark.fault(case=25)
def test_the_budget_counts_every_unavailable_node(fleet: Fleet, ansible: Ansible) -> None:
    """A node that another user cordoned, outside --limit, still counts as one of the group."""
    ansible.variables(all={"kubelet_config": {"kubeAPIQPS": 63}})
    before = fleet.look()
    fleet.lab.kubectl("cordon", "n2")
    run = ansible.playbook(
        "rollout",
        *B,
        "--limit",
        "n4,localhost",
        "-e",
        "kubelet_config_max_unavailable=1",
        "-e",
        "kubelet_config_gate_timeout=3",
    )
    assert run.code != 0
    assert (
        "n2: cordoned" in run.output
        and "Untouched hosts: none" in run.output
        and "Nothing was changed there" in run.output
    ), run.output
    assert changed(before, fleet.look()) == set()
    assert fleet.leases() == []
    enough = ansible.playbook("rollout", *B, "--limit", "n4,localhost", "-e", "kubelet_config_max_unavailable=2")
    assert enough.code == 0, enough.output
    after = fleet.look()
    assert (changed(before, after), after["n2"].cordoned) == ({"n4"}, True)


# tests/contract/test_gate.py has it, with the API server of the lab.
@pytest.mark.long
def test_an_unhealthy_control_plane(lab: Lab, fleet: Fleet, plane: ControlPlaneNode, ansible: Ansible) -> None:
    """The next control-plane node waits for the API server and etcd of the previous one."""
    with ControlPlaneNode(lab, "n6"):
        # A short name, because the path of ssh's socket is below it.
        again = Ansible(ansible.home / "2", lab.kubeconfig, lab.inventory)
        again.variables(all={"kubelet_config": {"kubeAPIQPS": 64}})
        before = fleet.look()
        plane.set_ready(False, "etcd")
        try:
            run = again.playbook("rollout", "-e", "kubelet_config_hosts=n6", "-e", "kubelet_config_gate_timeout=3")
            assert run.code != 0
            assert "etcd-n7" in run.output, run.output
            assert changed(before, fleet.look()) == set()
        finally:
            plane.set_ready(True, "etcd")
        well = again.playbook("rollout", "-e", "kubelet_config_hosts=n6")
        assert well.code == 0, well.output


@pytest.mark.long
def test_paused_and_resumed(fleet: Fleet, ansible: Ansible) -> None:
    """Paused by extra var after the canary, by the ConfigMap at once; a second run resumes and repeats no node."""
    ansible.variables(all={"kubelet_config": {"kubeAPIQPS": 65}})
    group = ("-e", "kubelet_config_hosts=n3:n5:n4")
    before = fleet.look()
    first = ansible.playbook("rollout", *group, "-e", "kubelet_config_pause=true")
    assert first.code != 0 and "paused" in first.output and "Untouched hosts: n4" in first.output, first.output
    paused = fleet.look()
    assert changed(before, paused) == {"n3"}
    fleet.lab.kubectl(
        "create",
        "configmap",
        "-n",
        "kube-system",
        "livenodes-kubelet-rollout",
        "--from-literal=paused=true",
        "--from-literal=reason=lunch",
    )
    second = ansible.playbook("rollout", *group)
    assert second.code != 0 and "lunch" in second.output and "paused since" in second.output, second.output
    assert fleet.look() == paused
    fleet.lab.kubectl("delete", "configmap", "-n", "kube-system", "livenodes-kubelet-rollout")
    last = ansible.playbook("rollout", *group)
    assert last.code == 0, last.output
    assert changed(paused, fleet.look()) == {"n4", "n5"}


# tests/unit/roles/test_runs_at_once.py plays it.
@pytest.mark.long
@pytest.mark.fault(case=23)
def test_two_controllers_at_once(fleet: Fleet, ansible: Ansible) -> None:
    """The groups overlap: one controller rolls out, the other reports the holder of the lease."""
    ansible.variables(all={"kubelet_config": {"kubeAPIQPS": 66}})
    before = fleet.look()
    one = ansible.start("rollout", *A)
    try:
        eventually(
            lambda: any(lease["metadata"]["annotations"] for lease in fleet.leases()), 90, "the first has its lease"
        )
        other = ansible.playbook("rollout", "-e", "kubelet_config_hosts=n3:n4")
        output = one.communicate(timeout=300)[0]
    finally:
        one.kill()
    assert one.returncode == 0, output
    assert other.code != 0 and "workers_a" in other.output and "n3" in other.output, other.output
    after = fleet.look()
    assert changed(before, after) == {"n1", "n3", "n5"}
    assert after["n4"].qps == before["n4"].qps


# Minutes; test_drain.py has drains, and tests/unit/roles what follows a failed one.
@pytest.mark.long
@pytest.mark.fault(case=27)
def test_drain(lab: Lab, fleet: Fleet, ansible: Ansible, pods: Pods) -> None:
    """A disruption budget that forbids the drain stops the rollout before the node changes; a foreign cordon stays."""
    pods.create("guarded", "n4", labels={"app": "guarded"}, owner=("ReplicaSet", "web"))
    pods.wait_ready("guarded")
    pods.budget("guarded", {"app": "guarded"}, allowed=0)
    lab.kubectl("cordon", "n5")
    ansible.variables(all={"kubelet_config": {"kubeAPIQPS": 67}})
    before = fleet.look()
    drained = ("-e", "kubelet_config_hosts=n5:n4", "-e", "kubelet_config_drain=always")
    run = ansible.playbook("rollout", *drained, "-e", "kubelet_config_drain_timeout=6")
    assert run.code != 0
    assert "guarded" in run.output and "n4" in run.output, run.output
    after = fleet.look()
    assert (changed(before, after), after["n4"].cordoned, after["n5"].cordoned) == ({"n5"}, False, True)
    pods.allow("guarded", 1)
    again = ansible.playbook("rollout", *drained)
    assert again.code == 0, again.output
    pods.wait_gone("guarded")
    last = fleet.look()
    assert (last["n4"].qps, last["n4"].cordoned, last["n5"].cordoned) == (67, False, True)
    assert changed(after, last) == {"n4"}
