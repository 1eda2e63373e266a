# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The cordon of this collection: set with a mark and undone only if the mark is there.

A cordon that another user or program has set is not changed.
"""

from __future__ import annotations

import dataclasses
import time
import typing as t
import urllib.parse

from ..._config.values import annotation
from ..api import timestamps
from ..api.errors import ApiError
from ..api.session import Session
from ..objects import nodes

# The number of tries: each fails if another writer changes the Node between our read and our write.
TRIES = 5


def cordon(session: Session, node: nodes.Node, holder: str, dry_run: bool) -> nodes.Node:
    """Cordon a node for `holder` unless it is cordoned, and return its new state. Raises ApiError."""
    mark = annotation.text({"holder": holder, "time": timestamps.text(time.time())})
    return _write(session, node, lambda seen: None if seen.unschedulable else _patch(mark, True), dry_run)


def uncordon(session: Session, node: nodes.Node, dry_run: bool) -> nodes.Node:
    """Undo our cordon and return the new state; from an uncordoned node remove the mark. Raises ApiError."""
    return _write(session, node, lambda seen: None if seen.cordoned is None else _patch(None, None), dry_run)


def ours(node: nodes.Node) -> bool:
    """Return whether a node is cordoned with our mark."""
    return node.unschedulable and node.cordoned is not None


def words(mark: t.Mapping[str, t.Any]) -> str:
    """Return whose cordon a mark of ours shows."""
    holder, since = mark.get("holder") or "an unknown holder", mark.get("time") or "an unknown time"
    return f"cordoned by this collection for {holder} since {since}"


def _patch(mark: str | None, unschedulable: bool | None) -> dict[str, t.Any]:
    return {"metadata": {"annotations": {annotation.CORDONED: mark}}, "spec": {"unschedulable": unschedulable}}


def _write(
    session: Session, node: nodes.Node, decide: t.Callable[[nodes.Node], dict[str, t.Any] | None], dry_run: bool
) -> nodes.Node:
    """Patch a node; after each conflict, read it again and let `decide` return the patch for its new state."""
    path = f"/api/v1/nodes/{urllib.parse.quote(node.name)}"
    query = [("dryRun", "All")] if dry_run else []
    current = node
    for _attempt in range(TRIES):
        patch = decide(current)
        if patch is None:
            return current
        if dry_run and not session.dry_runs():
            return _forecast(current, patch)
        patch["metadata"]["resourceVersion"] = current.resource_version
        try:
            return nodes.trim(session.request("PATCH", path, query, patch, "application/merge-patch+json"))
        except ApiError as error:
            if error.status != 409:
                raise
        current = nodes.trim(session.request("GET", path))
    raise ApiError(409, "the Node object changes faster than it can be patched; run again", "Conflict")


def _forecast(node: nodes.Node, patch: dict[str, t.Any]) -> nodes.Node:
    """Return a node as it would be after a patch; its mark is not that of a real cordon."""
    marked = patch["metadata"]["annotations"][annotation.CORDONED] is not None
    return dataclasses.replace(
        node, unschedulable=bool(patch["spec"]["unschedulable"]), cordoned={} if marked else None
    )
