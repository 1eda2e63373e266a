# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""etcd and the API server, their certificates, and the objects that every kubeadm cluster has for its nodes."""

from __future__ import annotations

import socket

from . import kubeadm, network, processes
from .api import Api
from .console import LabError
from .kubeadm import SERVICE_RANGE
from .pki import Authority, kubeconfig, write_private
from .processes import wait_for
from .releases import Release
from .settings import Settings, State

PORT = 6443
HOST = "kubernetes"


class ControlPlane:
    """The lab's etcd and API server."""

    def __init__(self, settings: Settings, state: State, release: Release) -> None:
        self.settings = settings
        self.release = release
        self.state = state
        self.url = f"https://{settings.gateway}:{PORT}"
        self.ca = Authority(settings.folder / "pki", "livenodes-kubelet-lab")
        self.etcd_ca = Authority(settings.folder / "pki/etcd", "livenodes-kubelet-lab etcd")
        self.kubeconfig = settings.folder / "kubeconfig"
        self.logs = settings.folder / "logs"

    def certify(self) -> None:
        """Create the certificates and the administrator's kubeconfig."""
        self.ca.ensure()
        self.etcd_ca.ensure()
        self.etcd_ca.issue("server", "etcd", addresses=["127.0.0.1"])
        self.etcd_ca.issue("apiserver", "kube-apiserver")
        self.ca.issue(
            "apiserver",
            "kube-apiserver",
            addresses=[self.settings.gateway, str(_first(SERVICE_RANGE))],
            names=[HOST, "kubernetes.default", "kubernetes.default.svc"],
        )
        # As in a kubeadm cluster, the API server authenticates to kubelets as a member of system:masters.
        self.ca.issue("apiserver-kubelet-client", "kube-apiserver-kubelet-client", ["system:masters"])
        certificate, key = self.ca.issue("admin", "kubernetes-admin", ["system:masters"])
        write_private(self.kubeconfig, kubeconfig(self.url, self.ca.certificate, "kubernetes-admin", certificate, key))

    def api(self) -> Api:
        return Api(
            self.settings.gateway, PORT, self.ca.certificate, self.ca.folder / "admin.crt", self.ca.folder / "admin.key"
        )

    def start(self, *flags: str) -> None:
        """Start etcd and the API server (with additional `flags`) unless they run; wait until both are ready."""
        if not self.is_etcd_running() or "etcd_ports" not in self.state.data:
            # A new etcd has new ports, and a running API server only knows the old ones.
            processes.stop(self.settings, "apiserver", patience=1)
            processes.stop(self.settings, "etcd", patience=5)
            self._start_etcd()
        if not self.is_running():
            _refuse_taken(self.settings.gateway, PORT)
            processes.spawn(
                self.settings, "apiserver", [*self._apiserver_command(), *flags], self.logs / "kube-apiserver.log"
            )
        api = self.api()

        def ready() -> bool:
            if not self.is_running():
                raise LabError(f"the API server has ended:\n{processes.tail(self.logs / 'kube-apiserver.log')}")
            return api.is_ready()

        wait_for("the API server's readiness", ready, 60, self.logs / "kube-apiserver.log")

    def stop(self) -> None:
        """Stop the API server; etcd keeps running and keeps every object."""
        # Open watches would delay an orderly shutdown by a minute.
        processes.stop(self.settings, "apiserver", patience=1)

    def is_running(self) -> bool:
        return bool(processes.find(self.settings, "apiserver"))

    def is_etcd_running(self) -> bool:
        return bool(processes.find(self.settings, "etcd"))

    def _start_etcd(self) -> None:
        ports = network.free_ports(2)
        self.state.record(etcd_ports=ports)
        client, peer = (f"https://127.0.0.1:{port}" for port in ports)
        folder = self.etcd_ca.folder
        words = ["etcd", "--name=lab", f"--data-dir={self.settings.folder}/etcd", "--unsafe-no-fsync", "--logger=zap"]
        words += [f"--listen-client-urls={client}", f"--advertise-client-urls={client}"]
        words += [f"--listen-peer-urls={peer}", f"--initial-advertise-peer-urls={peer}"]
        words.append(f"--initial-cluster=lab={peer}")
        for prefix in ("--", "--peer-"):
            words += [f"{prefix}cert-file={folder}/server.crt", f"{prefix}key-file={folder}/server.key"]
            words += [f"{prefix}trusted-ca-file={self.etcd_ca.certificate}", f"{prefix}client-cert-auth"]
        processes.spawn(self.settings, "etcd", words, self.logs / "etcd.log")

    def _apiserver_command(self) -> list[object]:
        pki, etcd = self.ca.folder, self.etcd_ca.folder
        return [
            self.release.folder / "kube-apiserver",
            f"--bind-address={self.settings.gateway}",
            f"--advertise-address={self.settings.gateway}",
            f"--secure-port={PORT}",
            f"--etcd-servers=https://127.0.0.1:{self.state.data['etcd_ports'][0]}",
            f"--etcd-cafile={self.etcd_ca.certificate}",
            f"--etcd-certfile={etcd}/apiserver.crt",
            f"--etcd-keyfile={etcd}/apiserver.key",
            f"--client-ca-file={self.ca.certificate}",
            f"--tls-cert-file={pki}/apiserver.crt",
            f"--tls-private-key-file={pki}/apiserver.key",
            "--authorization-mode=Node,RBAC",
            "--enable-admission-plugins=NodeRestriction",
            # This plugin requires default service accounts, and the lab has no controller manager to create them.
            "--disable-admission-plugins=ServiceAccount",
            f"--kubelet-client-certificate={pki}/apiserver-kubelet-client.crt",
            f"--kubelet-client-key={pki}/apiserver-kubelet-client.key",
            # This machine cannot resolve node names.
            "--kubelet-preferred-address-types=InternalIP",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-signing-key-file={self.ca.key}",
            f"--service-account-key-file={self.ca.certificate}",
            f"--service-cluster-ip-range={SERVICE_RANGE}",
            "--allow-privileged=true",
        ]

    def populate(self) -> None:
        """Create what `kubeadm init` leaves in a cluster of this version for its nodes."""
        api = self.api()
        minor = self.release.minor
        namespace = "/api/v1/namespaces/kube-system/configmaps"
        wait_for("namespace kube-system", lambda: api.request("GET", "/api/v1/namespaces/kube-system")[0] == 200, 60)
        for item in kubeadm.configmaps(
            self.release.version, minor, self.settings.gateway, PORT, kubeadm.has_cgroup_v1()
        ):
            api.ensure(namespace, item)
        for kind, item in kubeadm.role_objects(minor):
            api.ensure(f"/apis/rbac.authorization.k8s.io/v1/namespaces/kube-system/{kind}", item)


def _first(network: str) -> str:
    return network.rpartition(".")[0] + ".1"


def _refuse_taken(address: str, port: int) -> None:
    try:
        socket.create_server((address, port)).close()
    except OSError as error:
        raise LabError(
            f"{address}:{port} is not free ({error.strerror}); find the process that uses it with `ss -ltnp`"
        ) from error
