# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Delivery checkpoint on a kubelet of 1.28: its source is the node's own file as it is now, and what is declared."""

from __future__ import annotations

import json
import typing as t

import pytest
import yaml

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values.annotation import PREFIX
from tests.lab.lab import Lab
from tests.support.ansible import Ansible
from tests.support.node_bench import Bench

N1 = ("-e", "kubelet_config_hosts=n1")
FILE = "/var/lib/kubelet/config.yaml"


def _pushed(lab: Lab) -> dict[str, t.Any]:
    """Return what the ConfigMap of the node holds."""
    notes = json.loads(lab.kubectl("get", "node", "n1", "-o", "json"))["metadata"]["annotations"]
    source = json.loads(notes[f"{PREFIX}source"])["configMap"]
    text = json.loads(lab.kubectl("get", "configmap", "-n", source["namespace"], source["name"], "-o", "json"))
    found: dict[str, t.Any] = json.loads(text["data"][source["kubeletConfigKey"]])
    return found


@pytest.mark.parametrize("bench", ["n1"], indirect=True)
def test_the_own_file_and_what_is_declared(bench: Bench, lab: Lab, ansible: Ansible) -> None:
    node, before = bench.node, bench.configz()
    own = yaml.safe_load(node.run(f"cat {FILE}"))
    options = {"kubelet_config_trial_seconds": 1}
    ansible.variables(workers_a={"kubelet_config": {"kubeAPIQPS": 61}, **options})
    node.run(f"cp -p {FILE} /root/config.yaml")
    try:
        run = ansible.playbook("rollout", *N1)
        assert run.code == 0, run.output
        assert _pushed(lab) == {**own, "kubeAPIQPS": 61}
        assert bench.configz() == {**before, "kubeAPIQPS": 61}
        again = ansible.playbook("rollout", *N1)
        assert again.code == 0 and again.recap("n1")["changed"] == 0, again.output

        # As `kubeadm upgrade node` does it.
        node.run(f"echo 'containerLogMaxFiles: 9' >> {FILE}")
        drifted = ansible.playbook("drift", *N1)
        shown = drifted.output.replace("\n", " ")
        assert drifted.code and "own file changed since its checkpoint was built on it, and has 9" in shown, shown
        invocation = node.invocation_id()
        taken = ansible.playbook("rollout", *N1)
        assert taken.code == 0 and "the node's own file changed" in taken.output, taken.output
        assert bench.configz() == {**before, "kubeAPIQPS": 61, "containerLogMaxFiles": 9}
        assert node.invocation_id() != invocation
        same = ansible.playbook("drift", *N1)
        assert same.code == 0 and "0 drifted" in same.output, same.output

        # What is no longer declared reverts to the own file.
        ansible.variables(workers_a={"kubelet_config": {"kubeAPIBurst": 70}, **options})
        less = ansible.playbook("rollout", *N1)
        assert less.code == 0, less.output
        assert bench.configz() == {**before, "kubeAPIBurst": 70, "containerLogMaxFiles": 9}
    finally:
        node.run(f"cp -p /root/config.yaml {FILE}")
