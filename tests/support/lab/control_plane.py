# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A lab node that looks like a control-plane node of kubeadm. The lab's real etcd and API server still run outside the
nodes, on this machine.
"""

from __future__ import annotations

import typing as t

from tests.lab.lab import Lab
from tests.support.lab.pods import Pods

GROUP = "control_plane"
COMPONENTS = ("kube-apiserver", "etcd")
LABELS = ("node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master")
NAMESPACE = "kube-system"


class ControlPlaneNode:
    """`with ControlPlaneNode(lab, "n7") as plane:` - afterwards the node is an ordinary worker again.

    Inside the block the Node has kubeadm's two role labels and is in no group of the inventory but `control_plane`. Its
    kubelet runs static pods with the names and labels of kubeadm's `kube-apiserver-<node>` and `etcd-<node>`. They only
    sleep. The lab's real API server and etcd do not depend on them.
    """

    def __init__(self, lab: Lab, node: str) -> None:
        self._lab = lab
        self._pods = Pods(lab, NAMESPACE)
        self.node = node
        self.names = {component: f"{component}-{node}" for component in COMPONENTS}

    def __enter__(self) -> ControlPlaneNode:
        try:
            self._label("")
            self._lab.set_group(self.node, GROUP)
            for component in COMPONENTS:
                labels = {"component": component, "tier": "control-plane"}
                self._pods.static(component, self.node, labels=labels, priority_class="system-node-critical")
            self._pods.wait_ready(*self.names.values())
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        try:
            self._pods.close()
        finally:
            self._lab.set_group(self.node, None)
            self._label(None)

    def _label(self, value: t.Literal[""] | None) -> None:
        body = {"metadata": {"labels": dict.fromkeys(LABELS, value)}}
        kind = "application/merge-patch+json"
        self._lab.apiserver.api().call("PATCH", f"/api/v1/nodes/{self.node}", body, kind)
