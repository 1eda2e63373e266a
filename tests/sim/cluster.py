# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A simulated cluster: an API server stand-in, and kubelets in this process or elsewhere. Needs no root."""

from __future__ import annotations

import http.client
import re
import tempfile
import threading
import time
import typing as t
import urllib.parse
from pathlib import Path

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import document
from tests.lab import kubeadm
from tests.lab.objects import bare_node
from tests.sim.api import rules
from tests.sim.api.handlers import Answer, Api, Request
from tests.sim.api.kinds import FIRST_FORM, KINDS
from tests.sim.api.refusal import unreachable
from tests.sim.api.server import ADMIN, Server
from tests.sim.api.store import Change, Entry, Store, stamp
from tests.sim.kubelets.configs import CERTIFICATE, lab_flags, own_file, shown
from tests.sim.kubelets.dynamic import DynamicKubelet
from tests.sim.kubelets.followed import FollowedKubelet
from tests.sim.kubelets.kubelet import RENEW_SECONDS, Away, Kubelet
from tests.sim.kubelets.legacy import LegacyKubelet
from tests.sim.kubelets.static import StaticKubelet
from tests.sim.kubelets.timers import Timers
from tests.sim.tls import Certificates

DEFAULT = "v1.20.2"
HEARTBEATS = "kube-node-lease"
NODES, LEASES, CONFIGMAPS = KINDS["nodes"], KINDS["leases"], KINDS["configmaps"]
OF_KIND = {kind.kind: kind for kind in KINDS.values()}
STRATEGIC = "application/strategic-merge-patch+json"


class Served(t.Protocol):
    """What answers for a node behind the node proxy of the API server."""

    def answer(self, path: str) -> Answer:
        """Return the answer to a GET of a path with its query. Raises Refusal (503) if the kubelet does not run."""


class Elsewhere:
    """A kubelet that serves plain HTTP at another address."""

    def __init__(self, url: str) -> None:
        self.url = url

    def answer(self, path: str) -> Answer:
        """Ask it."""
        parts = urllib.parse.urlsplit(self.url)
        connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=10)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            kind = answer.getheader("Content-Type") or "text/plain"
            return Answer(answer.status, answer.read(), {"Content-Type": kind})
        except (OSError, http.client.HTTPException) as error:
            raise unreachable(str(error)) from None
        finally:
            connection.close()


class Inside:
    """What a simulated kubelet of this process runs on: it reaches the API server without HTTP."""

    def __init__(self, cluster: Cluster, name: str) -> None:
        self._cluster, self._user = cluster, f"system:node:{name}"

    def request(
        self, method: str, path: str, body: t.Any = None, content_type: str = "application/json"
    ) -> tuple[int, dict[str, t.Any]]:
        """Send a request. Raises Away."""
        request = Request(method, path, content_type, body if body is not None else b"", self._user, ("system:nodes",))
        answer = self._cluster.server.inside(request)
        if answer is None:
            raise Away
        return answer.status, answer.body.item if isinstance(answer.body, Entry) else answer.body

    def after(self, seconds: float, work: t.Callable[..., None], *arguments: t.Any) -> None:
        self._cluster.timers.after(seconds, work, *arguments)

    def clock(self) -> float:
        """Return the cluster's time."""
        return self._cluster.clock()


class Cluster:
    """`with Cluster() as cluster:` - an API server of this version, with no nodes.

    `scale`: how many times faster simulated kubelets are than real ones, and how many times faster the heartbeats of
    silent ones grow old. The clock itself runs as this machine's does.
    `url` needs no credentials; `kubeconfig(path)` writes one with a certificate, for `tls_url`. `store` has the
    objects, `faults` the faults, `counter` the requests. With `tls=False` there is only `url`.
    `kubeadm`: whether the ConfigMaps of kubeadm are there.
    """

    api_class = Api

    def __init__(self, version: str = DEFAULT, scale: float = 1.0, tls: bool = True, kubeadm: bool = True) -> None:
        self.version, self.scale = version, scale
        self.ahead = 0.0
        """Seconds that the cluster's clock is ahead."""
        self._home = tempfile.TemporaryDirectory(prefix="livenodes-sim-")
        self.store = Store(minor_of(version), self.clock)
        self.kubelets: dict[str, Served] = {}
        self.api = self.api_class(self.store, version, self.proxied)
        self.certificates = Certificates(Path(self._home.name)) if tls else None
        self.server = Server(self.api, self.certificates.server() if self.certificates else None)
        self.url, self.tls_url = self.server.url, self.server.tls_url
        self.faults, self.counter = self.server.faults, self.server.counter
        self._populate(kubeadm)
        self.timers = Timers(scale)
        self._simulated: dict[str, Kubelet] = {}
        self.store.listeners.append(self._see)
        self.timers.every(RENEW_SECONDS, self._renew)

    def __enter__(self) -> t.Self:
        self.server.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        """End the server and the kubelets; remove the certificates."""
        try:
            self.timers.close()
        finally:
            self.server.close()
            self._home.cleanup()

    def clock(self) -> float:
        """Return the cluster's time, in seconds since 1970."""
        return time.time() + self.ahead

    def stop(self) -> None:
        """Stop the API server: it closes each connection without an answer and keeps every object."""
        self.server.down.set()

    def start(self) -> None:
        """Let the API server answer again."""
        self.server.down.clear()

    def kubeconfig(self, path: Path, user: str = ADMIN, *groups: str, expired: bool = False) -> Path:
        """Write a kubeconfig of a user, the administrator by default; return its path."""
        if self.certificates is None:
            raise ValueError("this cluster has no TLS")
        given = groups or ("system:masters",)
        return self.certificates.kubeconfig(path, self.tls_url, user, *given, expired=expired)

    def kubelet_kubeconfig(self, path: Path, name: str) -> Path:
        """Write the kubeconfig of a node's kubelet: a certificate of `system:node:NAME`; return its path."""
        return self.kubeconfig(path, f"system:node:{name}", "system:nodes")

    def grant(self, objects: t.Sequence[dict[str, t.Any]]) -> None:
        """Create roles and their bindings; objects of the same names are replaced."""
        self.ungrant(objects)
        for item in objects:
            self.store.create(OF_KIND[item["kind"]], item["metadata"].get("namespace", ""), item)

    def ungrant(self, objects: t.Sequence[dict[str, t.Any]]) -> None:
        """Delete roles and their bindings, those that exist."""
        for item in objects:
            kind, name = OF_KIND[item["kind"]], item["metadata"]["name"]
            namespace = item["metadata"].get("namespace", "")
            if self.store.find(kind.plural, name, namespace):
                self.store.delete(kind, namespace, name, {}, False)

    def add(
        self,
        name: str,
        version: str = "",
        kubelet_url: str = "",
        labels: t.Mapping[str, str] | None = None,
        kubelet: Served | None = None,
    ) -> None:
        """Create a Ready Node and its Lease. Its kubelet is `kubelet`, or serves plain HTTP at `kubelet_url`, or is
        down.
        """
        version = version or self.version
        body = bare_node(name, dict(labels or {}), version)
        moment = stamp(self.clock())
        for condition in body["status"]["conditions"]:
            condition.update(lastHeartbeatTime=moment, lastTransitionTime=moment)
        if minor_of(version) > rules.LAST_DYNAMIC or minor_of(version) in FIRST_FORM:
            del body["status"]["config"]
        if kubelet or kubelet_url:
            self.kubelets[name] = kubelet or Elsewhere(kubelet_url)
        self.store.create(NODES, "", body)
        self.renew(name)

    def simulate(
        self,
        name: str,
        version: str = "",
        labels: t.Mapping[str, str] | None = None,
        flags: t.Mapping[str, t.Any] | None = None,
        own: str | None = None,
        followed: bool = False,
        **options: t.Any,
    ) -> t.Any:
        """Create a Ready Node whose kubelet this process simulates; return the kubelet.

        Of the first form it is a LegacyKubelet, up to 1.23 a DynamicKubelet, later a StaticKubelet, or with `followed`
        a FollowedKubelet, which get the `options`. `own` is the text of its own file and `flags` are the fields that
        its flags set, by default those of the node of this name in the lab.
        """
        version = version or self.version
        minor, host = minor_of(version), Inside(self, name)
        own = own_file(name, minor) if own is None else own
        flags = lab_flags(name) if flags is None else flags
        made: LegacyKubelet | DynamicKubelet | StaticKubelet
        if minor in FIRST_FORM:
            made = LegacyKubelet(host, name, minor=minor, **options)
        elif minor <= rules.LAST_DYNAMIC:
            local = {**shown(document.parse(own, "its own file"), CERTIFICATE, minor), **(flags or {})}
            made = DynamicKubelet(host, name, local, minor=minor, flags=flags, **options)
        elif followed:
            made = FollowedKubelet(host, name, own, minor=minor, flags=flags, **options)
        else:
            made = StaticKubelet(host, name, own, minor=minor, flags=flags, **options)
        self._simulated[name] = made
        self.add(name, version, labels=labels, kubelet=made)
        made.report()
        if isinstance(made, FollowedKubelet):
            made.start()
        return made

    def replace(self, name: str) -> None:
        """Delete a Node and create it again, as a kubelet does that is started: another uid, no source, no annotations.

        A simulated kubelet is started anew.
        """
        old = self.store.get(NODES, name).item
        self.store.delete(NODES, "", name, {}, False)
        fresh = bare_node(name, dict(old["metadata"].get("labels") or {}), old["status"]["nodeInfo"]["kubeletVersion"])
        fresh["status"].pop("config", None)
        self.store.create(NODES, "", fresh)
        if name in self._simulated:
            self._simulated[name].restarted()

    def remove(self, name: str) -> None:
        self.store.delete(NODES, "", name, {}, False)

    def renew(self, name: str) -> None:
        """Renew a kubelet's Lease, as it does itself every 10 s."""
        spec = {
            "holderIdentity": name,
            "leaseDurationSeconds": 40,
            "renewTime": stamp(self.clock(), micro=True),
        }
        if self.store.find("leases", name, HEARTBEATS) is None:
            self.store.create(LEASES, HEARTBEATS, {"metadata": {"name": name}, "spec": spec})
        else:
            self.store.patch(LEASES, HEARTBEATS, name, "application/merge-patch+json", {"spec": spec})

    def kubelet(self, name: str) -> t.Any:
        """Return the simulated kubelet of a node."""
        return self._simulated[name]

    def outage(self, seconds: float, at: str, number: int = 1) -> None:
        """Stop the API server for so long when it has received so many requests of this method."""

        def begin() -> None:
            self.stop()
            threading.Timer(seconds, self.start).start()

        self.faults.add(method=at, skip=number - 1, times=1, then=begin, reset=True)

    def node(self, name: str) -> dict[str, t.Any]:
        """Return a Node. It must not be changed."""
        return self.store.get(NODES, name).item

    def patch_status(self, name: str, status: t.Mapping[str, t.Any]) -> None:
        """Patch a Node's status as its kubelet does."""
        self.store.patch(NODES, "", name, STRATEGIC, {"status": dict(status)}, "status")

    def _see(self, change: Change) -> None:
        """Let the kubelets see what changes, as their watches do."""
        item = change.entry.item
        if change.plural == "nodes" and change.kind != "DELETED":
            kubelet = self._simulated.get(item["metadata"]["name"])
            if kubelet:
                kubelet.see(item)
        elif change.plural == "configmaps":
            place = (item["metadata"]["namespace"], item["metadata"]["name"])
            for kubelet in self._simulated.values():
                source = kubelet.source if isinstance(kubelet, DynamicKubelet) else None
                if isinstance(kubelet, DynamicKubelet) and source and (source["namespace"], source["name"]) == place:
                    kubelet.poke()

    def _renew(self) -> None:
        now = self.clock()
        for kubelet in list(self._simulated.values()):
            if kubelet.running and not kubelet.deaf:
                kubelet.renew()
            elif self.scale > 1:
                kubelet.renew_at(now - (now - kubelet.renewed) * self.scale)

    def proxied(self, name: str, path: str) -> Answer:
        """Return what a node's kubelet answers. Raises Refusal."""
        if name not in self.kubelets:
            raise unreachable("dial tcp 192.0.2.1:10250: connect: connection refused")
        return self.kubelets[name].answer(path)

    def _populate(self, with_kubeadm: bool) -> None:
        for name in ("default", "kube-system", HEARTBEATS):
            self.store.create(KINDS["namespaces"], "", {"metadata": {"name": name}})
        found = kubeadm.configmaps(self.version, minor_of(self.version), "127.0.0.1", 6443, cgroup_v1=False)
        for item in found if with_kubeadm else ():
            self.store.create(CONFIGMAPS, "kube-system", item)


def minor_of(version: str) -> int:
    """Return the minor of a version such as `v1.20.2`. Raises ValueError."""
    found = re.fullmatch(r"v?1\.(\d+)(\..*)?", version)
    if found is None:
        raise ValueError(f"{version} is not a version of Kubernetes 1")
    return int(found[1])
