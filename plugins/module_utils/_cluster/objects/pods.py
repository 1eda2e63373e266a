# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pods of nodes, reduced to the fields that show whether a change disrupted one of them."""

from __future__ import annotations

import typing as t

from ..api import parallel
from ..api.errors import NodesFailed
from ..api.session import Session

PODS = "/api/v1/pods"
# Annotation of the API object that a kubelet creates for a static pod (kubetypes.ConfigMirrorAnnotationKey).
MIRROR = "kubernetes.io/config.mirror"

Rows = dict[str, dict[str, t.Any]]


def snapshot(session: Session, names: t.Sequence[str]) -> dict[str, Rows]:
    """Return the pods of each node as rows, by node and then by uid (one LIST for each node, in parallel).

    Raises NodesFailed, which names every node whose pods could not be listed.
    """
    found: dict[str, Rows] = {}
    failures: dict[str, str] = {}
    for outcome in parallel.each(names, lambda name: of_node(session, name), session.concurrency, parallel.SHORT):
        if outcome.value is None:
            failures[outcome.item] = outcome.error.message if outcome.error else "no answer"
        else:
            found[outcome.item] = outcome.value
    if failures:
        raise NodesFailed("listing pods", failures, {"pods": found})
    return found


def of_node(session: Session, name: str) -> Rows:
    """Return the pods of one node by uid (one LIST). Raises ApiError."""
    # Never from the API server's cache (resourceVersion=0), which may still show a deleted pod.
    answer = session.request("GET", PODS, [("fieldSelector", f"spec.nodeName={name}")])
    return {item["metadata"]["uid"]: row(item) for item in answer.get("items") or []}


def row(pod: dict[str, t.Any]) -> dict[str, t.Any]:
    """Return the row of a Pod object of the API.

    Init containers count among the containers, names are unique in both: init containers run again in a new sandbox,
    and from 1.28 on some keep running.
    """
    meta, status = pod["metadata"], pod.get("status") or {}
    main = status.get("containerStatuses") or []
    containers = [*(status.get("initContainerStatuses") or []), *main]
    restarts = {item["name"]: item.get("restartCount") or 0 for item in containers}
    return {
        "namespace": meta["namespace"],
        "name": meta["name"],
        "ready": _is_ready(status),
        "restarts": sum(restarts.values()),
        "containers": restarts,
        # A container that an operator removed counts its restarts from 0 again, so its ID matters too. Finished init
        # containers may be removed by the kubelet.
        "ids": {item["name"]: item["containerID"] for item in main if item.get("containerID")},
        "emptydir": any("emptyDir" in volume for volume in (pod.get("spec") or {}).get("volumes") or []),
        "static": MIRROR in (meta.get("annotations") or {}),
        "owner": _owner(meta),
        "phase": status.get("phase") or "",
        "reason": _reason(meta, status, containers),
    }


def _is_ready(status: dict[str, t.Any]) -> bool:
    conditions = status.get("conditions") or []
    return any(item.get("type") == "Ready" and item.get("status") == "True" for item in conditions)


def _owner(meta: dict[str, t.Any]) -> str:
    """Return kind and name of the controller of a pod, empty if it has none."""
    owners = meta.get("ownerReferences") or []
    return next((f"{item['kind']}/{item['name']}" for item in owners if item.get("controller")), "")


def _reason(meta: dict[str, t.Any], status: dict[str, t.Any], containers: list[dict[str, t.Any]]) -> str:
    """Return why a pod is not running, in the word that kubectl shows, empty if there is no reason."""
    if meta.get("deletionTimestamp"):
        return "Terminating"
    waiting = ((item.get("state") or {}).get("waiting") or {} for item in containers)
    return status.get("reason") or next((item["reason"] for item in waiting if item.get("reason")), "")


def control_plane(session: Session) -> list[tuple[str, dict[str, t.Any]]]:
    """Return node and row of every API server and etcd that runs as a pod (one LIST).

    They are found by the labels of kubeadm's static pods.
    """
    query = [("labelSelector", "tier=control-plane,component in (kube-apiserver,etcd)")]
    found = session.request("GET", "/api/v1/namespaces/kube-system/pods", query).get("items") or []
    return [((item.get("spec") or {}).get("nodeName") or "", row(item)) for item in found]
