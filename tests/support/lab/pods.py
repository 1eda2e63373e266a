# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Real pods on lab nodes, and disruption budgets for them. There is no scheduler and no controller manager: pods name
their node, and the test sets the numbers of a budget.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import typing as t
import uuid

from tests.lab.console import LabError
from tests.lab.images import FOREVER, IMAGE
from tests.lab.kubeadm import MANIFESTS
from tests.lab.lab import Lab
from tests.lab.processes import wait_for

BUDGETS = "/apis/policy/v1beta1/namespaces/{}/poddisruptionbudgets"


@dataclasses.dataclass(frozen=True)
class Seen:
    """A pod in the API. `containers` and `restarts` are by container name; the ID is "" before a container starts."""

    uid: str
    phase: str
    ready: bool
    containers: dict[str, str]
    restarts: dict[str, int]
    deleted: bool


class Pods:
    """`with Pods(lab) as pods:` - removes everything created through it, from the API server and from the nodes."""

    def __init__(self, lab: Lab, namespace: str = "default") -> None:
        self._lab = lab
        self._api = lab.apiserver.api()
        self.namespace = namespace
        self._bound: list[str] = []
        # Node and manifest -> mirror pod, of static ones.
        self._static: dict[tuple[str, str], str] = {}
        self._budgets: list[str] = []

    def __enter__(self) -> Pods:
        if self.namespace not in ("default", "kube-system"):
            self._api.ensure(
                "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.namespace}}
            )
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    # Pods

    def create(
        self,
        name: str,
        node: str,
        *,
        labels: t.Mapping[str, str] | None = None,
        probe: bool = False,
        restart: str = "Always",
        command: t.Sequence[str] = FOREVER,
        owner: tuple[str, str] | None = None,
        spec: t.Mapping[str, t.Any] | None = None,
    ) -> str:
        """Create a pod bound to a node and return its name; it does not wait.

        `probe`: a probe of readiness, which holds. `owner`: (kind, name) of a controller that need not exist, such as
        ("ReplicaSet", "web") or ("DaemonSet", "agent"). `spec`: more fields of the pod's spec, such as volumes.
        """
        self._lab.node(node).enable_pods()
        owners = {"ownerReferences": [_owner(*owner)]} if owner else {}
        whole = {**_spec(probe, restart, command), "nodeName": node, **(spec or {})}
        self._bound.append(name)
        self._api.call("POST", self._path(""), _pod(name, {"labels": dict(labels or {}), **owners}, whole))
        return name

    def static(
        self,
        name: str,
        node: str,
        *,
        labels: t.Mapping[str, str] | None = None,
        priority_class: str | None = None,
    ) -> str:
        """Write the manifest of a static pod; return the name of its mirror pod, `<name>-<node>`, without waiting."""
        machine = self._lab.node(node)
        machine.enable_pods()
        mirror = f"{name}-{node}"
        given = {"priorityClassName": priority_class} if priority_class else {}
        body = _pod(name, {"namespace": self.namespace, "labels": dict(labels or {})}, {**_spec(), **given})
        self._static[node, name] = mirror
        # Renamed, so that the kubelet never reads half a file; it skips files that begin with a dot.
        machine.run(
            f"cat > {MANIFESTS}/.{name} && mv {MANIFESTS}/.{name} {MANIFESTS}/{name}.yaml", stdin=json.dumps(body)
        )
        return mirror

    def see(self, name: str) -> Seen | None:
        """Return the current pod of this name, None when there is none."""
        status, answer = self._api.request("GET", self._path(name))
        if status == 404:
            return None
        if status >= 400:
            raise LabError(f"reading pod {name}: {status} {answer.get('message')}")
        return seen(answer)

    def wait_ready(self, *names: str) -> dict[str, Seen]:
        """Wait until pods are Ready and return them by name. Raises LabError with the state of the first late one."""
        found: dict[str, Seen] = {}
        for name in names:

            def ready(name: str = name) -> bool:
                now = self.see(name)
                if now and now.ready:
                    found[name] = now
                return name in found

            try:
                wait_for(f"readiness of pod {name}", ready, 60)
            except LabError as error:
                raise LabError(f"{error}; it is {self.see(name)}") from error
        return found

    def wait_gone(self, *names: str, seconds: float = 30) -> None:
        """Wait until pods are removed from the API server, which the kubelet does after their containers have ended."""
        for name in names:
            wait_for(f"the end of pod {name}", lambda name=name: self.see(name) is None, seconds)

    def delete(self, *names: str) -> None:
        for name in names:
            self._delete(self._path(name))
        self.wait_gone(*names)
        self._bound = [name for name in self._bound if name not in names]

    # Budgets

    def budget(self, name: str, labels: t.Mapping[str, str], allowed: int = 0) -> str:
        """Create a PodDisruptionBudget for pods with these labels that allows `allowed` evictions; return its name."""
        path = BUDGETS.format(self.namespace)
        self._budgets.append(f"{path}/{name}")
        spec = {"minAvailable": 1, "selector": {"matchLabels": dict(labels)}}
        about = {"apiVersion": "policy/v1beta1", "kind": "PodDisruptionBudget", "metadata": {"name": name}}
        self._api.call("POST", path, {**about, "spec": spec})
        self.allow(name, allowed)
        return name

    def allow(self, name: str, allowed: int) -> None:
        """Set the allowed evictions, like the disruption controller."""
        path = f"{BUDGETS.format(self.namespace)}/{name}"
        generation = self._api.call("GET", path)["metadata"].get("generation", 1)
        status = {"observedGeneration": generation, "disruptionsAllowed": allowed, "disruptedPods": None}
        status |= {"currentHealthy": allowed + 1, "desiredHealthy": 1, "expectedPods": allowed + 1}
        self._api.call("PATCH", f"{path}/status", {"status": status}, "application/merge-patch+json")

    # The end

    def close(self) -> None:
        """Remove everything, including what a test has partly deleted.

        The pods of a node whose kubelet does not answer are removed from the API server only.
        """
        for path in self._budgets:
            self._delete(path)
        for node, name in self._static:
            with contextlib.suppress(LabError):
                self._lab.node(node).run(f"rm -f {MANIFESTS}/{name}.yaml {MANIFESTS}/.{name}")
        for name in self._bound:
            self._delete(self._path(name))
        for name in (*self._bound, *self._static.values()):
            try:
                self.wait_gone(name, seconds=20)
            except LabError:
                self._delete(self._path(name), {"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0})
        self._bound.clear()
        self._static.clear()
        self._budgets.clear()
        if self.namespace not in ("default", "kube-system"):
            self._end_namespace()

    def _end_namespace(self) -> None:
        # The lab lacks the controller that empties a namespace and removes its finalizer.
        path = f"/api/v1/namespaces/{self.namespace}"
        self._delete(path)
        self._api.request(
            "PUT",
            f"{path}/finalize",
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.namespace}, "spec": {"finalizers": []}},
        )

    def _path(self, name: str) -> str:
        return f"/api/v1/namespaces/{self.namespace}/pods" + (f"/{name}" if name else "")

    def _delete(self, path: str, options: t.Any = None) -> None:
        status, answer = self._api.request("DELETE", path, options)
        if status >= 400 and status != 404:
            raise LabError(f"DELETE {path}: {status} {answer.get('message')}")


def seen(pod: t.Mapping[str, t.Any]) -> Seen:
    """Return the summary of a Pod object."""
    status = pod.get("status", {})
    containers = status.get("containerStatuses") or ()
    return Seen(
        uid=pod["metadata"]["uid"],
        phase=status.get("phase", ""),
        deleted="deletionTimestamp" in pod["metadata"],
        ready=any(item["type"] == "Ready" and item["status"] == "True" for item in status.get("conditions") or ()),
        containers={item["name"]: item.get("containerID", "") for item in containers},
        restarts={item["name"]: item.get("restartCount", 0) for item in containers},
    )


def _owner(kind: str, name: str) -> dict[str, t.Any]:
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "name": name,
        "uid": str(uuid.uuid5(uuid.NAMESPACE_OID, f"{kind}/{name}")),
        "controller": True,
    }


def _pod(name: str, metadata: dict[str, t.Any], spec: dict[str, t.Any]) -> dict[str, t.Any]:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, **metadata}, "spec": spec}


def _spec(probe: bool = False, restart: str = "Always", command: t.Sequence[str] = FOREVER) -> dict[str, t.Any]:
    container: dict[str, t.Any] = {"name": "main", "image": IMAGE, "imagePullPolicy": "Never", "resources": {}}
    container["command"] = list(command)
    if probe:
        times = {"periodSeconds": 1, "failureThreshold": 1, "timeoutSeconds": 5}
        container["readinessProbe"] = {"exec": {"command": ["true"]}, **times}
    # The node's own network, because the lab has no CNI plugin.
    return {
        "hostNetwork": True,
        "automountServiceAccountToken": False,
        "restartPolicy": restart,
        "terminationGracePeriodSeconds": 1,
        "containers": [container],
    }
