# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Bring nodes back from an assignment that failed, and see that they run again what they ran before.

A kubelet or a guard that went back by itself says so in its status, which stays as the evidence. The others are pointed
at their former source again, and so is a kubelet with native delivery that went back further: its last-known-good is 10
minutes behind.
"""

from __future__ import annotations

import time
import typing as t

from ..._config.fields import complete_config as pure_configz
from ..._config.values import identity
from ..._config.values.reference import PLACE, same_place
from ..api import parallel
from ..api.errors import ApiError, ClusterError, NodesFailed
from ..api.session import Session
from ..objects import configz, node_status, nodes
from ..stages import diagnose
from ..stages.verdict import SYNC

REVERTED, NOT_REVERTED, REASSIGNED = "reverted", "not_reverted", "reassigned"


class _Return:
    """One node on its way back: the assignment that failed, as node_config_source returned it, and the variant that was
    live before (None: not known).
    """

    def __init__(self, failed: dict[str, t.Any], variant: str | None) -> None:
        self.delivery: str = failed["delivery"]
        self.source: dict[str, str] | None = failed["source"]
        self.previous: dict[str, str] | None = failed["previous"]
        # A node that an earlier run had switched was not seen before that.
        self.variant = variant if failed["changed"] else None
        self.written = False
        # What the node reports to run.
        self.active: dict[str, str] | None = None
        self.state = NOT_REVERTED
        self.message = ""

    def went_by_itself(self, node: nodes.Node) -> bool:
        """Whether its status says that what was assigned did not hold, and nothing is to be done about it from here."""
        if not node.error or node.error.startswith(SYNC) or not same_place(node.part("assigned"), self.source):
            return False
        return self.delivery == nodes.CHECKPOINT or same_place(node.part("active"), self.previous)

    def judge(self, node: nodes.Node) -> bool:
        """Tell by the Node alone whether it is back, and note what is missing."""
        # Nobody carries a former checkpoint to a node again: what it runs is told by `active` alone.
        if self.written and self.delivery != nodes.CHECKPOINT and not node_status.settled(node):
            self.message = f"waiting for its kubelet to take up {nodes.describe(self.previous)} again; active is {nodes.describe(node.part('active'))}"
            return False
        if (
            self.delivery == nodes.CHECKPOINT
            and same_place(node.part("active"), self.source)
            and not same_place(self.source, self.previous)
        ):
            self.message = "its guard has not taken the configuration back yet; see `journalctl -u livenodes-kubelet-guard` on the node"
            return False
        if node.ready != "True" or node.heartbeat < ((node.status or {}).get("started") or ""):
            self.message = f"the Node is not Ready ({node.ready_reason or node.ready})"
            return False
        self.active = node.part("active")
        return True

    def compare(self, outcome: parallel.Outcome[str, dict[str, t.Any]]) -> None:
        """Hold the live configuration against the one from before."""
        if outcome.value is None:
            self.message = outcome.error.message if outcome.error else "its /configz is empty"
        elif not same_place(self.active, self.previous):
            self.state = REVERTED
            self.message = (
                f"went back to its last-known-good, {nodes.describe(self.active)}; what it ran before, {nodes.describe(self.previous)}, had not "
                "passed its trial yet"
            )
        elif self.variant is not None and identity.variant(pure_configz.restore(outcome.value)) != self.variant:
            self.message = "its kubelet is healthy, but its live configuration is not the one from before the rollout"
        else:
            self.state, self.message = REVERTED, "runs again what it ran before"


def back(session: Session, options: dict[str, t.Any], check_mode: bool) -> dict[str, t.Any]:
    """Return a row for every node of `nodes`: rows of an assignment by node name. `current` is the table from before
    the rollout.

    Requests: a LIST a poll, one PATCH a node that has to be pointed back, one configz GET a node a poll once its Node
    looks well. Waits at most `wait_timeout` seconds. Raises NodesFailed naming every node that is not back, and why.
    """
    before = (options["current"] or {}).get("nodes") or {}
    returns = {
        name: _Return(row, (before.get(name) or {}).get("variant")) for name, row in _rows(options["nodes"]).items()
    }
    deadline = time.monotonic() + options["wait_timeout"]
    try:
        found = _read(session, returns)
    except ApiError as error:
        raise _unseen(returns, error) from error
    _write(session, returns, found, check_mode)
    waiting = [] if check_mode else [name for name, one in returns.items() if one.state == NOT_REVERTED]
    while waiting:
        try:
            found = _read(session, returns)
            well = [name for name in waiting if returns[name].judge(found[name])]
            for outcome in parallel.each(well, lambda name: configz.read(session, name), session.concurrency):
                returns[outcome.item].compare(outcome)
        except ApiError as error:
            if not error.transient:
                raise
            for name in waiting:
                returns[name].message = error.message
        waiting = [name for name in waiting if returns[name].state == NOT_REVERTED]
        if not waiting or time.monotonic() >= deadline:
            break
        time.sleep(min(options["wait_sleep"], max(0.0, deadline - time.monotonic())))
    return _result(session, returns, found, options["wait_timeout"], check_mode)


def _rows(given: t.Any) -> dict[str, dict[str, t.Any]]:
    for name, row in given.items():
        if not isinstance(row, dict) or not {"changed", "delivery", "source", "previous"} <= set(row):
            raise ClusterError(
                f"nodes: the row of {name} is no row of node_config_source; give what that returned in `nodes`"
            )
    return dict(given)


def _unseen(returns: dict[str, _Return], error: ApiError) -> NodesFailed:
    """The API server was away from the beginning: nothing was written, and nothing is known."""
    message = f"not brought back: {error.message}. Its kubelet goes on by itself; run again when the API server answers"
    rows = {
        name: {"changed": False, "ok": False, "state": NOT_REVERTED, "message": message, "source": one.source}
        for name, one in returns.items()
    }
    return NodesFailed(
        "going back",
        dict.fromkeys(rows, message),
        {"changed": False, "nodes": rows, "summary": {"nodes": len(rows), "reverted": 0, "failed": len(rows)}},
    )


def _read(session: Session, returns: dict[str, _Return]) -> dict[str, nodes.Node]:
    return {name: node.seen_as(returns[name].delivery) for name, node in nodes.read(session, returns).items()}


def _write(session: Session, returns: dict[str, _Return], found: dict[str, nodes.Node], dry_run: bool) -> None:
    """Point at their former source the nodes that would go on trying, or would take the failed one up later."""
    goals: dict[str, dict[str, str] | None] = {}
    for name, one in returns.items():
        now = found[name].source
        if same_place(now, one.previous) or one.went_by_itself(found[name]):
            continue
        if same_place(now, one.source):
            # Only a checkpoint names the revision.
            goals[name] = (
                one.previous
                if one.previous is None or one.delivery == nodes.CHECKPOINT
                else {part: one.previous[part] for part in PLACE}
            )
        else:
            one.state, one.message = (
                REASSIGNED,
                f"somebody else assigned {nodes.describe(now)} meanwhile: it is left to them",
            )
    for outcome in parallel.each(
        list(goals), lambda name: nodes.write_source(session, found[name], goals[name], dry_run), session.concurrency
    ):
        one = returns[outcome.item]
        one.written = outcome.error is None
        if outcome.error:
            one.state, one.message = REASSIGNED, outcome.error.message


def _result(
    session: Session, returns: dict[str, _Return], found: dict[str, nodes.Node], seconds: float, check_mode: bool
) -> dict[str, t.Any]:
    late = [] if check_mode else [name for name, one in returns.items() if one.state == NOT_REVERTED]
    silence = diagnose.silence(session, late) if late else {}
    for name in late:
        age = silence.get(name)
        said = f"not back within {seconds:.0f} s: {returns[name].message}"
        if age is not None and age > 40:
            said += (
                f". Its kubelet has sent no heartbeat for {age:.0f} s: on the node, look at `journalctl -u kubelet`"
                + (
                    ""
                    if returns[name].delivery == nodes.CHECKPOINT
                    else " and empty store/meta/assigned in its --dynamic-config-dir"
                )
            )
        returns[name].message = said
    rows: dict[str, dict[str, t.Any]] = {
        name: {
            "changed": one.written,
            "ok": one.state == REVERTED or check_mode,
            "state": one.state,
            "message": one.message,
            "source": one.previous if one.written else found[name].source,
        }
        for name, one in returns.items()
    }
    good = sum(row["ok"] for row in rows.values())
    result = {
        "changed": any(row["changed"] for row in rows.values()),
        "nodes": rows,
        "summary": {"nodes": len(rows), "reverted": good, "failed": len(rows) - good},
    }
    failures = {name: row["message"] for name, row in rows.items() if not row["ok"]}
    if failures:
        raise NodesFailed("going back", failures, result)
    return result
