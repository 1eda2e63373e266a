# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Evictions of pods and the budgets that refuse them (pkg/registry/core/pod/storage/eviction.go)."""

from __future__ import annotations

import typing as t

from tests.sim.api import selectors
from tests.sim.api.kinds import FIRST_DRY_RUN, Route
from tests.sim.api.refusal import Refusal
from tests.sim.api.store import Store, stamp

FIRST_V1 = 22


def resource(minor: int) -> dict[str, t.Any]:
    """Return the subresource as /api/v1 lists it: evictions are policy/v1 from 1.22 on."""
    version = "v1" if minor >= FIRST_V1 else "v1beta1"
    named = {"name": "pods/eviction", "singularName": "", "namespaced": True, "verbs": ["create"]}
    return {**named, "kind": "Eviction", "group": "policy", "version": version}


def evict(store: Store, place: Route, body: dict[str, t.Any]) -> dict[str, t.Any]:
    """Delete a pod unless its budget forbids that. Raises Refusal: 404, 409 for another uid, 429, 500."""
    options = body.get("deleteOptions") or {}
    with store.lock:
        pod = store.get(place.kind, place.name, place.namespace).item
        uid = (options.get("preconditions") or {}).get("uid")
        if uid and uid != pod["metadata"]["uid"]:
            raise Refusal(409, "the UID in the precondition does not match the UID in record")
        budgets = [
            entry.item
            for (namespace, _name), entry in store.tables.get("poddisruptionbudgets", {}).items()
            if namespace == place.namespace and _covers(entry.item, pod)
        ]
        if len(budgets) > 1:
            raise Refusal(
                500,
                "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.",
            )
        if budgets and (budgets[0].get("status") or {}).get("disruptionsAllowed", 0) < 1:
            raise Refusal(
                429,
                "Cannot evict pod as it would violate the pod's disruption budget.",
                causes={"DisruptionBudget": f"The disruption budget {budgets[0]['metadata']['name']} needs more pods"},
            )
        if not options.get("dryRun") or store.minor < FIRST_DRY_RUN:
            _delete(store, place, pod)
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}


def _delete(store: Store, place: Route, pod: dict[str, t.Any]) -> None:
    if pod["metadata"].get("finalizers"):
        # Stays until they are removed.
        meta = {**pod["metadata"], "deletionTimestamp": stamp(store.clock())}
        store.update(place.kind, place.namespace, place.name, {**pod, "metadata": meta})
    else:
        store.delete(place.kind, place.namespace, place.name, {}, False)


def _covers(budget: dict[str, t.Any], pod: dict[str, t.Any]) -> bool:
    wanted = ((budget.get("spec") or {}).get("selector") or {}).get("matchLabels") or {}
    return bool(wanted) and selectors.labels(",".join(f"{key}={value}" for key, value in wanted.items()))(pod)
