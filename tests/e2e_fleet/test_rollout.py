# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A rollout to groups of both deliveries and the control plane: its order, its pods, its end, and what stops it."""

from __future__ import annotations

import json
import re

import pytest

from tests.lab.lab import Lab
from tests.support.lab.control_plane import ControlPlaneNode
from tests.support.lab.fleet import ALL, Fleet, changed
from tests.support.lab.pods import Pods
from tests.support.lab.views import eventually
from tests.support.plays.ansible import Ansible, Run

EVERY_NODE = ("-e", f"kubelet_config_hosts={ALL}")
# Strings, as from an AWX survey.
BATCHES = ("-e", json.dumps({"kubelet_config_serial": "1,50%", "kubelet_config_max_unavailable": "60%"}))
ZONE = "lab.livenodes.io/zone"


def batches(run: Run) -> list[list[str]]:
    """Return the hosts of each batch, in the order of the assignments."""
    found = []
    for play in re.split(r"^PLAY \[", run.output, flags=re.MULTILINE):
        if play.startswith(("First stage", "Second stage")):
            hosts = re.findall(r"^skipping: \[(n\d)\]$|^ok: \[(n\d)\]$|^changed: \[(n\d)", play, re.MULTILINE)
            names = list(dict.fromkeys(name for row in hosts for name in row if name))
            if names:
                found.append(sorted(names))
    return found


def test_canary_batches_control_plane_and_their_pods(
    lab: Lab, fleet: Fleet, plane: ControlPlaneNode, ansible: Ansible, pods: Pods
) -> None:
    """The control plane is alone and last. Pods survive; no lease is left."""
    pods.create("bound", "n3", labels={"app": "bound"}, owner=("ReplicaSet", "web"))
    static = pods.static("kept", "n1")
    seen = pods.wait_ready("bound", static)
    ansible.variables(all={"kubelet_config": {"kubeAPIQPS": 51}})
    before = fleet.look()

    run = ansible.playbook("rollout", *EVERY_NODE, *BATCHES, "-e", "kubelet_config_soak_seconds=1")
    assert run.code == 0, run.output
    assert set(fleet.qps().values()) == {51}
    assert changed(before, fleet.look()) == set(fleet.names)
    order = batches(run)
    assert [len(names) for names in order] == [1, 3, 2, 1], (order, run.output)
    assert order[-1] == ["n7"]
    now = pods.wait_ready("bound", static)
    assert {name: (one.uid, one.containers, one.restarts) for name, one in now.items()} == {
        name: (one.uid, one.containers, one.restarts) for name, one in seen.items()
    }
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
