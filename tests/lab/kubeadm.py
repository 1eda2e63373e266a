# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What kubeadm writes for nodes, by minor version of Kubernetes: the kubelet's files, and the ConfigMaps and roles."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

MANIFESTS = "/etc/kubernetes/manifests"
OTHER_RESOLV_CONF = "/etc/kubernetes/resolv.conf"
CLUSTER_DNS = "10.96.0.10"
SERVICE_RANGE = "10.96.0.0/12"
OWN_CONFIG = "/var/lib/kubelet/config.yaml"
SOCKET = "/run/containerd/containerd.sock"
DEFAULT_MINOR = 20
# From this minor on, kubeadm keeps the runtime's socket in a file of the node instead of a flag and an annotation
# (feature gate NodeLocalCRISocket, on by default).
NODE_LOCAL_SOCKET = 34


@dataclasses.dataclass(frozen=True)
class Traits:
    """How a node differs from the others; a real fleet is never uniform."""

    flags: tuple[str, ...] = ()
    resolv_conf: str | None = None
    qos_cgroups: bool = True


# n2: a flag that shadows a field, and an explicit empty list; n3: another resolvConf. All others are equal.
TRAITS = {"n2": Traits(flags=("--max-pods=61",), qos_cgroups=False), "n3": Traits(resolv_conf=OTHER_RESOLV_CONF)}


def traits(name: str) -> Traits:
    return TRAITS.get(name, Traits())


def has_cgroup_v1() -> bool:
    """Return whether this machine, and with it every node, has the version 1 cgroup controllers."""
    return not Path("/sys/fs/cgroup/cgroup.controllers").exists()


def config_yaml(own: Traits, minor: int = DEFAULT_MINOR, cgroup_v1: bool = False) -> str:
    """Return `/var/lib/kubelet/config.yaml` as `kubeadm join` writes it, plus what a kubelet inside a container needs.

    Zero durations are included; the kubelet replaces them by its defaults.
    """
    endpoint = f"unix://{SOCKET}" if minor >= NODE_LOCAL_SOCKET else ""
    since = {
        "endpoint": (27, f'containerRuntimeEndpoint: "{endpoint}"\n'),
        "crash": (32, "crashLoopBackOff: {}\n"),
        "age": (29, "imageMaximumGCAge: 0s\n"),
        "swap": (22, "memorySwap: {}\n"),
    }
    lines = {name: text if minor >= first else "" for name, (first, text) in since.items()}
    text = f"""apiVersion: kubelet.config.k8s.io/v1beta1
authentication:
  anonymous:
    enabled: false
  webhook:
    cacheTTL: 0s
    enabled: true
  x509:
    clientCAFile: /etc/kubernetes/pki/ca.crt
authorization:
  mode: Webhook
  webhook:
    cacheAuthorizedTTL: 0s
    cacheUnauthorizedTTL: 0s
cgroupDriver: cgroupfs
clusterDNS:
- {CLUSTER_DNS}
clusterDomain: cluster.local
{lines["endpoint"]}cpuManagerReconcilePeriod: 0s
{lines["crash"]}evictionPressureTransitionPeriod: 0s
failSwapOn: false
fileCheckFrequency: 0s
healthzBindAddress: 127.0.0.1
healthzPort: 10248
httpCheckFrequency: 0s
{lines["age"]}imageMinimumGCAge: 0s
kind: KubeletConfiguration
{_logging(minor)}{lines["swap"]}nodeStatusReportFrequency: 0s
nodeStatusUpdateFrequency: 0s
rotateCertificates: true
runtimeRequestTimeout: 0s
shutdownGracePeriod: 0s
shutdownGracePeriodCriticalPods: 0s
staticPodPath: {MANIFESTS}
streamingConnectionIdleTimeout: 0s
syncFrequency: 0s
volumeStatsAggPeriod: 0s
"""
    if own.resolv_conf:
        text += f"resolvConf: {own.resolv_conf}\n"
    if not own.qos_cgroups:
        text += "cgroupsPerQOS: false\nenforceNodeAllocatable: []\n"
    # Such a kubelet refuses to start on version 1 cgroup controllers unless its configuration allows them.
    if cgroup_v1 and minor >= 35:
        text += "failCgroupV1: false\n"
    return text


def _logging(minor: int) -> str:
    if minor < 24:
        return "logging: {}\n"
    text = '    text:\n      infoBufferSize: "0"\n' if minor >= 31 else ""
    return f'logging:\n  flushFrequency: 0\n  options:\n    json:\n      infoBufferSize: "0"\n{text}  verbosity: 0\n'


def flags_env(minor: int) -> str:
    """Return `/var/lib/kubelet/kubeadm-flags.env`."""
    flags = ["--container-runtime=remote"] if minor < 24 else []
    if minor < NODE_LOCAL_SOCKET:
        flags.append(f"--container-runtime-endpoint=unix://{SOCKET}")
    # Only some of the minors between know a use for it; the kubelet refuses it from 1.35 on.
    if 24 <= minor < 35:
        flags.append("--pod-infra-container-image=registry.k8s.io/pause:3.9")
    return f'KUBELET_KUBEADM_ARGS="{" ".join(flags)}"\n'


def kubelet_files(own: Traits, minor: int, cgroup_v1: bool) -> dict[str, str]:
    """Return path -> content of the files that `kubeadm join` writes and `kubeadm upgrade node` renews."""
    local = {"/var/lib/kubelet/instance-config.yaml": f'containerRuntimeEndpoint: "unix://{SOCKET}"\n'}
    return {
        OWN_CONFIG: config_yaml(own, minor, cgroup_v1),
        "/var/lib/kubelet/kubeadm-flags.env": flags_env(minor),
        **(local if minor >= NODE_LOCAL_SOCKET else {}),
    }


def configmaps(version: str, minor: int, address: str, port: int, cgroup_v1: bool) -> list[dict[str, Any]]:
    """Return the ConfigMaps that `kubeadm init` of this version leaves in kube-system for its nodes."""
    found = {
        "kubeadm-config": cluster_data(version, minor, address, port),
        kubelet_configmap(minor): {"kubelet": config_yaml(Traits(), minor, cgroup_v1)},
    }
    return [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}
        for name, data in found.items()
    ]


def annotations(minor: int) -> dict[str, str]:
    """Return the annotations that `kubeadm join` sets on the Node."""
    if minor >= NODE_LOCAL_SOCKET:
        return {}
    return {"kubeadm.alpha.kubernetes.io/cri-socket": SOCKET if minor < 24 else f"unix://{SOCKET}"}


def drop_in_folder(minor: int) -> str:
    """Return where 10-kubeadm.conf lies: the packages of 1.28 and later bring it, before that kubeadm's own did."""
    return "/usr/lib/systemd/system/kubelet.service.d" if minor >= 28 else "/etc/systemd/system/kubelet.service.d"


def kubelet_configmap(minor: int) -> str:
    """Return the name of the ConfigMap with the kubelets' configuration."""
    return "kubelet-config" if minor >= 24 else f"kubelet-config-1.{minor}"


def cluster_data(version: str, minor: int, address: str, port: int) -> dict[str, str]:
    """Return the data of the ConfigMap `kubeadm-config`."""
    api = "v1beta3" if minor < 31 else "v1beta4"
    if minor < 22:
        api = "v1beta2"
    configuration = (
        f"apiVersion: kubeadm.k8s.io/{api}\nkind: ClusterConfiguration\nclusterName: kubernetes\n"
        f"kubernetesVersion: {version}\ncontrolPlaneEndpoint: {address}:{port}\n"
        f"networking:\n  dnsDomain: cluster.local\n  serviceSubnet: {SERVICE_RANGE}\n"
    )
    status = (
        "apiVersion: kubeadm.k8s.io/v1beta2\nkind: ClusterStatus\napiEndpoints:\n  control-plane:\n"
        f"    advertiseAddress: {address}\n    bindPort: {port}\n"
    )
    return {"ClusterConfiguration": configuration, **({"ClusterStatus": status} if minor < 22 else {})}


def role_objects(minor: int) -> list[tuple[str, dict[str, Any]]]:
    """Return (kind in the path, object) of the roles that let nodes read the two ConfigMaps."""
    found: list[tuple[str, dict[str, Any]]] = []
    configmap = kubelet_configmap(minor)
    for name, resource in (
        ("kubeadm:nodes-kubeadm-config", "kubeadm-config"),
        (f"kubeadm:{configmap}", configmap),
    ):
        rule = {"apiGroups": [""], "resources": ["configmaps"], "resourceNames": [resource], "verbs": ["get"]}
        head = {"apiVersion": "rbac.authorization.k8s.io/v1", "metadata": {"name": name}}
        found.append(("roles", {**head, "kind": "Role", "rules": [rule]}))
        binding = {
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "system:nodes"}],
        }
        found.append(("rolebindings", {**head, "kind": "RoleBinding", **binding}))
    return found
