# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A cluster in memory whose nodes run pods, and whose kubelets answer through the API server's proxy."""

from __future__ import annotations

import copy
import typing as t

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import ApiError
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.objects.pods import PODS
from tests.support.calls import NODES
from tests.support.cluster import Cluster


class PodCluster(Cluster):
    """`pods` are Pod objects by name, `births` the kubelets' start times, `sick` the answers of healthz instead of ok.

    `budgets` are the answers to evictions by pod name: an ApiError, or None to evict. The deletion of `lingering` pods
    does not end. An ApiError in place of any value is raised.
    """

    def __init__(self, *nodes: dict[str, t.Any], pods: t.Sequence[dict[str, t.Any]] = (), **more: t.Any) -> None:
        super().__init__(*nodes, **more)
        self.pods = {pod["metadata"]["name"]: pod for pod in pods}
        self.births: dict[str, float | ApiError] = dict.fromkeys(self.nodes, 1000.0)
        self.sick: dict[str, str | ApiError] = {}
        self.budgets: dict[str, ApiError | None] = {}
        self.lingering: set[str] = set()
        self.evictions: list[dict[str, t.Any]] = []
        self.eviction_version = "v1beta1"
        self.meddle: t.Callable[[str], None] = lambda _path: None

    def text(self, path: str, budget: float | None = None) -> str:
        """Return what a kubelet serves as text."""
        self.requests.append(("GET", path))
        if self.outage is not None:
            raise self.outage  # pylint: disable=raising-bad-type  # not None here
        name, endpoint = path.split("/")[4], path.split("/")[-1]
        found = self.births[name] if endpoint == "metrics" else self.sick.get(name, "ok")
        if isinstance(found, ApiError):
            raise found
        return (
            f"# TYPE process_start_time_seconds gauge\nprocess_start_time_seconds {found:e}\n"
            if isinstance(found, float)
            else found
        )

    def _answer(self, method: str, path: str, query: dict[str, t.Any], body: t.Any) -> t.Any:
        name = path.split("/")[-1]
        if (method, path) == ("GET", PODS):
            node = query["fieldSelector"].partition(",")[0].partition("=")[2]
            return {"items": [pod for pod in self.pods.values() if pod["spec"]["nodeName"] == node]}
        if (method, path) == ("GET", "/api/v1"):
            return {
                "resources": [
                    {"name": "pods"},
                    {"name": "pods/eviction", "group": "policy", "version": self.eviction_version},
                ]
            }
        if method == "POST" and name == "eviction":
            return self._evict(path.split("/")[6], body)
        if method == "PATCH" and path.startswith(NODES):
            return self._patch(name, query, body)
        if method == "GET" and path == f"{NODES}/{name}":
            return self.nodes[name]
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
