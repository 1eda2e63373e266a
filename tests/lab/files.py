# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The files of a node: those of a kubeadm 1.20 node, and separately those that only a node of this lab needs."""

from __future__ import annotations

import dataclasses

from .images import IMAGE

DYNAMIC_CONFIG_DIR = "/var/lib/kubelet/dynamic-config"
MANIFESTS = "/etc/kubernetes/manifests"
OTHER_RESOLV_CONF = "/etc/kubernetes/resolv.conf"
CLUSTER_DNS = "10.96.0.10"
SERVICE_RANGE = "10.96.0.0/12"


@dataclasses.dataclass(frozen=True)
class Traits:
    """How a node differs from the others; a real fleet is never uniform."""

    flags: tuple[str, ...] = ()
    resolv_conf: str | None = None
    qos_cgroups: bool = True


# n2: a flag that shadows a field, and an explicit empty list; n3: another resolvConf. All others are equal.
TRAITS = {"n2": Traits(flags=("--max-pods=61",), qos_cgroups=False), "n3": Traits(resolv_conf=OTHER_RESOLV_CONF)}


def traits(name: str) -> Traits:
    """Return the traits of a node."""
    return TRAITS.get(name, Traits())


def config_yaml(own: Traits) -> str:
    """Return `/var/lib/kubelet/config.yaml` as `kubeadm join` writes it, plus what a kubelet inside a container needs.

    Zero durations are included; the kubelet replaces them by its defaults.
    """
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
cpuManagerReconcilePeriod: 0s
evictionPressureTransitionPeriod: 0s
failSwapOn: false
fileCheckFrequency: 0s
healthzBindAddress: 127.0.0.1
healthzPort: 10248
httpCheckFrequency: 0s
imageMinimumGCAge: 0s
kind: KubeletConfiguration
logging: {{}}
nodeStatusReportFrequency: 0s
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
    return text


def default_kubelet(own: Traits, dynamic: bool) -> str:
    """Return `/etc/default/kubelet`, which kubeadm reserves for the administrator's additional flags."""
    flags = ([f"--dynamic-config-dir={DYNAMIC_CONFIG_DIR}"] if dynamic else []) + list(own.flags)
    return f"KUBELET_EXTRA_ARGS={' '.join(flags)}\n"


def node_files(name: str, address: str, api: tuple[str, str], own: Traits, dynamic: bool) -> dict[str, str]:
    """Return path -> content of a node's text files, without credentials. `api`: the API server's (name, address)."""
    return {
        "/var/lib/kubelet/config.yaml": config_yaml(own),
        "/var/lib/kubelet/kubeadm-flags.env": 'KUBELET_KUBEADM_ARGS="--container-runtime=remote '
        '--container-runtime-endpoint=unix:///run/containerd/containerd.sock"\n',
        "/etc/default/kubelet": default_kubelet(own, dynamic),
        "/usr/lib/systemd/system/kubelet.service": KUBELET_SERVICE,
        "/etc/systemd/system/kubelet.service.d/10-kubeadm.conf": KUBEADM_DROP_IN,
        "/etc/systemd/system/kubelet.service.d/90-lab.conf": LAB_DROP_IN,
        "/etc/systemd/system/lab-tunables.service": TUNABLES_SERVICE,
        "/etc/systemd/system/lab-no-docker.socket": NO_DOCKER_SOCKET,
        "/etc/systemd/system/lab-no-docker@.service": NO_DOCKER_SERVICE,
        "/usr/share/lab/no-docker": NO_DOCKER_ANSWER,
        "/etc/cni/net.d/10-lab.conflist": CNI,
        "/etc/containerd/config.toml": CONTAINERD,
        "/etc/ssh/sshd_config.d/lab.conf": "UseDNS no\nPasswordAuthentication no\nPermitRootLogin prohibit-password\n",
        "/etc/systemd/journald.conf.d/lab.conf": "[Journal]\nStorage=persistent\nSystemMaxUse=32M\n"
        "ForwardToConsole=no\n",
        "/etc/hosts": f"127.0.0.1 localhost\n{address} {name}\n{api[1]} {api[0]}\n",
        "/etc/hostname": f"{name}\n",
        "/etc/resolv.conf": "nameserver 127.0.0.1\n",
        OTHER_RESOLV_CONF: "nameserver 127.0.0.1\nsearch lab.invalid\n",
        "/usr/share/lab/one": "1\n",
        "/usr/share/lab/ten": "10\n",
    }


# Unit -> target of its link. systemd-sysctl and similar units would write to the kernel that all nodes and this
# machine share.
NODE_LINKS = {
    "/etc/systemd/system/multi-user.target.wants/kubelet.service": "/usr/lib/systemd/system/kubelet.service",
    **{
        f"/etc/systemd/system/{unit}": "/dev/null"
        for unit in (
            "systemd-sysctl.service",
            "systemd-modules-load.service",
            "systemd-binfmt.service",
            "proc-sys-fs-binfmt_misc.automount",
            "systemd-pstore.service",
            "e2scrub_reap.service",
            "systemd-logind.service",
            "getty@tty1.service",
        )
    },
}

# The unit and the drop-in of Kubernetes' own Debian packages.
KUBELET_SERVICE = """[Unit]
Description=kubelet: The Kubernetes Node Agent
Documentation=https://kubernetes.io/docs/home/
Wants=network-online.target
After=network-online.target

[Service]
ExecStart=/usr/bin/kubelet
Restart=always
StartLimitInterval=0
RestartSec=10

[Install]
WantedBy=multi-user.target
"""

KUBEADM_DROP_IN = """[Service]
Environment="KUBELET_KUBECONFIG_ARGS=--bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf \
--kubeconfig=/etc/kubernetes/kubelet.conf"
Environment="KUBELET_CONFIG_ARGS=--config=/var/lib/kubelet/config.yaml"
EnvironmentFile=-/var/lib/kubelet/kubeadm-flags.env
EnvironmentFile=-/etc/default/kubelet
ExecStart=
ExecStart=/usr/bin/kubelet $KUBELET_KUBECONFIG_ARGS $KUBELET_CONFIG_ARGS $KUBELET_KUBEADM_ARGS $KUBELET_EXTRA_ARGS
"""

# kubeadm's unit waits 10 s before each restart, which a test would spend idle.
LAB_DROP_IN = """[Unit]
Wants=containerd.service lab-tunables.service lab-no-docker.socket
After=containerd.service lab-tunables.service lab-no-docker.socket

[Service]
RestartSec=1
"""

# The kubelet requires three kernel settings that belong to the whole machine. The node sees the required values; the
# machine keeps its own. nspawn mounts the version 1 cgroup controllers read-only, but the kubelet must create cgroups
# in them.
TUNABLES_SERVICE = """[Unit]
Description=Kernel settings as the kubelet wants to see them
DefaultDependencies=no
ConditionPathExists=/usr/share/lab

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/bin/mount --bind /usr/share/lab/one /proc/sys/vm/overcommit_memory
ExecStart=/bin/mount --bind /usr/share/lab/ten /proc/sys/kernel/panic
ExecStart=/bin/mount --bind /usr/share/lab/one /proc/sys/kernel/panic_on_oops
ExecStart=/bin/sh -c 'for mount in $(grep " cgroup ro" /proc/mounts | cut -d" " -f2); \
do mount -o remount,bind,rw "$mount"; done'
"""

# cAdvisor, a part of this kubelet, asks Docker for its folder at every start, five times at intervals of 1 s until it
# gets an answer. This service answers immediately, with a version too old for cAdvisor: a start takes 1 s instead of 6,
# and Docker still counts as absent.
NO_DOCKER_SOCKET = """[Socket]
ListenStream=/run/docker.sock
Accept=yes
MaxConnections=64
TriggerLimitIntervalSec=0
"""

NO_DOCKER_SERVICE = """[Unit]
CollectMode=inactive-or-failed
DefaultDependencies=no
StartLimitIntervalSec=0

[Service]
StandardInput=socket
StandardError=journal
ExecStart=/bin/sh /usr/share/lab/no-docker
"""

NO_DOCKER_ANSWER = r"""read -r method rest
while read -r line && [ "${#line}" -gt 1 ]; do :; done
body='{"DockerRootDir": "/var/lib/docker", "ServerVersion": "0.0.0", "Version": "0.0.0", "ApiVersion": "1.40"}'
printf 'HTTP/1.1 200 OK\r\nApi-Version: 1.40\r\nContent-Type: application/json\r\n'
printf 'Content-Length: %d\r\nConnection: close\r\n\r\n' "${#body}"
[ "$method" = HEAD ] || printf %s "$body"
"""

# As in Debian's package, except for two lines: pod sandboxes use the lab's image, and containerd never sets
# `oom_score_adj` below what the machine allows.
CONTAINERD = f"""version = 2

[plugins]
  [plugins."io.containerd.grpc.v1.cri"]
    restrict_oom_score_adj = true
    sandbox_image = "{IMAGE}"
    [plugins."io.containerd.grpc.v1.cri".cni]
      bin_dir = "/usr/lib/cni"
      conf_dir = "/etc/cni/net.d"
  [plugins."io.containerd.internal.v1.opt"]
    path = "/var/lib/containerd/opt"
"""

# Enough for a node to become Ready; the lab's pods use the node's own network.
CNI = """{"cniVersion": "0.4.0", "name": "lab", "plugins": [{"type": "loopback"}]}
"""
