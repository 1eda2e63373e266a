# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The playbook rollback to one ConfigMap, with an HTTP server as API server."""

from __future__ import annotations

import json
import typing as t
from pathlib import Path

import pytest

from tests.sim.played import PlayedCluster, played_ansible
from tests.support import objects
from tests.support.ansible import Ansible

TARGET = "config-of-n1"


def own(name: str) -> dict[str, t.Any]:
    """Return the values that belong to one machine."""
    return {
        "providerID": f"cloud://{name}",
        "address": f"10.0.0.{name[1:]}",
        "reservedMemory": [{"numaNode": 0, "limits": {"memory": f"{name[1:]}Gi"}}],
        "tlsCertFile": f"/pki/{name}.crt",
        "tlsPrivateKeyFile": f"/pki/{name}.key",
    }


class Pushed(PlayedCluster):
    """Remembers the number of Leases at each push."""

    def __init__(self, *names: str) -> None:
        super().__init__(*names)
        self.leases: list[int] = []

    def pushing(self, body: dict[str, t.Any]) -> None:
        """Count."""
        self.leases.append(len(self.claims.items))


@pytest.fixture
def fleet() -> t.Iterator[Pushed]:
    """Three nodes with native delivery, and a ConfigMap that was made from n1."""
    with Pushed("n1", "n2", "n3") as made:
        for name in made.live:
            made.live[name] = {**made.live[name], **own(name), "podPidsLimit": 500}
        target = {**made.local, **own("n1"), "maxPods": 70}
        made.configmaps[TARGET] = objects.configmap(TARGET, json.dumps(target))
        yield made


@pytest.fixture
def ansible(tmp_path: Path, fleet: Pushed) -> Ansible:
    """ansible-playbook with the fleet as its cluster, and an inventory that declares another value."""
    return played_ansible(tmp_path, fleet, kubelet_config={"maxPods": 80})


def to(name: str) -> tuple[str, ...]:
    return "-e", f"kubelet_config_variant={name}"


@pytest.mark.fault(case=59)
def test_values_of_a_machine_stay_those_of_each_node(fleet: Pushed, ansible: Ansible) -> None:
    """All other fields are those of the ConfigMap, not those of the inventory; fields that it lacks are removed."""
    wanted = {name: {**fleet.local, **own(name), "maxPods": 70} for name in fleet.live}
    run = ansible.playbook("rollback", *to(TARGET))
    assert run.code == 0, run.output
    assert fleet.live == wanted
    assert fleet.assigned == {"n1", "n2", "n3"}
    assert "providerID" in run.output and "the node keeps its own" in run.output
    assert fleet.leases == [1, 1, 1], "a prune could remove what is pushed without a Lease"

    fleet.assigned.clear()
    again = ansible.playbook("rollback", *to(TARGET))
    assert again.code == 0, again.output
    assert fleet.assigned == set()
    assert [again.recap(name)["changed"] for name in fleet.live] == [0, 0, 0], again.output


def test_its_effects_are_weighed_like_those_of_a_rollout(fleet: Pushed, ansible: Ansible) -> None:
    target = {**fleet.local, "clusterDNS": ["10.96.0.99"]}
    fleet.configmaps[TARGET] = objects.configmap(TARGET, json.dumps(target))
    run = ansible.playbook("rollback", *to(TARGET))
    assert run.code != 0
    assert "clusterDNS" in run.output and "allow_effect=drain" in run.output, run.output
    assert fleet.assigned == set() and len(fleet.configmaps) == 2
    allowed = ansible.playbook("rollback", *to(TARGET), "-e", "kubelet_config_allow_effect=drain")
    assert allowed.code == 0, allowed.output
    assert fleet.assigned == {"n1", "n2", "n3"}


def test_a_missing_configmap_is_named_before_any_change(fleet: Pushed, ansible: Ansible) -> None:
    run = ansible.playbook("rollback", *to("config-gone"))
    assert run.code != 0
    assert "kube-system/config-gone" in run.output and "there is no such ConfigMap" in run.output, run.output
    assert fleet.assigned == set()
