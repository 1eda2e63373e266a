# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The steps of a drain: a cordon, the choice of pods, and the eviction of one pod.

A cordon of this collection has a mark, and is undone only if the mark is there: one that another user or program has
set is not changed. Pods are chosen by the rules of kubectl (k8s.io/kubectl/pkg/drain/filters.go). An eviction goes
through the API, which respects the PodDisruptionBudget of the pod.
"""

from __future__ import annotations

import dataclasses
import time
import typing as t

from ..._config.forecast.pod_loss import FINISHED, TERMINATING
from ..._config.values import annotation
from ..api import timestamps
from ..api.errors import Accepting, ApiError, ClusterError
from ..api.session import Json, Session, object_path
from ..objects import node_requests, nodes

DISCOVERY = "/api/v1"
EVICT, WAIT, SKIP, REFUSE = "evict", "wait", "skip", "refuse"
# Waiting does not help a pod with two budgets (pkg/registry/core/pod/storage/eviction.go answers 500).
TWO_BUDGETS = "more than one PodDisruptionBudget"
# The number of tries: each fails if another writer changes the Node between our read and our write.
TRIES = 5


def cordon(session: Session, node: nodes.Node, holder: str, dry_run: bool) -> nodes.Node:
    """Cordon a node for `holder` unless it is cordoned, and return its new state. Raises ApiError."""
    mark = annotation.text({"holder": holder, "time": timestamps.text(time.time())})
    return _write(session, node, mark, dry_run)


def uncordon(session: Session, node: nodes.Node, dry_run: bool) -> nodes.Node:
    """Undo our cordon and return the new state; from an uncordoned node remove the mark. Raises ApiError."""
    return _write(session, node, None, dry_run)


def cordoned_by_us(node: nodes.Node) -> bool:
    """Return whether a node is cordoned with our mark."""
    return node.unschedulable and node.cordoned is not None


def cordon_in_words(mark: t.Mapping[str, t.Any]) -> str:
    """Return whose cordon a mark of ours shows."""
    holder, since = mark.get("holder") or "an unknown holder", mark.get("time") or "an unknown time"
    return f"cordoned by this collection for {holder} since {since}"


def _write(session: Session, node: nodes.Node, mark: str | None, dry_run: bool) -> nodes.Node:
    """Cordon a node with our mark, or undo that (None) if needed; after a conflict, read it again and decide anew."""
    path = node_requests.path(node.name)
    current = node
    for _attempt in range(TRIES):
        done = current.unschedulable if mark else current.cordoned is None
        if done:
            return current
        if dry_run and not session.dry_runs():
            return _forecast(current, mark)
        with Accepting(409):
            return nodes.trim(session.patch(path, _patch(current, mark), dry_run))
        current = nodes.trim(session.request("GET", path))
    raise ApiError(409, "the Node object changes faster than it can be patched; run again", "Conflict")


def _patch(node: nodes.Node, mark: str | None) -> Json:
    notes = {"annotations": {annotation.CORDONED: mark}, "resourceVersion": node.resource_version}
    return {"metadata": notes, "spec": {"unschedulable": True if mark else None}}


def _forecast(node: nodes.Node, mark: str | None) -> nodes.Node:
    """Return a node as it would be after the patch; its mark is not that of a real cordon."""
    if mark is None:
        return dataclasses.replace(node, unschedulable=False, cordoned=None)
    return dataclasses.replace(node, unschedulable=True, cordoned={})


@dataclasses.dataclass(frozen=True)
class Answer:
    """The answer to the eviction of a pod.

    `accepted`: the pod is being deleted. Otherwise `message` states why not, and `again` is the number of seconds until
    the next try, None if no try can succeed. `lost`: there was no answer, so the eviction may have been accepted.
    """

    accepted: bool
    message: str = ""
    again: float | None = 0.0
    lost: bool = False

    @property
    def may_try_again(self) -> bool:
        """Whether another try can succeed."""
        return not self.accepted and self.again is not None


def eviction_version(session: Session) -> str:
    """Return the API version of Eviction that the server accepts: policy/v1 from 1.22 on (one GET). Raises ApiError."""
    for item in session.request("GET", DISCOVERY).get("resources") or []:
        if item.get("name") == "pods/eviction":
            return f"{item.get('group') or 'policy'}/{item.get('version') or 'v1beta1'}"
    raise ApiError(404, f"the API server {session.host} has no resource pods/eviction, which a drain needs")


def evict(session: Session, api_version: str, pod: tuple[str, Json], grace_period: int | None, dry_run: bool) -> None:
    """Request the eviction of exactly this pod, by uid, never of another pod with its name (one POST, not repeated).

    A dry run without dry runs of the API server asks nothing, so it knows no budgets. Raises ApiError.
    """
    uid, row = pod
    if dry_run and not session.dry_runs():
        return
    options: Json = {"preconditions": {"uid": uid}}
    if grace_period is not None:
        options["gracePeriodSeconds"] = grace_period
    if dry_run:
        options["dryRun"] = ["All"]
    path = f"{object_path('/api/v1', row['namespace'], 'pods', row['name'])}/eviction"
    meta = {"namespace": row["namespace"], "name": row["name"]}
    body = {"apiVersion": api_version, "kind": "Eviction", "metadata": meta, "deleteOptions": options}
    session.request("POST", path, body=body, budget=0.0)


def eviction_answer(error: ClusterError | None) -> Answer:
    """Return what the result of an eviction request means for the pod."""
    if error is None:
        return Answer(True)
    if not isinstance(error, ApiError):
        return Answer(False, error.message, None)
    if error.status in (404, 409) or "NamespaceTerminating" in error.causes:
        # Deleted, replaced, or deleted with its namespace; the next LIST shows which.
        return Answer(False, error.message)
    if error.transient and TWO_BUDGETS not in error.message:
        message = error.causes.get("DisruptionBudget") or error.message
        return Answer(False, message, error.retry_after or 0.0, error.status in (0, 504))
    return Answer(False, error.message, None)


class _Eviction(t.NamedTuple):
    """EVICT, WAIT (the pod is already being deleted), SKIP or REFUSE, and the reason."""

    action: str
    reason: str = ""


def choose(pod: t.Mapping[str, t.Any], force: bool, delete_emptydir_data: bool) -> _Eviction:
    """Return what a drain does with a pod of a snapshot. Finished pods need no permission to be evicted."""
    finished = pod["phase"] in FINISHED
    if pod["static"]:
        return _Eviction(SKIP, "static pod: its kubelet keeps it running")
    if pod["owner"].startswith("DaemonSet/") and not finished:
        return _Eviction(SKIP, f"of {pod['owner']}, which would create it again on this node")
    if pod["reason"] == TERMINATING:
        return _Eviction(WAIT)
    if finished:
        return _Eviction(EVICT)
    refused = []
    if not pod["owner"] and not force:
        refused.append("has no controller that would create it again elsewhere (force evicts it anyway)")
    if pod["emptydir"] and not delete_emptydir_data:
        refused.append("has an emptyDir volume, whose data would be lost (delete_emptydir_data accepts that)")
    if refused:
        return _Eviction(REFUSE, " and ".join(refused))
    return _Eviction(EVICT)
