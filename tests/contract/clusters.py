# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The two clusters of the contract: the lab with real kubelets, and the simulation. Both do what a test asks for."""

from __future__ import annotations

import contextlib
import json
import sys
import typing as t
from pathlib import Path

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.session import Session
from tests.lab.lab import Lab
from tests.sim.cluster import Cluster
from tests.support.api.calls import MERGE
from tests.support.api.server import kubeconfig
from tests.support.lab import views
from tests.support.lab.views import MANAGED, View, eventually, managed_configmaps
from tests.support.plays.ansible import Ansible

NAMES = ("n1", "n2", "n3")
NODES = "/api/v1/nodes"
LABEL = {"livenodes.test": "yes"}
META = "/var/lib/kubelet/dynamic-config/store/meta"
CONFIGMAPS = "/api/v1/namespaces/kube-system/configmaps"
STRATEGIC = "application/strategic-merge-patch+json"
# How many times faster the simulation is than the lab, except for the ten minutes until a source is last-known-good,
# which no test lasts.
SCALE = 20


class Contracted(t.Protocol):
    """Three nodes, n1 to n3, on their local configuration; n2 has --max-pods on its command line."""

    kind: str
    session: Session

    def seconds(self, real: float) -> float:
        """Return how long to wait here for what takes so long on real nodes."""

    def look(self, name: str) -> View:
        """Return the four views of a node."""

    def restarts(self, name: str) -> int:
        """Return how often systemd has started a kubelet that ended."""

    def get(self, path: str) -> dict[str, t.Any]:
        """Return an object, read without the code under test."""

    def apply(self, name: str, data: dict[str, str]) -> dict[str, str]:
        """Create or replace a ConfigMap; return its place, with the key `kubelet`."""

    def as_user(self, user: str) -> Session:
        """Return a session of another user."""

    def granted(self, objects: t.Sequence[dict[str, t.Any]]) -> contextlib.AbstractContextManager[None]:
        """Have ClusterRoles and their bindings, and not afterwards."""

    def managed(self) -> list[str]:
        """Return the names of the ConfigMaps that this collection created."""

    def ansible(self, home: Path) -> Ansible:
        """Return Ansible for this cluster: n1 and n3 are in workers_a, n2 is in workers_b."""

    def kubeconfig(self, home: Path) -> Path:
        """Return the kubeconfig of the administrator."""

    def user(self, home: Path, name: str, *groups: str, expired: bool = False) -> Path:
        """Return the kubeconfig of a user of these groups, whose certificate may have expired."""

    def call(self, method: str, path: str, body: t.Any = None, kind: str = MERGE) -> dict[str, t.Any]:
        """Do something as another user; return the answer. Raises an exception for any status of 400 or more."""

    def stop(self) -> None:
        """Stop the API server."""

    def start(self) -> None:
        """Start the API server again; nothing happens if it runs."""

    def dynamic_gate_off(self) -> contextlib.AbstractContextManager[None]:
        """Run the API server without its feature gate DynamicKubeletConfig."""

    def not_following(self, name: str) -> contextlib.AbstractContextManager[None]:
        """Run a kubelet without --dynamic-config-dir; afterwards with it again."""

    def register_again(self, name: str) -> None:
        """Delete a Node and let its kubelet create it again."""

    def empty_store(self, name: str) -> None:
        """Empty the store of a kubelet on its node, and restart it; wait until it is Ready."""


def place(name: str) -> dict[str, str]:
    """Return the reference to a ConfigMap's key `kubelet`."""
    return {"namespace": "kube-system", "name": name, "kubeletConfigKey": "kubelet"}


def configmap(name: str, data: dict[str, str]) -> dict[str, t.Any]:
    """Return a ConfigMap of the tests."""
    meta = {"name": name, "namespace": "kube-system", "labels": LABEL}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": data}


class OnLab:
    """The lab."""

    kind = "lab"

    def __init__(self, lab: Lab, session: Session) -> None:
        self.lab, self.session = lab, session

    def seconds(self, real: float) -> float:
        return real

    def look(self, name: str) -> View:
        return views.look(self.lab, name)

    def restarts(self, name: str) -> int:
        return self.lab.node(name).restarts()

    def get(self, path: str) -> dict[str, t.Any]:
        return self.lab.get(path)

    def apply(self, name: str, data: dict[str, str]) -> dict[str, str]:
        self.lab.kubectl("apply", "-f", "-", stdin=json.dumps(configmap(name, data)))
        return place(name)

    def as_user(self, user: str) -> Session:
        return Session({"kubeconfig": str(self.lab.kubeconfig), "impersonate_user": user})

    @contextlib.contextmanager
    def granted(self, objects: t.Sequence[dict[str, t.Any]]) -> t.Iterator[None]:
        text = json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)})
        self.lab.kubectl("apply", "-f", "-", stdin=text)
        try:
            yield
        finally:
            self.lab.kubectl("delete", "-f", "-", stdin=text)

    def managed(self) -> list[str]:
        return managed_configmaps(self.lab)

    def ansible(self, home: Path) -> Ansible:
        return Ansible(home, self.lab.kubeconfig, self.lab.inventory)

    def kubeconfig(self, home: Path) -> Path:
        return self.lab.kubeconfig

    def user(self, home: Path, name: str, *groups: str, expired: bool = False) -> Path:
        return self.lab.user_kubeconfig(name, groups, expired=expired)

    def call(self, method: str, path: str, body: t.Any = None, kind: str = MERGE) -> dict[str, t.Any]:
        with contextlib.closing(self.lab.apiserver.api()) as api:
            return api.call(method, path, body, kind if method == "PATCH" else "application/json")

    def stop(self) -> None:
        self.lab.apiserver.stop()

    def start(self) -> None:
        self.lab.apiserver.start()
        self.lab.wait_ready()

    @contextlib.contextmanager
    def dynamic_gate_off(self) -> t.Iterator[None]:
        self.lab.apiserver.stop()
        try:
            self.lab.apiserver.start("--feature-gates=DynamicKubeletConfig=false")
            yield
        finally:
            self.lab.apiserver.stop()
            self.lab.apiserver.start()

    @contextlib.contextmanager
    def not_following(self, name: str) -> t.Iterator[None]:
        try:
            self.lab.node(name).set_dynamic(False)
            self.lab.wait_ready()
            yield
        finally:
            Lab.up(nodes=len(NAMES))
            status = f"/api/v1/nodes/{name}"
            eventually(lambda: self.lab.get(status)["status"].get("config") == {}, 60, f"{name} listens again")

    def register_again(self, name: str) -> None:
        self.lab.kubectl("delete", "node", name)
        self.lab.node(name).run("systemctl restart kubelet")
        self.lab.wait_ready()

    def empty_store(self, name: str) -> None:
        self.lab.node(name).run(f"truncate -s 0 {META}/assigned && systemctl restart kubelet")
        self.lab.wait_ready()


class OnSim:
    """The simulation."""

    kind = "sim"

    def __init__(self, cluster: Cluster, names: t.Sequence[str] = NAMES) -> None:
        self.cluster, self.names = cluster, names
        self.session = Session({"host": cluster.url})
        self.direct = Session({"host": cluster.url})
        for name in names:
            cluster.simulate(name, delay=10.0, graduation=SCALE * 3600.0)
        eventually(self._listening, 60, "status.config of all", every=0.02)

    def _listening(self) -> bool:
        return all("config" in self.cluster.node(name)["status"] for name in self.names)

    def seconds(self, real: float) -> float:
        """Return scaled seconds, at least those that an API request may take."""
        return max(1.0, real / SCALE)

    def look(self, name: str) -> View:
        node, kubelet = self.cluster.node(name), self.cluster.kubelet(name)
        configz = self.get(f"/api/v1/nodes/{name}/proxy/configz")["kubeletconfig"]
        return View(
            spec=(node["spec"].get("configSource") or {}).get("configMap"),
            status=node["status"].get("config") or {},
            configz=configz,
            invocation=kubelet.invocation,
            restarts=kubelet.restarts,
        )

    def restarts(self, name: str) -> int:
        return self.cluster.kubelet(name).restarts

    def get(self, path: str) -> dict[str, t.Any]:
        return t.cast("dict[str, t.Any]", self.direct.request("GET", path, budget=0.0))

    def apply(self, name: str, data: dict[str, str]) -> dict[str, str]:
        if self.cluster.store.find("configmaps", name, "kube-system"):
            self.call("PATCH", f"{CONFIGMAPS}/{name}", {"data": data})
        else:
            self.call("POST", CONFIGMAPS, configmap(name, data))
        return place(name)

    def as_user(self, user: str) -> Session:
        return Session({"host": self.cluster.url, "impersonate_user": user})

    @contextlib.contextmanager
    def granted(self, objects: t.Sequence[dict[str, t.Any]]) -> t.Iterator[None]:
        self.cluster.grant(objects)
        try:
            yield
        finally:
            self.cluster.ungrant(objects)

    def managed(self) -> list[str]:
        found = self.direct.request("GET", CONFIGMAPS, (("labelSelector", MANAGED),))
        return sorted(item["metadata"]["name"] for item in found["items"])

    def ansible(self, home: Path) -> Ansible:
        """Run what a node would run here: native delivery runs nothing on nodes."""
        local = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
        groups = {"workers_a": {"hosts": {"n1": {}, "n3": {}}}, "workers_b": {"hosts": {"n2": {}}}}
        return Ansible(home, self.kubeconfig(home), {"all": {"vars": local, "children": groups}})

    def kubeconfig(self, home: Path) -> Path:
        content = kubeconfig({"sim": self.cluster.url}, {})
        (home / "kubeconfig").write_text(json.dumps(content), encoding="utf-8")
        return home / "kubeconfig"

    def user(self, home: Path, name: str, *groups: str, expired: bool = False) -> Path:
        return self.cluster.kubeconfig(home / name, name, *(groups or ("system:authenticated",)), expired=expired)

    def call(self, method: str, path: str, body: t.Any = None, kind: str = MERGE) -> dict[str, t.Any]:
        given = kind if method == "PATCH" else "application/json"
        return t.cast("dict[str, t.Any]", self.direct.request(method, path, (), body, given, budget=0.0))

    def stop(self) -> None:
        """Let it close each connection without an answer."""
        self.cluster.stop()

    def start(self) -> None:
        self.cluster.start()

    @contextlib.contextmanager
    def dynamic_gate_off(self) -> t.Iterator[None]:
        self.cluster.store.dynamic = False
        try:
            yield
        finally:
            self.cluster.store.dynamic = True

    @contextlib.contextmanager
    def not_following(self, name: str) -> t.Iterator[None]:
        kubelet = self.cluster.kubelet(name)
        kubelet.set_follows(False)
        try:
            yield
        finally:
            kubelet.set_follows(True)
            eventually(
                lambda: self.cluster.node(name)["status"].get("config") == {}, 60, f"{name} listens again", every=0.02
            )

    def register_again(self, name: str) -> None:
        self.cluster.replace(name)

    def empty_store(self, name: str) -> None:
        self.cluster.kubelet(name).empty_store()
