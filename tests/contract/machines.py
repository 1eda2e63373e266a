# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The nodes of the contract that need a login or a follower: folders of the simulation, or nodes of the lab."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import typing as t
from pathlib import Path

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.session import Session
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values.annotation import PREFIX
from tests.contract.clusters import CONFIGMAPS, Contracted, OnLab, OnSim
from tests.lab import releases
from tests.lab.console import LabError
from tests.lab.lab import Lab
from tests.sim.cluster import Cluster
from tests.sim.nodes.calls import Calls as SimCalls
from tests.sim.nodes.node import SimNode
from tests.support.lab.borrowed_lab import borrowed
from tests.support.lab_node.dropin_node import Calls
from tests.support.lab_node.node_bench import STORE, Bench
from tests.support.lab_node.node_calls import NodeCalls
from tests.support.plays.ansible import Ansible

FILES = "find /etc/systemd /usr/lib/systemd/system/kubelet.service.d /etc/default /var/lib/kubelet -maxdepth 2 -name"
LAYOUT = f"{FILES} '*kube*' -printf '%p %y %m %s %l\\n' | sort; cat /var/lib/kubelet/config.yaml; systemctl cat kubelet"
OURS = "ls -d /var/lib/kubelet-config /etc/systemd/system/livenodes* 2>/dev/null"
UNITS = "systemctl list-units --all --plain --no-legend 'livenodes*'"
# 1.28 reads no drop-ins.
VERSIONS = {"n1": "v1.28.7", "n2": "v1.36.2", "n3": "v1.36.2"}


class Machine(t.Protocol):
    """A node that runs its own configuration."""

    minor: int

    def layout(self) -> t.Any:
        """Return the kubelet's files and units on the node."""

    def ours(self) -> str:
        """Return the files and units of this collection on the node, empty without any."""

    def read(self, path: str) -> str:
        """Return the text of a file of the node, empty without it."""

    def write(self, path: str, text: str) -> None:
        """Write a file of the node."""

    def configz(self) -> dict[str, t.Any]:
        """Return what the kubelet runs, nothing while it does not answer."""

    def healthy(self) -> bool:
        """Return whether healthz answers."""

    def invocation(self) -> str:
        """Return what changes when the kubelet is restarted."""

    def active(self) -> str:
        """Return where the link `active` of the store leads."""

    def calls(self, delivery: str, **options: t.Any) -> NodeCalls:
        """Return the module kubelet_checkpoint on this node."""

    def wait(self, ready: t.Callable[[], t.Any], seconds: float, what: str) -> float:
        """Wait until C(ready) returns something true. Raises AssertionError with the journals."""

    def set_ssh(self, runs: bool, ansible: Ansible) -> None:
        """Let no user log in any more, or let them again."""

    def set_runtime(self, runs: bool) -> None:
        """Stop the container runtime, or start it again."""

    def kill_kubelet(self) -> None:
        """End the kubelet's process, as the kernel does when memory is short."""

    def restarts(self) -> int:
        """Return how often systemd has started a kubelet that ended."""

    def power_cut(self) -> None:
        """Cut the node's power, and boot it again."""


class Real:
    """A node of the lab."""

    def __init__(self, lab: Lab, name: str) -> None:
        self._bench = Bench(lab, name)
        self._node = self._bench.node
        self.minor = self._node.release.minor
        self.healthy, self.wait = self._bench.healthy, self._bench.wait
        self.invocation, self.restarts, self.active = self._node.invocation_id, self._node.restarts, self._bench.active

    def layout(self) -> str:
        return self._node.run(LAYOUT)

    def ours(self) -> str:
        return self._node.run(OURS, check=False) + self._node.run(UNITS)

    def configz(self) -> dict[str, t.Any]:
        with contextlib.suppress(LabError):
            return self._bench.configz()
        return {}

    def read(self, path: str) -> str:
        return self._node.run(f"cat {path}", check=False)

    def write(self, path: str, text: str) -> None:
        self._node.run(f"cat > {path}", stdin=text)

    def calls(self, delivery: str, **options: t.Any) -> NodeCalls:
        return Calls(self._bench, delivery=delivery, **options)

    def set_ssh(self, runs: bool, ansible: Ansible) -> None:
        self._node.run(f"systemctl {'start' if runs else 'stop'} ssh")

    def set_runtime(self, runs: bool) -> None:
        """The kubelet's unit wants containerd, so that each of its starts would start it again."""
        if runs:
            self._node.run("systemctl unmask --quiet --runtime containerd; systemctl start containerd")
        else:
            self._node.run("systemctl mask --quiet --runtime --now containerd")

    def kill_kubelet(self) -> None:
        self._node.run("systemctl kill --signal=KILL kubelet")

    def power_cut(self) -> None:
        self._node.kill()
        self._node.start()


class Simulated:
    """A simulated node."""

    def __init__(self, node: SimNode) -> None:
        self._node = node
        self.minor = node.minor
        self.layout, self.configz, self.healthy, self.wait = node.layout, node.configz, node.healthy, node.wait
        self.write, self.kill_kubelet = node.write, node.kill_kubelet

    def ours(self) -> str:
        found = [self._node.at(STORE), *self._node.at("/etc/systemd/system").glob("livenodes*")]
        return " ".join(str(path) for path in found if path.exists())

    def read(self, path: str) -> str:
        return self._node.read(path, "")

    def invocation(self) -> str:
        return self._node.show("InvocationID")

    def restarts(self) -> int:
        return int(self._node.show("NRestarts"))

    def active(self) -> str:
        return os.readlink(self._node.at(f"{STORE}/active"))

    def calls(self, delivery: str, **options: t.Any) -> NodeCalls:
        return SimCalls(self._node, delivery, **options)

    def set_ssh(self, runs: bool, ansible: Ansible) -> None:
        """Let Ansible connect to a port at which nothing listens."""
        silent = {"ansible_connection": "ssh", "ansible_host": "127.0.0.1", "ansible_port": 1}
        hosts = {} if runs else {self._node.name: silent}
        (ansible.inventory / f"ssh-{self._node.name}.yml").write_text(json.dumps({"all": {"hosts": hosts}}))

    def set_runtime(self, runs: bool) -> None:
        if runs:
            self._node.start_runtime()
        else:
            self._node.stop_runtime()

    def power_cut(self) -> None:
        self._node.reboot(power_cut=True)


class OnNodes(OnSim):
    """The simulation, with nodes that are folders."""

    def __init__(self, cluster: Cluster, nodes: t.Mapping[str, SimNode]) -> None:
        self.nodes = nodes
        super().__init__(cluster, ())

    def ansible(self, home: Path) -> Ansible:
        hosts = {name: node.variables() for name, node in self.nodes.items()}
        return Ansible(home, self.kubeconfig(home), {"workers": {"hosts": hosts}})


@dataclasses.dataclass
class Site:
    """A cluster with its machines. `deliveries`: of a group that is reached by login; `trio`: a canary, its twin, which
    has the same kubelet and files, and another one.
    """

    cluster: Contracted
    machines: t.Mapping[str, Machine]
    deliveries: dict[str, str]
    trio: tuple[str, str, str]

    def node(self, name: str) -> dict[str, t.Any]:
        return self.cluster.get(f"/api/v1/nodes/{name}")

    def notes(self, name: str) -> dict[str, t.Any]:
        """Return our annotations of a Node, by the names after the prefix."""
        found = self.node(name)["metadata"].get("annotations", {})
        return {key[len(PREFIX) :]: json.loads(text) for key, text in found.items() if key.startswith(PREFIX)}

    def pushed(self, place: t.Mapping[str, str]) -> dict[str, t.Any]:
        found = self.cluster.get(f"/api/v1/namespaces/{place['namespace']}/configmaps/{place['name']}")
        return t.cast("dict[str, t.Any]", json.loads(found["data"][place["kubeletConfigKey"]]))

    def remove_pushed(self) -> None:
        for name in self.cluster.managed():
            self.cluster.call("DELETE", f"{CONFIGMAPS}/{name}")


@contextlib.contextmanager
def simulated(home: Path, _few: bool) -> t.Iterator[Site]:
    with contextlib.ExitStack() as stack:
        cluster = stack.enter_context(Cluster("v1.36.2"))
        nodes = {name: stack.enter_context(SimNode(cluster, home, name, version)) for name, version in VERSIONS.items()}
        for node in nodes.values():
            node.wait(node.healthy, 60, "healthz")
        machines = {name: Simulated(node) for name, node in nodes.items()}
        yield Site(OnNodes(cluster, nodes), machines, {"n1": "checkpoint", "n2": "dropin"}, ("n3", "n2", "n1"))


@contextlib.contextmanager
def lab_of_old(_home: Path, few: bool) -> t.Iterator[Site]:
    """Yield kubelets of 1.20 without dynamic configuration; n5 and n6 differ in nothing."""
    with borrowed(nodes=2 if few else 6, dynamic=False) as lab:
        yield _real(lab, {"n5": "checkpoint", "n6": "checkpoint"}, ("n5", "n6", "n3"))


def modern() -> contextlib.AbstractContextManager[Lab]:
    """Return the lab of the versions that LIVENODES_LAB_KUBERNETES names: n1 has an earlier one."""
    return borrowed(nodes=4, dynamic=False, kubernetes=releases.asked() or releases.UPGRADED)


@contextlib.contextmanager
def lab_of_modern(_home: Path, few: bool) -> t.Iterator[Site]:
    """Yield its nodes; few have one version."""
    one = borrowed(nodes=2, dynamic=False, kubernetes=releases.asked() or releases.NODE_SIDE)
    with one if few else modern() as lab:
        yield _real(lab, {"n2": "checkpoint", "n3": "dropin"}, ("n4", "n3", "n1"))


def _real(lab: Lab, deliveries: dict[str, str], trio: tuple[str, str, str]) -> Site:
    cluster = OnLab(lab, Session({"kubeconfig": str(lab.kubeconfig)}))
    return Site(cluster, {node.name: Real(lab, node.name) for node in lab.nodes}, deliveries, trio)


SITES = {"sim": simulated, "lab": lab_of_old, "modern": lab_of_modern}
