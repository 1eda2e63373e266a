# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The nodes that are waited for, and what each is compared with: its source, and what it ran before a drop-in."""

from __future__ import annotations

import dataclasses
import json
import time
import typing as t

from ..._config import delivery as deliveries
from ..._config import host_facts
from ..._config.drift import differing
from ..._config.fields import compare, fields, overlay
from ..._config.minors import fields_of
from ..._config.plan.layers import Declared
from ..._config.rules import checks, start_rules
from ..._config.values import annotation, following, node_row
from ..._config.values.reference import same_place
from ..api import parallel
from ..api.errors import ClusterError
from ..api.session import Json, Session
from ..objects import config_sources, configmaps, kubelets, node_requests, nodes
from . import diagnose, node_rows, verdict

_Change = t.Tuple[str, t.Any, t.Any]
"""A path of a configuration, and its value before and after, or expected and live; None for absent."""


class Watch:
    """The nodes that are waited for, and the current verdict on each."""

    def __init__(
        self, session: Session, wanted: dict[str, config_sources.Wanted] | None, names: t.Collection[str], options: Json
    ) -> None:
        self.session = session
        self._before = options.get("before")
        self._hosts = dict(options.get("hosts") or {})
        # Their status may be that of the ConfigMap of the same name before.
        self._recreated = options.get("recreated") or ()
        self.undeclared: dict[str, list[Json]] = {}
        self._wanted = wanted or dict.fromkeys(names, config_sources.Wanted(None, options["delivery"]))
        self.verdicts: dict[str, verdict.Verdict] = {}
        self.nodes: dict[str, nodes.Node] = {}
        self._note_nodes(*node_requests.find_known(session, {name: self._uid(name) for name in names}))
        # Without given sources, a node must run what it is assigned now.
        self.expected = self._expected(self.nodes if wanted is None else wanted)
        self.differences: dict[str, list[Json]] = {}

    def _note_nodes(self, found: t.Mapping[str, nodes.Node], lost: t.Mapping[str, node_row.Row]) -> None:
        """Keep nodes as they were read. One that is no longer there gets its verdict."""
        for name, row in lost.items():
            self.verdicts[name] = _lost(row)
        for name, node in found.items():
            self.nodes[name] = node.with_delivery(self._wanted[name].delivery)
            if name not in self._hosts and node.follower and node.follower.facts:
                self._hosts[name] = node.follower.facts

    def _uid(self, name: str) -> str:
        """Return the uid that a Node must have, empty for any."""
        return self.nodes[name].uid if name in self.nodes else self._wanted[name].uid

    def _expected(self, wanted: t.Mapping[str, t.Any]) -> dict[str, Expected | None]:
        """Return what each node must run, None for its local config: one GET for each distinct source."""
        sources = {nodes.describe(wanted[name].source): wanted[name].source for name in self.nodes}
        outcomes = self.session.each(filter(None, sources.values()), lambda source: Expected(self.session, source))
        known = {nodes.describe(outcome.item): outcome.result() for outcome in outcomes}
        return {name: known.get(nodes.describe(wanted[name].source)) for name in self.nodes}

    @property
    def waiting(self) -> list[str]:
        """The nodes whose verdict may still change."""
        waiting = []
        for name in self.nodes:
            found = self.verdicts.get(name)
            if found is None or not (found.final or verdict.ok(found)):
                waiting.append(name)
        return waiting

    def unread_by(self, name: str) -> str:
        """Return the field with which the kubelet of a node serves no /configz, empty if it serves one."""
        expected = self.expected[name]
        if expected is None:
            return ""
        return start_rules.unread_by(expected.config)

    def asks_for_certificate(self, name: str) -> bool:
        """Return whether a node does not answer and its kubelet asks the cluster for its serving certificate."""
        expected = self.expected[name]
        if expected is None or expected.config is None or self.verdicts[name].state != "not_ready":
            return False
        return expected.config.get("serverTLSBootstrap") is True

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
            found = self._by_status(name, beaten)
            if live and verdict.ok(found) and not self.unread_by(name):
                answering[name] = found
            else:
                self.verdicts[name] = found
        for outcome in kubelets.live_configs(self.session, answering, self.nodes):
            self.verdicts[outcome.item] = self._live(outcome.item, answering[outcome.item], outcome)
        for name, seen in self.verdicts.items():
            if name in self._recreated and seen.state in ("fell_back", "differs"):
                self.verdicts[name] = dataclasses.replace(seen, final=False)

    def _by_status(self, name: str, beaten: bool) -> verdict.Verdict:
        """Return the verdict on a node without its live configuration."""
        expected, node = self.expected[name], self.nodes[name]
        if expected and not expected.reference and not node.on_node and same_place(node.source, expected.source):
            return diagnose.missing(expected.source, node)
        found = verdict.judge(node, _reference(node, expected), beaten)
        unread_by = self.unread_by(name)
        if verdict.ok(found) and unread_by:
            return verdict.by_status(found, unread_by)
        if found.state == "fell_back" and expected:
            fault, problems = expected.fault(node.minor), self._problems(name)
            return diagnose.refusal(found, fault, problems, guarded=node.on_node)
        return found

    def _live(self, name: str, found: verdict.Verdict, outcome: parallel.Outcome[str, Json]) -> verdict.Verdict:
        """Return the verdict after comparing the live configuration with the one that the status names."""
        node, expected = self.nodes[name], self.expected[name]
        fault = "its /configz is empty"
        if outcome.error:
            fault = outcome.why
        absent = node_requests.absence(self.session, outcome.error)
        if absent:
            return _lost(absent)
        if outcome.error and outcome.error.transient:
            # An empty status alone is not evidence: a kubelet in a crash loop never reports its assignment.
            config = "active" if expected else "local by its status"
            return verdict.Verdict("not_ready", f"its config is {config}, but {fault}")
        if expected is None:
            return found
        if outcome.value is not None:
            fault = expected.fault(node.minor) or ""
            if not fault and expected.config is not None:
                return self._compared(name, found, expected, outcome.value)
        why = f"its config is active but cannot be compared with the live one: {fault}"
        return verdict.Verdict("differs", why, True)

    def _compared(self, name: str, found: verdict.Verdict, expected: Expected, live: Json) -> verdict.Verdict:
        node, config = self.nodes[name], expected.config or {}
        differences: list[Json] = []
        for path, wanted, value in expected.differences(live, node.minor, node.delivery):
            if self._counts(name, path, wanted, config):
                values = {"expected": compare.mask(path, wanted), "live": compare.mask(path, value)}
                flags = fields.flags_of(path, node.minor or None)
                differences.append({"path": path, **values, "flags": flags})
        self.differences[name] = differences
        changed = _undeclared_changes(self._before, node, expected, live, self._hosts.get(name))
        if changed is not None:
            self.undeclared[name] = changed
        if differences:
            return diagnose.differs(differences, node.minor, node.delivery)
        strange = [item for item in changed or () if not item["cause"]]
        if strange and name in self._hosts:
            return diagnose.unexplained(strange)
        return found

    def _counts(self, name: str, path: str, wanted: t.Any, config: Json) -> bool:
        """Return whether a difference counts: not where a checkpoint has the value of the node's own file, and a flag
        or a drop-in of the node overrides that as it did before.
        """
        node = self.nodes[name]
        record = node.own or {}
        way = deliveries.of(node.delivery)
        if not (way.whole and way.needs_file(node.minor) and record.get("complete")):
            return True
        if overlay.overlaps(path, record["own"]):
            return True
        # The file leaves what it does not set to the kubelet, which ignores fields that its version does not have.
        facts = self._hosts.get(name)
        if facts is None or wanted is None or not diagnose.exists(path, node.minor):
            return False
        return not differing.Inspected(host_facts.read(facts)).overrides(path, config, node.minor)

    def _problems(self, name: str) -> list[t.Any]:
        expected, minor = self.expected[name], self.nodes[name].minor
        if expected is None or not expected.config or expected.fault(minor):
            return []
        return checks.problems(expected.config, minor)

    def poll(self, seconds: float = 0.0) -> None:
        """Wait, and read the waiting nodes again, and each ConfigMap of which a kubelet reports another revision."""
        uids = {name: self._uid(name) for name in self.waiting}
        self._note_nodes(*node_requests.changed(self.session, uids, seconds, self._is_settled))
        moved = {}
        for name in self.waiting:
            expected, node = self.expected[name], self.nodes[name]
            if expected and not node.on_node and expected.is_another_revision(node):
                moved[id(expected)] = expected
        for expected in moved.values():
            expected.refresh(self.session)

    def _is_settled(self, node: nodes.Node) -> bool:
        """Return whether the status of a waiting node is one that it keeps, good or not."""
        node = node.with_delivery(self._wanted[node.name].delivery)
        found = verdict.judge(node, _reference(node, self.expected[node.name]))
        return found.final or verdict.ok(found)

    def _row(self, name: str, found: verdict.Verdict) -> Json:
        if found.state in node_row.ABSENT:
            return node_row.Row(False, found.state, found.message).shown(differences=self.differences.get(name, []))
        node = self.nodes[name]
        row = node_row.Row(verdict.ok(found), found.state, found.message, False, node.delivery, node.source, node.error)
        shown = {**node_rows.row(node), **row.shown(differences=self.differences.get(name, []))}
        if name in self.undeclared:
            shown["beside"] = self.undeclared[name]
        if row.ok and node.by_follower and node.follower and node.follower.trial:
            shown["seen"] = _seen(node, node.follower.trial)
        return shown

    def result(self, started: float) -> Json:
        """Return the module's result for all nodes."""
        rows = {name: self._row(name, found) for name, found in self.verdicts.items()}
        warnings = []
        for name, undeclared in self.undeclared.items():
            if undeclared:
                warnings.append(f"Node {name}: {diagnose.undeclared_changes(undeclared)}")
        return {**verdict.result(rows, time.monotonic() - started), "warnings": warnings}


def _seen(node: nodes.Node, trial: str) -> str:
    """Return what confirms a trial as long as the Node is as it was seen: the metadata of a patch, as one text."""
    about = {"uid": node.uid, "resourceVersion": node.resource_version}
    return annotation.text({**about, "annotations": following.judging(node.orders, trial)})


def _lost(row: node_row.Row) -> verdict.Verdict:
    return verdict.Verdict(row.state, row.message, True)


def _reference(node: nodes.Node, expected: Expected | None) -> dict[str, str] | None:
    """Return the reference that a node must report, None for its local config.

    With a checkpoint it is the revision that was copied to the node, else the current revision of the ConfigMap.
    """
    if expected is None:
        return None
    if node.on_node and node.source and same_place(node.source, expected.source):
        return node.source
    return node.as_reported(expected.reference or expected.source)


class Expected:
    """A source as the API has it now: its full reference and its configuration."""

    def __init__(self, session: Session, source: dict[str, str]) -> None:
        self.source = source
        self.reference: dict[str, str] = {}
        self.config: Json | None = None
        self._found = config_sources.FoundConfig(None, None)
        # Most nodes of a batch have equal configurations, and comparing takes longer than reading.
        self._known: dict[tuple[t.Any, ...], list[_Change]] = {}
        self.refresh(session)

    def refresh(self, session: Session) -> None:
        """Read the ConfigMap again (one GET). Raises ApiError."""
        key = self.source["kubeletConfigKey"]
        configmap = configmaps.read(session, self.source["namespace"], self.source["name"])
        self._found = config_sources.FoundConfig(configmap, config_sources.fault(configmap, key), key)
        self.reference = {}
        if configmap:
            self.reference = configmaps.reference(configmap, key)
        self.config = self._found.content()
        self._known = {}

    def is_another_revision(self, node: nodes.Node) -> bool:
        """Return whether a kubelet reports another revision of the ConfigMap as assigned."""
        assigned = node.part("assigned")
        return same_place(assigned, self.source) and assigned != node.as_reported(self.reference)

    def fault(self, minor: int) -> str | None:
        """Return why a kubelet of a minor cannot load it, None if it can."""
        return self._found.fault_at(minor)

    def differences(self, live: Json, minor: int, delivery: str) -> list[_Change]:
        """Return (path, expected, live) for all that differs in the `kubeletconfig` of a /configz.

        The configuration must exist. That of a drop-in is what is declared.
        """
        alike = (json.dumps(live, sort_keys=True), minor, delivery)
        if alike not in self._known:
            compare = differing.between if deliveries.of(delivery).whole else differing.of_dropin
            self._known[alike] = compare(self.config or {}, fields.restore(live, fields_of(minor)), minor)
        return self._known[alike]

    def undeclared(self, ran: Ran, live: Json, minor: int) -> list[_Change]:
        """Return (path, before, live) for all that a drop-in with this configuration does not declare."""
        alike = ("undeclared", json.dumps(live, sort_keys=True), minor, ran.variant, *ran.declared)
        if alike not in self._known:
            declared = Declared([self.config or {}])
            now = fields.restore(live)
            self._known[alike] = differing.undeclared(ran.config, now, declared, set(ran.declared), minor)
        return self._known[alike]


class Ran(t.NamedTuple):
    """What a node ran before it was assigned its source: the configuration, and the paths that its source declared."""

    variant: str
    config: Json
    declared: list[str]


def ran_before(table: t.Any, name: str) -> Ran | None:
    """Return what a node ran; None if the table does not have it.

    Raises ClusterError for a table of another form.
    """
    try:
        row = ((table or {}).get("nodes") or {}).get(name)
        if not row:
            return None
        return Ran(row["variant"], table["variants"][row["variant"]], list(row["declared"]))
    except (AttributeError, KeyError, TypeError) as error:
        raise ClusterError(f"before is not that of an assignment ({error!r}): pass it unchanged, or omit it") from error


def _undeclared_changes(
    table: t.Any, node: nodes.Node, expected: Expected, live: Json, facts: t.Any
) -> list[Json] | None:
    """Return what has changed on a node beside its drop-in, None if it is not known what the node ran.

    ``live`` is the `kubeletconfig` of its /configz, ``facts`` what was found on its host (None: nothing). Each row has
    what explains the change as `cause`, empty if nothing does. Raises ClusterError as ran_before.
    """
    if deliveries.of(node.delivery).whole:
        return None
    ran = ran_before(table, node.name)
    if ran is None:
        return None
    found = expected.undeclared(ran, live, node.minor)
    if not found:
        # Most nodes: reading what was found on the host takes longer than all else here.
        return []
    now = {path: after for path, _was, after in found}
    causes = differing.Inspected(host_facts.read(facts)).causes(now, expected.config or {}, node.minor)
    return [
        {"path": path, "before": compare.mask(path, was), "live": compare.mask(path, after), "cause": causes[path]}
        for path, was, after in found
    ]
