# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A rollout to groups of both deliveries and the control plane: its order, its pods, its end, and its rollback."""

from __future__ import annotations

import json
import re
import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values.annotation import PREFIX
from tests.lab.lab import Lab
from tests.support.ansible import Ansible, Run
from tests.support.control_plane import ControlPlaneNode
from tests.support.fleet import ALL, Fleet, changed
from tests.support.pods import Pods

EVERY_NODE = ("-e", f"kubelet_config_hosts={ALL}")
# Strings, as from an AWX survey.
BATCHES = ("-e", json.dumps({"kubelet_config_serial": "1,50%", "kubelet_config_max_unavailable": "60%"}))


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
    """One canary, then batches, and the control plane alone and last. Pods of both kinds survive; no lease is left; a
    second run changes nothing.
    """
    pods.create("bound", "n3", labels={"app": "bound"}, owner=("ReplicaSet", "web"))
    static = pods.static("kept", "n1")
    seen = pods.wait_ready("bound", static)
    ansible.variables(all={"kubelet_config": {"kubeAPIQPS": 51}})
    before = fleet.look()

    checked = ansible.playbook("rollout", *EVERY_NODE, *BATCHES, "--check")
    assert checked.code == 0, checked.output
    assert (fleet.look(), fleet.leases()) == (before, [])

    run = ansible.playbook("rollout", *EVERY_NODE, *BATCHES, "-e", "kubelet_config_soak_seconds=4")
    assert run.code == 0, run.output
    after = fleet.look()
    assert set(fleet.qps().values()) == {51}
    assert changed(before, after) == set(fleet.names)
    order = batches(run)
    assert [len(names) for names in order] == [1, 3, 2, 1], (order, run.output)
    assert order[-1] == ["n7"]
    now = pods.wait_ready("bound", static)
    assert {name: (one.uid, one.containers, one.restarts) for name, one in now.items()} == {
        name: (one.uid, one.containers, one.restarts) for name, one in seen.items()
    }
    assert fleet.leases() == []

    again = ansible.playbook("rollout", *EVERY_NODE, *BATCHES)
    assert again.code == 0, again.output
    assert fleet.look() == after
    assert sum(again.recap(name)["changed"] for name in fleet.names) == 0


@pytest.mark.long
def test_rollback_to_the_previous_configuration_and_to_a_variant(fleet: Fleet, ansible: Ansible) -> None:
    """Nodes of both deliveries are rolled back, then one of them to a variant."""
    ansible.variables(all={"kubelet_config": {"kubeAPIQPS": 52}})
    group = ("-e", "kubelet_config_hosts=n2:n3")
    assert ansible.playbook("rollout", *group).code == 0
    ansible.variables(all={"kubelet_config": {"kubeAPIQPS": 53}})
    assert ansible.playbook("rollout", *group).code == 0
    before = fleet.look()
    assert (before["n2"].qps, before["n3"].qps) == (53, 53)
    named = {name: variant(fleet, name) for name in ("n2", "n3")}

    back = ansible.playbook("rollback", *group)
    assert back.code == 0, back.output
    now = fleet.look()
    assert (now["n2"].qps, now["n3"].qps) == (52, 52)
    assert changed(before, now) == {"n2", "n3"}
    forth = ansible.playbook("rollback", "-e", "kubelet_config_hosts=n3", "-e", f"kubelet_config_variant={named['n3']}")
    assert forth.code == 0, forth.output
    assert fleet.qps()["n3"] == 53
    again = ansible.playbook("rollback", "-e", "kubelet_config_hosts=n3", "-e", f"kubelet_config_variant={named['n3']}")
    assert again.code == 0 and again.recap("n3")["changed"] == 0, again.output


def variant(fleet: Fleet, name: str) -> str:
    """Return the ConfigMap that is assigned to a node."""
    node = fleet.node(name)
    marked = json.loads(node["metadata"]["annotations"].get(f"{PREFIX}source", "{}"))
    return t.cast(str, (node["spec"].get("configSource") or marked)["configMap"]["name"])


# The test above rolls back real nodes of both deliveries.
@pytest.mark.long
def test_rollback_to_the_local_config(fleet: Fleet, ansible: Ansible) -> None:
    """A node without a previous source is rolled back to its local config."""
    group = ("-e", "kubelet_config_hosts=n4")
    assert ansible.playbook("reset", *group).code == 0
    local = fleet.qps()["n4"]
    ansible.variables(all={"kubelet_config": {"kubeAPIQPS": 54}})
    assert ansible.playbook("rollout", *group).code == 0
    assert fleet.qps()["n4"] == 54
    back = ansible.playbook("rollback", *group)
    assert back.code == 0, back.output
    assert fleet.qps()["n4"] == local
    assert not any(key.startswith(PREFIX) for key in fleet.node("n4")["metadata"].get("annotations", {}))
