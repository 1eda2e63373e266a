# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is known of a rollout so far: nodes, batches, plan and how it ended. Knows no Ansible, no clock and no files."""

from __future__ import annotations

import json
import typing as t

from . import events

TO_DO, RUNNING, DONE, FAILED, REVERTED, UNTOUCHED, UNCHANGED, UNFINISHED = (
    "waiting",
    "running",
    "done",
    "failed",
    "reverted",
    "untouched",
    "unchanged",
    "unfinished",
)
STATES = (FAILED, REVERTED, UNFINISHED, RUNNING, DONE, UNTOUCHED, TO_DO, UNCHANGED)
"""Worst first. `waiting` and `running` are states of a rollout that goes on, `untouched` and `unfinished` what becomes
of them.
"""


class Node:
    """One node. `steps` holds seconds since the epoch by step, in the order they happened."""

    __slots__ = ("batch", "cause", "change", "delivery", "name", "steps", "to_change", "verdict")

    def __init__(self, name: str) -> None:
        self.name = name
        self.batch = 0
        self.steps: dict[str, float] = {}
        self.cause: str | None = None
        self.verdict = ""
        self.change: int | None = None
        self.delivery = ""
        self.to_change = True
        """Whether something is to be done here; true as well for a node that no plan has spoken of."""

    def state(self, ended: bool) -> str:
        """Return one of STATES."""
        if self.cause is not None:
            return REVERTED if "reverted" in self.steps else FAILED
        if (
            "confirmed" in self.steps
            or ("verified" in self.steps and self.delivery != "checkpoint")
            or "reverted" in self.steps
        ):
            return DONE
        if self.steps.keys() - {"restored"} or (self.batch and self.to_change):
            return UNFINISHED if ended else RUNNING
        if self.to_change:
            return UNTOUCHED if ended else TO_DO
        return UNCHANGED


class Batch:
    """Nodes that change together. Times in seconds since the epoch."""

    def __init__(self, number: int, began: float) -> None:
        self.number = number
        self.began = self.ended = began
        self.nodes: list[str] = []


class Rollout:
    """A rollout as its events tell it."""

    def __init__(self, began: float) -> None:
        self.began = self.ended = began
        self.group = ""
        self.check_mode = False
        self.nodes: dict[str, Node] = {}
        self.batches: list[Batch] = []
        self.current: Batch | None = None
        self.changes: list[dict[str, t.Any]] = []
        self.forecast: dict[str, t.Any] | None = None
        self.messages: list[str] = []
        self.paused: dict[str, t.Any] | None = None
        self.outcome = "running"
        self._known: dict[str, int] = {}

    def apply(self, event: events.Event, at: float) -> bool:
        """Take an event in; return whether it is a failure that was not known yet."""
        self.ended = max(self.ended, at)
        if event.kind == events.PLAN:
            self._plan(event.detail)
        elif event.kind == events.FORECAST:
            self.forecast = event.detail
        elif event.kind == events.GROUP:
            self.group = event.message
        elif event.kind == events.BATCH:
            self.close()
            if not self.check_mode:
                self._open(at, event.detail)
        elif event.kind == events.PAUSED:
            self.paused = {**event.detail, "message": event.message}
        elif event.kind == events.REFUSED or (event.kind == events.FAILED and self._said(event.message)):
            self._refuse(event.message)
        elif event.kind == events.DELIVERY:
            self.node(event.node).delivery = event.detail
        elif event.kind == events.FAILED:
            return self._fail(self.node(event.node), event, at)
        elif event.kind == events.NOT_REVERTED:
            return self._stay(self.node(event.node), event, at)
        elif event.kind in events.STEPS and not self.check_mode:
            self._step(self.node(event.node), event, at)
        return False

    def node(self, name: str) -> Node:
        """Return a node, made when it is new."""
        if name not in self.nodes:
            self.nodes[name] = Node(name)
        return self.nodes[name]

    def close(self) -> Batch | None:
        """The current batch is over; return it."""
        closed, self.current = self.current, None
        return closed

    def end(self, at: float, outcome: str = "") -> None:
        """The run is over: by itself, or with the outcome given."""
        self.ended = max(self.ended, at)
        states = {node.state(ended=True) for node in self.nodes.values()}
        if outcome:
            self.outcome = outcome
        elif states & {FAILED, REVERTED}:
            self.outcome = "failed"
        elif self.paused:
            self.outcome = "paused"
        elif self.messages:
            self.outcome = "refused"
        else:
            self.outcome = "failed" if UNFINISHED in states and not self.check_mode else "done"

    def count(self, batch: Batch | None = None) -> dict[str, int]:
        """Count nodes by state, of one batch or all; states that nobody is in are left out."""
        counts = dict.fromkeys(STATES, 0)
        for node in self.nodes.values() if batch is None else map(self.node, batch.nodes):
            counts[node.state(self.outcome != "running")] += 1
        return {state: number for state, number in counts.items() if number}

    def seconds_left(self, at: float) -> float | None:
        """Return how long the nodes that wait will take, by what those before them took; None before the first batch is
        over.
        """
        counts = self.count()
        over = sum(counts.get(state, 0) for state in (DONE, FAILED, REVERTED))
        left = counts.get(TO_DO, 0) + counts.get(RUNNING, 0)
        finished = [batch for batch in self.batches if batch is not self.current]
        return (at - self.batches[0].began) / over * left if finished and over and left else None

    def _open(self, at: float, names: t.Iterable[str] = ()) -> Batch:
        self.current = Batch(len(self.batches) + 1, at)
        self.batches.append(self.current)
        for name in names:
            self._join(self.node(name), self.current)
        return self.current

    @staticmethod
    def _join(node: Node, batch: Batch) -> None:
        if not node.batch:
            node.batch = batch.number
            batch.nodes.append(node.name)

    def _step(self, node: Node, event: events.Event, at: float) -> None:
        step = event.kind
        if node.cause is not None and step in ("verified", "soaked", "confirmed"):
            # After a failure that is the proof of the way back.
            step = "reverted"
        elif node.cause is not None and step in ("staged", "switched", "restarted"):
            return
        if not node.batch and step != "restored":
            self._join(node, self.current or self._open(at))
        node.steps.setdefault(step, at)
        if node.batch:
            batch = self.batches[node.batch - 1]
            batch.ended = max(batch.ended, at)

    def _fail(self, node: Node, event: events.Event, at: float) -> bool:
        if node.cause is not None:
            return False
        node.steps[events.FAILED] = at
        node.cause, node.verdict = event.message or "failed without a message", event.state
        return True

    def _stay(self, node: Node, event: events.Event, at: float) -> bool:
        """A node that failed is not back, whatever else was said of it."""
        node.steps.pop("reverted", None)
        if node.cause is None:
            return self._fail(node, event, at)
        node.cause = f"{node.cause}; {event.message}"
        return True

    def _said(self, words: str) -> bool:
        """Whether this repeats, with more words, why the rollout was stopped or paused: no failure of the host that says it."""
        return any(message and message in words for message in [*self.messages, (self.paused or {}).get("message")])

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
            changes, problems = row.get("changes") or [], row.get("problems") or []
            if not node.to_change and not problems:
                continue
            # Nodes with the same to do share one entry, whatever their variants.
            way = str(row.get("text") or "")
            key = json.dumps([row.get("effect"), changes, problems, way], sort_keys=True, default=str)
            if key not in self._known:
                self._known[key] = len(self.changes)
                self.changes.append(
                    {
                        "effect": row.get("effect"),
                        "changes": changes,
                        "problems": problems,
                        "text": way,
                        "variants": [],
                        "nodes": 0,
                    }
                )
            if node.change is None:
                node.change = self._known[key]
                entry = self.changes[node.change]
                entry["nodes"] += 1
                if row.get("configmap") and row["configmap"] not in entry["variants"]:
                    entry["variants"].append(row["configmap"])
