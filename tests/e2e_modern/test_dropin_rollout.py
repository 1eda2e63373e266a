# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Delivery dropin from the inventory to the kubelet: rollout, again, drift, less declared, and reset."""

from __future__ import annotations

import json
import typing as t

import pytest

from tests.lab.lab import Lab
from tests.support.ansible import Ansible
from tests.support.node_bench import Bench

N3 = ("-e", "kubelet_config_hosts=n3")
FILES = "find /etc/systemd /usr/lib/systemd/system/kubelet.service.d /etc/default /var/lib/kubelet -maxdepth 2 -name"
LAYOUT = f"{FILES} '*kube*' -printf '%p %y %m %s %l\\n' | sort; cat /var/lib/kubelet/config.yaml; systemctl cat kubelet"
# The delivery is the default of this version.
OPTIONS = {"kubelet_config_trial_seconds": 1}


def _source(lab: Lab) -> dict[str, t.Any]:
    """Return the annotation with the source of the node."""
    node = json.loads(lab.kubectl("get", "node", "n3", "-o", "json"))
    found: dict[str, t.Any] = json.loads(node["metadata"]["annotations"]["kubelet-config.livenodes.io/source"])
    return found


def _pushed(lab: Lab) -> dict[str, t.Any]:
    """Return what the ConfigMap of the node holds."""
    source = _source(lab)["configMap"]
    text = json.loads(lab.kubectl("get", "configmap", "-n", source["namespace"], source["name"], "-o", "json"))
    found: dict[str, t.Any] = json.loads(text["data"][source["kubeletConfigKey"]])
    return found


@pytest.mark.parametrize("bench", ["n3"], indirect=True)
def test_rollout_again_less_declared_and_reset(bench: Bench, lab: Lab, ansible: Ansible) -> None:
    node = bench.node
    layout, before = node.run(LAYOUT), bench.configz()
    declared = {"kubeAPIQPS": 61, "evictionHard": {"memory.available": "77Mi"}, "failSwapOn": False, "maxPods": 81}
    ansible.variables(workers_a={"kubelet_config": declared, **OPTIONS})

    run = ansible.playbook("rollout", *N3)
    assert run.code == 0, run.output
    live = bench.configz()
    # Maps are merged key by key, and nothing else changes.
    eviction = {**before["evictionHard"], "memory.available": "77Mi"}
    assert live == {**before, **declared, "evictionHard": eviction}
    header = {"kind": "KubeletConfiguration", "apiVersion": "kubelet.config.k8s.io/v1beta1"}
    assert _pushed(lab) == {**header, **declared}
    assert _source(lab)["delivery"] == "dropin"

    invocation = node.invocation_id()
    again = ansible.playbook("rollout", *N3)
    assert again.code == 0 and again.recap("n3")["changed"] == 0, again.output
    assert node.invocation_id() == invocation
    same = ansible.playbook("drift", *N3)
    assert same.code == 0 and "0 drifted" in same.output, same.output

    # The node's own file is live again at the next restart, also where a key is no longer declared.
    ansible.variables(workers_a={"kubelet_config": {"kubeAPIQPS": 62}, **OPTIONS})
    drifted = ansible.playbook("drift", *N3)
    assert drifted.code and "no longer declared" in drifted.output, drifted.output
    less = ansible.playbook("rollout", *N3)
    assert less.code == 0, less.output
    assert bench.configz() == {**before, "kubeAPIQPS": 62}
    assert _pushed(lab) == {**header, "kubeAPIQPS": 62}

    reset = ansible.playbook("reset", *N3)
    assert reset.code == 0, reset.output
    assert bench.configz() == before and node.run(LAYOUT) == layout
    assert bench.status() == {} and "n3" in lab.ready_nodes()


@pytest.mark.parametrize("bench", ["n3"], indirect=True)
def test_what_changes_beside_the_drop_in_is_named(bench: Bench, lab: Lab, ansible: Ansible) -> None:
    """As when kubeadm has renewed the file and the kubelet was not restarted since."""
    node, before = bench.node, bench.configz()
    node.run("cp -p /var/lib/kubelet/config.yaml /root/config.yaml")
    try:
        node.run("echo 'containerLogMaxFiles: 9' >> /var/lib/kubelet/config.yaml")
        ansible.variables(workers_a={"kubelet_config": {"kubeAPIQPS": 61}, **OPTIONS})
        run = ansible.playbook("rollout", *N3)
        assert run.code == 0, run.output
        assert "containerLogMaxFiles was 5, now 9" in run.output.replace("\n", " "), run.output
        assert bench.configz() == {**before, "kubeAPIQPS": 61, "containerLogMaxFiles": 9}
    finally:
        node.run("cp -p /root/config.yaml /var/lib/kubelet/config.yaml")


@pytest.mark.parametrize("bench", ["n3"], indirect=True)
@pytest.mark.parametrize(
    ("declared", "words"),
    [
        ({"evictionHard": None}, "null in a drop-in leaves no eviction threshold at all"),
        ({"maxPodz": 7}, "Did you mean maxPods?"),
        ({"staticPodPath": "manifests"}, "is a relative path"),
    ],
)
def test_what_the_kubelet_would_take_without_a_word_is_refused(
    bench: Bench, ansible: Ansible, declared: dict[str, t.Any], words: str
) -> None:
    invocation = bench.node.invocation_id()
    ansible.variables(workers_a={"kubelet_config": declared, **OPTIONS})
    run = ansible.playbook("rollout", *N3)
    assert run.code and words in run.output.replace("\n", " "), run.output
    assert bench.node.invocation_id() == invocation
