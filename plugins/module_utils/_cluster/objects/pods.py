# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pods of nodes, reduced to the fields that show whether a change disrupted one of them."""

from __future__ import annotations

import typing as t

from ..._config.forecast import admission
from ..._config.forecast.pod_loss import FINISHED
from ..api import parallel
from ..api.errors import ApiError, NodesFailed
from ..api.session import Session

PODS = "/api/v1/pods"
# Annotation of the API object that a kubelet creates for a static pod (kubetypes.ConfigMirrorAnnotationKey).
MIRROR = "kubernetes.io/config.mirror"
# The taints of a Node that is not Ready, whose effect NoExecute deletes pods (pkg/controller/tainteviction).
AWAY = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
# What a kubelet reports of a container that ended while it did not run itself.
_LOST_CONTAINER = "ContainerStatusUnknown"
# Seconds that a watch for past events takes.
_WATCH = 1

Row = dict[str, t.Any]
Rows = dict[str, Row]
_Labels = t.Mapping[str, str]


def snapshot(
    session: Session, names: t.Sequence[str], labels: t.Mapping[str, _Labels] | None = None
) -> dict[str, Rows]:
    """Return the pods of each node as rows, by node and then by uid (one LIST for each node, in parallel).

    With the `labels` of each Node, the rows show which pods are misplaced. Raises NodesFailed, which names every node
    whose pods could not be listed.
    """
    found: dict[str, Rows] = {}
    failures: dict[str, str] = {}
    known = labels or {}
    for outcome in session.each(names, lambda name: of_node(session, name, known.get(name)), parallel.SHORT):
        if outcome.value is None:
            failures[outcome.item] = outcome.why
        else:
            found[outcome.item] = outcome.value
    if failures:
        raise NodesFailed("listing pods", failures, {"pods": found})
    return found


def of_node(session: Session, name: str, labels: _Labels | None = None) -> Rows:
    """Return the pods of one node by uid (one LIST). Raises ApiError."""
    # Never from the API server's cache (resourceVersion=0), which may still show a deleted pod.
    answer = session.request("GET", PODS, [("fieldSelector", f"spec.nodeName={name}")])
    revision, now = (answer.get("metadata") or {}).get("resourceVersion") or "", session.server_time()
    return {item["metadata"]["uid"]: row(item, revision, now, labels) for item in answer.get("items") or []}


def deleted_since(session: Session, name: str, revision: str) -> Rows:
    """Return the last state of the pods of a node that were deleted since a LIST, by uid (one watch of _WATCH seconds).

    Empty if it is unknown: the API server keeps events for a minute or more, and the user may not watch pods. Raises
    ApiError if the API server does not answer.
    """
    query = [
        ("watch", "true"),
        ("fieldSelector", f"spec.nodeName={name}"),
        ("resourceVersion", revision),
        ("timeoutSeconds", _WATCH),
    ]
    try:
        events = session.events(PODS, query)
    except ApiError as error:
        if error.transient or not error.status:
            raise
        return {}
    deleted = [event["object"] for event in events if event["type"] == "DELETED"]
    return {pod["metadata"]["uid"]: row(pod, revision) for pod in deleted}


def row(pod: dict[str, t.Any], revision: str = "", at: float = 0.0, labels: _Labels | None = None) -> dict[str, t.Any]:
    """Return the row of a Pod object of the API.

    `revision` is the resourceVersion of the LIST, and `at` its time in seconds since 1970 by the API server's clock.
    `labels` are those of its Node, None if `misplaced` does not matter.

    Init containers count among the containers, names are unique in both: init containers run again in a new sandbox,
    and from 1.28 on some keep running.
    """
    meta, spec, status = pod["metadata"], pod.get("spec") or {}, pod.get("status") or {}
    disrupted = _condition(status, "DisruptionTarget") or {}
    main = status.get("containerStatuses") or []
    containers = [*(status.get("initContainerStatuses") or []), *main]
    restarts = {item["name"]: item.get("restartCount") or 0 for item in containers}
    return {
        "namespace": meta["namespace"],
        "name": meta["name"],
        "ready": _condition(status, "Ready") is not None,
        "restarts": sum(restarts.values()),
        "containers": restarts,
        "ids": _ids(main),
        "emptydir": _has_emptydir(spec),
        "static": _is_static(meta),
        "owner": _owner(meta),
        "phase": status.get("phase") or "",
        "reason": _reason(meta, status, containers),
        "fault": _fault(status, containers),
        "disruption": disrupted.get("reason") or disrupted.get("type", ""),
        "tolerates": _tolerates(spec.get("tolerations") or []),
        "misplaced": misplaced(pod, labels) if labels is not None else "",
        "revision": revision,
        "at": at,
    }


def _has_emptydir(spec: t.Mapping[str, t.Any]) -> bool:
    return any("emptyDir" in volume for volume in spec.get("volumes") or [])


def misplaced(pod: t.Mapping[str, t.Any], labels: _Labels) -> str:
    """Return the requirement for which a restarted kubelet would reject a Pod object, empty if there is none.

    Not of pods that end anyway. Nor of static pods: a kubelet reads their manifests without waiting for its Node, and
    until it has read that, its own flags decide instead (kubelet_getters.go getNodeAnyWay).
    """
    meta, status = pod["metadata"], pod.get("status") or {}
    ends = meta.get("deletionTimestamp") or status.get("phase") in FINISHED
    if ends or _is_static(meta):
        return ""
    return admission.unmet(pod.get("spec"), labels)


def _ids(containers: list[dict[str, t.Any]]) -> dict[str, str]:
    """Return the IDs of the main containers: one that an operator removed counts its restarts from 0 again.

    Without init containers: the kubelet may remove finished ones.
    """
    return {item["name"]: item["containerID"] for item in containers if item.get("containerID")}


def _is_static(meta: dict[str, t.Any]) -> bool:
    return MIRROR in (meta.get("annotations") or {})


def _condition(status: dict[str, t.Any], kind: str) -> dict[str, t.Any] | None:
    """Return the condition of a type if it is true, else None."""
    for item in status.get("conditions") or []:
        if item.get("type") == kind and item.get("status") == "True":
            return t.cast("dict[str, t.Any]", item)
    return None


def _owner(meta: dict[str, t.Any]) -> str:
    """Return kind and name of the controller of a pod, empty if it has none."""
    owners = meta.get("ownerReferences") or []
    return next((f"{item['kind']}/{item['name']}" for item in owners if item.get("controller")), "")


def _reason(meta: dict[str, t.Any], status: dict[str, t.Any], containers: list[dict[str, t.Any]]) -> str:
    """Return why a pod is not running, in the word that kubectl shows, empty if there is no reason."""
    if meta.get("deletionTimestamp"):
        return "Terminating"
    reasons = [((item.get("state") or {}).get("waiting") or {}).get("reason") for item in containers]
    return next(filter(None, (status.get("reason"), *reasons)), "")


def _fault(status: dict[str, t.Any], containers: list[dict[str, t.Any]]) -> str:
    """Return the reason for which a kubelet ended or refused a pod, empty if it did not."""
    if status.get("phase") != "Failed":
        return ""
    reasons = [((item.get("state") or {}).get("terminated") or {}).get("reason") for item in containers]
    if not status.get("reason") and _LOST_CONTAINER in reasons:
        return _LOST_CONTAINER
    return status.get("reason") or ""


def _tolerates(tolerations: list[dict[str, t.Any]]) -> int | None:
    """Return for how many seconds a pod stays on a Node that is not Ready, None for ever.

    As the taint manager counts (getMinTolerationTime): the shortest of the tolerations of a taint, 0 without one.
    """
    times = []
    for taint in AWAY:
        seconds = [item.get("tolerationSeconds") for item in tolerations if _matches(item, taint)]
        limits = [each for each in seconds if each is not None]
        if limits or not seconds:
            times.append(max(0, min(limits, default=0)))
    return min(times, default=None)


def _matches(toleration: dict[str, t.Any], taint: str) -> bool:
    if toleration.get("effect") not in (None, "", "NoExecute"):
        return False
    if toleration.get("key"):
        return bool(toleration["key"] == taint)
    return toleration.get("operator") == "Exists"


def control_plane(session: Session) -> list[tuple[str, dict[str, t.Any]]]:
    """Return node and row of every API server and etcd that runs as a pod (one LIST).

    They are found by the labels of kubeadm's static pods.
    """
    query = [("labelSelector", "tier=control-plane,component in (kube-apiserver,etcd)")]
    found = session.request("GET", "/api/v1/namespaces/kube-system/pods", query).get("items") or []
    return [((item.get("spec") or {}).get("nodeName") or "", row(item)) for item in found]
