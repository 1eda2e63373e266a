# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The config source of a Node written, in spec.configSource or in an annotation."""

from __future__ import annotations

import dataclasses
import typing as t

from ..._config.alpha import form
from ..._config.values import annotation, annotation_reader, node_row
from ..api.errors import ApiError
from ..api.session import Session
from . import nodes


def write_source(
    session: Session,
    node: nodes.Node,
    source: dict[str, str] | None,
    dry_run: bool,
    sides: t.Collection[str] = (),
    notes: t.Mapping[str, str | None] | None = None,
) -> nodes.Node:
    """Set or remove (None) the source of a node with a merge patch; return the node as the API server stored it.

    `sides` are the deliveries to write it for, by default the one that counts. `notes` are further annotations to set
    or remove (None). The patch contains the resourceVersion that was read: after a conflict the node is read again, and
    the patch is repeated only if the sources are unchanged. Raises ApiError, 409 if another writer changed a source.
    """
    sides = sides or (node.delivery,)
    if dry_run and not session.dry_runs():
        return _forecast(node, source, sides, notes or {})
    path = nodes.path(node.name)
    query = [("dryRun", "All")] if dry_run else []
    current = node
    for _attempt in range(5):
        try:
            patch = _patch(current, source, sides, notes or {})
            return nodes.trim(session.request("PATCH", path, query, patch, "application/merge-patch+json")).seen_as(
                node.delivery
            )
        except ApiError as error:
            if error.status != 409:
                raise
        current = nodes.trim(session.request("GET", path)).seen_as(node.delivery)
        if current.uid != node.uid:
            raise ApiError(409, node_row.RECREATED, nodes.CREATED_AGAIN)
        written = all(
            current.side(side).source == source
            and not current.source_fault(side)
            and (source is None or current.named(side))
            for side in sides
        )
        if written and not (source and current.reimaged):
            # An earlier try has written it, and its answer was lost.
            return current
        for side in sides:
            now = current.side(side).source
            if now != node.side(side).source:
                what = f"changed {nodes.WHERE[side]} to {nodes.describe(now)} during the run; run again"
                raise ApiError(409, f"another user or program {what}", "Conflict")
    raise ApiError(409, "the Node object changes faster than it can be patched; run again", "Conflict")


def _patch(
    node: nodes.Node, source: dict[str, str] | None, sides: t.Collection[str], notes: t.Mapping[str, str | None]
) -> dict[str, t.Any]:
    whole = {"configMap": source} if source else None
    body: dict[str, t.Any] = {"metadata": {"resourceVersion": node.resource_version}}
    named = {"delivery": nodes.DROPIN} if nodes.DROPIN in sides else {}
    noted = annotation.text({**whole, **named, **node.machine}) if whole else None
    annotations = {**notes, **({annotation.SOURCE: noted} if set(sides) & set(nodes.ON_NODE) else {})}
    if annotations:
        body["metadata"]["annotations"] = annotations
    if set(sides) - set(nodes.ON_NODE):
        body["spec"] = {"configSource": form.config_source(source) if source and node.alpha else whole}
    return body


def _forecast(
    node: nodes.Node, source: dict[str, str] | None, sides: t.Collection[str], notes: t.Mapping[str, str | None]
) -> nodes.Node:
    """Return a node as an API server without dry runs would store it, as far as assignments look at it."""
    native, noted = bool(set(sides) - set(nodes.ON_NODE)), bool(set(sides) & set(nodes.ON_NODE))
    written = {*notes, *[annotation_reader.SPEC] * native, *[annotation.SOURCE] * noted}
    gone = {key for key, text in notes.items() if text is None}
    return dataclasses.replace(
        node,
        native=dataclasses.replace(node.native, source=source if native else node.native.source),
        noted=nodes.Side(
            source if noted else node.noted.source, None if annotation.STATUS in gone else node.noted.status
        ),
        noted_delivery=(nodes.DROPIN if nodes.DROPIN in sides else nodes.CHECKPOINT) if noted else node.noted_delivery,
        assigned_to=node.machine if noted else node.assigned_to,
        previous=None if annotation.PREVIOUS in gone else node.previous,
        own=None if annotation.OWN in gone else node.own,
        malformed={place: fault for place, fault in node.malformed.items() if place not in written},
    )
