# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The whole way of the deliveries `checkpoint` and `dropin` on kubelets of 1.36."""

from __future__ import annotations

import json
import typing as t

import pytest

from tests.contract.node_rules import (  # noqa: F401  # pylint: disable=unused-import  # tests
    REFUSED,
    Nodes,
    plan_refuses,
    test_rollout_again_less_declared_and_reset,
)
from tests.lab.lab import Lab
from tests.support.lab.views import MANAGED
from tests.support.lab_node.node_bench import STORE, Bench
from tests.support.plays.ansible import Ansible

FILES = "find /etc/systemd /usr/lib/systemd/system/kubelet.service.d /etc/default /var/lib/kubelet -maxdepth 2 -name"
LAYOUT = f"{FILES} '*kube*' -printf '%p %y %m %s %l\\n' | sort; cat /var/lib/kubelet/config.yaml; systemctl cat kubelet"
DELIVERIES = {"n2": "checkpoint", "n3": "dropin"}


class Real:
    """A node of the lab, as the rules see it."""

    def __init__(self, lab: Lab, name: str) -> None:
        self._lab, self._name = lab, name
        self.bench = Bench(lab, name)
        self.delivery = DELIVERIES[name]
        self.configz, self.invocation = self.bench.configz, self.bench.node.invocation_id

    def layout(self) -> str:
        """Look on the node."""
        return self.bench.node.run(LAYOUT)

    def annotations(self) -> dict[str, str]:
        """Ask the API server."""
        return dict(self._lab.get(f"/api/v1/nodes/{self._name}")["metadata"].get("annotations", {}))

    def pushed(self, place: dict[str, str]) -> dict[str, t.Any]:
        """Ask the API server."""
        found = self._lab.get(f"/api/v1/namespaces/{place['namespace']}/configmaps/{place['name']}")
        return t.cast("dict[str, t.Any]", json.loads(found["data"][place["kubeletConfigKey"]]))

    def keeps(self) -> None:
        """Read the store."""
        self.bench.wait(lambda: self.bench.node.run(f"cat {STORE}/store/meta/last-known-good"), 60, "graduation")


@pytest.fixture
def group(lab: Lab, ansible: Ansible) -> t.Iterator[dict[str, Real]]:
    """Yield the nodes; afterwards restore their own configuration."""
    found = {name: Real(lab, name) for name in DELIVERIES}
    try:
        yield found
        assert lab.ready_nodes() >= set(found)
    finally:
        ansible.variables()
        hosts = ("-e", f"kubelet_config_hosts={':'.join(found)}")
        run = ansible.playbook("reset", *hosts, "-e", "kubelet_config_allow_effect=reboot")
        assert run.code == 0, run.output
        lab.kubectl("delete", "configmap", "-n", "kube-system", "-l", MANAGED)


def test_fields_of_late_versions(group: dict[str, Real], ansible: Ansible) -> None:
    """Both deliveries bring fields that kubelets of 1.20 do not have."""
    declared = {"imageMaximumGCAge": "48h0m0s", "crashLoopBackOff": {"maxContainerRestartPeriod": "2m0s"}}
    before = {name: node.configz() for name, node in group.items()}
    ansible.host_variables(**{name: {"kubelet_config_delivery": node.delivery} for name, node in group.items()})
    ansible.variables(all={"kubelet_config": declared, "kubelet_config_trial_seconds": 1, "kubelet_config_serial": 2})
    run = ansible.playbook("rollout", "-e", f"kubelet_config_hosts={':'.join(group)}")
    assert run.code == 0, run.output
    assert {name: node.configz() for name, node in group.items()} == {
        name: {**config, **declared} for name, config in before.items()
    }


@pytest.mark.parametrize(("declared", "words"), REFUSED)
def test_a_plan_refuses_what_would_end_a_kubelet(
    group: Nodes, ansible: Ansible, declared: dict[str, t.Any], words: str
) -> None:
    plan_refuses(group, ansible, declared, words)
