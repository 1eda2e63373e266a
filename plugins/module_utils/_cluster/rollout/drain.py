# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Cordon and drain nodes, all at once, and undo what of that was ours."""

from __future__ import annotations

import socket
import time
import typing as t

from ..._config.forecast.pod_loss import TERMINATING
from ..api import parallel, retry
from ..api.errors import ApiError, ClusterError, NodesFailed
from ..api.session import Session
from ..objects import nodes, pods
from ..objects.lease import Keeper
from . import cordon, evict

FIRST_PAUSE, LONGEST_PAUSE = 1.0, 5.0
STAYS = "It stays cordoned; state restored undoes that"
WEBHOOK = "does an admission webhook change Nodes?"
UNTOUCHED = "draining (no node was cordoned, no pod evicted)"


class _Drain:
    """Where each node stands: `left` are the pods that have to go, by uid, `said` what the API answered last for one of
    them.
    """

    def __init__(
        self, session: Session, options: dict[str, t.Any], listed: dict[str, pods.Rows], check_mode: bool
    ) -> None:
        self.session = session
        self.options = options
        self.check_mode = check_mode
        self.rows: dict[str, dict[str, t.Any]] = {
            name: {"changed": False, "cordoned": False, "evicted": [], "skipped": [], "message": ""} for name in listed
        }
        self.failures: dict[str, str] = {}
        self.left: dict[str, pods.Rows] = {}
        self.said: dict[str, evict.Answer] = {}
        self._due: dict[str, float] = {}
        self.refused = {name: why for name, found in listed.items() for why in [self._sort(name, found)] if why}

    def _sort(self, name: str, found: pods.Rows) -> str:
        """Note what is to go from a node and what stays; return why some pods cannot go, empty when all can."""
        choices = {
            uid: evict.choose(pod, self.options["force"], self.options["delete_emptydir_data"])
            for uid, pod in found.items()
        }
        self.left[name] = {
            uid: found[uid] for uid, choice in choices.items() if choice.action in (evict.EVICT, evict.WAIT)
        }
        self.rows[name]["skipped"] = [
            {**_place(found[uid]), "reason": choice.reason}
            for uid, choice in choices.items()
            if choice.action == evict.SKIP
        ]
        return "; ".join(
            f"{_title(found[uid])} {choice.reason}" for uid, choice in choices.items() if choice.action == evict.REFUSE
        )

    def cordon(self, found: dict[str, nodes.Node]) -> None:
        """Cordon what is not cordoned yet."""
        holder = (self.options["lease"] or {}).get("holder") or socket.gethostname()
        for outcome in parallel.each(
            list(found.values()),
            lambda node: cordon.cordon(self.session, node, holder, self.check_mode),
            self.session.concurrency,
        ):
            name, after = outcome.item.name, outcome.value
            if after is None:
                self.fail(
                    name,
                    f"it was not cordoned, and no pod of it evicted: {outcome.error.message if outcome.error else 'no answer'}",
                )
            elif not after.unschedulable:
                self.fail(
                    name, f"it was cordoned, and the API server did not store that: {WEBHOOK} No pod of it was evicted"
                )
            else:
                self.rows[name].update(changed=cordon.ours(after) and not cordon.ours(outcome.item), cordoned=True)

    def evict(self, api_version: str) -> None:
        """Ask for the eviction of every pod that is not going yet and may be asked for again."""
        now = time.monotonic()
        asked = [
            (name, uid) for name, left in self.left.items() for uid, pod in left.items() if self._askable(uid, pod, now)
        ]

        def ask(item: tuple[str, str]) -> None:
            evict.evict(
                self.session,
                api_version,
                (item[1], self.left[item[0]][item[1]]),
                self.options["grace_period"],
                self.check_mode,
            )

        for outcome in parallel.each(asked, ask, self.session.concurrency):
            name, uid = outcome.item
            self.said[uid] = answer = evict.meaning(outcome.error)
            self._due[uid] = time.monotonic() + (answer.again or 0.0)
            if answer.accepted:
                self._evicted(name, uid, self.left[name][uid])

    def _askable(self, uid: str, pod: dict[str, t.Any], now: float) -> bool:
        said = self.said.get(uid)
        return pod["reason"] != TERMINATING and (
            said is None or (not said.accepted and said.again is not None and now >= self._due[uid])
        )

    def look(self) -> None:
        """List the pods of every node that has some left (one LIST each); close the nodes that are done, or where
        nothing is left to wait for.
        """
        for outcome in parallel.each(
            list(self.left), lambda name: pods.of_node(self.session, name), self.session.concurrency
        ):
            if outcome.value is None:
                if not isinstance(outcome.error, ApiError) or not outcome.error.transient:
                    self.fail(
                        outcome.item,
                        f"its pods could not be listed: {outcome.error.message if outcome.error else 'no answer'}. {STAYS}",
                    )
                continue
            self._note_lost(outcome.item, outcome.value)
            # Also what was bound to the node in the moment it was cordoned.
            late = self._sort(outcome.item, outcome.value)
            if late:
                self.fail(outcome.item, f"{late}. {STAYS}")
        self.settle()

    def _note_lost(self, name: str, found: pods.Rows) -> None:
        """Count among the evicted the pods that go, and of whose eviction the answer was lost."""
        for uid, pod in self.left[name].items():
            if (
                uid in self.said
                and self.said[uid].lost
                and found.get(uid, {"reason": TERMINATING})["reason"] == TERMINATING
            ):
                self._evicted(name, uid, pod)

    def _evicted(self, name: str, uid: str, pod: dict[str, t.Any]) -> None:
        self.said[uid] = evict.Answer(True)
        self.rows[name]["evicted"].append(_place(pod))
        self.rows[name]["changed"] = True

    def settle(self) -> None:
        """Close the nodes whose pods are gone, and those where all that is left will not go."""
        for name, left in list(self.left.items()):
            hopeless = [uid for uid in left if uid in self.said and self.said[uid].again is None]
            if not left:
                self._close(name)
            elif len(hopeless) == len(left):
                self.fail(name, f"{self._account(left)}. {STAYS}")

    def fail(self, name: str, message: str) -> None:
        """Give a node up."""
        self.failures[name] = self.rows[name]["message"] = message
        self.left.pop(name, None)

    def give_up(self, cause: str) -> None:
        """The time is over, or something else ends it for all."""
        for name, left in list(self.left.items()):
            self.fail(name, f"{cause}, and these pods are left: {self._account(left)}. {STAYS}")

    def forecast(self) -> list[str]:
        """Say of a dry run what would be waited for; return that as warnings."""
        warnings = []
        for name, left in list(self.left.items()):
            wait = {
                uid: pod
                for uid, pod in left.items()
                if uid in self.said and not self.said[uid].accepted and self.said[uid].again is not None
            }
            hopeless = {uid: pod for uid, pod in left.items() if uid in self.said and self.said[uid].again is None}
            if hopeless:
                self.fail(name, self._account(hopeless))
                continue
            self._close(name)
            if wait:
                self.rows[name]["message"] = f"would wait for {self._account(wait)}"
                warnings.append(f"{name}: {self.rows[name]['message']}")
        return warnings

    def _close(self, name: str) -> None:
        row = self.rows[name]
        row["message"] = f"{len(row['evicted'])} pods evicted" if row["evicted"] else "no pod to evict"
        del self.left[name]

    def _account(self, left: pods.Rows) -> str:
        return "; ".join(f"{_title(pod)}: {self._why(uid, pod)}" for uid, pod in left.items())

    def _why(self, uid: str, pod: dict[str, t.Any]) -> str:
        said = self.said.get(uid)
        if pod["reason"] == TERMINATING or (said and said.accepted):
            return "it is being deleted and not gone yet (a long grace period, a finalizer, or a kubelet that does not answer)"
        return said.message if said else "its eviction was not asked for yet"


def drain(session: Session, options: dict[str, t.Any], check_mode: bool) -> dict[str, t.Any]:
    """Drain nodes, or undo that; return a row a node. Raises NodesFailed naming every node that is not drained or
    restored, and why.
    """
    if not options["nodes"]:
        raise ClusterError("nodes is an empty list: name at least one node")
    keeper = Keeper(session, None if check_mode else options["lease"])
    keeper.keep()
    found = nodes.read(session, options["nodes"])
    return (
        _drained(session, options, check_mode, found, keeper)
        if options["state"] == "drained"
        else _restored(session, check_mode, found)
    )


def _drained(
    session: Session, options: dict[str, t.Any], check_mode: bool, found: dict[str, nodes.Node], keeper: Keeper
) -> dict[str, t.Any]:
    """Requests: a LIST of nodes, a GET, two LISTs and at most a PATCH a node, a POST a pod; waiting, a LIST a node, and
    a POST a pod that was not let go.
    """
    deadline = time.monotonic() + options["timeout"]
    try:
        run = _Drain(session, options, pods.snapshot(session, list(found)), check_mode)
    except NodesFailed as error:
        raise NodesFailed(UNTOUCHED, error.failures) from error
    if run.refused:
        rows = {name: {**row, "message": run.refused.get(name, "")} for name, row in run.rows.items()}
        raise NodesFailed(UNTOUCHED, run.refused, _result(rows, found, run.refused))
    api_version = evict.version(session) if any(run.left.values()) else ""
    run.cordon(found)
    run.evict(api_version)
    warnings = run.forecast() if check_mode else []
    run.settle()
    for pause in retry.pauses(FIRST_PAUSE, LONGEST_PAUSE):
        if not run.left:
            break
        if time.monotonic() >= deadline:
            run.give_up(f"{options['timeout']} s are over")
            break
        time.sleep(keeper.nap(min(pause, max(0.0, deadline - time.monotonic()))))
        try:
            keeper.keep()
            run.look()
            run.evict(api_version)
        except ClusterError as error:
            if not isinstance(error, ApiError) or not error.transient:
                run.give_up(error.message)
    result = {**_result(run.rows, found, run.failures), **({"warnings": warnings} if warnings else {})}
    if run.failures:
        raise NodesFailed("draining", run.failures, result)
    # What is left is what the change that the drain was for must not cost.
    result["pods"] = pods.snapshot(session, list(found))
    return result


def _restored(session: Session, check_mode: bool, found: dict[str, nodes.Node]) -> dict[str, t.Any]:
    """Requests: a LIST of nodes, at most a PATCH a node."""
    rows: dict[str, dict[str, t.Any]] = {}
    failures = {}
    for outcome in parallel.each(
        list(found.values()), lambda node: cordon.uncordon(session, node, check_mode), session.concurrency
    ):
        before, after = outcome.item, outcome.value
        row = rows[before.name] = {
            "changed": False,
            "cordoned": before.unschedulable,
            "evicted": [],
            "skipped": [],
            "message": "not cordoned",
        }
        if after is None:
            failures[before.name] = row["message"] = (
                f"it was not uncordoned: {outcome.error.message if outcome.error else 'no answer'}; run again"
            )
        elif after.cordoned is not None or (after.unschedulable and cordon.ours(before)):
            failures[before.name] = row["message"] = (
                f"it was uncordoned, and the API server did not store that: {WEBHOOK}"
            )
        else:
            row.update(changed=before.cordoned is not None, cordoned=after.unschedulable)
            if after.unschedulable:
                row["message"] = "cordoned by somebody else: it stays so"
            elif before.cordoned is not None:
                row["message"] = (
                    "uncordoned"
                    if before.unschedulable
                    else "uncordoned by somebody else already; our mark was taken away"
                )
    result = _result(rows, found, failures)
    if failures:
        raise NodesFailed("restoring", failures, result)
    return result


def _result(
    rows: dict[str, dict[str, t.Any]], found: dict[str, nodes.Node], failures: t.Collection[str]
) -> dict[str, t.Any]:
    changed = [name for name, row in rows.items() if row["changed"]]
    return {
        "changed": bool(changed),
        "nodes": rows,
        "summary": {
            "nodes": len(rows),
            "changed": len(changed),
            "failed": len(failures),
            "evicted": sum(len(row["evicted"]) for row in rows.values()),
        },
        "diff": [
            {
                "before_header": f"Node {name}",
                "after_header": f"Node {name}",
                "after": _shown(rows[name]["cordoned"], ()),
                "before": _shown(found[name].unschedulable, rows[name]["evicted"]),
            }
            for name in changed
        ],
    }


def _shown(unschedulable: bool, evicted: t.Iterable[dict[str, str]]) -> str:
    return "".join([f"unschedulable: {str(unschedulable).lower()}\n", *(f"pod {_title(pod)}\n" for pod in evicted)])


def _place(pod: dict[str, t.Any]) -> dict[str, str]:
    return {"namespace": pod["namespace"], "name": pod["name"]}


def _title(pod: t.Mapping[str, t.Any]) -> str:
    return f"{pod['namespace']}/{pod['name']}"
