# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From a checkpoint to a drop-in: what the kubelet runs stays equal, or the difference is named and asked for."""

from __future__ import annotations

import json

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values.annotation import PREFIX
from tests.lab.lab import Lab
from tests.support.ansible import Ansible
from tests.support.node_bench import Bench

N3 = ("-e", "kubelet_config_hosts=n3")
MIGRATE = (*N3, "-e", "kubelet_config_delivery=dropin")


@pytest.mark.parametrize("bench", ["n3"], indirect=True)
def test_a_checkpoint_becomes_a_drop_in(bench: Bench, lab: Lab, ansible: Ansible) -> None:
    declared = {"kubeAPIQPS": 61, "maxPods": 81}
    options = {"kubelet_config_trial_seconds": 1}
    ansible.variables(workers_a={"kubelet_config": declared, "kubelet_config_delivery": "checkpoint", **options})
    run = ansible.playbook("rollout", *N3)
    assert run.code == 0, run.output
    before, invocation = bench.configz(), bench.node.invocation_id()

    # A value that is no longer declared would go with the checkpoint.
    ansible.variables(workers_a={"kubelet_config": {"kubeAPIQPS": 61}, **options})
    refused = ansible.playbook("migrate", *MIGRATE)
    words = refused.output.replace("\n", " ")
    assert refused.code and "the checkpoint has 81, and without it the kubelet would run 110" in words, words
    assert bench.node.invocation_id() == invocation

    ansible.variables(workers_a={"kubelet_config": declared, **options})
    moved = ansible.playbook("migrate", *MIGRATE)
    assert moved.code == 0, moved.output
    assert bench.configz() == before
    assert bench.node.invocation_id() != invocation
    notes = json.loads(lab.kubectl("get", "node", "n3", "-o", "json"))["metadata"]["annotations"]
    assert json.loads(notes[f"{PREFIX}source"])["delivery"] == "dropin"
    command = bench.node.run("tr '\\0' ' ' < /proc/$(systemctl show kubelet -P MainPID)/cmdline")
    assert "--config=/var/lib/kubelet/config.yaml" in command and "--config=/var/lib/kubelet-config" not in command

    again = ansible.playbook("migrate", *MIGRATE)
    assert again.code == 0 and again.recap("n3")["changed"] == 0, again.output
    same = ansible.playbook("rollout", *N3)
    assert same.code == 0 and same.recap("n3")["changed"] == 0, same.output
