# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The files of a node: its units, and separately what only a node of this lab needs; kubeadm.py has kubeadm's files."""

from __future__ import annotations

from . import kubeadm
from .images import IMAGE
from .kubeadm import OTHER_RESOLV_CONF, Traits

DYNAMIC_CONFIG_DIR = "/var/lib/kubelet/dynamic-config"
# The last minor with Dynamic Kubelet Configuration.
LAST_DYNAMIC = 23


def default_kubelet(own: Traits, dynamic: bool, minor: int, address: str) -> str:
    """Return `/etc/default/kubelet`, which kubeadm reserves for the administrator's additional flags.

    Kubelets of later minors need a default route or the node's address.
    """
    modern = minor > LAST_DYNAMIC
    flags = [f"--dynamic-config-dir={DYNAMIC_CONFIG_DIR}"] if dynamic and not modern else []
    flags += [f"--node-ip={address}"] if modern else []
    return f"KUBELET_EXTRA_ARGS={' '.join([*flags, *own.flags])}\n"


def node_files(
    name: str,
    address: str,
    api: tuple[str, str],
    own: Traits,
    dynamic: bool,
    minor: int = kubeadm.DEFAULT_MINOR,
    cgroup_v1: bool = False,
) -> dict[str, str]:
    """Return path -> content of a node's text files, without credentials. `api`: the API server's (name, address)."""
    return {
        **kubeadm.kubelet_files(own, minor, cgroup_v1),
        "/etc/default/kubelet": default_kubelet(own, dynamic, minor, address),
        "/usr/lib/systemd/system/kubelet.service": KUBELET_SERVICE,
        f"{kubeadm.drop_in_folder(minor)}/10-kubeadm.conf": KUBEADM_DROP_IN,
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
            *("systemd-sysctl.service", "systemd-modules-load.service", "systemd-binfmt.service"),
            *("proc-sys-fs-binfmt_misc.automount", "systemd-pstore.service", "e2scrub_reap.service"),
            *("systemd-logind.service", "getty@tty1.service"),
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
