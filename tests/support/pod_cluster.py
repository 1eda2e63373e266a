# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A cluster in memory whose nodes run pods, and whose kubelets answer through the API server's proxy."""

from __future__ import annotations

import copy
import json
import typing as t

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import ApiError
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.objects.pods import PODS
from tests.sim.kubelets import pages
from tests.support.calls import NODES
from tests.support.cluster import Cluster

# The resourceVersion of every LIST of pods.
REVISION = "5"


def absent(name: str) -> ApiError:
    """Return the answer to a request for a Node that does not exist."""
    return ApiError(404, f'nodes "{name}" not found', "NotFound")


class PodCluster(Cluster):
    """`pods` are Pod objects by name, `births` the kubelets' start times, `sick` the answers of healthz instead of ok.

    `births` are by the clock `now`. Those of the nodes are `ahead` of it by so many seconds. The kubelets in `silent`
    serve no counter of their relists.
    `budgets` are the answers to evictions by pod name: an ApiError, or None to evict. The deletion of `lingering` pods
    does not end. `watch_error` is the answer to a watch of pods. An ApiError in place of any value is raised.
    """

    def __init__(self, *nodes: dict[str, t.Any], pods: t.Sequence[dict[str, t.Any]] = (), **more: t.Any) -> None:
        super().__init__(*nodes, **more)
        self.pods = {pod["metadata"]["name"]: pod for pod in pods}
        self.births: dict[str, float | ApiError] = dict.fromkeys(self.nodes, 1000.0)
        self.now: t.Callable[[], float] = lambda: 1000.0
        self.ahead: dict[str, float] = {}
        self.silent: set[str] = set()
        self.sick: dict[str, str | ApiError] = {}
        self.budgets: dict[str, ApiError | None] = {}
        self.deleted: list[dict[str, t.Any]] = []
        self.watch_error: ApiError | None = None
        self.lingering: set[str] = set()
        self.evictions: list[dict[str, t.Any]] = []
        self.eviction_version = "v1beta1"
        self.meddle: t.Callable[[str], None] = lambda _path: None

    def delete(self, name: str) -> None:
        """Remove a pod from the API server, which keeps its last state for a watch."""
        self.deleted.append(self.pods.pop(name))

    def text(self, path: str, budget: float | None = None, query: t.Sequence[tuple[str, t.Any]] = ()) -> str:
        """Return what a kubelet serves as text, or the events of a watch."""
        self.requests.append(("WATCH" if ("watch", "true") in query else "GET", path))
        if self.outage is not None:
            raise self.outage  # pylint: disable=raising-bad-type  # not None here
        if path == PODS:
            return self._watch(dict(query))
        name, endpoint = path.split("/")[4], path.split("/")[-1]
        if name not in self.nodes:
            raise absent(name)
        found = self.births[name] if endpoint == "metrics" else self.sick.get(name, "ok")
        if isinstance(found, ApiError):
            raise found
        return self._metrics(name, found) if isinstance(found, float) else found

    def _metrics(self, name: str, birth: float) -> str:
        """Return what a kubelet serves: the first relist is a second after its start, and no jump changes their sum."""
        relisted = "" if name in self.silent else pages.relists(max(0.0, self.now() - birth - 1.0))
        return pages.started(birth + self.ahead.get(name, 0.0)) + relisted

    def _watch(self, query: dict[str, t.Any]) -> str:
        assert query.pop("watch") == "true" and query == {
            "fieldSelector": query["fieldSelector"],
            "resourceVersion": REVISION,
            "timeoutSeconds": 1,
        }
        if self.watch_error is not None:
            raise self.watch_error  # pylint: disable=raising-bad-type  # not None here
        node = query["fieldSelector"].partition("=")[2]
        return "".join(
            json.dumps({"type": kind, "object": pod}) + "\n"
            for kind, those in (("ADDED", self.pods.values()), ("DELETED", self.deleted))
            for pod in those
            if pod["spec"]["nodeName"] == node
        )

    def _answer(self, method: str, path: str, query: dict[str, t.Any], body: t.Any) -> t.Any:
        name = path.split("/")[-1]
        if (method, path) == ("GET", PODS):
            node = query["fieldSelector"].partition(",")[0].partition("=")[2]
            return {
                "metadata": {"resourceVersion": REVISION},
                "items": [pod for pod in self.pods.values() if pod["spec"]["nodeName"] == node],
            }
        if (method, path) == ("GET", "/api/v1"):
            return {
                "resources": [
                    {"name": "pods"},
                    {"name": "pods/eviction", "group": "policy", "version": self.eviction_version},
                ]
            }
        if method == "POST" and name == "eviction":
            return self._evict(path.split("/")[6], body)
        if path.startswith(f"{NODES}/") and path.split("/")[4] not in self.nodes:
            return absent(path.split("/")[4])
        if method == "PATCH" and path.startswith(NODES):
            return self._patch(name, query, body)
        if method == "GET" and path == f"{NODES}/{name}":
            return self.nodes.get(name, ApiError(404, f'nodes "{name}" not found', "NotFound"))
        return super()._answer(method, path, query, body)

    def _evict(self, name: str, body: dict[str, t.Any]) -> t.Any:
        assert body["apiVersion"] == f"policy/{self.eviction_version}"
        pod = self.pods.get(name)
        if pod is None:
            return ApiError(404, f'pods "{name}" not found', "NotFound")
        if body["deleteOptions"]["preconditions"]["uid"] != pod["metadata"]["uid"]:
            return ApiError(409, "the UID in the precondition does not match the UID in record", "Conflict")
        self.evictions.append(body)
        answer = self.budgets.get(name)
        if answer is None and "dryRun" not in body["deleteOptions"]:
            if name in self.lingering:
                pod["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
            else:
                del self.pods[name]
        return answer or {"kind": "Status", "status": "Success"}

    def _patch(self, name: str, query: dict[str, t.Any], body: dict[str, t.Any]) -> t.Any:
        self.meddle(name)
        if name not in self.nodes:
            return absent(name)
        node = self.nodes[name]
        if body["metadata"]["resourceVersion"] != node["metadata"]["resourceVersion"]:
            return ApiError(409, "the object has been modified", "Conflict")
        changed = copy.deepcopy(node)
        changed["metadata"]["resourceVersion"] = str(int(node["metadata"]["resourceVersion"]) + 1)
        for holder, part in (
            (changed["metadata"].setdefault("annotations", {}), body["metadata"].get("annotations")),
            (changed["spec"], body.get("spec")),
        ):
            holder.update(part or {})
            for key in [key for key, value in holder.items() if value is None]:
                del holder[key]
        if not query.get("dryRun"):
            self.nodes[name] = changed
        return changed
