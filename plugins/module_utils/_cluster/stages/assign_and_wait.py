# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The call of the module node_config_source: assign, reset or verify, and wait on request."""

from __future__ import annotations

import typing as t

from ..api.errors import ClusterError, NodesFailed
from ..api.session import Session
from ..objects import config_sources
from ..objects.lease import Keeper
from . import assign, verify


def config_source(session: Session, options: dict[str, t.Any], check_mode: bool) -> dict[str, t.Any]:
    """Run the requested state. The result of a failed wait contains the changes of the assignment.

    Renews the Lease in the option `lease` before it writes and while it waits. Raises LeaseLost if it is lost.
    """
    keeper = Keeper(session, None if check_mode else options.get("lease"))
    if options["state"] == "verified":
        given = options["sources"] is not None or options["source"] is not None
        wanted = config_sources.wanted(options) if given else None
        return verify.verify(session, options, wanted, keeper)
    try:
        result = assign.assign(session, options, check_mode, keeper)
    except NodesFailed as error:
        if not error.result.get("stop") and options["wait"] and not check_mode:
            # The others have their source: what they do with it must be known, too.
            return _waited(session, options, error.result, keeper)
        error.result.pop("recreated", None)
        raise
    if options["wait"] and not check_mode:
        return _waited(session, options, result, keeper)
    del result["recreated"]
    return result


def _waited(
    session: Session, options: dict[str, t.Any], assigned: dict[str, t.Any], keeper: Keeper
) -> dict[str, t.Any]:
    """Wait for the nodes whose assignment succeeded, and return all rows. Raises NodesFailed if any node has failed."""
    rows, watched = assigned["nodes"], {**options, "recreated": assigned.pop("recreated")}
    wanted = {name: one for name, one in config_sources.wanted(options).items() if rows[name]["ok"]}
    try:
        waited = verify.verify(session, watched, wanted, keeper)
    except NodesFailed as error:
        waited = error.result
    except ClusterError as error:
        error.result = {**_joined(assigned, error.result), "stop": True}
        raise
    result = _joined(assigned, waited)
    failures = {name: row["message"] for name, row in result["nodes"].items() if not row["ok"]}
    if failures:
        raise NodesFailed("assigning" if not wanted else "verifying", failures, result)
    return result


def _joined(assigned: dict[str, t.Any], waited: dict[str, t.Any]) -> dict[str, t.Any]:
    """Return the result of an assignment with what the nodes have done since."""
    seen = waited.get("nodes", {})
    kept = ("changed", "delivery", "source", "previous", "uid")
    rows = {
        name: {**row, **seen.get(name, {}), **{key: row[key] for key in kept if key in row}}
        for name, row in assigned["nodes"].items()
    }
    return {**assigned, "nodes": rows, "summary": {**assigned["summary"], **waited.get("summary", {})}}
