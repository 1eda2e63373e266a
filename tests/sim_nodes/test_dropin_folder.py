# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A drop-in folder that users other than root may write to gets no link of ours, and the message names the remedy."""

from __future__ import annotations

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values.annotation import PREFIX
from tests.sim.cluster import Cluster
from tests.sim.nodes.node import SimNode
from tests.support.plays.ansible import Ansible

FOLDER = "/etc/kubernetes/kubelet.conf.d"


@pytest.mark.long
@pytest.mark.fault(case=46)
def test_a_folder_that_others_may_write_to_is_refused(
    cluster: Cluster, nodes: dict[str, SimNode], ansible: Ansible
) -> None:
    node = nodes["n2"]
    node.at(FOLDER).mkdir()
    node.at(FOLDER).chmod(0o777)
    before, started = node.layout(), node.show("InvocationID")
    ansible.variables(
        all={
            "kubelet_config": {"maxPods": 80},
            "kubelet_config_delivery": "dropin",
            "kubelet_config_dropin_dir": FOLDER,
        }
    )
    run = ansible.playbook("rollout", "-e", "kubelet_config_hosts=n2")
    words = f"{FOLDER}: others may write to it (mode 0777): they could replace {FOLDER}; check its content"
    assert run.code and words in run.output.replace("\n", " "), run.output
    assert node.show("InvocationID") == started and not list(node.at(FOLDER).iterdir())
    assert {name: row for name, row in node.layout().items() if "kubelet" in name} == {
        name: row for name, row in before.items() if "kubelet" in name
    }
    assert f"{PREFIX}source" not in cluster.node("n2")["metadata"].get("annotations", {})
    node.at(FOLDER).chmod(0o755)
    try:
        again = ansible.playbook("rollout", "-e", "kubelet_config_hosts=n2")
        assert again.code == 0 and node.configz()["maxPods"] == 80, again.output
    finally:
        gone = ansible.playbook("reset", "-e", "kubelet_config_hosts=n2")
    assert gone.code == 0, gone.output
