# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Confirms or reverts what nodes with a follower have on trial: the follower does what its Node names. Waits for the
first report of followers.
"""

from __future__ import annotations

import time
import typing as t

from ..._config.values import annotation, following, node_row
from ..api import parallel
from ..api.errors import ApiError, NodesFailed, without_failure
from ..api.session import Session
from ..objects import config_sources, node_requests, nodes
from ..objects.lease import Keeper
from ..stages import diagnose, verdict, verify

CONFIRMED, FOLLOWED, REVERTING, UNANSWERED = "confirmed", "followed", "reverting", "unanswered"
_Row = t.Dict[str, t.Any]
_Judge = t.Callable[[nodes.Node], t.Optional[_Row]]
_LOG = "on the node, see `journalctl -u livenodes-kubelet-follow`"


def config_source(session: Session, options: dict[str, t.Any], check_mode: bool) -> dict[str, t.Any]:
    """Run the requested state of the module node_config_source."""
    if options["state"] == "settled":
        return settle(session, options, check_mode)
    if options["state"] == "followed":
        return await_followers(session, options, check_mode)
    return verify.config_source(session, options, check_mode)


def settle(session: Session, options: dict[str, t.Any], check_mode: bool) -> dict[str, t.Any]:
    """Write what the option `verdicts` states: by node name why it is reverted, empty to confirm it.

    With the option `sources`, only of nodes that still have the source that was verified. Waits until the followers
    have confirmed; node_config_revert waits for reverts. Requests: one PATCH for each node, before it those of one read
    of the nodes that are not as they were `seen`, then one watch for each second or two. Raises NodesFailed, LeaseLost.
    """
    keeper = Keeper(session, options.get("lease"), check_mode)
    verdicts = _verdicts(options["verdicts"])
    verified = config_sources.given(options) or {}
    seen = {}
    if not check_mode:
        seen = _seen(options["sources"] or {}, verdicts)
    try:
        keeper.keep()
        ordered = _confirm_seen(session, seen)
    except ApiError as error:
        raise _unread(list(verdicts), error) from error
    left = {name: str(seen.get(name, {}).get("uid", "")) for name in verdicts if name not in ordered}
    found, rows = _others(session, keeper, left, ordered)
    rows.update(_without_order(found, verified))
    asked = _without(found, rows)
    if not check_mode:
        rows.update(_order(session, asked, verdicts))
        why = f"its follower has not confirmed it within {options['wait_timeout']} s, so its guard reverts it: {_LOG}"
        late, away = _await(session, options, keeper, _without({**ordered, **asked}, rows), rows, _judged)
        rows.update({name: _row(node, False, UNANSWERED, away or why) for name, node in late.items()})
    return without_failure("settling", {"changed": bool(asked or ordered), "stop": False, "nodes": rows})


def _verdicts(given: t.Mapping[str, t.Any] | None) -> dict[str, str]:
    return {name: str(reason or "") for name, reason in (given or {}).items()}


def _without(found: t.Mapping[str, nodes.Node], rows: t.Container[str]) -> dict[str, nodes.Node]:
    """Return the nodes that have no row yet."""
    return {name: node for name, node in found.items() if name not in rows}


def _seen(sources: t.Mapping[str, t.Any], verdicts: t.Mapping[str, str]) -> dict[str, t.Any]:
    """Return the metadata with which nodes are confirmed as they were seen. Reverts need more than that."""
    known = {}
    for name, reason in verdicts.items():
        # What is malformed is read instead.
        meta, fault = annotation.mapping((sources.get(name) or {}).get("seen"))
        if meta and not fault and not reason:
            known[name] = meta
    return known


def _confirm_seen(session: Session, seen: t.Mapping[str, t.Any]) -> dict[str, nodes.Node]:
    """Order to confirm nodes that are as they were seen; return these as stored. The others must be read.

    The resourceVersion refuses a Node that has changed since, the uid one that was created again. The first order is
    sent alone: a watch from its revision on shows the answers of all.
    """

    def write(names: list[str]) -> dict[str, nodes.Node]:
        outcomes = parallel.each(names, lambda name: _patched(session, name, seen[name]), session.concurrency)
        return {outcome.item: outcome.value for outcome in outcomes if outcome.value is not None}

    names = list(seen)
    first = write(names[:1])
    if not first:
        return {}
    if session.nodes_revision is not None:
        session.nodes_revision = first[names[0]].resource_version
    return {**first, **write(names[1:])}


def _patched(session: Session, name: str, meta: t.Mapping[str, t.Any]) -> nodes.Node:
    return nodes.trim(session.patch(node_requests.path(name), {"metadata": meta}))


def _others(
    session: Session, keeper: Keeper, left: t.Mapping[str, str], ordered: t.Collection[str]
) -> tuple[dict[str, nodes.Node], dict[str, _Row]]:
    """Return the nodes without an order, and the rows of those that are lost or could not be read.

    C(left): the uids that were seen, by name; empty where none was.

    Raises NodesFailed if none can be read and none was ordered, LeaseLost.
    """
    since = session.nodes_revision
    try:
        found, lost = node_requests.find_known(session, left)
        keeper.keep()
    except ApiError as error:
        unread = _unread(list(left), error)
        if not ordered:
            raise unread from error
        return {}, unread.result["nodes"]
    finally:
        if ordered:
            # Their followers may have answered before this read.
            session.nodes_revision = since
    return found, {name: row.shown() for name, row in lost.items()}


def await_followers(session: Session, options: dict[str, t.Any], check_mode: bool) -> dict[str, t.Any]:
    """Wait until a follower reports on each of the nodes; until then, a rollout would log in to it.

    Requests: those of one read of the nodes, then one watch for each second or two. Raises NodesFailed, ApiError,
    LeaseLost.
    """
    keeper = Keeper(session, options.get("lease"), check_mode)
    found, lost = node_requests.find_known(session, dict.fromkeys(options["nodes"], ""))
    rows = {name: row.shown() for name, row in lost.items()}
    seconds = 0 if check_mode else options["wait_timeout"]
    why = (
        f"its follower has not reported within {seconds} s, so a rollout would log in to the node: {_LOG}, then run "
        "the playbook follow again"
    )
    late, away = _await(session, {**options, "wait_timeout": seconds}, keeper, found, rows, _reporting)
    rows.update({name: _row(node, False, UNANSWERED, away or why, changed=False) for name, node in late.items()})
    return without_failure("following", {"changed": False, "nodes": rows})


def _unread(names: list[str], error: ApiError) -> NodesFailed:
    return diagnose.unseen("settling", "not confirmed, so its guard reverts it", names, error)


def _without_order(
    found: t.Mapping[str, nodes.Node], verified: t.Mapping[str, config_sources.Wanted]
) -> dict[str, _Row]:
    """Return the rows of nodes for which nothing is ordered: what was verified on them is not on trial."""
    rows = {}
    for name, node in found.items():
        seen = None
        if name in verified:
            seen = verdict.judge(node, verified[name].source, beaten=True)
        if seen and seen.final and (seen.state == verdict.REASSIGNED or not _trial(node)):
            rows[name] = _row(node, False, seen.state, seen.message, changed=False)
        elif not _trial(node):
            rows[name] = _row(node, True, CONFIRMED, "nothing is on trial", changed=False)
    return rows


def _trial(node: nodes.Node) -> str:
    return node.follower.trial if node.follower else ""


def _order(session: Session, asked: dict[str, nodes.Node], verdicts: t.Mapping[str, str]) -> dict[str, _Row]:
    """Write the orders, and keep the nodes as stored; return the rows of those for which nothing is waited."""

    def write(name: str) -> nodes.Node:
        node = asked[name]
        # The uid refuses a Node that was created again.
        notes = following.judging(node.orders, _trial(node), verdicts[name])
        return _patched(session, name, {"uid": node.uid, "annotations": notes})

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
    rows: dict[str, _Row],
    judge: _Judge,
) -> tuple[dict[str, nodes.Node], str]:
    """Add the rows of nodes once `judge` returns one. Return the nodes of which it returns none until the timeout, and
    why they could not be read at the end; empty if they could.
    """
    deadline = time.monotonic() + options["wait_timeout"]
    at_end, away = False, ""
    while True:
        judged = {name: judge(node) for name, node in waiting.items()}
        rows.update({name: row for name, row in judged.items() if row})
        waiting = _without(waiting, rows)
        if not waiting or at_end:
            return waiting, away
        at_end, away = time.monotonic() >= deadline, ""
        pause = keeper.bounded_pause(min(options["wait_sleep"], 1))
        try:
            keeper.keep()
            found, lost = _looked(session, waiting, None if at_end else pause, judge)
        except ApiError as error:
            # The followers go on without the API server, and the rows of the other nodes must be known.
            found, lost = {}, {}
            away = f"{error.message}. Whether its follower has answered meanwhile is unknown: run again"
            at_end = at_end or not error.transient
            time.sleep(0 if at_end else pause)
        rows.update({name: row.shown() for name, row in lost.items()})
        waiting = _without({**waiting, **found}, rows)


def _looked(
    session: Session, waiting: t.Mapping[str, nodes.Node], seconds: float | None, judge: _Judge
) -> tuple[dict[str, nodes.Node], dict[str, node_row.Row]]:
    """Return the nodes once all have a row, at the latest after some seconds, and the rows of lost ones.

    None: return them as they are now.
    """
    uids = {name: node.uid for name, node in waiting.items()}
    if seconds is None:
        return node_requests.find_known(session, uids)
    return node_requests.changed(session, uids, seconds, lambda node: judge(node) is not None)


def _judged(node: nodes.Node) -> _Row | None:
    """Return the row of a node whose follower has answered an order, else None."""
    answer, trial = node.follower, node.orders.trial
    # Without a trial in its orders, the node was assigned anew since.
    if answer is None or not trial or answer.judged != trial:
        return None
    return _row(node, not answer.failed, CONFIRMED, answer.failed or "confirmed")


def _reporting(node: nodes.Node) -> _Row | None:
    """Return the row of a node on which a follower reports, else None."""
    if node.follower is None:
        return None
    return node_row.Row(True, FOLLOWED, "its follower reports", False, node.delivery, node.source).shown()


def _row(node: nodes.Node, ok: bool, state: str, message: str, changed: bool = True) -> _Row:
    error = "" if ok else message
    return node_row.Row(ok, state, message, changed, node.delivery, node.source, error).shown()
