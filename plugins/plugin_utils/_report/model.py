# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The state of a rollout: nodes, batches, plan and outcome. Uses neither Ansible nor a clock nor files."""

from __future__ import annotations

import collections
import json
import typing as t

from ...module_utils._config import delivery as deliveries
from . import events

TO_DO, RUNNING, DONE = "waiting", "running", "done"
FAILED, REVERTED, REFUSED = "failed", "reverted", "refused"
UNTOUCHED, UNCHANGED, UNFINISHED = "untouched", "unchanged", "unfinished"
FAILURES = (FAILED, REVERTED, REFUSED)
"""A node that refused the configuration before it was switched was never changed, so it is not reverted."""
STATES = (*FAILURES, UNFINISHED, RUNNING, DONE, UNTOUCHED, TO_DO, UNCHANGED)
"""Worst first. At the end of a rollout, `waiting` becomes `untouched` and `running` becomes `unfinished`."""


def failed(counts: t.Mapping[str, int]) -> int:
    """Return how many nodes have failed, from the number of nodes by state."""
    return sum(counts.get(state, 0) for state in FAILURES)


class ReportedNode:
    """A node. `steps` holds seconds since the epoch by step, in the order of the steps."""

    __slots__ = ("batch", "cause", "change", "delivery", "kept", "name", "next_change", "steps", "to_change", "verdict")

    def __init__(self, name: str) -> None:
        self.name = name
        self.batch = 0
        self.steps: dict[str, float] = {}
        self.cause: str | None = None
        self.verdict = ""
        self.change: int | None = None
        self.next_change: int | None = None
        """What a second rollout of the run changes, once the first one has begun with the node."""
        self.delivery = ""
        self.kept = False
        """Whether a failed node was found to have kept its configuration."""
        self.to_change = True
        """Whether the node must change; also true for a node without a plan."""

    def again(self) -> ReportedNode:
        """Return this node with its plan, before its first step."""
        node = ReportedNode(self.name)
        node.change, node.delivery, node.to_change = self.change, self.delivery, self.to_change
        if self.next_change is not None:
            node.change = self.next_change
        return node

    def has_begun(self) -> bool:
        """Return whether a batch has changed the node."""
        return bool(self.batch and self.steps)

    def state(self, ended: bool) -> str:
        """Return one of STATES."""
        if self.cause is not None and "reverted" in self.steps:
            return REVERTED
        if self.cause is not None:
            return REFUSED if self.kept else FAILED
        if self._is_done():
            return DONE
        if self.steps.keys() - {"restored"} or (self.batch and self.to_change):
            return UNFINISHED if ended else RUNNING
        if self.to_change:
            return UNTOUCHED if ended else TO_DO
        return UNCHANGED

    def _is_done(self) -> bool:
        if "confirmed" in self.steps or "reverted" in self.steps:
            return True
        return "verified" in self.steps and not deliveries.of(self.delivery).on_node


class Batch:
    """Nodes that change together. Times in seconds since the epoch."""

    def __init__(self, number: int, began: float) -> None:
        self.number = number
        self.began = self.ended = began
        self.nodes: list[ReportedNode] = []


class Rollout:
    """The state of a rollout according to its events."""

    def __init__(self, began: float) -> None:
        self.began = self.ended = began
        self.group = ""
        self.check_mode = False
        self.nodes: dict[str, ReportedNode] = {}
        self.batches: list[Batch] = []
        self.current: Batch | None = None
        self.changes: list[dict[str, t.Any]] = []
        self.forecast: dict[str, t.Any] | None = None
        self.messages: list[str] = []
        self.paused: dict[str, t.Any] | None = None
        self.outcome = "running"
        self._groups: dict[str, None] = {}
        self._past: dict[str, t.Any] = {"summary": {}, "text": []}
        """The forecasts of the rollouts of the run that have begun, in one."""
        self._known: dict[str, int] = {}
        self._planned: set[str] = set()
        """Nodes whose change is known from the present playbook, of several in one run."""

    def apply(self, event: events.Event, at: float) -> bool:
        """Apply an event and return whether it is a new failure."""
        self.ended = max(self.ended, at)
        if event.kind == events.BEGUN:
            self._planned.clear()
        elif event.kind == events.PLAN:
            self._plan(event.detail)
        elif event.kind == events.FORECAST:
            self._add_forecast(event.detail)
        elif event.kind == events.GROUP:
            self._groups[event.message] = None
            self.group = ", ".join(self._groups)
        elif event.kind == events.BATCH:
            self._begin_batch(event.detail, at)
        elif event.kind == events.PAUSED:
            self.paused = {**event.detail, "message": event.message}
        elif event.kind == events.REFUSED or (event.kind == events.FAILED and self._repeats(event.message)):
            self._refuse(event.message)
        elif event.kind not in events.STEPS or not self.check_mode:
            return self._of_node(self.node(event.node), event, at)
        return False

    def _add_forecast(self, later: dict[str, t.Any]) -> None:
        summary = collections.Counter(self._past["summary"])
        summary.update(later["summary"])
        self.forecast = {"summary": dict(summary), "text": [*self._past["text"], *later["text"]]}

    def _begin_batch(self, detail: t.Any, at: float) -> None:
        self._past = self.forecast or self._past
        self.close()
        if not self.check_mode:
            self._open(at, detail)

    def node(self, name: str) -> ReportedNode:
        """Return a node; it is created if it is new."""
        if name not in self.nodes:
            self.nodes[name] = ReportedNode(name)
        return self.nodes[name]

    def close(self) -> Batch | None:
        """End the current batch and return it."""
        closed, self.current = self.current, None
        return closed

    def end(self, at: float, outcome: str = "") -> None:
        """End the rollout, with the outcome that its events imply or with the given one."""
        self.ended = max(self.ended, at)
        states = {node.state(ended=True) for node in self.nodes.values()}
        if outcome:
            self.outcome = outcome
        elif states & set(FAILURES):
            self.outcome = "failed"
        elif self.paused:
            self.outcome = "paused"
        elif self.messages:
            self.outcome = "refused"
        elif UNFINISHED in states and not self.check_mode:
            self.outcome = "failed"
        else:
            self.outcome = "done"

    def count(self, batch: Batch | None = None) -> dict[str, int]:
        """Return the number of nodes by state, of one batch or of all; states without nodes are omitted."""
        counts = dict.fromkeys(STATES, 0)
        ended = self.outcome != "running"
        nodes = self.nodes.values() if batch is None else batch.nodes
        for node in nodes:
            counts[node.state(ended)] += 1
        return {state: number for state, number in counts.items() if number}

    def seconds_left(self, at: float) -> float | None:
        """Return the estimated seconds for the remaining nodes; None before the end of the first batch."""
        counts = self.count()
        over = counts.get(DONE, 0) + failed(counts)
        left = counts.get(TO_DO, 0) + counts.get(RUNNING, 0)
        has_finished = any(batch is not self.current for batch in self.batches)
        if not has_finished or not over or not left:
            return None
        return (at - self.batches[0].began) / over * left

    def _open(self, at: float, names: t.Sequence[str] = ()) -> Batch:
        self.current = Batch(len(self.batches) + 1, at)
        self.batches.append(self.current)
        joining = set(names)
        # A second rollout of the run; the batch of the first one keeps what it did.
        for name, node in self.nodes.items():
            if node.has_begun() and (name in joining or node.next_change is not None):
                self.nodes[name] = node.again()
        for name in names:
            self._join(self.node(name), self.current)
        return self.current

    @staticmethod
    def _join(node: ReportedNode, batch: Batch) -> None:
        if not node.batch:
            node.batch = batch.number
            batch.nodes.append(node)

    def _of_node(self, node: ReportedNode, event: events.Event, at: float) -> bool:
        """Apply an event of one node and return whether it is a new failure."""
        if event.kind == events.FAILED:
            return self._fail(node, event, at)
        if event.kind == events.NOT_REVERTED:
            return self._stay(node, event, at)
        if event.kind == events.DELIVERY:
            node.delivery = event.detail
        elif event.kind == events.KEPT:
            self._keep(node, event, at)
        else:
            self._step(node, event, at)
        return False

    def _step(self, node: ReportedNode, event: events.Event, at: float) -> None:
        step = event.kind
        if node.cause is not None and step in ("verified", "soaked", "confirmed"):
            # After a failure, this step verifies the revert.
            step = "reverted"
        elif node.cause is not None and step in ("staged", "switched", "restarted"):
            return
        if not node.batch and step != "restored":
            self._join(node, self.current or self._open(at))
        node.steps.setdefault(step, at)
        if node.batch:
            batch = self.batches[node.batch - 1]
            batch.ended = max(batch.ended, at)

    def _fail(self, node: ReportedNode, event: events.Event, at: float) -> bool:
        if node.cause is not None:
            return False
        node.steps[events.FAILED] = at
        node.cause, node.verdict = event.message or "failed without a message", event.state
        return True

    def _keep(self, node: ReportedNode, event: events.Event, at: float) -> None:
        """Record that a failed node has its configuration still, or again if it was switched."""
        if "switched" in node.steps and not self.check_mode:
            self._step(node, event._replace(kind="reverted"), at)
        node.kept = True

    def _stay(self, node: ReportedNode, event: events.Event, at: float) -> bool:
        """Record that a failed node is not reverted, even if an earlier event reported a revert."""
        node.steps.pop("reverted", None)
        node.kept = False
        if node.cause is None:
            return self._fail(node, event, at)
        node.cause = f"{node.cause}; {event.message}"
        return True

    def _repeats(self, words: str) -> bool:
        """Return whether a message repeats, with more words, why the rollout was stopped or paused.

        Such a message is not a failure of the host that reports it.
        """
        paused = (self.paused or {}).get("message")
        return bool(paused and paused in words) or any(message and message in words for message in self.messages)

    def _refuse(self, words: str) -> None:
        if self.paused and self.paused["message"] and self.paused["message"] in words:
            self.paused["message"] = words
        elif not any(words in message for message in self.messages):
            self.messages = [message for message in self.messages if message not in words] + [words]

    def _plan(self, plan: t.Mapping[str, t.Any]) -> None:
        for name, row in plan["nodes"].items():
            if not isinstance(row, dict):
                continue
            node = self.node(str(name))
            node.to_change = row.get("action") != "none"
            # A rollback and a reset are planned by field before the targets of their nodes are listed.
            if node.name not in self._planned and (node.to_change or row.get("problems")):
                self._planned.add(node.name)
                self._put_change(node, row)

    def _put_change(self, node: ReportedNode, row: dict[str, t.Any]) -> None:
        if node.has_begun():
            node.next_change = self._change(row)
            return
        if node.change is not None:
            # That of a playbook that has not changed the node, such as `plan` before a rollout.
            self.changes[node.change]["nodes"] -= 1
        node.change = self._change(row)

    def _change(self, row: dict[str, t.Any]) -> int:
        """Return which entry of the changes this row has, and count it there.

        Nodes with the same changes share one entry, even if their variants differ.
        """
        same = {
            "effect": row.get("effect"),
            "changes": row.get("changes") or [],
            "problems": row.get("problems") or [],
            "text": str(row.get("text") or ""),
        }
        key = json.dumps(list(same.values()), sort_keys=True, default=str)
        if key not in self._known:
            self._known[key] = len(self.changes)
            self.changes.append({**same, "variants": [], "nodes": 0})
        entry = self.changes[self._known[key]]
        entry["nodes"] += 1
        if row.get("configmap") and row["configmap"] not in entry["variants"]:
            entry["variants"].append(row["configmap"])
        return self._known[key]
