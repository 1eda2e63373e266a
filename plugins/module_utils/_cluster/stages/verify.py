# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stage verify: waits until every node runs what it should, and reports the exact obstacle for each that does not.

Each poll is one LIST for all nodes, or one GET for each if they are few of many. The live configuration of a node is
read once its status shows the source as active.
"""

from __future__ import annotations

import dataclasses
import time
import typing as t

from ..._config import delivery as deliveries
from ..._config.drift import explained
from ..._config.fields import difftext, fields, overlay
from ..._config.rules import checks, start_rules
from ..._config.values import node_row
from ..._config.values.reference import same_place
from ..api import parallel
from ..api.errors import ApiError, ClusterError, NodesFailed
from ..api.session import Session
from ..objects import config_sources, kubelets, node_requests, nodes
from ..objects.lease import Keeper
from ..objects.lease_objects import LeaseLost
from . import diagnose, verdict
from .expected import Expected, changed_beside

# Many kubelets are ready after a second, and each batch waits for the next poll. So the first pause is short, and each
# later one is the wait so far divided by _SHARE.
_FIRST_PAUSE, _SHARE = 0.1, 10


class Watch:
    """The nodes that are waited for, and the current verdict on each."""

    def __init__(
        self,
        session: Session,
        wanted: dict[str, config_sources.Wanted] | None,
        names: t.Collection[str],
        delivery: str,
        before: t.Any = None,
        hosts: t.Mapping[str, t.Any] | None = None,
        recreated: t.Collection[str] = (),
    ) -> None:
        self.session = session
        self._before = before
        self._hosts = hosts or {}
        # Their status may be that of the ConfigMap of the same name before.
        self._recreated = recreated
        self.beside: dict[str, list[dict[str, t.Any]]] = {}
        found = node_requests.find(session, names)
        uids = {name: wanted[name].uid if wanted is not None else "" for name in names}
        self.verdicts = {name: _lost(row) for name, row in node_requests.lost(session, uids, found).items()}
        found = {name: node for name, node in found.items() if name not in self.verdicts}
        self.deliveries = {name: wanted[name].delivery if wanted is not None else delivery for name in found}
        self.nodes = self._seen(found)
        named = {
            name: (wanted[name].source if wanted is not None else node.source) for name, node in self.nodes.items()
        }
        distinct = {nodes.describe(source): source for source in named.values() if source}
        read = parallel.each(list(distinct.items()), lambda item: Expected(session, item[1]), session.concurrency)
        for outcome in read:
            if outcome.error:
                raise outcome.error
        known = {outcome.item[0]: outcome.value for outcome in read}
        self.expected: dict[str, Expected | None] = {
            name: known[nodes.describe(source)] if source else None for name, source in named.items()
        }
        self.differences: dict[str, list[dict[str, t.Any]]] = {name: [] for name in found}

    def _seen(self, found: dict[str, nodes.Node]) -> dict[str, nodes.Node]:
        return {name: node.seen_as(self.deliveries[name]) for name, node in found.items()}

    @property
    def waiting(self) -> list[str]:
        """The nodes whose verdict may still change."""
        return [
            name
            for name in self.nodes
            if name not in self.verdicts or not (self.verdicts[name].final or verdict.ok(self.verdicts[name]))
        ]

    def unread_by(self, name: str) -> str:
        """Return the field with which the kubelet of a node serves no /configz, empty if it serves one."""
        expected = self.expected[name]
        return start_rules.unread_by(expected.config) if expected else ""

    def forget(self, names: t.Iterable[str]) -> None:
        """Drop the verdicts on nodes, so that they are judged again."""
        for name in names:
            self.verdicts.pop(name, None)

    def judge(self, live: bool = True, beaten: bool = False) -> None:
        """Judge every waiting node by the last read; `live` compares the live configuration if the status is good.

        `beaten`: the heartbeats of the kubelets were seen when the nodes were verified.
        """
        answering: dict[str, verdict.Verdict] = {}
        for name in self.waiting:
            expected, node = self.expected[name], self.nodes[name]
            if expected and not expected.reference and not node.on_node and same_place(node.source, expected.source):
                self.verdicts[name] = diagnose.missing(expected.source, node)
                continue
            found = verdict.judge(node, _reference(node, expected) if expected else None, beaten)
            unread_by = self.unread_by(name)
            if verdict.ok(found) and unread_by:
                self.verdicts[name] = verdict.by_status(found, unread_by)
            elif verdict.ok(found) and live:
                answering[name] = found
            else:
                self.verdicts[name] = (
                    diagnose.refusal(found, expected.fault(node.minor), self._problems(name))
                    if found.state == "fell_back" and expected
                    else found
                )
        for outcome in parallel.each(
            list(answering),
            lambda name: kubelets.configz(self.session, name, self.nodes[name].minor),
            self.session.concurrency,
        ):
            self.verdicts[outcome.item] = self._live(outcome.item, answering[outcome.item], outcome)
        for name, seen in self.verdicts.items():
            if name in self._recreated and seen.state in ("fell_back", "differs"):
                self.verdicts[name] = dataclasses.replace(seen, final=False)

    def _live(
        self, name: str, found: verdict.Verdict, outcome: parallel.Outcome[str, dict[str, t.Any]]
    ) -> verdict.Verdict:
        """Return the verdict after comparing the live configuration with the one that the status names."""
        expected = self.expected[name]
        message = outcome.error.message if outcome.error else "its /configz is empty"
        absent = node_requests.absence(self.session, outcome.error)
        if absent:
            return _lost(absent)
        if isinstance(outcome.error, ApiError) and outcome.error.transient:
            # An empty status alone is no evidence: a kubelet in a crash loop never reports its assignment.
            return verdict.Verdict(
                "not_ready", f"its config is {'active' if expected else 'local by its status'}, but {message}"
            )
        if expected is None:
            return found
        if outcome.value is None:
            return verdict.Verdict(
                "differs", f"its config is active but cannot be compared with the live one: {message}", True
            )
        fault = expected.fault(self.nodes[name].minor)
        if expected.config is None or fault:
            return verdict.Verdict(
                "differs", f"its config is active but cannot be compared with the live one: {fault}", True
            )
        self.differences[name] = [
            {
                "path": path,
                "expected": difftext.mask(path, wanted),
                "live": difftext.mask(path, live),
                "flags": fields.flags_of(path, self.nodes[name].minor or None),
            }
            for path, wanted, live in expected.differences(
                outcome.value, self.nodes[name].minor, self.nodes[name].delivery
            )
            if self._counts(name, path, wanted, expected.config)
        ]
        changed = changed_beside(self._before, self.nodes[name], expected.config, outcome.value, self._hosts.get(name))
        if changed is not None:
            self.beside[name] = changed
        if self.differences[name]:
            return diagnose.differs(self.differences[name], self.nodes[name].minor, self.nodes[name].delivery)
        strange = [item for item in self.beside.get(name, ()) if name in self._hosts and not item["cause"]]
        return diagnose.unexplained(strange) if strange else found

    def _counts(self, name: str, path: str, wanted: t.Any, config: dict[str, t.Any]) -> bool:
        """Return whether a difference counts: not where a checkpoint has the value of the node's own file, and a flag
        or a drop-in of the node overrides that as it did before.
        """
        node = self.nodes[name]
        record = node.own or {}
        way = deliveries.of(node.delivery)
        if not (way.whole and way.needs_file(node.minor) and record.get("complete")):
            return True
        if overlay.is_set(path, record["own"]) or any(overlay.is_set(known, {path}) for known in record["own"]):
            return True
        # The file leaves what it does not set to the kubelet, which ignores fields that its version does not have.
        facts = self._hosts.get(name) if wanted is not None and diagnose.exists(path, node.minor) else None
        return facts is not None and not explained.Inspected(facts).overrides(path, config, node.minor)

    def _problems(self, name: str) -> list[t.Any]:
        expected = self.expected[name]
        minor = self.nodes[name].minor
        usable = expected is not None and expected.config is not None and not expected.fault(minor)
        return checks.problems(expected.config, minor) if expected and expected.config and usable else []

    def poll(self) -> None:
        """Read all waiting nodes again, and each ConfigMap of which a kubelet reports another revision.

        A node that is no longer there gets its verdict.
        """
        uids = {name: self.nodes[name].uid for name in self.waiting}
        found = node_requests.find(self.session, list(uids))
        lost = node_requests.lost(self.session, uids, found)
        self.verdicts.update({name: _lost(row) for name, row in lost.items()})
        self.nodes.update(self._seen({name: node for name, node in found.items() if name not in lost}))
        moved = {}
        for name in self.waiting:
            expected, assigned = self.expected[name], self.nodes[name].part("assigned")
            if (
                expected
                and not self.nodes[name].on_node
                and same_place(assigned, expected.source)
                and assigned != self.nodes[name].known(expected.reference)
            ):
                moved[id(expected)] = expected
        for expected in moved.values():
            expected.refresh(self.session)

    def _row(self, name: str, found: verdict.Verdict) -> node_row.Row:
        if found.state in node_row.ABSENT:
            return node_row.Row(False, found.state, found.message)
        node = self.nodes[name]
        return node_row.Row(
            verdict.ok(found), found.state, found.message, False, node.delivery, node.source, node.error
        )

    def result(self, started: float) -> dict[str, t.Any]:
        """Return the module's result for all nodes."""
        rows = {
            name: {
                **({} if found.state in node_row.ABSENT else nodes.row(self.nodes[name])),
                **self._row(name, found).shown(differences=self.differences.get(name, [])),
                **({"beside": self.beside[name]} if name in self.beside else {}),
            }
            for name, found in self.verdicts.items()
        }
        states = verdict.summarise(found.state for found in self.verdicts.values())
        good = sum(row["ok"] for row in rows.values())
        warnings = [f"Node {name}: {diagnose.beside(found)}" for name, found in self.beside.items() if found]
        return {
            **({"warnings": warnings} if warnings else {}),
            "changed": False,
            "nodes": rows,
            "summary": {
                "nodes": len(rows),
                "ok": good,
                "failed": len(rows) - good,
                "states": states,
                "waited_seconds": round(time.monotonic() - started, 1),
            },
        }


def verify(
    session: Session,
    options: dict[str, t.Any],
    wanted: dict[str, config_sources.Wanted] | None = None,
    keeper: Keeper | None = None,
) -> dict[str, t.Any]:
    """Wait for nodes as `_wait` does and return a row for each.

    Raises NodesFailed, which names every node that does not run its source, and why, and LeaseLost.
    """
    started = time.monotonic()
    result = _wait(session, options, wanted, keeper).result(started)
    failures = {name: row["message"] for name, row in result["nodes"].items() if not row["ok"]}
    if failures:
        raise NodesFailed("verifying", failures, result)
    return result


def _wait(
    session: Session,
    options: dict[str, t.Any],
    wanted: dict[str, config_sources.Wanted] | None,
    keeper: Keeper | None = None,
) -> Watch:
    """Wait for nodes to run their source and return the watch, with a verdict on each.

    `wanted` None means the sources that are assigned now. Waits at most `wait_timeout` seconds and polls every
    `wait_sleep` seconds: more often at first (each pause is a tenth of the wait so far), less often if a LIST of the
    cluster's nodes is slow. `keeper` renews the rollout's Lease meanwhile. Raises NodesFailed if the API server does
    not answer, LeaseLost if the Lease is lost: what the nodes run is another rollout's concern then.
    """
    keeper = keeper or Keeper(session, None)
    started = time.monotonic()
    deadline = started + options["wait_timeout"]
    names = list(wanted) if wanted is not None else options["nodes"]
    if wanted is None and not names:
        raise ClusterError("nodes is an empty list: name at least one node")
    try:
        watch = Watch(
            session,
            wanted,
            names,
            options["delivery"],
            options.get("before"),
            options.get("hosts"),
            options.get("recreated") or (),
        )
        if names:
            keeper.keep()
    except ApiError as error:
        raise diagnose.unseen("verifying", "not verified", names, error) from error
    watch.judge()
    lost: ApiError | None = None
    took = time.monotonic() - started
    while watch.waiting and time.monotonic() < deadline:
        # The pause is first, since the nodes have just been read. A change during the last pause is still seen.
        pause = min(options["wait_sleep"], max(_FIRST_PAUSE, (time.monotonic() - started) / _SHARE))
        time.sleep(keeper.nap(min(max(pause, 2 * took), max(0.0, deadline - time.monotonic()))))
        began = time.monotonic()
        try:
            keeper.keep()
            watch.poll()
            watch.judge()
            lost = None
        except LeaseLost:
            raise
        except ClusterError as error:
            # An outage of the API server may outlast the repeats of a request; nodes keep running without it.
            if not isinstance(error, ApiError) or not error.transient:
                raise NodesFailed(
                    "verifying",
                    {name: f"{error.message}; last seen: {watch.verdicts[name].message}" for name in watch.waiting},
                    watch.result(started),
                ) from error
            lost = error
        took = time.monotonic() - began
    _give_up(watch, options["wait_timeout"], lost)
    return watch


def _lost(row: node_row.Row) -> verdict.Verdict:
    return verdict.Verdict(row.state, row.message, True)


def _reference(node: nodes.Node, expected: Expected) -> dict[str, str]:
    """Return the reference that a node must report.

    With a checkpoint it is the revision that was copied to the node, else the current revision of the ConfigMap.
    """
    if node.on_node and node.source and same_place(node.source, expected.source):
        return node.source
    return node.known(expected.reference or expected.source)


def _give_up(watch: Watch, seconds: float, lost: ApiError | None) -> None:
    """Replace the verdicts of waiting nodes at the timeout by final ones with the most precise cause."""
    names = watch.waiting
    if not names:
        return
    silence = {} if lost else diagnose.silence(watch.session, names, watch.nodes)
    configs = {name: one.config if one else None for name, one in watch.expected.items()}
    asking = diagnose.asking({name: watch.verdicts[name] for name in names}, configs)
    certificates = {} if lost else diagnose.certificates(watch.session, asking)
    for name in names:
        last, node, expected = watch.verdicts[name], watch.nodes[name], watch.expected[name]
        if lost:
            watch.verdicts[name] = verdict.Verdict(last.state, f"{lost.message}; last seen: {last.message}", True)
        elif last.state == "sync_error" and expected and not diagnose.is_explained(node):
            watch.verdicts[name] = diagnose.sync_error(watch.session, name, expected.source, last)
        else:
            last = verdict.at_timeout(last, node.delivery, silence.get(name), seconds, node.alpha)
            more = f". {certificates[name]}" if name in certificates else ""
            watch.verdicts[name] = dataclasses.replace(last, message=f"{last.message}{more}")
