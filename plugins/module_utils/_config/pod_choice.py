# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a drain does with a pod: the rules of kubectl (k8s.io/kubectl/pkg/drain/filters.go)."""

from __future__ import annotations

from typing import Any, Mapping, NamedTuple

from .pod_loss import FINISHED, TERMINATING

EVICT, WAIT, SKIP, REFUSE = "evict", "wait", "skip", "refuse"


class Choice(NamedTuple):
    """One of the words above, and why. WAIT: somebody deletes the pod already."""

    action: str
    reason: str = ""


def choose(pod: Mapping[str, Any], force: bool, delete_emptydir_data: bool) -> Choice:
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
