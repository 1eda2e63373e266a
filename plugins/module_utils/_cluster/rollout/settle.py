# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Confirms or reverts what nodes with a follower have on trial: the follower does what its Node names."""

from __future__ import annotations

import time
import typing as t

from ..._config.values import following, node_row
from ..api import parallel
from ..api.errors import without_failure
from ..api.session import Session
from ..objects import node_requests, nodes
from ..objects.lease import Keeper
from ..stages import verify

CONFIRMED, REVERTING, UNANSWERED = "confirmed", "reverting", "unanswered"
_MERGE = "application/merge-patch+json"


def config_source(session: Session, options: dict[str, t.Any], check_mode: bool) -> dict[str, t.Any]:
    """Run the requested state of the module node_config_source."""
    if options["state"] == "settled":
        return settle(session, options, check_mode)
    return verify.config_source(session, options, check_mode)


def settle(session: Session, options: dict[str, t.Any], check_mode: bool) -> dict[str, t.Any]:
    """Write what the option `verdicts` states: by node name why it is reverted, empty to confirm it.

    Waits until the followers have confirmed; node_config_revert waits for reverts. Requests: those of one read of the
    nodes, one PATCH for each, then one watch for each second or two. Raises NodesFailed, ApiError, LeaseLost.
    """
    keeper = Keeper(session, options.get("lease"), check_mode)
    verdicts = {name: str(reason or "") for name, reason in (options["verdicts"] or {}).items()}
    found, lost = node_requests.find_known(session, dict.fromkeys(verdicts, ""))
    rows = {name: row.shown() for name, row in lost.items()}
    asked = {name: node for name, node in found.items() if _trial(node)}
    for name in set(found) - set(asked):
        rows[name] = _row(found[name], True, CONFIRMED, "nothing is on trial", changed=False)
    keeper.keep()
    if not check_mode:
        rows.update(_order(session, asked, verdicts))
        _await(session, options, keeper, {name: node for name, node in asked.items() if name not in rows}, rows)
    return without_failure("settling", {"changed": bool(asked), "stop": False, "nodes": rows})


def _trial(node: nodes.Node) -> str:
    return node.follower.trial if node.follower else ""


def _order(
    session: Session, asked: dict[str, nodes.Node], verdicts: t.Mapping[str, str]
) -> dict[str, dict[str, t.Any]]:
    """Write the orders, and keep the nodes as stored; return the rows of those for which nothing is waited."""

    def write(name: str) -> nodes.Node:
        node = asked[name]
        orders = node.orders._replace(trial=_trial(node), reason=verdicts[name])
        # The uid refuses a Node that was created again.
        body = {"metadata": {"uid": node.uid, "annotations": {following.FOLLOW: following.text(orders)}}}
        return nodes.trim(session.request("PATCH", node_requests.path(name), (), body, _MERGE))

    rows = {}
    for outcome in parallel.each(list(asked), write, session.concurrency):
        name = outcome.item
        if outcome.value is None:
            rows[name] = _row(asked[name], False, UNANSWERED, outcome.why, changed=False)
            continue
        asked[name] = outcome.value
        if verdicts[name]:
            rows[name] = _row(asked[name], True, REVERTING, "its follower reverts it")
    return rows


def _await(
    session: Session,
    options: t.Mapping[str, t.Any],
    keeper: Keeper,
    waiting: dict[str, nodes.Node],
    rows: dict[str, dict[str, t.Any]],
) -> None:
    """Add the rows of nodes once their followers have confirmed, or at the timeout."""
    deadline = time.monotonic() + options["wait_timeout"]
    while waiting:
        late = time.monotonic() >= deadline
        pause = keeper.bounded_pause(min(options["wait_sleep"], 1))
        uids = {name: node.uid for name, node in waiting.items()}
        found, lost = node_requests.changed(session, uids, 0 if late else pause)
        keeper.keep()
        rows.update({name: row.shown() for name, row in lost.items()})
        for name, node in {**waiting, **found}.items():
            row = _answered(node, late, options["wait_timeout"])
            if row and name not in lost:
                rows[name] = row
        waiting = {name: found.get(name, node) for name, node in waiting.items() if name not in rows}


def _answered(node: nodes.Node, late: bool, seconds: int) -> dict[str, t.Any] | None:
    """Return the row of a node whose follower has answered, or that is late; else None."""
    answer = node.follower
    if answer is not None and answer.judged == node.orders.trial:
        return _row(node, not answer.failed, CONFIRMED, answer.failed or "confirmed")
    if not late:
        return None
    return _row(
        node,
        False,
        UNANSWERED,
        f"its follower has not confirmed it within {seconds} s, so its guard reverts it: on the node, see "
        "`journalctl -u livenodes-kubelet-follow`",
    )


def _row(node: nodes.Node, ok: bool, state: str, message: str, changed: bool = True) -> dict[str, t.Any]:
    error = "" if ok else message
    return node_row.Row(ok, state, message, changed, node.delivery, node.source, error).shown()
