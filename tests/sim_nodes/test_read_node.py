# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reading without nodes/proxy on a node with a drop-in folder, with exactly the permissions of the manifests: on its
host, and as the default chooses.
"""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest

from tests.sim.cluster import Cluster
from tests.sim.kubelets.port import Port
from tests.sim.nodes.node import SimNode
from tests.support.plays.ansible import Ansible
from tests.support.plays.permissions import USER, manifest

SOAK = ("-e", "kubelet_config_soak_seconds=1")


def of_user(home: Path, cluster: Cluster, host: dict[str, t.Any]) -> Ansible:
    """Return Ansible for a user without any permission, with n1 as its host."""
    kubeconfig = cluster.kubeconfig(home / "kubeconfig", USER, "operators")
    return Ansible(home, kubeconfig, {"all": {"hosts": {"n1": host}}})


def test_a_rollout_without_the_proxy(tmp_path: Path) -> None:
    """The token is in no output, and in no file of the node or of the controller."""
    with Cluster("v1.36.2") as cluster, SimNode(cluster, tmp_path / "nodes", "n1", "v1.36.2") as node:
        node.wait(node.healthy, 60, "healthz")
        for name in ("rollout", "reset"):
            cluster.grant(manifest(name))
        cluster.grant(manifest("option-read-node"))
        host = {**node.variables(), "kubelet_config": {"maxPods": 80}, "kubelet_config_read": "node"}
        ansible = of_user(tmp_path, cluster, host)
        with Port(cluster, "n1", 36) as port:
            cluster.counter.forget()
            rollout = ansible.playbook("rollout", *SOAK, "-vvvv")
            assert rollout.code == 0, rollout.output
            assert node.configz()["maxPods"] == 80
            reset = ansible.playbook("reset", *SOAK, "-vvvv")
            assert reset.code == 0, reset.output
        assert node.configz()["maxPods"] != 80
        assert {user for user, _path in port.asked} == {"system:serviceaccount:kube-system:kubelet-configz"}
        assert {"/configz", "/metrics", "/healthz"} <= {path for _user, path in port.asked}
        assert cluster.counter.count("GET", "/proxy/") == 0
        files = [path for path in tmp_path.rglob("*") if path.is_file() and not path.is_symlink()]
        texts = [path.read_text(encoding="utf-8", errors="replace") for path in files]
        texts += [rollout.output, reset.output, node.journal()]
        assert cluster.api.tokens.sent
        assert not [token for token in cluster.api.tokens.sent if any(token in text for text in texts)]


@pytest.mark.parametrize(
    ("way", "names"),
    [
        ("port", ("rollout",)),
        pytest.param("port", ("rollout", "rollback"), marks=pytest.mark.long),
        pytest.param("port", ("plan", "drift"), marks=pytest.mark.long),
        pytest.param("host", ("plan", "rollout", "drift", "rollback"), marks=pytest.mark.long),
    ],
    ids=["port", "port-back", "port-reading", "host"],
)
def test_the_default_on_the_way_of_a_change(tmp_path: Path, way: str, names: tuple[str, ...]) -> None:
    """At the port if its certificate can be verified, else on the host. Each run asks once for each permission."""
    with Cluster("v1.36.2") as cluster, SimNode(cluster, tmp_path / "nodes", "n1", "v1.36.2") as node:
        node.wait(node.healthy, 60, "healthz")
        for name in (*names, *(("option-read-node",) if way == "host" else ())):
            cluster.grant(manifest(name))
        ansible = of_user(tmp_path, cluster, {**node.variables(), "kubelet_config": {"maxPods": 80}})
        before = node.configz()["maxPods"]
        with Port(cluster, "n1", 36) as port:
            if way == "host":
                # Nothing listens there. The host itself finds the port.
                cluster.patch_status("n1", port.at("127.0.0.2"))
            for name in names:
                cluster.counter.forget()
                run = ansible.playbook(name, *SOAK)
                assert run.code == 0, run.output
                assert cluster.counter.count("POST", "/selfsubjectaccessreviews") == (1 if way == "port" else 2)
                assert ("from its own host, not at its port" in " ".join(run.output.split())) == (way == "host")
                assert cluster.counter.count("GET", "/proxy/") == 0
                if name == "rollout":
                    assert node.configz()["maxPods"] == 80
        assert node.configz()["maxPods"] == (80 if names[-1] == "rollout" else before)
        users = {USER} if way == "port" else {"system:serviceaccount:kube-system:kubelet-configz"}
        assert {user for user, _path in port.asked} == users
