# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""kubeadm's own ConfigMap, with the real kubeadm: the configuration of nodes that join or are upgraded."""

from __future__ import annotations

import hashlib
import json
import typing as t

import pytest
import yaml

from ansible_collections.livenodes.kubelet.plugins.module_utils._config import rollback
from tests.lab.lab import Lab
from tests.lab.node import LabNode
from tests.support.lab.views import look
from tests.support.plays.ansible import Ansible

NAME, CLUSTER = "kubelet-config-1.20", "kubeadm-config"
HASH = "kubeadm.kubernetes.io/component-config.hash"
FILE = "/var/lib/kubelet/config.yaml"
PHASE = "kubeadm upgrade node phase kubelet-config"
HOSTS = ("-e", "kubelet_config_hosts=n1:n2", "-e", "kubelet_config_serial=2")
COMMON = {"eventBurst": 31, "eventRecordQPS": 7, "kubeReserved": {"memory": "64Mi"}}
# Specific to one machine, even if a group sets it.
OWN = {"staticPodPath": "/etc/kubernetes/more-manifests"}


def mode(word: str) -> tuple[str, str]:
    """Return the arguments that set this mode of a playbook."""
    return "-e", f"kubelet_config_kubeadm={word}"


def read(lab: Lab, name: str = NAME) -> dict[str, t.Any]:
    """Return a ConfigMap."""
    return dict(json.loads(lab.kubectl("get", "configmap", "-n", "kube-system", name, "-o", "json")))


def config(lab: Lab, name: str = NAME) -> dict[str, t.Any]:
    """Return the configuration in kubeadm's ConfigMap."""
    return dict(yaml.safe_load(read(lab, name)["data"]["kubelet"]))


def squeezed(text: str) -> str:
    """Return a text without white space: Ansible breaks the lines of its warnings, even inside names."""
    return "".join(text.split())


@pytest.fixture
def maps(lab: Lab) -> t.Iterator[dict[str, t.Any]]:
    """Yield kubeadm's ConfigMap with the hash of `kubeadm init` and a foreign label; restore both afterwards."""
    before = [read(lab, name) for name in (CLUSTER, NAME)]
    try:
        digest = hashlib.sha256(before[1]["data"]["kubelet"].encode()).hexdigest()
        lab.kubectl("annotate", "configmap", "-n", "kube-system", NAME, f"{HASH}=sha256:{digest}")
        lab.kubectl("label", "configmap", "-n", "kube-system", NAME, "owner=other")
        yield read(lab)
    finally:
        lab.kubectl("delete", "configmap", "-n", "kube-system", CLUSTER, NAME, "--ignore-not-found")
        for item in before:
            item["metadata"] = {
                key: value
                for key, value in item["metadata"].items()
                if key in ("name", "namespace", "labels", "annotations")
            }
            lab.kubectl("create", "-f", "-", stdin=json.dumps(item))


@pytest.fixture
def n1(lab: Lab) -> t.Iterator[LabNode]:
    """Yield a node; restore its configuration file afterwards, byte for byte."""
    node = lab.node("n1")
    stamp = node.run(f"stat -c '%a %u:%g %Y' {FILE}; sha256sum {FILE}")
    node.run(f"cp -a {FILE} /root/kubelet-config-before")
    try:
        yield node
    finally:
        node.run(f"mv /root/kubelet-config-before {FILE}; rm -rf /etc/kubernetes/tmp")
    assert node.run(f"stat -c '%a %u:%g %Y' {FILE}; sha256sum {FILE}") == stamp


def predicted(node: LabNode) -> dict[str, t.Any]:
    """Return the configuration that kubeadm would write on a node."""
    lines = node.run(f"{PHASE} --dry-run").split(f'Would write file "{FILE}" with content:\n')[1].splitlines()
    return dict(yaml.safe_load("\n".join(line[1:] for line in lines if line.startswith("\t"))))


def test_joining_nodes_get_the_configuration_of_the_group(
    lab: Lab, fleet: tuple[str, ...], ansible: Ansible, maps: dict[str, t.Any], n1: LabNode
) -> None:
    """With an outdated ConfigMap, kubeadm would undo a rollout. In sync, its upgrade writes the group's values, and the
    node's live configuration does not change.
    """
    before = config(lab)
    ansible.variables(
        all={"kubelet_config": {**COMMON, **OWN}},
        workers_b={"kubelet_config_host": {"eventRecordQPS": 9, "registryBurst": 21}},
    )
    rolled = ansible.playbook("rollout", *HOSTS)
    assert rolled.code == 0, rolled.output
    live = {name: look(lab, name) for name in ("n1", "n2")}
    assert [
        (view.configz["eventBurst"], view.configz["eventRecordQPS"], view.configz["staticPodPath"])
        for view in live.values()
    ] == [(31, 7, OWN["staticPodPath"]), (31, 9, OWN["staticPodPath"])]
    assert read(lab) == maps
    assert [predicted(n1).get(field) for field in COMMON] == [None, None, None]

    checked = ansible.playbook("rollout", *HOSTS, *mode("check"))
    assert (checked.code, checked.recap("n1")["changed"]) == (0, 0), checked.output
    assert squeezed(
        f"ConfigMap kube-system/{NAME} is not in sync with the nodes: eventBurst, eventRecordQPS, kubeReserved.memory."
    ) in squeezed(checked.output)
    assert read(lab) == maps

    updated = ansible.playbook("rollout", *HOSTS, *mode("update"))
    assert (updated.code, updated.recap("n1")["changed"], updated.recap("n2")["changed"]) == (0, 1, 0), updated.output
    now = read(lab)
    assert config(lab) == {**before, **COMMON}
    record = json.loads(now["metadata"]["annotations"].pop(rollback.WRITTEN))
    assert {field: change[1] for field, change in record["last"].items()} == COMMON
    assert [now["metadata"][part] for part in ("uid", "labels", "annotations")] == [
        maps["metadata"][part] for part in ("uid", "labels", "annotations")
    ]
    n1.run(PHASE)
    written = yaml.safe_load(n1.run(f"cat {FILE}"))
    assert {field: written[field] for field in COMMON} == COMMON
    assert (written["staticPodPath"], "registryBurst" in written) == ("/etc/kubernetes/manifests", False)
    assert {name: look(lab, name) for name in live} == live
