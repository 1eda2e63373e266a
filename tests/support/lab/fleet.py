# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What each of many nodes runs, and since when: read through the lab and systemctl, not through the code under test."""

from __future__ import annotations

import dataclasses
import functools
import json
import typing as t
from concurrent.futures import ThreadPoolExecutor

from tests.lab.lab import Lab
from tests.support.lab.views import eventually
from tests.support.plays.ansible import Ansible

LEASES = ("get", "leases", "-n", "kube-system", "-l", "app.kubernetes.io/managed-by=livenodes.kubelet", "-o", "json")
ALL = "workers_a:workers_b:control_plane"


@dataclasses.dataclass(frozen=True)
class Glance:
    """One node: a field of its live configuration, the start of its kubelet, its cordon."""

    qps: int
    invocation: str
    cordoned: bool


class Fleet:
    """The nodes of a lab. `kubeAPIQPS` marks a change, because it costs nothing but the restart."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        self.names = tuple(node.name for node in lab.nodes)

    def look(self) -> dict[str, Glance]:
        with ThreadPoolExecutor(len(self.names)) as pool:
            return dict(zip(self.names, pool.map(self._glance, self.names)))

    def _glance(self, name: str) -> Glance:
        found: list[dict[str, t.Any]] = []

        def answers() -> bool:
            found.append(self.lab.get(f"/api/v1/nodes/{name}/proxy/configz")["kubeletconfig"])
            return True

        # A test that killed a controller may look while the kubelet restarts.
        eventually(answers, 60, f"/configz of {name}")
        invocation = self.lab.node(name).invocation_id()
        return Glance(found[0]["kubeAPIQPS"], invocation, bool(self.node(name)["spec"].get("unschedulable")))

    def node(self, name: str) -> dict[str, t.Any]:
        return self.lab.get(f"/api/v1/nodes/{name}")

    def qps(self) -> dict[str, int]:
        return {name: glance.qps for name, glance in self.look().items()}

    def leases(self) -> list[dict[str, t.Any]]:
        return t.cast("list[dict[str, t.Any]]", json.loads(self.lab.kubectl(*LEASES))["items"])

    def wait_listening(self, names: t.Iterable[str]) -> None:
        """Wait until kubelets have reported that they follow Node.spec.configSource."""
        for name in names:
            eventually(functools.partial(self._listens, name), 60, f"{name} listens")

    def _listens(self, name: str) -> bool:
        return "config" in self.node(name)["status"]

    def settle(self, ansible: Ansible) -> None:
        """Remove the objects of a test from the API server that would affect the next test."""
        self.lab.kubectl("delete", "configmap", "-n", "kube-system", "livenodes-kubelet-rollout", "--ignore-not-found")
        for lease in self.leases():
            self.lab.kubectl("delete", "lease", "-n", "kube-system", lease["metadata"]["name"], "--ignore-not-found")
        for name in self.names:
            if self.node(name)["spec"].get("unschedulable"):
                self.lab.kubectl("uncordon", name)
        ansible.variables()
        ansible.host_variables()


def changed(before: dict[str, Glance], after: dict[str, Glance]) -> set[str]:
    return {name for name, glance in after.items() if glance.invocation != before[name].invocation}
