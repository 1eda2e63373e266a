# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A simulated cluster that a test plays by hand: its kubelets follow at once, and every request passes by `serve`."""

from __future__ import annotations

import json
import sys
import time
import typing as t
from pathlib import Path

from tests.sim.api.direct import PlayedKubelets
from tests.sim.api.handlers import Answer, Api, Request
from tests.sim.api.objects import Objects
from tests.sim.api.store import Entry, Page
from tests.sim.cluster import HEARTBEATS, Cluster
from tests.support.api import objects
from tests.support.api.calls import CONFIGMAPS, NODES
from tests.support.plays.ansible import Ansible

INVALID = "failed to validate config, see Kubelet log for details"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
RENEWALS = LEASES.replace("kube-system", HEARTBEATS)


class Claims:
    """The Leases of rollouts: `items` by name, and the (method, name) of all `requests` for them."""

    def __init__(self, cluster: PlayedCluster) -> None:
        self._cluster = cluster
        self.items = Objects(cluster.store, "leases", "kube-system")

    @property
    def requests(self) -> list[tuple[str, str]]:
        return [
            (method, path.removeprefix(LEASES).strip("/"))
            for method, path in self._cluster.requests
            if path.startswith(LEASES)
        ]


class _Passing(Api):
    """Hands each request on to the test."""

    cluster: PlayedCluster

    def answer(self, request: Request) -> Answer:
        """Return the answer of `serve`. Raises ConnectionError while there is none."""
        status, answer = self.cluster.serve(request.method, request.url, request.json() or None, request)
        return answer if isinstance(answer, Answer) else Answer(status, answer)

    def usual(self, request: Request) -> Answer:
        """Return the answer of the API server."""
        return super().answer(request)


class PlayedCluster(PlayedKubelets, Cluster):
    """`with PlayedCluster("n1", ...) as fleet`. `refusing` kubelets revert to their local config when they get another
    one than `BEFORE`, `deaf` ones do nothing.

    All nodes run `BEFORE` except the `local` ones. `assigned` and `cordons` list all assignments and cordons. `back` is
    when the API server answers again, by the monotonic clock.
    """

    api_class = _Passing
    SECRET = "not-for-the-report.example"
    """Occurs in every configuration, in a field that does not change."""
    BEFORE = "config-before"

    def __init__(self, *names: str, local: t.Collection[str] = ()) -> None:
        super().__init__(tls=False, kubeadm=False)
        self.api.cluster = self
        self.local = {**objects.HEADER, **objects.live(maxPods=110, clusterDomain=self.SECRET)}
        before = {**self.local, "maxPods": 90}
        place, reference = objects.place(self.BEFORE), objects.reference(self.BEFORE)
        self.nodes = Objects(self.store, "nodes")
        self.configmaps = Objects(self.store, "configmaps", "kube-system")
        self.claims = Claims(self)
        self.configmaps[self.BEFORE] = objects.configmap(self.BEFORE, json.dumps(before))
        for name in names:
            self.nodes[name] = (
                objects.node(name, config={})
                if name in local
                else objects.node(name, place, objects.status(reference, reference))
            )
        self.play(self.clock, names)
        self.live.update({name: self.local if name in local else before for name in names})
        self.refusing: set[str] = set()
        self.deaf: set[str] = set()
        self.assigned: set[str] = set()
        self.cordons: list[str] = []
        self.back = 0.0
        self.lock = self.store.lock

    @property
    def requests(self) -> list[tuple[str, str]]:
        """Return method and path, without the query, of all requests."""
        return [(method, path.partition("?")[0]) for method, path in self.counter.requests]

    def count(self, method: str, path: str) -> int:
        """Return the number of requests of a method to exactly this path."""
        return self.requests.count((method, path))

    def serve(self, method: str, url: str, body: t.Any, request: Request) -> tuple[int, t.Any]:
        """Answer one request; a dry run does not change anything. Raises ConnectionError while there is no answer."""
        if time.monotonic() < self.back:
            raise ConnectionResetError
        path = url.partition("?")[0]
        with self.lock:
            if (method, path) == ("GET", RENEWALS):
                for name in self.nodes:
                    self.renew(name)
            if method == "POST" and path == CONFIGMAPS:
                self.pushing(body)
            answer = self.api.usual(request)
            if isinstance(answer.body, Page | Entry):
                # Encoded before its kubelet, or the test, changes it.
                answer.body = answer.content()
            if method == "PATCH" and path.startswith(NODES) and "dryRun" not in request.query:
                self._written(path.split("/")[-1], body)
        return answer.status, answer

    def _written(self, name: str, body: t.Mapping[str, t.Any]) -> None:
        spec = body.get("spec") or {}
        if spec.get("unschedulable"):
            self.cordons.append(name)
        self.follow(name)

    def runs(self) -> dict[str, int]:
        """Return the live maxPods of each kubelet that answers."""
        return {name: live["maxPods"] for name, live in self.live.items()}

    def cordoned(self) -> set[str]:
        return {name for name, node in self.nodes.items() if node["spec"].get("unschedulable")}

    def rename_host(self, name: str) -> None:
        """Give a Node a host whose name is not that of the Node."""
        node = self.nodes[name]
        node["metadata"]["labels"]["kubernetes.io/hostname"] = "another"
        self.nodes[name] = node

    def ready(self, name: str, status: str) -> None:
        """Set the condition Ready of a Node."""
        (condition,) = (one for one in self.nodes[name]["status"]["conditions"] if one["type"] == "Ready")
        condition["status"] = status

    def pushing(self, body: dict[str, t.Any]) -> None:
        """See a ConfigMap before it is created. Raises Refusal instead."""

    def wake(self, *names: str) -> None:
        """Let deaf kubelets follow their source from now on."""
        with self.lock:
            self.deaf -= set(names)
            for name in names:
                self.follow(name)

    def follow(self, name: str) -> None:
        """Let a kubelet see its Node."""
        self.assigned.add(name)
        node = self.nodes[name]
        source = (node["spec"].get("configSource") or {}).get("configMap")
        reference = self.reference(source) if source else None
        if name in self.deaf or reference == node["status"]["config"].get("assigned", {}).get("configMap"):
            return
        refuses = reference is not None and name in self.refusing and reference["name"] != self.BEFORE
        node["status"]["config"] = objects.status(
            reference, None if refuses else reference, error=INVALID if refuses else ""
        )
        self.live[name] = self.local if reference is None or refuses else self.content(reference)
        self.births[name] = self.clock()

    def reference(self, source: t.Mapping[str, str]) -> dict[str, str]:
        """Return a source as a kubelet reports it."""
        meta = self.configmaps[source["name"]]["metadata"]
        return {**source, "uid": meta["uid"], "resourceVersion": meta["resourceVersion"]}

    def content(self, reference: t.Mapping[str, str]) -> dict[str, t.Any]:
        found: dict[str, t.Any] = json.loads(self.configmaps[reference["name"]]["data"][reference["kubeletConfigKey"]])
        return found


def played_ansible(
    home: Path, fleet: PlayedCluster, hosts: t.Mapping[str, t.Mapping[str, t.Any]] | None = None, **variables: t.Any
) -> Ansible:
    """Return ansible-playbook with the fleet as its cluster. `hosts` are those with their variables, else one a node.

    All hosts run their tasks here and, unless `variables` set another time, wait 5 s for a kubelet.
    """
    given = {
        "ansible_connection": "local",
        "ansible_python_interpreter": sys.executable,
        "kubelet_config_wait_timeout": 5,
        **variables,
    }
    named = hosts or {name: {} for name in fleet.nodes}
    return Ansible.of_api(home, fleet.url, {"all": {"hosts": named, "vars": given}})
