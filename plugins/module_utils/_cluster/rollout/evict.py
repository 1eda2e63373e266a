# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a drain does with a pod, by the rules of kubectl (k8s.io/kubectl/pkg/drain/filters.go); and one pod evicted through the API, which
asks its disruption budget, and what the answer means."""

from __future__ import annotations

import dataclasses
import typing as t
import urllib.parse

from ..._config.forecast.pod_loss import FINISHED, TERMINATING
from ..api.errors import ApiError, ClusterError
from ..api.session import Session

DISCOVERY = "/api/v1"
# A budget that two objects set has no remedy in time (pkg/registry/core/pod/storage/eviction.go answers 500).
EVICT, WAIT, SKIP, REFUSE = "evict", "wait", "skip", "refuse"
TWO_BUDGETS = "more than one PodDisruptionBudget"


@dataclasses.dataclass(frozen=True)
class Answer:
    """`accepted`: the pod goes. Else why not: `again` in so many seconds at the earliest, None when asking again is of
    no use.

    `lost`: there was no answer, and the pod may go.
    """

    accepted: bool
    message: str = ""
    again: float | None = 0.0
    lost: bool = False


def version(session: Session) -> str:
    """Return the API version of Eviction that the server takes: policy/v1 from 1.22 on (one GET). Raises ApiError."""
    found = next(
        (
            item
            for item in session.request("GET", DISCOVERY).get("resources") or []
            if item.get("name") == "pods/eviction"
        ),
        None,
    )
    if found is None:
        raise ApiError(404, f"the API server {session.host} has no resource pods/eviction, which a drain needs")
    return f"{found.get('group') or 'policy'}/{found.get('version') or 'v1beta1'}"


def evict(
    session: Session, api_version: str, pod: tuple[str, dict[str, t.Any]], grace_period: int | None, dry_run: bool
) -> None:
    """Ask for the eviction of exactly this pod, by uid, not of its successor of the same name (one POST, not repeated).
    Raises ApiError.
    """
    uid, row = pod
    options: dict[str, t.Any] = {"preconditions": {"uid": uid}}
    if grace_period is not None:
        options["gracePeriodSeconds"] = grace_period
    if dry_run:
        options["dryRun"] = ["All"]
    path = f"/api/v1/namespaces/{urllib.parse.quote(row['namespace'])}/pods/{urllib.parse.quote(row['name'])}/eviction"
    body = {
        "apiVersion": api_version,
        "kind": "Eviction",
        "metadata": {"namespace": row["namespace"], "name": row["name"]},
        "deleteOptions": options,
    }
    session.request("POST", path, body=body, budget=0.0)


def meaning(error: ClusterError | None) -> Answer:
    """Tell what an answer means for the pod."""
    if error is None:
        return Answer(True)
    status = error.status if isinstance(error, ApiError) else None
    causes = error.causes if isinstance(error, ApiError) else {}
    if status in (404, 409) or "NamespaceTerminating" in causes:
        # Gone, another one by now, or going with its namespace; the next list shows.
        return Answer(False, error.message)
    if isinstance(error, ApiError) and error.transient and TWO_BUDGETS not in error.message:
        return Answer(
            False, causes.get("DisruptionBudget") or error.message, error.retry_after or 0.0, status in (0, 504)
        )
    return Answer(False, error.message, None)


class Choice(t.NamedTuple):
    """One of the words above, and why. WAIT: somebody deletes the pod already."""

    action: str
    reason: str = ""


def choose(pod: t.Mapping[str, t.Any], force: bool, delete_emptydir_data: bool) -> Choice:
    """Choose for one pod of a snapshot. Finished pods are in nobody's way and need no permission."""
    finished = pod["phase"] in FINISHED
    if pod["static"]:
        return Choice(SKIP, "static pod: its kubelet keeps it")
    if pod["owner"].startswith("DaemonSet/") and not finished:
        return Choice(SKIP, f"of {pod['owner']}, which would make it again here")
    if pod["reason"] == TERMINATING:
        return Choice(WAIT)
    if finished:
        return Choice(EVICT)
    refused = []
    if not pod["owner"] and not force:
        refused.append("has no controller that would make it again elsewhere (force evicts it for good)")
    if pod["emptydir"] and not delete_emptydir_data:
        refused.append("has an emptyDir volume, whose data would be lost (delete_emptydir_data accepts that)")
    return Choice(REFUSE, " and ".join(refused)) if refused else Choice(EVICT)
