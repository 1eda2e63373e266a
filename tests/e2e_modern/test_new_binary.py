# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The real kubelet 1.28 of a node is replaced by 1.36, which refuses the configuration that graduated."""

from __future__ import annotations

import json
import time

import pytest

from tests.lab.kubeadm import OWN_CONFIG
from tests.lab.lab import Lab
from tests.support.ansible import Ansible
from tests.support.node_bench import STORE, Bench

# 1.28 accepts this value behind its gate; it was removed in 1.30.
UNLIMITED = {"failSwapOn": False, "featureGates": {"NodeSwap": True}, "memorySwap": {"swapBehavior": "UnlimitedSwap"}}
OPTIONS = {
    "kubelet_config_delivery": "checkpoint",
    "kubelet_config_trial_seconds": 1,
    "kubelet_config_allow_effect": "reboot",
}


@pytest.mark.parametrize("bench", ["n1"], indirect=True)
@pytest.mark.fault(case=24)
def test_a_refused_last_known_good_makes_room_for_the_own_file(bench: Bench, lab: Lab, ansible: Ansible) -> None:
    """The guard asks the new binary before its first start: the kubelet runs, and the Node reports why."""
    ansible.variables(workers_a={"kubelet_config": UNLIMITED, **OPTIONS})
    run = ansible.playbook("rollout", "-e", "kubelet_config_hosts=n1")
    assert run.code == 0, run.output
    assert bench.configz()["memorySwap"] == {"swapBehavior": "UnlimitedSwap"}
    bench.wait(lambda: bench.node.run(f"cat {STORE}/store/meta/last-known-good"), 60, "graduation", every=1)
    bench.wait(lambda: bench.status().get("reason") == "passed its trial", 30, "annotation")

    begun = time.monotonic()
    lab.upgrade("n1", "v1.36")
    bench.wait(bench.healthy, 60, "healthz")
    print(f"\nupgrade to healthz: {time.monotonic() - begun:.1f} s, {lab.node('n1').restarts()} restarts")
    assert bench.active() == "store/local/config" and lab.node("n1").restarts() <= 3
    bench.wait(lambda: bench.status().get("error"), 60, "annotation")
    print(json.dumps(bench.status(), indent=2))
    version = lab.node("n1").release.version
    assert f"kubelet {version} refuses this configuration" in bench.status()["error"]
    assert "swapBehavior" in bench.status()["error"]
    bench.wait(
        lambda: lab.get("/api/v1/nodes/n1")["status"]["nodeInfo"]["kubeletVersion"] == version,
        60,
        "version on the Node",
    )
    bench.wait(lambda: "n1" in lab.ready_nodes(), 60, "Ready")
    # kubeadm has renewed the node's own file for the new version, and that is what runs.
    assert "failCgroupV1" in bench.configz() and "swapBehavior" not in bench.configz()["memorySwap"]
    assert bench.node.run(f"cat {STORE}/active/*") == bench.node.run(f"cat {OWN_CONFIG}")
