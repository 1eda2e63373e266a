# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A whole change on a kubelet of 1.36: rollout, again, drift, and reset."""

from __future__ import annotations

import pytest

from tests.lab.lab import Lab
from tests.support.ansible import Ansible
from tests.support.node_bench import STORE, Bench

N2 = ("-e", "kubelet_config_hosts=n2")
FILES = "find /etc/systemd /usr/lib/systemd/system/kubelet.service.d /etc/default /var/lib/kubelet -maxdepth 2 -name"
LAYOUT = f"{FILES} '*kube*' -printf '%p %y %m %s %l\\n' | sort; cat /var/lib/kubelet/config.yaml; systemctl cat kubelet"


@pytest.mark.parametrize("bench", ["n2"], indirect=True)
def test_rollout_again_drift_and_reset(bench: Bench, lab: Lab, ansible: Ansible) -> None:
    node = bench.node
    layout, before = node.run(LAYOUT), bench.configz()
    wanted = {
        "kubeAPIQPS": 61,
        "imageMaximumGCAge": "48h0m0s",
        "crashLoopBackOff": {"maxContainerRestartPeriod": "2m0s"},
    }
    options = {"kubelet_config_delivery": "checkpoint", "kubelet_config_trial_seconds": 1}
    ansible.variables(workers_b={"kubelet_config": wanted, **options})

    run = ansible.playbook("rollout", *N2)
    assert run.code == 0, run.output
    live = bench.configz()
    assert {name: live[name] for name in wanted} == wanted
    assert {name: live[name] for name in live if name not in wanted} == {
        name: before[name] for name in before if name not in wanted
    }
    invocation = node.invocation_id()
    again = ansible.playbook("rollout", *N2)
    assert again.code == 0 and again.recap("n2")["changed"] == 0, again.output
    assert node.invocation_id() == invocation
    bench.wait(lambda: node.run(f"cat {STORE}/store/meta/last-known-good"), 60, "graduation", every=1)

    same = ansible.playbook("drift", *N2)
    assert same.code == 0 and "0 drifted" in same.output, same.output
    ansible.variables(workers_b={"kubelet_config": {**wanted, "kubeAPIQPS": 62}, **options})
    drifted = ansible.playbook("drift", *N2)
    assert drifted.code and "kubeAPIQPS" in drifted.output and "1 drifted" in drifted.output, drifted.output

    reset = ansible.playbook("reset", *N2)
    assert reset.code == 0, reset.output
    assert bench.configz() == before and node.run(LAYOUT) == layout
    assert bench.status() == {} and "n2" in lab.ready_nodes()
