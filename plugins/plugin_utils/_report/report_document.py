# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A rollout as the document behind both reports: plain values, stable keys."""

from __future__ import annotations

import contextlib
import datetime
import json
import os
import tempfile
import typing as t

from . import events, model

VERSION = 1
"""Incremented when a key of the JSON report is removed or changes its meaning."""


def make(rollout: model.Rollout) -> dict[str, t.Any]:
    """Return the report. Times are UTC in RFC 3339, `steps` are seconds since `started`.

    Nodes are sorted by state (worst first), batch and name.
    """
    ended = rollout.outcome != "running"
    states = {name: node.state(ended) for name, node in rollout.nodes.items()}
    order = sorted(
        rollout.nodes.values(), key=lambda node: (model.STATES.index(states[node.name]), node.batch, node.name)
    )
    return {
        "version": VERSION,
        "group": rollout.group,
        "outcome": rollout.outcome,
        "check_mode": rollout.check_mode,
        "started": _time(rollout.began),
        "ended": _time(rollout.ended),
        "seconds": round(rollout.ended - rollout.began, 1),
        "summary": {"nodes": len(rollout.nodes), "batches": len(rollout.batches), **rollout.count()},
        "messages": list(rollout.messages),
        "paused": rollout.paused,
        "forecast": rollout.forecast,
        "changes": rollout.changes,
        "batches": [_batch(rollout, batch) for batch in rollout.batches],
        "nodes": [_node(rollout, node, states[node.name]) for node in order],
    }


def _batch(rollout: model.Rollout, batch: model.Batch) -> dict[str, t.Any]:
    return {
        "number": batch.number,
        "nodes": len(batch.nodes),
        "at": round(batch.began - rollout.began, 1),
        "seconds": round(batch.ended - batch.began, 1),
        **rollout.count(batch),
    }


def _node(rollout: model.Rollout, node: model.ReportedNode, state: str) -> dict[str, t.Any]:
    row: dict[str, t.Any] = {
        "name": node.name,
        "state": state,
        "batch": node.batch or None,
        "delivery": node.delivery or None,
        "change": node.change,
        "steps": {step: round(at - rollout.began, 1) for step, at in node.steps.items()},
    }
    if node.cause is not None:
        row.update(verdict=node.verdict or None, cause=node.cause, remedy=events.REMEDIES.get(node.verdict))
    return row


def _time(seconds: float) -> str:
    return (
        datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc)
        .isoformat(timespec="seconds")
        .replace("+00:00", "Z")
    )


def write_json(path: str, document: t.Mapping[str, t.Any]) -> None:
    """Write the JSON report. Raises OSError when the folder cannot be written to."""
    # Without indentation Python uses its fast encoder, which takes a tenth of the time.
    write(path, json.dumps(document) + "\n")


def write(path: str, words: str) -> None:
    """Replace a file atomically, so that no reader sees a partial one. Raises OSError."""
    folder = os.path.dirname(path)
    os.makedirs(folder, exist_ok=True)
    handle, temporary = tempfile.mkstemp(prefix=f".{os.path.basename(path)}.", dir=folder)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as sink:
            sink.write(words)
        # The mode of an ordinary new file: with the 0600 of mkstemp, a web server could not serve it.
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
