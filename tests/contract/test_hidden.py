# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kubelets that show no user what they run: `kubelet_config_allow_hidden`."""

from __future__ import annotations

import pytest

from tests.contract.clusters import NODES, Contracted
from tests.support.plays.ansible import Ansible

GROUP = ("-e", "kubelet_config_hosts=workers_a")
HIDDEN = {"n1": "enableServer", "n3": "enableDebuggingHandlers"}


@pytest.mark.long_on_lab
def test_a_hidden_kubelet_is_verified_by_its_status_and_can_be_reset(cluster: Contracted, ansible: Ansible) -> None:
    """Refused, accepted with the other proof, not planned anew, and reset."""
    ansible.host_variables(**{name: {"kubelet_config": {field: False}} for name, field in HIDDEN.items()})
    local = {name: cluster.look(name).configz for name in HIDDEN}
    refused = ansible.playbook("plan", *GROUP)
    assert refused.code != 0
    for field in HIDDEN.values():
        assert f"{field}: false: the kubelet serves" in refused.output, refused.output
    assert "kubelet_config_allow_hidden: true" in refused.output, refused.output

    ansible.variables(workers_a={"kubelet_config_allow_hidden": True, "kubelet_config_soak_seconds": 1})
    run = ansible.playbook("rollout", *GROUP)
    assert run.code == 0, run.output
    assert "Roll it back or reset the node before you plan another change" in run.output, run.output
    sources = {}
    for name in HIDDEN:
        node = cluster.get(f"{NODES}/{name}")
        sources[name] = node["spec"]["configSource"]["configMap"]["name"]
        assert node["status"]["config"]["active"]["configMap"]["name"] == sources[name]

    again = ansible.playbook("plan", *GROUP)
    assert again.code != 0
    for name, field in HIDDEN.items():
        why = f"it runs kube-system/{sources[name]} key kubelet with {field}: false, so that no user can read"
        assert why in again.output, again.output

    back = ansible.playbook("reset", *GROUP)
    assert back.code == 0, back.output
    assert {name: cluster.look(name).configz for name in HIDDEN} == local
