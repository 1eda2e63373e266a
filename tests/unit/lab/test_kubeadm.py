# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The files of a node, and kubeadm's objects, by minor version."""

from __future__ import annotations

import pytest
import yaml

from tests.lab import files, kubeadm
from tests.lab.kubeadm import Traits

SOCKET = "unix:///run/containerd/containerd.sock"
ENDPOINT = f"--container-runtime-endpoint={SOCKET}"
PAUSE = "--pod-infra-container-image=registry.k8s.io/pause:3.9"


@pytest.mark.parametrize(
    ("minor", "flags"),
    [
        (20, f"--container-runtime=remote {ENDPOINT}"),
        (24, f"{ENDPOINT} {PAUSE}"),
        (33, f"{ENDPOINT} {PAUSE}"),
        (34, PAUSE),
        (35, ""),
        (36, ""),
    ],
)
def test_flags_that_kubeadm_sets(minor: int, flags: str) -> None:
    assert kubeadm.flags_env(minor) == f'KUBELET_KUBEADM_ARGS="{flags}"\n'


@pytest.mark.parametrize("cgroup_v1", [True, False])
@pytest.mark.parametrize(
    ("minor", "new"),
    [
        (20, {"logging"}),
        (24, {"logging", "memorySwap"}),
        (28, {"logging", "memorySwap", "containerRuntimeEndpoint"}),
        (32, {"logging", "memorySwap", "containerRuntimeEndpoint", "imageMaximumGCAge", "crashLoopBackOff"}),
        (36, {"logging", "memorySwap", "containerRuntimeEndpoint", "imageMaximumGCAge", "crashLoopBackOff"}),
    ],
)
def test_fields_of_the_own_file(minor: int, new: set[str], cgroup_v1: bool) -> None:
    base = set(yaml.safe_load(kubeadm.config_yaml(Traits()))) - {"logging"}
    found = yaml.safe_load(kubeadm.config_yaml(Traits(), minor, cgroup_v1))
    assert set(found) == base | new | ({"failCgroupV1"} if cgroup_v1 and minor >= 35 else set())
    assert found.get("failCgroupV1", False) is False
    assert found.get("containerRuntimeEndpoint", "") == (SOCKET if minor >= 34 else "")
    assert ("text" in found["logging"].get("options", {})) == (minor >= 31)


@pytest.mark.parametrize(
    ("minor", "dynamic", "flags"),
    [
        (20, True, "--dynamic-config-dir=/var/lib/kubelet/dynamic-config --max-pods=61"),
        (20, False, "--max-pods=61"),
        (28, True, "--node-ip=192.0.2.11 --max-pods=61"),
        (36, False, "--node-ip=192.0.2.11 --max-pods=61"),
    ],
)
def test_flags_of_the_administrator(minor: int, dynamic: bool, flags: str) -> None:
    own = kubeadm.traits("n2")
    assert files.default_kubelet(own, dynamic, minor, "192.0.2.11") == f"KUBELET_EXTRA_ARGS={flags}\n"


@pytest.mark.parametrize(("minor", "local", "packaged"), [(20, False, False), (28, False, True), (34, True, True)])
def test_paths_of_a_node(minor: int, local: bool, packaged: bool) -> None:
    paths = files.node_files("n1", "192.0.2.11", ("kubernetes", "192.0.2.1"), Traits(), False, minor)
    assert ("/var/lib/kubelet/instance-config.yaml" in paths) == local
    for folder, expected in (("/usr/lib", packaged), ("/etc", not packaged)):
        assert (f"{folder}/systemd/system/kubelet.service.d/10-kubeadm.conf" in paths) == expected


@pytest.mark.parametrize(
    ("minor", "annotation"), [(20, "/run/containerd/containerd.sock"), (24, SOCKET), (33, SOCKET), (34, None)]
)
def test_annotation_of_a_node(minor: int, annotation: str | None) -> None:
    assert kubeadm.annotations(minor).get("kubeadm.alpha.kubernetes.io/cri-socket") == annotation


@pytest.mark.parametrize(
    ("minor", "api", "configmap"),
    [
        (20, "v1beta2", "kubelet-config-1.20"),
        (24, "v1beta3", "kubelet-config"),
        (30, "v1beta3", "kubelet-config"),
        (31, "v1beta4", "kubelet-config"),
    ],
)
def test_objects_of_the_cluster(minor: int, api: str, configmap: str) -> None:
    data = kubeadm.cluster_data(f"v1.{minor}.2", minor, "192.0.2.1", 6443)
    configuration = yaml.safe_load(data["ClusterConfiguration"])
    assert configuration["apiVersion"] == f"kubeadm.k8s.io/{api}"
    assert configuration["kubernetesVersion"] == f"v1.{minor}.2"
    assert ("ClusterStatus" in data) == (minor < 22)
    readable = [item["rules"][0]["resourceNames"] for kind, item in kubeadm.role_objects(minor) if kind == "roles"]
    assert readable == [["kubeadm-config"], [configmap]]
    bound = [(item["metadata"]["name"], item["roleRef"]["name"]) for kind, item in kubeadm.role_objects(minor)[1::2]]
    assert bound == [(f"kubeadm:{name}",) * 2 for name in ("nodes-kubeadm-config", configmap)]
