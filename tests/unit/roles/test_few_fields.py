# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A ConfigMap that a user made by hand, with few fields, on kubelets that fill in more of them with each version."""

from __future__ import annotations

import json
import sys
import typing as t
from pathlib import Path

import pytest

from tests.sim.api.kinds import KINDS
from tests.sim.cluster import Cluster
from tests.support import objects
from tests.support.ansible import Ansible

VERSIONS = {"n1": "v1.20.2", "n2": "v1.21.14", "n3": "v1.23.17"}
NAME = "made-by-hand"
CONFIG = {"kind": "KubeletConfiguration", "apiVersion": "kubelet.config.k8s.io/v1beta1", "eventBurst": 31}


@pytest.fixture
def cluster() -> t.Iterator[Cluster]:
    """Kubelets that follow their Node."""
    with Cluster("v1.23.17", scale=20, tls=False) as made:
        for name, version in VERSIONS.items():
            made.simulate(name, version)
        yield made


@pytest.mark.fault(case=65)
def test_what_the_kubelet_fills_in_is_no_difference(cluster: Cluster, tmp_path: Path) -> None:
    """Neither for the verification nor for drift."""
    variables = {
        "ansible_connection": "local",
        "ansible_python_interpreter": sys.executable,
        "kubelet_config": {"eventBurst": 31},
    }
    hosts: dict[str, t.Any] = {name: {} for name in VERSIONS}
    ansible = Ansible.of_api(tmp_path, cluster.url, {"workers": {"hosts": hosts, "vars": variables}})
    made = objects.configmap(NAME, json.dumps(CONFIG))
    # Not by this collection.
    del made["metadata"]["labels"]
    cluster.store.create(KINDS["configmaps"], "kube-system", made)

    options = {"nodes": list(VERSIONS), "source": {"name": NAME}, "wait": True, "wait_timeout": 60}
    done = ansible.module("node_config_source", options)
    assert not done["failed"], done["msg"]
    for name, row in done["nodes"].items():
        live = cluster.kubelet(name).configz()
        assert (row["state"], row["differences"], live["eventBurst"]) == ("active", [], 31), row
        assert len(live) > len(CONFIG) + 20, "it has filled in the rest"
    assert not ansible.module("node_config_source", options)["changed"]
    drift = ansible.playbook("drift")
    assert drift.code == 0 and "0 drifted" in drift.output, drift.output
