# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The status of a group, with a row for each node that the cluster itself reports as away."""

from __future__ import annotations

import typing as t

from ..._config.values import node_row
from ..api.errors import ClusterError
from ..api.session import Session
from ..objects import node_requests, node_status
from . import gate

SKIPPED = "skipped"


def info(session: Session, options: dict[str, t.Any], check_mode: bool) -> dict[str, t.Any]:
    """Return the result of `node_status.info`; with the option `skip`, also the rows of nodes that are away.

    A node is away if it does not exist, is not Ready, or is silent (gate.unavailable). With `unready`, one that is not
    Ready is away only if its kubelet does not answer: one GET of its configz. Raises ClusterError.
    """
    if not options["skip"]:
        return {**node_status.info(session, options, check_mode), "away": {}}
    if not options["nodes"] or options["label_selectors"]:
        raise ClusterError("skip: name the nodes in the option nodes, without label_selectors")
    found = node_requests.find(session, options["nodes"])
    gone = node_requests.lost(session, dict.fromkeys(options["nodes"], ""), found)
    why = {name: row.message for name, row in gone.items()}
    why.update({name: down["ready"] for name, down in gate.unavailable(session, found).items() if "ready" in down})
    if options["unready"]:
        alive = gate.answering(session, found, why)
        why = {name: reason for name, reason in why.items() if name not in alive}
    rows = {name: node_status.row(node) for name, node in found.items()}
    # Not under `skipped`, which Ansible takes for a skipped task.
    away = {name: node_row.Row(False, SKIPPED, why[name]).shown() for name in options["nodes"] if name in why}
    return {"changed": False, "nodes": rows, "away": away, "summary": node_status.summarise(rows)}
