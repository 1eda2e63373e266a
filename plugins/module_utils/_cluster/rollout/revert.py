# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reverts nodes after an assignment that failed, and verifies that they run their previous configuration again.

A kubelet or guard that has reverted on its own reports that in its status, which stays as the evidence. So does the
guard of a node whose follower was ordered to revert. All other nodes get their previous source assigned again. So does
a kubelet with native delivery that fell back further than that: its last-known-good is 10 minutes old.
"""

from __future__ import annotations

import time
import typing as t

from ..._config import delivery as deliveries
from ..._config.fields import fields
from ..._config.minors import fields_of
from ..._config.values import document, node_row, paths
from ..._config.values.forms import LATER, SourceForm
from ..._config.values.reference import PLACE, same_place
from ..api import parallel
from ..api.errors import ApiError, ClusterError, NodesFailed, without_failure
from ..api.session import Session
from ..objects import config_sources, kubelets, node_requests, nodes, readers
from ..objects.lease import Keeper
from ..stages import assign_step, diagnose

REVERTED, NOT_REVERTED, REASSIGNED = "reverted", "not_reverted", "reassigned"
REFUSED = "refused"
"""The node refused the source before it was switched, so it never ran another configuration."""
# Seconds without a heartbeat after which a message reports it (node-monitor-grace-period is 40 s).
_SILENT = 40


def _not_reverted(node: nodes.Node) -> str:
    # The guard quotes the kubelet.
    more = "; see `journalctl -u livenodes-kubelet-guard` on the node"
    if node.error:
        more = f" and reports `{node.error}`"
    return f"its guard has not reverted it yet{more}"


class _Revert:
    """The revert of one node.

    `failed` is the assignment that failed, as node_config_source returned it; `variant` the live variant before it
    (None: unknown).
    """

    def __init__(self, failed: dict[str, t.Any], variant: str | None) -> None:
        self.delivery: str = failed["delivery"]
        self.on_node = deliveries.of(self.delivery).on_node
        self.source: dict[str, str] | None = failed["source"]
        before = dict(failed["previous"] or {})
        # A migration names the delivery that the node has left.
        self.former: str = before.pop("delivery", self.delivery)
        self.previous: dict[str, str] | None = before or None
        # If an earlier run changed the node, `variant` may be the one that failed.
        self.variant = variant if failed["changed"] else None
        self.uid: str = failed.get("uid") or ""
        self.written = False
        # What was not written names the source that the node has kept.
        self.was_kept = not failed["changed"] and same_place(self.source, self.previous)
        # Whether nothing more is waited for.
        self.closed = False
        # Whether the node reported that it had taken up the source that failed.
        self.taken_up = False
        # The configuration that the node reports as active.
        self.active: dict[str, str] | None = None
        self.error = ""
        self.state = NOT_REVERTED
        self.message = ""
        self.minor = 0
        self.form: SourceForm = LATER

    def is_automatic(self, node: nodes.Node) -> bool:
        """Return whether the node has rejected the assigned source, so that it needs no new assignment."""
        if not node.error or nodes.is_sync_error(node) or not same_place(node.part("assigned"), self.source):
            return False
        return self.on_node or same_place(node.part("active"), self.previous)

    def is_ordered(self, node: nodes.Node) -> bool:
        """Return whether the follower of the node reverts the assigned source by order, or has done so."""
        answer, orders = node.follower, node.orders
        if answer is None or not node.by_follower or "" in (orders.trial, orders.reason):
            return False
        if answer.judged == orders.trial and answer.failed:
            return False
        return answer.trial == orders.trial and same_place(node.source, self.source)

    def goal(self, node: nodes.Node) -> dict[str, str] | None:
        """Return the source to assign. Only a checkpoint names the revision, and some kubelets need the uid."""
        if self.previous is None or self.on_node:
            return self.previous
        # One that an operator wrote may lack it.
        parts: tuple[str, ...] = PLACE
        if node.form.by_uid and "uid" in self.previous:
            parts = (*PLACE, "uid")
        return paths.only(self.previous, parts)

    def see(self, node: nodes.Node) -> None:
        """Note whether the node has taken up the source that failed."""
        if not self.was_kept and same_place(node.part("assigned"), self.source):
            self.taken_up = True

    def judge(self, node: nodes.Node) -> bool:
        """Return whether the Node object shows the revert as done; if not, set the message to what is missing."""
        self.minor, self.form = node.minor, node.form
        self.see(node)
        missing = self._missing(node)
        if missing:
            self.message = missing
            return False
        self.active, self.error = node.part("active"), node.error
        return True

    def _missing(self, node: nodes.Node) -> str:
        """Return what the Node object lacks for the revert, empty if that is done."""
        if node.fault:
            return node.fault
        # A checkpoint is not copied to the node again, so only `active` shows what the node runs.
        follows = not self.on_node and (self.written or not self.is_automatic(node))
        if follows and not nodes.settled(node):
            return (
                f"waiting for its kubelet to take up {nodes.describe(self.previous)} again; "
                f"active is {nodes.describe(node.part('active'))}"
            )
        if self._awaits_guard(node):
            return _not_reverted(node)
        if node.ready != "True" or node.heartbeat < ((node.status or {}).get("started") or ""):
            return f"the Node is not Ready ({node.ready_reason or node.ready})"
        return ""

    def _awaits_guard(self, node: nodes.Node) -> bool:
        if not self.on_node or same_place(self.source, self.previous):
            return False
        return same_place(node.part("active"), self.source)

    def compare(self, outcome: parallel.Outcome[str, dict[str, t.Any]]) -> None:
        """Compare the live configuration with the previous one, and set state and message."""
        if outcome.value is None:
            self.message = outcome.why
        elif not same_place(self.active, self.previous):
            self.state = REVERTED
            self.message = (
                f"reverted to its last-known-good, {nodes.describe(self.active)}; "
                f"its previous configuration, {nodes.describe(self.previous)}, had not passed its trial yet"
            )
        elif self._differs(outcome.value):
            self.message = "its kubelet is healthy, but its live configuration is not the one from before the rollout"
        elif self.taken_up:
            self.state, self.message = REVERTED, "running its previous configuration again"
        else:
            self.state, self.message = REFUSED, "still running its previous configuration"
            # A kubelet with native delivery sees what is written to its Node, and a guard reports what it has reverted.
            if self.error or (self.written and not self.on_node):
                self.state = REVERTED

    def _differs(self, live: dict[str, t.Any]) -> bool:
        """Return whether the live configuration is not the one from before the rollout."""
        if self.variant is None:
            return False
        return document.variant(fields.restore(live, fields_of(self.minor))) != self.variant

    def late(self, seconds: float, silent_for: float | None) -> str:
        """Return the message for a node that was not reverted in time. `silent_for` is the age of its heartbeat."""
        message = f"not reverted within {seconds:.0f} s: {self.message}"
        if silent_for is None or silent_for <= _SILENT:
            return message
        message += (
            f". Its kubelet has sent no heartbeat for {silent_for:.0f} s: on the node, see `journalctl -u kubelet`"
        )
        if self.on_node:
            return message
        return f"{message} and empty {self.form.assigned_file} in its --dynamic-config-dir"


def revert(session: Session, options: dict[str, t.Any], check_mode: bool) -> dict[str, t.Any]:
    """Revert the nodes in `nodes` (rows of an assignment by node name) and return a row for each.

    `current` is the table from before the rollout. Requests: one LIST for each poll, one PATCH for each node that needs
    its previous source again; for each poll and each node that looks healthy, one GET of its configz. Waits at most
    `wait_timeout` seconds, and renews the Lease in the option `lease` before it writes and while it waits. Raises
    NodesFailed, which names every node that is not reverted, and why, and LeaseLost if the Lease is lost.
    """
    keeper = Keeper(session, options["lease"], check_mode)
    reverts = _reverts(options["nodes"], (options["current"] or {}).get("nodes") or {})
    deadline = time.monotonic() + options["wait_timeout"]
    try:
        found = _read(session, reverts)
        keeper.keep()
    except ApiError as error:
        raise _no_contact(reverts, error) from error
    for name, node in found.items():
        reverts[name].uid = node.uid
        reverts[name].see(node)
    _write(session, reverts, found, check_mode)
    if not check_mode:
        _wait(session, reverts, found, options, keeper, deadline)
    rows = {name: _row(one, found.get(name), check_mode).shown() for name, one in reverts.items()}
    return without_failure("reverting", _result(rows))


def _wait(
    session: Session,
    reverts: dict[str, _Revert],
    found: dict[str, nodes.Node],
    options: dict[str, t.Any],
    keeper: Keeper,
    deadline: float,
) -> None:
    """Poll until every node is reverted or the time is over; then set why the others are not. Updates `found`."""
    waiting = _open(reverts)
    while waiting:
        try:
            keeper.keep()
            found.update(_poll(session, reverts, waiting))
        except ApiError as error:
            if not error.transient:
                raise
            for name in waiting:
                reverts[name].message = error.message
        waiting = _open(reverts)
        if not waiting or time.monotonic() >= deadline:
            break
        time.sleep(keeper.bounded_pause(min(options["wait_sleep"], max(0.0, deadline - time.monotonic()))))
    if waiting:
        ages = diagnose.silence(session, waiting, found)
        for name in waiting:
            reverts[name].message = reverts[name].late(options["wait_timeout"], ages.get(name))


def _reverts(rows: t.Mapping[str, t.Any], before: t.Mapping[str, t.Any]) -> dict[str, _Revert]:
    """Return the reverts by node. `before`: the nodes of the table from before the rollout. Raises ClusterError."""
    found = {}
    for name, row in rows.items():
        if not isinstance(row, dict) or not {"changed", "delivery", "source", "previous"} <= set(row):
            raise ClusterError(
                f"nodes: the value of {name} is not a row of node_config_source; pass its result `nodes` unchanged"
            )
        found[name] = _Revert(row, (before.get(name) or {}).get("variant"))
    return found


def _no_contact(reverts: dict[str, _Revert], error: ApiError) -> NodesFailed:
    """Return the failure if the API server is unavailable from the start: nothing was written, no state is known."""
    message = f"not reverted: {error.message}. Its kubelet keeps running; run again when the API server answers"
    rows = {}
    for name, one in reverts.items():
        row = node_row.Row(False, NOT_REVERTED, message, False, one.delivery, one.source, error.message)
        rows[name] = row.shown()
    return NodesFailed("reverting", dict.fromkeys(rows, message), _result(rows))


def _read(session: Session, reverts: dict[str, _Revert]) -> dict[str, nodes.Node]:
    """Return the nodes that are still there, and close the others."""
    uids = {name: reverts[name].uid for name in _open(reverts)}
    found = node_requests.find(session, list(uids))
    for name, row in node_requests.lost(session, uids, found).items():
        found.pop(name, None)
        reverts[name].state, reverts[name].message = row.state, row.message
    return {name: node.with_delivery(reverts[name].delivery) for name, node in found.items()}


def _open(reverts: dict[str, _Revert]) -> list[str]:
    return [name for name, one in reverts.items() if one.state == NOT_REVERTED and not one.closed]


def _write(session: Session, reverts: dict[str, _Revert], found: dict[str, nodes.Node], dry_run: bool) -> None:
    """Assign the previous source to the nodes that would try the failed one again, now or later."""
    goals = _goals(reverts, found)
    read = {name: goal for name, goal in goals.items() if found[name].reads_by_role}
    # What fails here is not a reason to leave a node on the source that failed: the checkpoint is on its disk.
    readers.grant(session, readers.users_of(read), dry_run)

    def write(name: str) -> nodes.Node:
        node, sides = found[name], (reverts[name].former,)
        return config_sources.write_source(session, node, goals[name], dry_run, sides, assign_step.back(node))

    for outcome in session.each(goals, write):
        one = reverts[outcome.item]
        one.written = outcome.error is None
        absent = node_requests.absence(session, outcome.error)
        if absent:
            one.state, one.message = absent.state, absent.message
        elif outcome.error and outcome.error.status == 409:
            one.state, one.message = REASSIGNED, outcome.why
        elif outcome.error:
            one.closed, one.message = True, f"not reverted: {outcome.why}. Remove the cause and run again"


def _goals(reverts: dict[str, _Revert], found: dict[str, nodes.Node]) -> dict[str, dict[str, str] | None]:
    """Return the sources to assign, by node; close the nodes to which another user has assigned one since."""
    goals = {}
    for name, node in found.items():
        one, now = reverts[name], node.source
        unread = bool(node.source_fault(one.delivery))
        if not unread and (same_place(now, one.previous) or one.is_automatic(node) or one.is_ordered(node)):
            continue
        if unread or same_place(now, one.source):
            goals[name] = one.goal(node)
            continue
        one.state = REASSIGNED
        one.message = (
            f"another user or program has assigned {nodes.describe(now)} since; that assignment is not changed"
        )
    return goals


def _poll(session: Session, reverts: dict[str, _Revert], waiting: list[str]) -> dict[str, nodes.Node]:
    """Read the waiting nodes, judge them, and return them. Raises ApiError."""
    found = _read(session, reverts)
    healthy = []
    for name in waiting:
        if name in found and reverts[name].judge(found[name]):
            healthy.append(name)
    for outcome in kubelets.live_configs(session, healthy, found):
        reverts[outcome.item].compare(outcome)
    return found


def _row(one: _Revert, node: nodes.Node | None, check_mode: bool) -> node_row.Row:
    if node is None or one.state in node_row.ABSENT:
        return node_row.Row(False, one.state, one.message, one.written)
    ok = one.state in (REVERTED, REFUSED) or check_mode
    source = one.previous if one.written else node.source
    return node_row.Row(ok, one.state, one.message, one.written, one.delivery, source, node.error)


def _result(rows: dict[str, dict[str, t.Any]]) -> dict[str, t.Any]:
    failed = len(node_row.failures(rows))
    refused = sum(row["state"] == REFUSED for row in rows.values())
    return {
        "changed": any(row["changed"] for row in rows.values()),
        "nodes": rows,
        "summary": {"nodes": len(rows), "reverted": len(rows) - failed - refused, "refused": refused, "failed": failed},
    }
