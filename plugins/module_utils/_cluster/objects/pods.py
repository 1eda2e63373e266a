# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pods of nodes, trimmed to what tells whether a change cost one of them."""

from __future__ import annotations

import typing as t

from ..api import parallel
from ..api.errors import NodesFailed
from ..api.session import Session

PODS = "/api/v1/pods"
# On the API object that a kubelet makes for a static pod (kubetypes.ConfigMirrorAnnotationKey).
MIRROR = "kubernetes.io/config.mirror"

Rows = dict[str, dict[str, t.Any]]


def snapshot(session: Session, names: t.Sequence[str]) -> dict[str, Rows]:
    """Return the pods of each node, by node and then by uid, as `row` shows them (one LIST a node, in parallel).

    Raises NodesFailed naming every node whose pods could not be listed.
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
    # Never from the API server's cache (resourceVersion=0): a pod that is gone must not be seen.
    answer = session.request("GET", PODS, [("fieldSelector", f"spec.nodeName={name}")])
    return {item["metadata"]["uid"]: row(item) for item in answer.get("items") or []}


def row(pod: dict[str, t.Any]) -> dict[str, t.Any]:
    """Reduce a Pod object as the API returns it.

    Init containers count among the containers: they run again with a new sandbox, and from 1.28 on some of them stay
    (names are unique in both).
    """
    meta, status = pod["metadata"], pod.get("status") or {}
    containers = [item for kind in ("initContainerStatuses", "containerStatuses") for item in status.get(kind) or []]
    restarts = {item["name"]: item.get("restartCount") or 0 for item in containers}
    owner = next((item for item in meta.get("ownerReferences") or [] if item.get("controller")), None)
    return {
        "namespace": meta["namespace"],
        "name": meta["name"],
        "ready": any(
            item.get("type") == "Ready" and item.get("status") == "True" for item in status.get("conditions") or []
        ),
        "restarts": sum(restarts.values()),
        "containers": restarts,
        # A container that was removed by hand counts its restarts from 0 again. Init containers that are done may be
        # cleaned away.
        "ids": {
            item["name"]: item["containerID"]
            for item in status.get("containerStatuses") or []
            if item.get("containerID")
        },
        "emptydir": any("emptyDir" in volume for volume in (pod.get("spec") or {}).get("volumes") or []),
        "static": MIRROR in (meta.get("annotations") or {}),
        "owner": f"{owner['kind']}/{owner['name']}" if owner else "",
        "phase": status.get("phase") or "",
        "reason": _reason(meta, status, containers),
    }


def _reason(meta: dict[str, t.Any], status: dict[str, t.Any], containers: list[dict[str, t.Any]]) -> str:
    """Return why a pod is not up in the one word that kubectl has for it, empty when there is nothing to say."""
    if meta.get("deletionTimestamp"):
        return "Terminating"
    waiting = ((item.get("state") or {}).get("waiting") or {} for item in containers)
    return status.get("reason") or next((item["reason"] for item in waiting if item.get("reason")), "")


def control_plane(session: Session) -> list[tuple[str, dict[str, t.Any]]]:
    """Return node and row of every API server and etcd that runs as a pod, by the labels kubeadm gives its static pods
    (one LIST).
    """
    query = [("labelSelector", "tier=control-plane,component in (kube-apiserver,etcd)")]
    found = session.request("GET", "/api/v1/namespaces/kube-system/pods", query).get("items") or []
    return [((item.get("spec") or {}).get("nodeName") or "", row(item)) for item in found]
