# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A group whose nodes all have followers: checkpoints and drop-ins through the API alone, and no host is reached."""

from __future__ import annotations

import json
import typing as t
from pathlib import Path

import pytest

from tests.sim.cluster import Cluster
from tests.support.plays.ansible import Ansible

NODES = {f"n{number}": "v1.32.0" if number % 2 else "v1.28.0" for number in range(1, 9)}
REFUSAL = "swap is on: turn it off"
BATCHES = {"kubelet_config_serial": [1, 4], "kubelet_config_max_unavailable": "50%", "kubelet_config_soak_seconds": 0}


class Group:
    """The cluster, and Ansible for it."""

    def __init__(self, cluster: Cluster, ansible: Ansible) -> None:
        self.cluster, self.ansible = cluster, ansible
        self.local = self.runs()

    def runs(self) -> dict[str, int]:
        """Return what every kubelet runs."""
        return {name: self.cluster.kubelet(name).configz()["maxPods"] for name in NODES}

    def play(self, name: str, code: int = 0, **variables: t.Any) -> str:
        """Run a playbook, which must end with this exit status, and return its output."""
        run = self.ansible.playbook(name, "-e", json.dumps({**BATCHES, **variables}))
        assert run.code == code, run.output
        return run.output


@pytest.fixture
def group(tmp_path: Path) -> t.Iterator[Group]:
    """Yield nodes with followers. A login would fail: nothing listens at their port."""
    with Cluster("v1.32.0", scale=20, tls=False) as cluster:
        for name, version in NODES.items():
            cluster.simulate(name, version, followed=True, flags={})
        hosts = {name: {"ansible_host": "127.0.0.1", "ansible_port": 1} for name in NODES}
        yield Group(cluster, Ansible.of_api(tmp_path, cluster.url, {"all": {"hosts": hosts}}))


def test_a_group_is_changed_through_the_api_alone(group: Group) -> None:
    """Plan, rollout, a second run, drift, rollback and reset. The report has each node as done."""
    report = group.ansible.home / "report.json"
    group.ansible.environment["ANSIBLE_CALLBACKS_ENABLED"] = "livenodes.kubelet.rollout"
    group.ansible.environment["LIVENODES_KUBELET_REPORT_JSON"] = str(report)
    group.play("rollout", kubelet_config={"maxPods": 50})
    assert set(group.runs().values()) == {50}
    found = json.loads(report.read_text())
    assert found["outcome"] == "done" and {node["state"] for node in found["nodes"]} == {"done"}, found
    again = group.play("rollout", kubelet_config={"maxPods": 50})
    assert "0 to change" in again or "nothing" in again, again
    group.play("drift", kubelet_config={"maxPods": 50})
    group.play("rollout", kubelet_config={"maxPods": 60})
    assert set(group.runs().values()) == {60}
    group.play("rollback")
    assert set(group.runs().values()) == {50}
    group.play("reset")
    assert group.runs() == group.local


def test_a_canary_that_refuses_stops_the_rollout(group: Group) -> None:
    """Its row has the words of the node, and no other node is changed."""
    group.cluster.kubelet("n1").refuses = REFUSAL
    output = group.play("rollout", 2, kubelet_config={"maxPods": 50})
    assert f"Node n1: {REFUSAL}; still running its previous configuration" in output, output
    assert group.runs() == group.local
    group.cluster.kubelet("n1").refuses = ""
    group.play("rollout", kubelet_config={"maxPods": 50})
    assert set(group.runs().values()) == {50}


def test_checkpoints_become_drop_ins(group: Group) -> None:
    """What the kubelets run stays equal."""
    late = [name for name, version in NODES.items() if version == "v1.32.0"]
    given: dict[str, t.Any] = {
        "kubelet_config": {"maxPods": 50},
        "kubelet_config_hosts": ":".join(late),
        "kubelet_config_serial": 2,
    }
    group.play("rollout", kubelet_config_delivery="checkpoint", **given)
    group.play("migrate", kubelet_config_delivery="dropin", **given)
    info = group.ansible.module("node_config_info", {"nodes": late})["nodes"]
    assert {row["delivery"] for row in info.values()} == {"dropin"}, info
    assert {name for name, pods in group.runs().items() if pods == 50} == set(late)


def test_a_node_without_a_follower_is_refused_where_one_is_demanded(group: Group) -> None:
    group.cluster.simulate("n9", "v1.28.0")
    group.ansible.variables(ungrouped={})
    (group.ansible.inventory / "more.yml").write_text(json.dumps({"all": {"hosts": {"n9": {"ansible_port": 1}}}}))
    output = group.play("rollout", 2, kubelet_config={"maxPods": 50}, kubelet_config_transport="api")
    assert "n9" in output
