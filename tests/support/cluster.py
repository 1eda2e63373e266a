# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A session on a few objects in memory that change over time, and the clock that controls the time."""

from __future__ import annotations

import copy
import typing as t

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import ApiError
from tests.support.calls import CONFIGMAPS, NODES

# The clock starts with the year 2026.
EPOCH = 1_767_225_600.0 - 1000.0
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
CSRS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"


class Clock:
    """Replaces the module `time`: `sleep` returns at once. Each of `ticks` runs once, when its second is reached."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.slept: list[float] = []
        self._ticks: list[tuple[float, t.Callable[[], None]]] = []

    def at(self, second: float, tick: t.Callable[[], None]) -> None:
        """Call `tick` `second` seconds after the start."""
        self._ticks.append((1000.0 + second, tick))

    def monotonic(self) -> float:
        """Return the seconds since some moment."""
        return self.now

    def time(self) -> float:
        """Return the seconds since 1970."""
        return self.now + EPOCH

    def sleep(self, seconds: float) -> None:
        """Advance the clock."""
        assert seconds >= 0
        self.slept.append(seconds)
        self.now += seconds
        for moment, tick in [item for item in self._ticks if item[0] <= self.now]:
            self._ticks.remove((moment, tick))
            tick()


class Cluster:
    """Nodes, ConfigMaps, live configurations and heartbeats by name, and pods.

    An ApiError in place of an answer is raised. `lease` is the answer to the renewal of any Lease.
    """

    host = "https://api.example:6443"
    concurrency = 2
    kubelets = None
    nodes_listed = 0

    def __init__(
        self,
        *nodes: dict[str, t.Any],
        configmaps: t.Sequence[dict[str, t.Any]] = (),
        live: dict[str, t.Any] | None = None,
    ) -> None:
        self.nodes = {node["metadata"]["name"]: node for node in nodes}
        self.configmaps = {item["metadata"]["name"]: item for item in configmaps}
        self.live: dict[str, t.Any] = live or {}
        self.renewed: dict[str, str] | ApiError = {}
        self.csrs: t.Any = {"items": []}
        self.review: t.Any = {"status": {"allowed": True}}
        self.pods: list[dict[str, t.Any]] = []
        self.lease: t.Any = {}
        self.outage: ApiError | None = None
        self.requests: list[tuple[str, str]] = []

    def count(self, method: str, path: str) -> int:
        """Return the number of requests of a method to exactly this path."""
        return self.requests.count((method, path))

    def server_time(self) -> float:
        """Return the time of the API server's clock, as the session does."""
        return EPOCH

    def dry_runs(self) -> bool:
        """Return whether the API server has dry runs, as the session does."""
        return True

    def request(
        self,
        method: str,
        path: str,
        query: t.Sequence[tuple[str, t.Any]] = (),
        body: t.Any = None,
        content_type: str = "application/json",
        budget: float | None = None,
    ) -> t.Any:
        """Answer like the API server."""
        self.requests.append((method, path))
        if self.outage is not None:
            raise self.outage  # pylint: disable=raising-bad-type  # not None here
        answer = self._answer(method, path, dict(query), body)
        if isinstance(answer, ApiError):
            raise answer
        return copy.deepcopy(answer)

    def _answer(self, method: str, path: str, query: dict[str, t.Any], body: t.Any) -> t.Any:
        name = path.split("/")[-1]
        if (method, path) == ("GET", NODES):
            only = query.get("fieldSelector", "").partition("=")[2]
            return _page([node for node in self.nodes.values() if only in ("", node["metadata"]["name"])], query)
        if method == "GET" and path == f"{NODES}/{name}":
            return self.nodes.get(name, ApiError(404, f'nodes "{name}" not found', "NotFound"))
        if method == "GET" and path.endswith("/pods"):
            return {"items": [pod for pod in self.pods if _selected(pod, path, query)]}
        if (method, path) == ("GET", CSRS):
            return self.csrs
        if method == "PATCH" and "/leases/" in path:
            return self.lease
        if method == "PATCH" and path.startswith(NODES):
            node = self.nodes[name]
            node["spec"] = _merged(node["spec"], body.get("spec") or {})
            node["metadata"]["annotations"] = _merged(
                node["metadata"].get("annotations") or {}, body["metadata"].get("annotations") or {}
            )
            return node
        if method == "GET" and path.endswith("/proxy/configz"):
            live = self.live[path.split("/")[4]]
            return live if isinstance(live, ApiError) else {"kubeletconfig": live}
        if method == "GET" and path.startswith(CONFIGMAPS):
            return self.configmaps.get(name, ApiError(404, f'configmaps "{name}" not found', "NotFound"))
        if (method, path) == ("GET", LEASES):
            if isinstance(self.renewed, ApiError):
                return self.renewed
            return {
                "items": [
                    {"metadata": {"name": node}, "spec": {"renewTime": moment}} for node, moment in self.renewed.items()
                ]
            }
        if (method, path) == ("POST", REVIEWS):
            return self.review
        raise AssertionError(f"{method} {path} is not served by this cluster")


def _page(items: list[dict[str, t.Any]], query: dict[str, t.Any]) -> dict[str, t.Any]:
    """Return one page of a LIST; the token of the next is its first index."""
    begin = int(query.get("continue", 0))
    end = begin + int(query.get("limit", len(items)))
    rest = len(items) - end
    return {
        "items": items[begin:end],
        "metadata": {"continue": str(end), "remainingItemCount": rest} if rest > 0 else {},
    }


def _merged(old: dict[str, t.Any], new: dict[str, t.Any]) -> dict[str, t.Any]:
    """Apply a merge patch: null removes."""
    return {key: value for key, value in {**old, **new}.items() if value is not None}


def _selected(pod: dict[str, t.Any], path: str, query: dict[str, t.Any]) -> bool:
    """Return whether a LIST of pods, of one node or of the control plane, includes this one."""
    meta = pod["metadata"]
    only = query.get("fieldSelector", "").partition("=")[2]
    if "labelSelector" in query:
        assert query["labelSelector"] == "tier=control-plane,component in (kube-apiserver,etcd)"
        if meta["labels"].get("tier") != "control-plane" or meta["labels"].get("component") not in (
            "kube-apiserver",
            "etcd",
        ):
            return False
    return only in ("", pod["spec"]["nodeName"]) and (
        "/namespaces/" not in path or f"/namespaces/{meta['namespace']}/" in path
    )
