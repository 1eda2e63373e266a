# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checkpoints of 1.28 over an upgrade to 1.36: what is kept, what drift reports, and a rollback to a source of 1.28."""

from __future__ import annotations

import json

import pytest
import yaml

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values.annotation import PREFIX
from tests.lab.kubeadm import OWN_CONFIG
from tests.lab.lab import Lab
from tests.support.ansible import Ansible, Run
from tests.support.node_bench import STORE, Bench

OPTIONS = {
    "kubelet_config_delivery": "checkpoint",
    "kubelet_config_trial_seconds": 1,
    "kubelet_config_allow_effect": "reboot",
}
# 1.28 accepts this value behind its gate; it was removed in 1.30.
UNLIMITED = {"failSwapOn": False, "featureGates": {"NodeSwap": True}, "memorySwap": {"swapBehavior": "UnlimitedSwap"}}
N1 = ("-e", "kubelet_config_hosts=n1")


def roll_out(bench: Bench, ansible: Ansible, **config: object) -> Run:
    """Roll out to n1 and wait until the checkpoint is last-known-good."""
    ansible.variables(workers_a={"kubelet_config": config, **OPTIONS})
    run = ansible.playbook("rollout", *N1)
    assert run.code == 0, run.output
    bench.wait(lambda: bench.node.run(f"cat {STORE}/store/meta/last-known-good"), 60, "graduation", every=1)
    bench.wait(lambda: bench.status().get("reason") == "passed its trial", 30, "the report of it")
    return run


def edit(bench: Bench, **fields: object) -> None:
    """Change fields of the node's own file."""
    config = {**yaml.safe_load(bench.node.run(f"cat {OWN_CONFIG}")), **fields}
    bench.node.run(f"cat > {OWN_CONFIG}", stdin=yaml.safe_dump(config))


@pytest.mark.parametrize("bench", ["n1"], indirect=True)
def test_a_rollback_to_a_source_of_another_minor_is_checked_again(bench: Bench, lab: Lab, ansible: Ansible) -> None:
    """It was last-known-good on 1.28. On 1.36 it is refused before anything restarts."""
    roll_out(bench, ansible, kubeAPIQPS=60, **UNLIMITED)
    former = json.loads(lab.kubectl("get", "node", "n1", "-o", "json"))["metadata"]["annotations"]
    name = json.loads(former[f"{PREFIX}source"])["configMap"]["name"]
    roll_out(bench, ansible, kubeAPIQPS=61)
    lab.upgrade("n1", "v1.36")
    bench.wait(bench.healthy, 60, "healthz of 1.36")
    before, active = bench.node.invocation_id(), bench.active()
    for arguments in ((), ("-e", f"kubelet_config_variant={name}")):
        run = ansible.playbook("rollback", *N1, "-e", "kubelet_config_allow_effect=reboot", *arguments)
        print(run.output[-3000:])
        assert run.code != 0 and "swapBehavior" in run.output, run.output
        assert (bench.node.invocation_id(), bench.active()) == (before, active)
        assert bench.healthy()


@pytest.mark.parametrize("bench", ["n1"], indirect=True)
def test_a_checkpoint_stays_in_place_and_drift_reports_what_kubeadm_wrote(
    bench: Bench, lab: Lab, ansible: Ansible
) -> None:
    """The own file gets a field for the new version before the upgrade, as the check asks for on cgroup v1."""
    edit(bench, failCgroupV1=False)
    roll_out(bench, ansible, kubeAPIQPS=61)
    active = bench.active()
    assert "checkpoints" in active, active
    lab.upgrade("n1", "v1.36")
    bench.wait(bench.healthy, 60, "healthz of 1.36")
    live = bench.configz()
    assert bench.active() == active and (live["kubeAPIQPS"], live["failCgroupV1"]) == (61, False)
    version = lab.node("n1").release.version
    bench.wait(lambda: lab.get("/api/v1/nodes/n1")["status"]["nodeInfo"]["kubeletVersion"] == version, 60, "the Node")

    # As the next version of kubeadm does.
    edit(bench, eventBurst=77)
    drift = ansible.playbook("drift", *N1)
    print(drift.output[-3000:])
    assert drift.code != 0 and "own file changed" in drift.output and "eventBurst" in drift.output, drift.output
    assert bench.configz()["eventBurst"] != 77

    run = ansible.playbook("rollout", *N1)
    assert run.code == 0, run.output
    live = bench.configz()
    assert (live["eventBurst"], live["kubeAPIQPS"]) == (77, 61)
    again = ansible.playbook("drift", *N1)
    assert again.code == 0 and "0 drifted" in again.output, again.output
