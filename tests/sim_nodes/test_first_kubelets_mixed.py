# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One group with kubelets of every form: 1.8 to 1.10, 1.20, 1.28 and 1.36, and each gets its own delivery.

No real API server serves all of them. The simulated one is of 1.10, the last that knows `configMapRef`.
"""

from __future__ import annotations

import json
import sys
import typing as t
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values.annotation import PREFIX
from tests.sim.api.kinds import KINDS
from tests.sim.cluster import Cluster
from tests.sim.nodes.node import SimNode
from tests.support.plays.ansible import Ansible

NATIVE = {"n1": "v1.8.15", "n2": "v1.9.11", "n3": "v1.10.13", "n4": "v1.20.2"}
ON_NODE = {"n5": "v1.28.7", "n6": "v1.36.2"}
FORM = {"n1": "configMapRef", "n2": "configMapRef", "n3": "configMapRef", "n4": "configMap"}
DELIVERY = {**dict.fromkeys(NATIVE, "native"), "n5": "checkpoint", "n6": "dropin"}
SOURCE, STATUS = f"{PREFIX}source", f"{PREFIX}status"


class Mixed:
    """The cluster with all of them."""

    def __init__(self, cluster: Cluster, nodes: dict[str, SimNode]) -> None:
        self.cluster, self.nodes = cluster, nodes

    def max_pods(self) -> dict[str, int]:
        """Return what every kubelet runs."""
        return {
            name: (self.nodes[name].configz() if name in self.nodes else self.cluster.kubelet(name).configz())[
                "maxPods"
            ]
            for name in DELIVERY
        }

    def ours(self, plural: str) -> int:
        """Return how many objects of a kind this collection has made."""
        found = self.cluster.store.page(KINDS[plural], "kube-system", {}).entries
        return sum("app.kubernetes.io/managed-by" in (entry.item["metadata"].get("labels") or {}) for entry in found)

    def form(self, name: str) -> str:
        """Return where a Node has its source: a key of spec.configSource, else the delivery in the annotation."""
        node = self.cluster.node(name)
        note = json.loads(node["metadata"].get("annotations", {}).get(SOURCE, "{}"))
        return next(iter(node["spec"].get("configSource") or ()), "") or note.get(
            "delivery", "checkpoint" if note else ""
        )


@pytest.fixture
def mixed(tmp_path: Path) -> t.Iterator[Mixed]:
    """Yield them with kubelets that run on their own configuration."""
    with Cluster("v1.10.13", scale=20) as cluster:
        for name, version in NATIVE.items():
            cluster.simulate(name, version)
        with (
            SimNode(cluster, tmp_path, "n5", ON_NODE["n5"]) as n5,
            SimNode(cluster, tmp_path, "n6", ON_NODE["n6"]) as n6,
        ):
            for node in (n5, n6):
                node.wait(node.healthy, 20, "healthz")
            yield Mixed(cluster, {"n5": n5, "n6": n6})


@pytest.fixture
def ansible(mixed: Mixed, tmp_path: Path) -> Ansible:
    """Return Ansible with all of them in one group. A kubelet with native delivery needs no login."""
    local = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
    hosts = {name: mixed.nodes[name].variables() if name in mixed.nodes else local for name in DELIVERY}
    variables = {
        "kubelet_config": {"maxPods": 80},
        "kubelet_config_wait_timeout": 60,
        "kubelet_config_soak_seconds": 0,
        "kubelet_config_trial_seconds": 1,
        "kubelet_config_serial": [1, "100%"],
    }
    workers = {"workers": {"hosts": hosts, "vars": variables}}
    return Ansible(tmp_path, mixed.cluster.kubeconfig(tmp_path / "kubeconfig"), workers)


def test_rollout_again_and_reset(mixed: Mixed, ansible: Ansible) -> None:
    before = mixed.max_pods()
    run = ansible.playbook("rollout")
    assert run.code == 0, run.output
    assert mixed.max_pods() == dict.fromkeys(DELIVERY, 80)
    assert {name: mixed.form(name) for name in NATIVE} == FORM
    assert {name: mixed.form(name) for name in ON_NODE} == {"n5": "checkpoint", "n6": "dropin"}
    again = ansible.playbook("rollout")
    assert again.code == 0, again.output
    assert {name: again.recap(name)["changed"] for name in DELIVERY} == dict.fromkeys(DELIVERY, 0)
    drift = ansible.playbook("drift", "-e", "kubelet_config_drift=fail")
    assert drift.code == 0, drift.output
    reset = ansible.playbook("reset")
    assert reset.code == 0, reset.output
    assert mixed.max_pods() == before
    assert {name: mixed.form(name) for name in DELIVERY} == dict.fromkeys(DELIVERY, "")
    assert mixed.ours("roles") == mixed.ours("rolebindings") == len(set(FORM) - {"n4"})
    pruned = ansible.playbook("prune")
    assert pruned.code == 0, pruned.output
    assert [mixed.ours(plural) for plural in ("roles", "rolebindings", "configmaps")] == [0, 0, 0]


def test_one_bad_node_of_1_8(mixed: Mixed, ansible: Ansible) -> None:
    """A configuration that one kubelet of 1.8 refuses: it is on its former one, and later batches are not begun."""
    mixed.cluster.kubelet("n1").refuses = "validate"
    before = mixed.max_pods()
    run = ansible.playbook("rollout")
    assert run.code != 0 and "failed to validate current (UID: " in run.output, run.output
    assert mixed.max_pods() == before
    assert "Untouched hosts: n2, n3, n4, n5, n6" in run.output, run.output
