# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Cordons and drains nodes in parallel, and undoes the cordons of this collection."""

from __future__ import annotations

import socket
import time
import typing as t

from ..._config.forecast.pod_loss import TERMINATING
from ..._config.values import node_row
from ..api.errors import ClusterError, NodesFailed, pauses, without_failure
from ..api.session import Json, Session
from ..objects import node_requests, nodes, pods
from ..objects.lease import Keeper
from . import drain_steps

_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 5.0
_STAYS = "It stays cordoned; state restored uncordons it"
_WEBHOOK = "does an admission webhook change Nodes?"
_UNTOUCHED = "draining (no node was cordoned, no pod evicted)"


class _Drain:
    """The progress of a drain.

    `left` holds the pods that must still go, by node and uid; `answers` the last answer for the eviction of a pod.
    """

    def __init__(self, session: Session, options: Json, listed: dict[str, pods.Rows], check_mode: bool) -> None:
        self.session = session
        self.options = options
        self.check_mode = check_mode
        self.rows: dict[str, Json] = {}
        self.failures: dict[str, str] = {}
        self.left: dict[str, pods.Rows] = {}
        self.answers: dict[str, drain_steps.Answer] = {}
        self._due: dict[str, float] = {}
        self.refused: dict[str, str] = {}
        for name, found in listed.items():
            self.rows[name] = node_row.Row(True, "drained").shown(cordoned=False, evicted=[], skipped=[])
            why = self._sort(name, found)
            if why:
                self.refused[name] = why

    def _sort(self, name: str, found: pods.Rows) -> str:
        """Set the pods of a node that must go and those that stay; return why pods cannot go, empty if all can."""
        left: pods.Rows = {}
        skipped, refused = [], []
        for uid, pod in found.items():
            choice = drain_steps.choose(pod, self.options["force"], self.options["delete_emptydir_data"])
            if choice.action == drain_steps.SKIP:
                skipped.append({**_place(pod), "reason": choice.reason})
            elif choice.action == drain_steps.REFUSE:
                refused.append(f"{_title(pod)} {choice.reason}")
            else:
                left[uid] = pod
        self.left[name] = left
        self.rows[name]["skipped"] = skipped
        return "; ".join(refused)

    def cordon(self, found: dict[str, nodes.Node]) -> None:
        """Cordon the nodes that are not cordoned yet."""
        holder = (self.options["lease"] or {}).get("holder") or socket.gethostname()
        for outcome in self.session.each(
            found.values(), lambda node: drain_steps.cordon(self.session, node, holder, self.check_mode)
        ):
            name, after = outcome.item.name, outcome.value
            absent = node_requests.absence(self.session, outcome.error)
            if absent:
                self.fail(name, absent.message, absent.state)
            elif after is None:
                self.fail(name, f"it was not cordoned and no pod was evicted: {outcome.why}")
            elif not after.unschedulable:
                self.fail(name, f"the API server did not store the cordon, and no pod was evicted: {_WEBHOOK}")
            else:
                by_us = drain_steps.cordoned_by_us(after) and not drain_steps.cordoned_by_us(outcome.item)
                self.rows[name].update(changed=by_us, cordoned=True)

    def evict(self, api_version: str) -> None:
        """Request the eviction of every pod that is not being deleted yet and whose next try is due."""
        now = time.monotonic()
        due: list[tuple[str, str]] = []
        for name, left in self.left.items():
            due += [(name, uid) for uid, pod in left.items() if self._is_due(uid, pod, now)]

        def request(item: tuple[str, str]) -> None:
            name, uid = item
            pod = (uid, self.left[name][uid])
            drain_steps.evict(self.session, api_version, pod, self.options["grace_period"], self.check_mode)

        for outcome in self.session.each(due, request):
            name, uid = outcome.item
            self.answers[uid] = answer = drain_steps.eviction_answer(outcome.error)
            self._due[uid] = time.monotonic() + (answer.again or 0.0)
            if answer.accepted:
                self._evicted(name, uid, self.left[name][uid])

    def _is_due(self, uid: str, pod: Json, now: float) -> bool:
        if pod["reason"] == TERMINATING:
            return False
        answer = self.answers.get(uid)
        return answer is None or (answer.may_try_again and now >= self._due[uid])

    def refresh(self) -> None:
        """List the pods of every node that has pods left (one LIST each), and close the nodes that are done."""
        for outcome in self.session.each(self.left, lambda name: pods.of_node(self.session, name)):
            if outcome.value is None:
                if not (outcome.error and outcome.error.transient):
                    self.fail(outcome.item, f"its pods could not be listed: {outcome.why}. {_STAYS}")
                continue
            self._note_lost(outcome.item, outcome.value)
            # New pods too: the scheduler may have bound them just before the cordon.
            late = self._sort(outcome.item, outcome.value)
            if late:
                self.fail(outcome.item, f"{late}. {_STAYS}")
        self.settle()

    def _note_lost(self, name: str, found: pods.Rows) -> None:
        """Count as evicted the pods that are being deleted and whose eviction had no answer."""
        for uid, pod in self.left[name].items():
            unanswered = uid in self.answers and self.answers[uid].lost
            if unanswered and (uid not in found or found[uid]["reason"] == TERMINATING):
                self._evicted(name, uid, pod)

    def _evicted(self, name: str, uid: str, pod: Json) -> None:
        self.answers[uid] = drain_steps.Answer(True)
        self.rows[name]["evicted"].append(_place(pod))
        self.rows[name]["changed"] = True

    def settle(self) -> None:
        """Close the nodes without pods, and those whose remaining pods cannot be evicted."""
        for name, left in list(self.left.items()):
            if not left:
                self._close(name)
            elif len(self._hopeless(left)) == len(left):
                self.fail(name, f"{self._account(left)}. {_STAYS}")

    def fail(self, name: str, message: str, state: str = "not_drained") -> None:
        """Close a node as failed."""
        self.failures[name] = message
        self.rows[name].update(ok=False, state=state, message=message)
        self.left.pop(name, None)

    def give_up(self, cause: str) -> None:
        """Close all open nodes as failed: the time is over, or another cause ends the drain."""
        for name, left in list(self.left.items()):
            self.fail(name, f"{cause}, and these pods are left: {self._account(left)}. {_STAYS}")

    def forecast(self) -> list[str]:
        """Close all open nodes of a dry run, and return as warnings what the drain would wait for."""
        warnings = []
        for name, left in list(self.left.items()):
            hopeless = self._hopeless(left)
            if hopeless:
                self.fail(name, self._account(hopeless))
                continue
            self._close(name)
            wait = {uid: pod for uid, pod in left.items() if uid in self.answers and self.answers[uid].may_try_again}
            if wait:
                self.rows[name]["message"] = f"would wait for {self._account(wait)}"
                warnings.append(f"{name}: {self.rows[name]['message']}")
        return warnings

    def _hopeless(self, left: pods.Rows) -> pods.Rows:
        """Return the pods that no further try can evict."""
        return {uid: pod for uid, pod in left.items() if uid in self.answers and self.answers[uid].again is None}

    def _close(self, name: str) -> None:
        row = self.rows[name]
        row["message"] = "no pod to evict"
        if row["evicted"]:
            row["message"] = f"{node_row.counted(len(row['evicted']), 'pod')} evicted"
        del self.left[name]

    def _account(self, left: pods.Rows) -> str:
        return "; ".join(f"{_title(pod)}: {self._why(uid, pod)}" for uid, pod in left.items())

    def _why(self, uid: str, pod: Json) -> str:
        answer = self.answers.get(uid)
        if pod["reason"] == TERMINATING or (answer and answer.accepted):
            return "it is still being deleted (a long grace period, a finalizer, or a kubelet that does not answer)"
        if answer is None:
            return "its eviction was not requested yet"
        return answer.message


def drain(session: Session, options: Json, check_mode: bool) -> Json:
    """Drain nodes, or undo that, and return a row for each node.

    Raises NodesFailed, which names every node that is not drained or restored, and why.
    """
    if not options["nodes"]:
        raise ClusterError("nodes is an empty list: name at least one node")
    keeper = Keeper(session, options["lease"], check_mode)
    found = node_requests.find(session, options["nodes"])
    keeper.keep()
    gone = node_requests.lost(session, dict.fromkeys(options["nodes"], ""), found)
    rows = {name: row.shown(cordoned=False, evicted=[], skipped=[]) for name, row in gone.items()}
    if options["state"] == "drained":
        return _drained(session, options, check_mode, found, rows, keeper)
    return _restored(session, check_mode, found, rows)


def _drained(
    session: Session,
    options: Json,
    check_mode: bool,
    found: dict[str, nodes.Node],
    gone: dict[str, Json],
    keeper: Keeper,
) -> Json:
    """Drain nodes; `gone` are the rows of those that are not there.

    Requests: those of `node_requests.read`, one GET; for each node two LISTs and at most one PATCH; for each pod one
    POST. While waiting: one LIST for each node, one POST for each pod whose eviction was refused.
    """
    deadline = time.monotonic() + options["timeout"]
    try:
        run = _Drain(session, options, pods.snapshot(session, list(found)), check_mode)
    except NodesFailed as error:
        raise NodesFailed(_UNTOUCHED, error.failures) from error
    if run.refused:
        for row in run.rows.values():
            row["state"] = "unchanged"
        for name, why in run.refused.items():
            run.fail(name, why)
        return without_failure(_UNTOUCHED, _result({**run.rows, **gone}, found))
    api_version = ""
    if any(run.left.values()):
        api_version = drain_steps.eviction_version(session)
    run.cordon(found)
    run.evict(api_version)
    warnings = []
    if check_mode:
        warnings = run.forecast()
    run.settle()
    _wait(run, keeper, api_version, deadline)
    result = _result({**run.rows, **gone}, found)
    if warnings:
        result["warnings"] = warnings
    if not result["stop"]:
        # The change that follows the drain must not disrupt the pods that are left.
        result["pods"] = pods.snapshot(session, [name for name in found if run.rows[name]["ok"]])
    return without_failure("draining", result)


def _wait(run: _Drain, keeper: Keeper, api_version: str, deadline: float) -> None:
    """List the pods that are left and evict them again until there are none or the time is over."""
    for pause in pauses(_FIRST_PAUSE, _LONGEST_PAUSE):
        if not run.left:
            return
        if time.monotonic() >= deadline:
            run.give_up(f"the timeout of {run.options['timeout']} s is over")
            return
        time.sleep(keeper.bounded_pause(min(pause, max(0.0, deadline - time.monotonic()))))
        try:
            keeper.keep()
            run.refresh()
            run.evict(api_version)
        except ClusterError as error:
            if not error.transient:
                run.give_up(error.message)


def _restored(session: Session, check_mode: bool, found: dict[str, nodes.Node], gone: dict[str, Json]) -> Json:
    """Undo the cordons of this collection: one LIST of nodes, at most one PATCH for each node."""
    rows: dict[str, Json] = {}
    for outcome in session.each(found.values(), lambda node: drain_steps.uncordon(session, node, check_mode)):
        before, after = outcome.item, outcome.value
        row = rows[before.name] = node_row.Row(True, "restored").shown(
            cordoned=before.unschedulable, evicted=[], skipped=[]
        )
        absent = node_requests.absence(session, outcome.error)
        if absent:
            row.update(absent.shown(cordoned=False))
        elif after is None:
            why = outcome.why
            row.update(ok=False, state="cordoned", message=f"it was not uncordoned: {why}; run again", error=why)
        elif after.cordoned is not None or (after.unschedulable and drain_steps.cordoned_by_us(before)):
            why = f"the API server did not store that it was uncordoned: {_WEBHOOK}"
            row.update(ok=False, state="cordoned", message=why)
        else:
            row.update(changed=before.cordoned is not None, cordoned=after.unschedulable)
            row["message"] = _uncordoned(before, after)
    return without_failure("restoring", _result({**rows, **gone}, found))


def _uncordoned(before: nodes.Node, after: nodes.Node) -> str:
    """Return what has become of the cordon of a node, in words."""
    if after.unschedulable:
        return "cordoned by another user or program; not changed"
    if before.cordoned is None:
        return "not cordoned"
    if before.unschedulable:
        return f"uncordoned; it was {drain_steps.cordon_in_words(before.cordoned)}"
    return "already uncordoned by another user or program; our mark was removed"


def _result(rows: dict[str, Json], found: dict[str, nodes.Node]) -> Json:
    for name, node in found.items():
        if rows[name]["state"] not in node_row.ABSENT:
            rows[name].update(delivery=node.delivery, source=node.source)
    changed = [name for name, row in rows.items() if row["changed"]]
    return {
        "changed": bool(changed),
        "stop": node_row.stops(rows),
        "nodes": rows,
        "summary": {
            "nodes": len(rows),
            "changed": len(changed),
            "failed": sum(not row["ok"] for row in rows.values()),
            "evicted": sum(len(row["evicted"]) for row in rows.values()),
        },
        "diff": [_diff(name, rows[name], found[name].unschedulable) for name in changed],
    }


def _diff(name: str, row: Json, unschedulable: bool) -> dict[str, str]:
    before, after = _unschedulable(unschedulable), _unschedulable(row["cordoned"])
    for pod in row["evicted"]:
        before += f"pod {_title(pod)}\n"
    return {"before_header": f"Node {name}", "after_header": f"Node {name}", "after": after, "before": before}


def _unschedulable(value: bool) -> str:
    return f"unschedulable: {str(value).lower()}\n"


def _place(pod: Json) -> dict[str, str]:
    return {"namespace": pod["namespace"], "name": pod["name"]}


def _title(pod: t.Mapping[str, t.Any]) -> str:
    return f"{pod['namespace']}/{pod['name']}"
