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
CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"


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
        # (pod, namespace) -> node, of directly bound pods; manifest -> (node, mirror pod, namespace) of static ones.
        self._bound: dict[tuple[str, str], str] = {}
        self._static: dict[tuple[str, str], tuple[str, str]] = {}
        self._made: list[str] = []

    def __enter__(self) -> Pods:
        if self.namespace not in ("default", "kube-system"):
            self._api.ensure(
                "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.namespace}}
            )
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    # -- pods
    # ------------------------------------------------------------------------------------------------------------

    def create(
        self,
        name: str,
        node: str,
        *,
        labels: t.Mapping[str, str] | None = None,
        requests: t.Mapping[str, str] | None = None,
        limits: t.Mapping[str, str] | None = None,
        priority: int | str | None = None,
        probe: bool = False,
        restart: str = "Always",
        grace: int = 1,
        command: t.Sequence[str] = FOREVER,
        owner: tuple[str, str] | None = None,
        spec: t.Mapping[str, t.Any] | None = None,
        annotations: t.Mapping[str, str] | None = None,
    ) -> str:
        """Create a pod bound to a node and return its name; it does not wait.

        `priority`: a number, for which a PriorityClass is created, or the name of a class (system-cluster-critical).
        `probe`: a probe of readiness, which holds. `owner`: (kind, name) of a controller that need not exist, such as
        ("ReplicaSet", "web") or ("DaemonSet", "agent"). `spec`: more fields of the pod's spec, such as volumes.
        `grace`: seconds.
        """
        self._lab.node(node).enable_pods()
        body = _pod(
            name,
            {
                "labels": dict(labels or {}),
                "annotations": dict(annotations or {}),
                **({"ownerReferences": [_owner(*owner)]} if owner else {}),
            },
            {
                **_spec(requests, limits, probe, restart, grace, command),
                "nodeName": node,
                **self._priority(priority),
                **(spec or {}),
            },
        )
        self._bound[name, self.namespace] = node
        self._api.call("POST", self._path(""), body)
        return name

    def static(
        self,
        name: str,
        node: str,
        *,
        labels: t.Mapping[str, str] | None = None,
        namespace: str | None = None,
        priority_class: str | None = None,
        requests: t.Mapping[str, str] | None = None,
        command: t.Sequence[str] = FOREVER,
    ) -> str:
        """Write the manifest of a static pod; return the name of its mirror pod, `<name>-<node>`, without waiting."""
        machine = self._lab.node(node)
        machine.enable_pods()
        mirror, place = f"{name}-{node}", namespace or self.namespace
        body = _pod(
            name,
            {"namespace": place, "labels": dict(labels or {})},
            {
                **_spec(requests, None, False, "Always", 1, command),
                **({"priorityClassName": priority_class} if priority_class else {}),
            },
        )
        self._static[node, name] = (mirror, place)
        # Renamed, so that the kubelet never reads half a file; it skips files that begin with a dot.
        machine.run(
            f"cat > {MANIFESTS}/.{name} && mv {MANIFESTS}/.{name} {MANIFESTS}/{name}.yaml", stdin=json.dumps(body)
        )
        return mirror

    def see(self, name: str, namespace: str | None = None) -> Seen | None:
        """Return the current pod of this name, None when there is none."""
        status, answer = self._api.request("GET", self._path(name, namespace))
        if status == 404:
            return None
        if status >= 400:
            raise LabError(f"reading pod {name}: {status} {answer.get('message')}")
        return seen(answer)

    def wait_ready(self, *names: str, seconds: float = 60, namespace: str | None = None) -> dict[str, Seen]:
        """Wait until pods are Ready and return them by name. Raises LabError with the state of the first late one."""
        found: dict[str, Seen] = {}
        for name in names:

            def ready(name: str = name) -> bool:
                now = self.see(name, namespace)
                if now and now.ready:
                    found[name] = now
                return name in found

            try:
                wait_for(f"readiness of pod {name}", ready, seconds)
            except LabError as error:
                raise LabError(f"{error}; it is {self.see(name, namespace)}") from error
        return found

    def wait_gone(self, *names: str, seconds: float = 30, namespace: str | None = None) -> None:
        """Wait until pods are removed from the API server, which the kubelet does after their containers have ended."""
        for name in names:
            wait_for(f"the end of pod {name}", lambda name=name: self.see(name, namespace) is None, seconds)

    def delete(self, *names: str, force: bool = False) -> None:
        """Delete directly bound pods and wait for their removal. `force`: do not wait for their kubelets."""
        options = {"apiVersion": "v1", "kind": "DeleteOptions", **({"gracePeriodSeconds": 0} if force else {})}
        for name in names:
            self._delete(self._path(name), options)
        self.wait_gone(*names)
        for name in names:
            self._bound.pop((name, self.namespace), None)

    # -- budgets
    # ---------------------------------------------------------------------------------------------------------

    def budget(self, name: str, labels: t.Mapping[str, str], allowed: int = 0) -> str:
        """Create a PodDisruptionBudget for pods with these labels that allows `allowed` evictions; return its name."""
        path = BUDGETS.format(self.namespace)
        self._made.append(f"{path}/{name}")
        self._api.call(
            "POST",
            path,
            {
                "apiVersion": "policy/v1beta1",
                "kind": "PodDisruptionBudget",
                "metadata": {"name": name},
                "spec": {"minAvailable": 1, "selector": {"matchLabels": dict(labels)}},
            },
        )
        self.allow(name, allowed)
        return name

    def allow(self, name: str, allowed: int, known: bool = True) -> None:
        """Set the allowed evictions, like the disruption controller; `known=False`: for an outdated budget."""
        path = f"{BUDGETS.format(self.namespace)}/{name}"
        generation = self._api.call("GET", path)["metadata"].get("generation", 1)
        self._api.call(
            "PATCH",
            f"{path}/status",
            {
                "status": {
                    "observedGeneration": generation if known else generation - 1,
                    "disruptionsAllowed": allowed,
                    "currentHealthy": allowed + 1,
                    "desiredHealthy": 1,
                    "expectedPods": allowed + 1,
                    "disruptedPods": None,
                }
            },
            "application/merge-patch+json",
        )

    # -- the end
    # ---------------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Remove everything, including what a test has partly deleted.

        The pods of a node whose kubelet does not answer are removed from the API server only.
        """
        failed = []
        for path in self._made:
            self._delete(path, None)
        for node, name in self._static:
            with contextlib.suppress(LabError):
                self._lab.node(node).run(f"rm -f {MANIFESTS}/{name}.yaml {MANIFESTS}/.{name}")
        everything = [*self._bound, *self._static.values()]
        for name, namespace in self._bound:
            self._delete(self._path(name, namespace), None)
        for name, namespace in everything:
            try:
                self.wait_gone(name, seconds=20, namespace=namespace)
            except LabError:
                failed.append(name)
                self._delete(
                    self._path(name, namespace), {"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0}
                )
        self._bound.clear()
        self._static.clear()
        self._made.clear()
        if self.namespace not in ("default", "kube-system"):
            self._end_namespace()

    def _end_namespace(self) -> None:
        # The lab lacks the controller that empties a namespace and removes its finalizer.
        path = f"/api/v1/namespaces/{self.namespace}"
        self._delete(path, None)
        self._api.request(
            "PUT",
            f"{path}/finalize",
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.namespace}, "spec": {"finalizers": []}},
        )

    def _path(self, name: str, namespace: str | None = None) -> str:
        return f"/api/v1/namespaces/{namespace or self.namespace}/pods" + (f"/{name}" if name else "")

    def _delete(self, path: str, options: t.Any) -> None:
        status, answer = self._api.request("DELETE", path, options)
        if status >= 400 and status != 404:
            raise LabError(f"DELETE {path}: {status} {answer.get('message')}")

    def _priority(self, priority: int | str | None) -> dict[str, str]:
        if priority is None or isinstance(priority, str):
            return {"priorityClassName": priority} if priority else {}
        name = f"lab-{priority}" if priority >= 0 else f"lab-minus{-priority}"
        self._made.append(f"{CLASSES}/{name}")
        self._api.ensure(
            CLASSES,
            {
                "apiVersion": "scheduling.k8s.io/v1",
                "kind": "PriorityClass",
                "metadata": {"name": name},
                "value": priority,
            },
        )
        return {"priorityClassName": name}


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


def _spec(
    requests: t.Mapping[str, str] | None,
    limits: t.Mapping[str, str] | None,
    probe: bool,
    restart: str,
    grace: int,
    command: t.Sequence[str],
) -> dict[str, t.Any]:
    resources = {key: dict(value) for key, value in (("requests", requests), ("limits", limits)) if value}
    container: dict[str, t.Any] = {
        "name": "main",
        "image": IMAGE,
        "imagePullPolicy": "Never",
        "command": list(command),
        "resources": resources,
    }
    if probe:
        container["readinessProbe"] = {
            "exec": {"command": ["true"]},
            "periodSeconds": 1,
            "failureThreshold": 1,
            "timeoutSeconds": 5,
        }
    # The node's own network, because the lab has no CNI plugin.
    return {
        "hostNetwork": True,
        "automountServiceAccountToken": False,
        "restartPolicy": restart,
        "terminationGracePeriodSeconds": grace,
        "containers": [container],
    }
