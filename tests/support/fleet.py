# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Many nodes at a glance: what each runs, and since when. Read by the lab and systemctl, not by our own code."""

from __future__ import annotations

import dataclasses
import json
import typing as t
from concurrent.futures import ThreadPoolExecutor

from tests.lab.lab import Lab
from tests.support.ansible import Ansible
from tests.support.views import eventually

LEASES = ("get", "leases", "-n", "kube-system", "-l", "app.kubernetes.io/managed-by=livenodes.kubelet", "-o", "json")
ALL = "workers_a:workers_b:control_plane"


@dataclasses.dataclass(frozen=True)
class Glance:
    """One node: a field of its live configuration, its kubelet's start, its cordon."""

    qps: int
    invocation: str
    cordoned: bool


class Fleet:
    """The nodes of a lab. A change is told by `kubeAPIQPS`, which costs nothing but the restart."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        self.names = tuple(node.name for node in lab.nodes)

    def look(self) -> dict[str, Glance]:
        """All nodes."""
        with ThreadPoolExecutor(len(self.names)) as pool:
            return dict(zip(self.names, pool.map(self._glance, self.names)))

    def _glance(self, name: str) -> Glance:
        live = self.lab.get(f"/api/v1/nodes/{name}/proxy/configz")["kubeletconfig"]
        return Glance(
            live["kubeAPIQPS"], self.lab.node(name).invocation_id(), bool(self.node(name)["spec"].get("unschedulable"))
        )

    def node(self, name: str) -> dict[str, t.Any]:
        """A Node object."""
        return self.lab.get(f"/api/v1/nodes/{name}")

    def qps(self) -> dict[str, int]:
        """What each runs."""
        return {name: glance.qps for name, glance in self.look().items()}

    def leases(self) -> list[dict[str, t.Any]]:
        """The leases of rollouts."""
        return t.cast("list[dict[str, t.Any]]", json.loads(self.lab.kubectl(*LEASES))["items"])

    def wait_listening(self, names: t.Iterable[str]) -> None:
        """Wait until kubelets have said that they follow Node.spec.configSource."""
        for name in names:
            eventually(lambda name=name: "config" in self.node(name)["status"], 60, f"{name} listens")  # type: ignore[misc]

    def settle(self, ansible: Ansible) -> None:
        """Take away what a test left in the API server and would stand in the way of the next one."""
        self.lab.kubectl("delete", "configmap", "-n", "kube-system", "livenodes-kubelet-rollout", "--ignore-not-found")
        for lease in self.leases():
            self.lab.kubectl("delete", "lease", "-n", "kube-system", lease["metadata"]["name"], "--ignore-not-found")
        for name in self.names:
            if self.node(name)["spec"].get("unschedulable"):
                self.lab.kubectl("uncordon", name)
        ansible.variables()
        ansible.host_variables()


def changed(before: dict[str, Glance], after: dict[str, Glance]) -> set[str]:
    """Nodes whose kubelet was started anew."""
    return {name for name, glance in after.items() if glance.invocation != before[name].invocation}
