# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The whole way of both deliveries that need a login, in one group: rollout, again, drift, less declared, reset.
tests/sim_nodes/test_rollout.py runs it on simulated nodes, tests/e2e_modern/test_rollout.py on real ones.
"""

from __future__ import annotations

import json
import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values.annotation import PREFIX
from tests.support.plays.ansible import Ansible

OPTIONS = {"kubelet_config_trial_seconds": 1, "kubelet_config_wait_timeout": 60, "kubelet_config_serial": 2}
HEADER = {"kind": "KubeletConfiguration", "apiVersion": "kubelet.config.k8s.io/v1beta1"}
SOURCE, STATUS = f"{PREFIX}source", f"{PREFIX}status"


class Contracted(t.Protocol):
    """A node that runs its own configuration."""

    delivery: str

    def layout(self) -> t.Any:
        """Return the kubelet's files and units on the node."""

    def configz(self) -> dict[str, t.Any]:
        """Return what the kubelet runs."""

    def invocation(self) -> str:
        """Return what changes when the kubelet is restarted."""

    def annotations(self) -> dict[str, str]:
        """Return the annotations of the Node."""

    def pushed(self, place: dict[str, str]) -> dict[str, t.Any]:
        """Return the configuration in a ConfigMap."""

    def keeps(self) -> None:
        """Wait until the store has the configuration as last-known-good."""


Nodes = dict[str, Contracted]


def prepared(group: Nodes, ansible: Ansible) -> tuple[str, str]:
    """Set the delivery of each node; return the arguments that name the nodes."""
    ansible.host_variables(**{name: {"kubelet_config_delivery": node.delivery} for name, node in group.items()})
    return "-e", f"kubelet_config_hosts={':'.join(group)}"


def invocations(group: Nodes) -> dict[str, str]:
    """Return what changes when kubelets are restarted."""
    return {name: node.invocation() for name, node in group.items()}


def test_rollout_again_less_declared_and_reset(group: Nodes, ansible: Ansible) -> None:
    hosts = prepared(group, ansible)
    layout = {name: node.layout() for name, node in group.items()}
    before = {name: node.configz() for name, node in group.items()}
    declared = {
        "kubeAPIQPS": 61,
        "evictionHard": {"memory.available": "77Mi"},
        "failSwapOn": False,
        "registryBurst": 21,
    }
    ansible.variables(all={"kubelet_config": declared, **OPTIONS})

    run = ansible.playbook("rollout", *hosts)
    assert run.code == 0, run.output
    for name, node in group.items():
        # A kubelet merges the maps of drop-ins key by key. Nothing else changes.
        kept = before[name]["evictionHard"] if node.delivery == "dropin" else {}
        assert node.configz() == {**before[name], **declared, "evictionHard": {**kept, "memory.available": "77Mi"}}
        source = json.loads(node.annotations()[SOURCE])
        if node.delivery == "dropin":
            assert source["delivery"] == "dropin"
            assert node.pushed(source["configMap"]) == {**HEADER, **declared}
        else:
            assert node.pushed(source["configMap"])["kubeAPIQPS"] == 61

    first = invocations(group)
    again = ansible.playbook("rollout", *hosts)
    assert again.code == 0 and not any(again.recap(name)["changed"] for name in group), again.output
    assert invocations(group) == first
    for node in group.values():
        node.keeps()
    same = ansible.playbook("drift", *hosts)
    assert same.code == 0 and "0 drifted" in same.output, same.output

    # The node's own file is live again at the next restart, also where a key is no longer declared.
    ansible.variables(all={"kubelet_config": {"kubeAPIQPS": 62}, **OPTIONS})
    drifted = ansible.playbook("drift", *hosts)
    assert drifted.code and "no longer declared" in drifted.output and "2 drifted" in drifted.output, drifted.output
    less = ansible.playbook("rollout", *hosts)
    assert less.code == 0, less.output
    assert {name: node.configz() for name, node in group.items()} == {
        name: {**config, "kubeAPIQPS": 62} for name, config in before.items()
    }

    reset = ansible.playbook("reset", *hosts)
    assert reset.code == 0, reset.output
    for name, node in group.items():
        assert node.layout() == layout[name]
        assert node.configz() == before[name]
        assert not {SOURCE, STATUS} & set(node.annotations())
    assert all(now != first[name] for name, now in invocations(group).items())


# What is declared, and what the plan answers; for pytest's parametrize.
REFUSED = (
    pytest.param({"maxPods": -3}, "maxPods (--max-pods) -3 must not be a negative number", id="by validation"),
    pytest.param({"evictionHard": {"memory.available": "lots"}}, "quantities must match", id="at its start"),
    pytest.param({"maxPodz": 7}, "Did you mean maxPods?", id="unknown field"),
)


def plan_refuses(group: Nodes, ansible: Ansible, declared: dict[str, t.Any], words: str) -> None:
    """Roll out what would end a kubelet: no kubelet is restarted."""
    hosts = prepared(group, ansible)
    first = invocations(group)
    ansible.variables(all={"kubelet_config": declared, **OPTIONS})
    run = ansible.playbook("rollout", *hosts)
    assert run.code and words in run.output.replace("\n", " "), run.output
    assert invocations(group) == first
