# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What precedes a drain, the steps of a reset, and of a migration between Node.spec.configSource and checkpoints. See
steps.py.
"""

from __future__ import annotations

import functools
from typing import Any, Callable, Mapping

from ...module_utils._config import delivery as deliveries
from ...module_utils._config.delivery import CHECKPOINT, NATIVE
from ...module_utils._config.values import paths
from . import goals, rows
from .batch import At, Found, Result
from .steps import (
    FOLLOWING,
    NODE_NAME,
    TRIAL,
    WAIT,
    Options,
    Step,
    assign,
    by_transport,
    copies,
    following,
    good,
    leased,
    never,
    with_rows,
)

WAITING = (NODE_NAME, WAIT)
NO_DRY_RUN = "does not support dry run"
"""What the API server answers for a webhook that it asks for writes only."""


def _with_unreached(at: At) -> At:
    if not at.batch.reach:
        return at
    lost = rows.unreached(at.batch.hosts, at.play.of_host, "rollout_reached")
    return at._replace(found=at.found._replace(rows=rows.added(lost, at.found.rows)))


def _admit(at: At) -> Options | None:
    """Return the options of the first write to the nodes that are drained next."""
    names = at.found.open(at.batch.drain)
    if not names or at.play.check_mode:
        return None
    first_write = FIRST_WRITES.get(at.batch.steps)
    if first_write is None:
        return None
    batch = at.batch._replace(names=names, sources=paths.only(at.batch.sources, names))
    options = first_write(at._replace(batch=batch))
    # A dry run asks for nothing that runs now.
    return paths.without(options, ("current",)) if options and options["sources"] else None


def _denied(result: Result) -> dict[str, Any]:
    """Return the rows of nodes whose first write would be refused.

    Some webhooks admit writes and no dry runs (sideEffects of a ValidatingWebhookConfiguration in Kubernetes).
    """
    found = {}
    for name, row in (result.get("nodes") or {}).items():
        if not row["ok"] and NO_DRY_RUN not in row["message"]:
            # Nothing was written that a revert could undo.
            found[name] = paths.without(row, ("previous",))
    return found


def _admitted(at: At, result: Result) -> Found:
    return at.found.adding({"nodes": _denied(result)})


def _without_changes(_at: At, result: Result) -> Mapping[str, Any]:
    return {"changed": False, "nodes": _denied(result), "configmaps": {}, "diff": []}


def _reset(at: At) -> Options | None:
    names = at.found.open(at.batch.names)
    if not names:
        return None
    undo = at.batch.undoes is not None
    sources = by_transport(at, {name: {} for name in names})
    return {"sources": sources, "state": "absent", "undo": undo, **following(at), **leased(at)}


def _to_reset(at: At, result: Result) -> Mapping[str, Any]:
    on_hosts: dict[str, Any] = {}
    for host, row in good(at, result).items():
        if deliveries.of(row["delivery"]).on_node and not rows.by_follower(row):
            on_hosts[host] = {}
    return {"on_hosts": on_hosts}


def _look(at: At) -> Options | None:
    names = at.found.open([name for host, name in at.batch.hosts.items() if host in at.play.present])
    return {"nodes": names} if names else None


def _looked(at: At, result: Result, delivery: str) -> Found:
    """Return who takes part in a migration to a delivery."""
    nodes = result.get("nodes") or {}
    known = at.found.rows
    if delivery == CHECKPOINT:
        known = rows.added(known, rows.unsettled(nodes))
    moving = rows.open_sources(goals.moving(nodes, delivery), known)
    return at.found._replace(rows=known, moving=moving)


def _annotate(at: At) -> Options:
    return {"sources": at.found.moving, "delivery": CHECKPOINT, "transport": "ssh", **leased(at)}


def _written(at: At, result: Result) -> Found:
    return at.found.adding(result, written=list(result.get("nodes") or {}))


def _still_open(at: At, native: bool = False) -> At:
    at = at.collected(native)
    return at._replace(found=at.found._replace(written=at.found.open(at.found.written)))


def _leave_native(at: At) -> Options | None:
    if not at.found.written:
        return None
    return {"nodes": at.found.written, "state": "absent", "delivery": NATIVE, **_waiting(at), **leased(at)}


def _left(at: At, result: Result) -> Found:
    return at.found.adding(result, attempted=True)


def _restore(at: At) -> Options | None:
    lost = rows.lost_sources(at.found.rows, at.found.written)
    return {"sources": lost, "delivery": NATIVE} if lost else None


def _restored(at: At, result: Result) -> Found:
    return at.found._replace(rows=rows.restored(at.found.rows, result.get("nodes") or {}))


def _restore_all(at: At) -> Options | None:
    """Without the lease: a node must not stay half migrated."""
    return {"sources": at.found.moving, "delivery": NATIVE} if at.found.attempted else None


def _assign_native(at: At) -> Options:
    return {"sources": at.found.moving, "delivery": NATIVE, **_waiting(at), **leased(at)}


def _to_remove(at: At, result: Result) -> Mapping[str, Any]:
    return {"on_hosts": {host: {} for host in good(at, result)}}


def _drop_annotation(at: At) -> Options | None:
    if not at.found.written:
        return None
    # Its host has removed the checkpoint, and with it the follower.
    options = {"nodes": at.found.written, "state": "absent", "delivery": CHECKPOINT, "transport": "ssh"}
    return {**options, **leased(at)}


def _verify(at: At, reset: bool = False, **more: Any) -> Options | None:
    """Return the options that verify the nodes of a reset, or of a migration those that have gone through all steps."""
    names = at.found.open(at.batch.names if reset else at.found.written)
    if at.play.check_mode or not names:
        return None
    return {"state": "verified", "nodes": names, "wait_timeout": at.play.variable(WAIT), **leased(at), **more}


def _waiting(at: At) -> dict[str, Any]:
    """Return the options for a write that waits for the kubelets."""
    return {"wait": True, "wait_timeout": at.play.variable(WAIT)}


FIRST_WRITES: Mapping[str, Callable[[At], Options | None]] = {
    goals.ASSIGN: assign,
    goals.RESET: _reset,
}
"""The first write to the nodes of a batch, by how it changes them. A migration finds out first what they run."""
STEPS = {
    # Ask the API server whether it would refuse the first write to a node: its pods would move for nothing.
    "admit": Step(
        _admit,
        reads=(NODE_NAME, TRIAL),
        begin=_with_unreached,
        after=_admitted,
        more=_without_changes,
        dry_run=True,
    ),
    # Remove the config sources of the batch.
    "reset": Step(_reset, reads=(NODE_NAME, *FOLLOWING), more=_to_reset),
    # Wait until the kubelets run their local configuration.
    "verify_local": Step(functools.partial(_verify, reset=True), reads=WAITING, begin=At.collected, goes_on=with_rows),
    # Read what the nodes run, and which of them take part.
    "look_to_checkpoint": Step(
        _look, "node_config_info", goes_on=never, after=functools.partial(_looked, delivery=CHECKPOINT)
    ),
    # Assign what the nodes run by annotation as well.
    "annotate": Step(_annotate, after=_written, more=copies),
    # Remove Node.spec.configSource, and wait for the kubelets to restart with the checkpoint.
    "leave_native": Step(_leave_native, reads=WAITING, begin=_still_open, after=_left),
    # Verify that the nodes still run their configuration.
    "verify_moved": Step(_verify, reads=WAITING, goes_on=with_rows),
    # Restore Node.spec.configSource of the nodes that failed without it, or of all.
    "restore": Step(_restore, goes_on=with_rows, after=_restored),
    "restore_all": Step(_restore_all, goes_on=never),
    # Read what the nodes run, and which of them take part.
    "look_to_native": Step(_look, "node_config_info", goes_on=never, after=functools.partial(_looked, delivery=NATIVE)),
    # Assign what the nodes run by Node.spec.configSource, and wait for the kubelets.
    "assign_native": Step(_assign_native, reads=WAITING, after=_written, more=_to_remove),
    # Remove the annotation that replaced Node.spec.configSource.
    "drop_annotation": Step(_drop_annotation, begin=functools.partial(_still_open, native=True)),
    # Verify that the nodes still run their configuration.
    "verify_native": Step(functools.partial(_verify, delivery=NATIVE), reads=WAITING, goes_on=with_rows),
}
