# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A node that follows its Node is changed without a login: its sshd is stopped meanwhile."""

from __future__ import annotations

import json
import typing as t

import pytest

from tests.lab.lab import Lab
from tests.support.ansible import Ansible
from tests.support.fleet import Fleet
from tests.support.views import eventually

PREFIX = "kubelet-config.livenodes.io/"
NAME = "n3"
HOST = ("-e", f"kubelet_config_hosts={NAME}")
UNPROTECTED = ("-e", "kubelet_config_follow_unprotected=true")
BY_HAND = "by-hand"


@pytest.fixture
def following(lab: Lab, ansible: Ansible) -> t.Iterator[None]:
    """Install the follower, stop sshd, and restore both in every ending."""
    # A connection that stays open would reach a node without sshd.
    ansible.environment["ANSIBLE_SSH_ARGS"] = "-o ControlMaster=no"
    refused = ansible.playbook("follow", *HOST)
    assert refused.code != 0 and "kubelet_config_follow_unprotected" in refused.output, refused.output
    run = ansible.playbook("follow", *HOST, *UNPROTECTED)
    assert run.code == 0 and run.recap(NAME)["changed"] == 1, run.output
    node = lab.node(NAME)
    node.run("systemctl stop ssh")
    try:
        yield
    finally:
        node.run("systemctl start ssh")
        lab.kubectl(
            "delete", "-n", "kube-system", "--ignore-not-found", "configmap,role,rolebinding", BY_HAND, check=False
        )
        again = ansible.playbook("follow", *HOST, *UNPROTECTED)
        gone = ansible.playbook("follow", *HOST, "-e", "kubelet_config_follow=absent")
    assert again.recap(NAME)["changed"] == 0, again.output
    assert gone.code == 0, gone.output
    assert not node.run("ls -d /var/lib/kubelet-config /etc/systemd/system/livenodes* 2>/dev/null", check=False)
    assert not node.run("systemctl list-units --all --plain --no-legend 'livenodes*'")
    left = lab.get(f"/api/v1/nodes/{NAME}")["metadata"]["annotations"]
    assert not [key for key in left if key.startswith(PREFIX)]


def notes(fleet: Fleet) -> dict[str, t.Any]:
    """Return our annotations of the node, by the names after the prefix."""
    found = fleet.node(NAME)["metadata"]["annotations"]
    return {key[len(PREFIX) :]: json.loads(text) for key, text in found.items() if key.startswith(PREFIX)}


@pytest.mark.usefixtures("following")
def test_a_node_is_changed_without_a_login(lab: Lab, fleet: Fleet, ansible: Ansible) -> None:
    """A rollout, a refusal by the node, an assignment by hand that no controller confirms, a rollback and a reset."""
    before = fleet.look()
    ansible.variables(all={"kubelet_config": {"kubeAPIQPS": 61}})
    run = ansible.playbook("rollout", *HOST)
    assert run.code == 0, run.output
    first = fleet.look()
    assert {name for name in first if first[name] != before[name]} == {NAME}
    assert first[NAME].qps == 61
    assert notes(fleet)["follower"]["judged"] == notes(fleet)["follow"]["trial"] != ""

    strong = {"kubelet_config": {"cpuManagerPolicy": "static", "kubeReserved": {"cpu": "500m"}}}
    refused = ansible.playbook("rollout", *HOST, "-e", json.dumps(strong), "-e", "kubelet_config_allow_effect=reboot")
    assert refused.code != 0, refused.output
    assert "Node n3: cpuManagerPolicy: the effect of the change is reboot, and the follower" in refused.output
    assert fleet.look() == first

    by_hand(lab, fleet)
    eventually(lambda: fleet.look()[NAME].qps == 62, 60, "the configuration that was assigned by hand")
    eventually(lambda: fleet.look()[NAME].qps == 61, 90, "the revert by the guard")
    assert "not confirmed" in notes(fleet)["status"]["error"]

    ansible.variables(all={"kubelet_config": {"kubeAPIQPS": 63}})
    run = ansible.playbook("rollout", *HOST)
    assert run.code == 0 and fleet.look()[NAME].qps == 63, run.output
    back = ansible.playbook("rollback", *HOST)
    assert back.code == 0 and fleet.look()[NAME].qps == 61, back.output
    reset = ansible.playbook("reset", *HOST)
    assert reset.code == 0 and fleet.look()[NAME].qps == before[NAME].qps, reset.output
    assert set(notes(fleet)) == {"follow", "follower"}


def by_hand(lab: Lab, fleet: Fleet) -> None:
    """Assign a ConfigMap with two annotations, as a person with kubectl does, and never confirm it."""
    held = notes(fleet)
    pushed = lab.get(f"/api/v1/namespaces/kube-system/configmaps/{held['source']['configMap']['name']}")
    config = {**json.loads(pushed["data"]["kubelet"]), "kubeAPIQPS": 62}
    lab.kubectl("create", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": objects(config)}))
    reference = {"namespace": "kube-system", "name": BY_HAND, "kubeletConfigKey": "kubelet"}
    orders = {"attempt": held["follow"]["attempt"] + 1, "trial_seconds": 5, "confirm_seconds": 5}
    given = {"follow": orders, "source": {"configMap": reference}}
    words = [f"{PREFIX}{name}={json.dumps(value)}" for name, value in given.items()]
    lab.kubectl("annotate", "--overwrite", "node", NAME, *words)


def objects(config: dict[str, t.Any]) -> list[dict[str, t.Any]]:
    """Return a ConfigMap, and a Role and a RoleBinding with which nodes may read it."""
    meta = {
        "name": BY_HAND,
        "namespace": "kube-system",
        "labels": {"app.kubernetes.io/managed-by": "livenodes.kubelet"},
    }
    rule = {"apiGroups": [""], "resources": ["configmaps"], "resourceNames": [BY_HAND], "verbs": ["get"]}
    rbac = "rbac.authorization.k8s.io"
    return [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"kubelet": json.dumps(config)}},
        {"apiVersion": f"{rbac}/v1", "kind": "Role", "metadata": meta, "rules": [rule]},
        {
            "apiVersion": f"{rbac}/v1",
            "kind": "RoleBinding",
            "metadata": meta,
            "roleRef": {"apiGroup": rbac, "kind": "Role", "name": BY_HAND},
            "subjects": [{"apiGroup": rbac, "kind": "Group", "name": "system:nodes"}],
        },
    ]
