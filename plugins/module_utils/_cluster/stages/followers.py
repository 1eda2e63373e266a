# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nodes with a follower: whether it takes a source to its node, what is written for it, and how trials are settled."""

from __future__ import annotations

import time
import typing as t

from ..._config.values import following, node_row
from ..._config.values.following import API, FORMAT, SSH, Orders
from ..api import parallel
from ..api.errors import without_failure
from ..api.session import Session
from ..objects import node_requests, nodes
from ..objects.lease import Keeper

Source = t.Optional[t.Mapping[str, str]]
# Argument spec of the modules that assign a source to nodes.
TRANSPORT: dict[str, dict[str, t.Any]] = {
    "transport": {"type": "str", "choices": list(following.TRANSPORTS), "default": following.AUTO},
    "trial_seconds": {"type": "int", "default": 600},
    "confirm_seconds": {"type": "int"},
}


def problem(node: nodes.Node, transport: str) -> str:
    """Return why a source cannot reach a node by the requested transport, empty if it can."""
    if transport == SSH or not node.on_node:
        return ""
    if node.follower is None:
        if transport == following.AUTO:
            return ""
        return (
            "no follower reports on it, so nothing takes the source to the node. Run the playbook follow for its host, "
            "or set kubelet_config_transport to auto or ssh"
        )
    if node.follower.format != FORMAT:
        return (
            f"its follower writes format {node.follower.format}, and this collection reads format {FORMAT}: update the "
            "follower with the playbook follow"
        )
    return ""


def orders(node: nodes.Node, goal: Source, transport: str, options: t.Mapping[str, t.Any]) -> Orders | None:
    """Return what the annotation `follow` must hold with a goal, None for a node without a follower.

    `node` is the node as its delivery sees it. A source that its follower has refused, or that it was reverted from, is
    tried again.
    """
    if node.follower is None or not node.on_node:
        return None
    known = node.orders
    if transport == SSH:
        return known if known.transport == SSH else Orders(SSH, known.attempt)
    if known.transport == API and node.source == goal and not _has_failed(node):
        return known
    trial = options.get("trial_seconds") or following.BY_DEFAULT.trial_seconds
    return Orders(API, known.attempt + 1, trial, options.get("confirm_seconds") or trial)


def back(node: nodes.Node) -> dict[str, str | None]:
    """Return the annotation with which a follower returns to a source, empty without one that acts."""
    if not node.by_follower:
        return {}
    again = node.orders._replace(attempt=node.orders.attempt + 1, trial="", reason="")
    return {following.FOLLOW: following.text(again)}


def _has_failed(node: nodes.Node) -> bool:
    answer = node.follower
    if answer is None or answer.attempt != node.orders.attempt or answer.source != node.source:
        return False
    return bool(answer.refused) or nodes.fell_back(node)


CONFIRMED, REVERTING, UNANSWERED = "confirmed", "reverting", "unanswered"
_MERGE = "application/merge-patch+json"


def settle(session: Session, options: dict[str, t.Any], check_mode: bool, keeper: Keeper) -> dict[str, t.Any]:
    """Write what the option `verdicts` states: by node name why it is reverted, empty to confirm it.

    Waits until the followers have confirmed; node_config_revert waits for reverts. Requests: one LIST for each poll,
    one PATCH for each node. Raises NodesFailed, ApiError, LeaseLost.
    """
    verdicts = {name: str(reason or "") for name, reason in (options["verdicts"] or {}).items()}
    found, lost = node_requests.find_known(session, dict.fromkeys(verdicts, ""))
    rows = {name: row.shown() for name, row in lost.items()}
    asked = {name: node for name, node in found.items() if _trial(node)}
    for name in set(found) - set(asked):
        rows[name] = _row(found[name], True, CONFIRMED, "nothing is on trial")
    keeper.keep()
    if not check_mode:
        rows.update(_order(session, asked, verdicts))
        _await(session, options, keeper, [name for name in asked if name not in rows], rows)
    return without_failure("settling", {"changed": bool(asked), "stop": False, "nodes": rows})


def _trial(node: nodes.Node) -> str:
    return node.follower.trial if node.follower else ""


def _order(
    session: Session, asked: t.Mapping[str, nodes.Node], verdicts: t.Mapping[str, str]
) -> dict[str, dict[str, t.Any]]:
    """Write the orders; return the rows of nodes for which nothing is waited."""

    def write(name: str) -> None:
        node = asked[name]
        orders = node.orders._replace(trial=_trial(node), reason=verdicts[name])
        # The uid refuses a Node that was created again.
        body = {"metadata": {"uid": node.uid, "annotations": {following.FOLLOW: following.text(orders)}}}
        session.request("PATCH", node_requests.path(name), (), body, _MERGE)

    rows = {}
    for outcome in parallel.each(list(asked), write, session.concurrency):
        name = outcome.item
        if outcome.error:
            rows[name] = _row(asked[name], False, UNANSWERED, outcome.why)
        elif verdicts[name]:
            rows[name] = _row(asked[name], True, REVERTING, "its follower reverts it")
    return rows


def _await(
    session: Session,
    options: t.Mapping[str, t.Any],
    keeper: Keeper,
    waiting: list[str],
    rows: dict[str, dict[str, t.Any]],
) -> None:
    """Add the rows of nodes once their followers have confirmed, or at the timeout."""
    deadline = time.monotonic() + options["wait_timeout"]
    while waiting:
        found, lost = node_requests.find_known(session, dict.fromkeys(waiting, ""))
        rows.update({name: row.shown() for name, row in lost.items()})
        late = time.monotonic() >= deadline
        for name, node in found.items():
            row = _answered(node, late, options["wait_timeout"])
            if row:
                rows[name] = row
        waiting = [name for name in waiting if name not in rows]
        if waiting:
            time.sleep(keeper.bounded_pause(min(options["wait_sleep"], 1)))
            keeper.keep()


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


def _row(node: nodes.Node, ok: bool, state: str, message: str) -> dict[str, t.Any]:
    error = "" if ok else message
    return node_row.Row(ok, state, message, ok, node.delivery, node.source, error).shown()
