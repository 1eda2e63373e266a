# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The call of the module node_config_source: assign, reset or verify, and wait on request."""

from __future__ import annotations

import typing as t

from ..api.errors import ClusterError
from ..api.session import Session
from ..objects import config_sources
from . import assign, soak, verify


def config_source(session: Session, options: dict[str, t.Any], check_mode: bool) -> dict[str, t.Any]:
    """Run the requested state. The result of a failed wait contains the changes of the assignment."""
    if options["state"] == "verified":
        given = options["sources"] is not None or options["source"] is not None
        wanted = config_sources.wanted(options) if given else None
        return (
            verify.verify(session, options, wanted)
            if options["pods"] is None
            else soak.at_once(session, options, wanted)
        )
    result = assign.assign(session, options, check_mode)
    if not options["wait"] or check_mode:
        return result
    try:
        waited = verify.verify(session, options, config_sources.wanted(options))
    except ClusterError as error:
        error.result = _joined(result, error.result)
        raise
    return _joined(result, waited)


def _joined(assigned: dict[str, t.Any], waited: dict[str, t.Any]) -> dict[str, t.Any]:
    rows = {
        name: {**waited.get("nodes", {}).get(name, {}), **row, "state": waited.get("nodes", {}).get(name, row)["state"]}
        for name, row in assigned["nodes"].items()
    }
    return {**assigned, "nodes": rows, "summary": {**assigned["summary"], **waited.get("summary", {})}}
