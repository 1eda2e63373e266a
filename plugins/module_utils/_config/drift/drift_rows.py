# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The differences between the declared, pushed, assigned, on-disk and live configuration of a node.

There is a row for each field that differs, with its cause. A field is declared when a layer of the inventory sets it.
Every other field is compared between the other stages only. A stage is skipped if it is not known. It is also skipped
for a field whose value cannot be known, such as a default of a version that is not in the table.

The rows also as a summary for programs and as lines for users.
"""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from typing import Any, Dict, Iterator, List, Mapping, Sequence, Tuple

from .. import delivery
from ..fields import compare, fields, merged_dropins, overlay
from ..plan import own_values
from ..plan.layers import Declared
from ..plan.own_values import NO_RECORD, Record
from ..plan.plan_text import shown_value
from ..values import paths
from ..values.node_row import counted, shown_nodes
from ..values.paths import Config
from ..values.reference import describe
from . import differing, drift_cause
from .drift_cause import ASSIGNED, CAUSES, DECLARED, DISK, LIVE, PUSHED, SOURCE, STAGES, Cause, NodeFacts

Row = Dict[str, Any]
Differing = List[Tuple[str, Dict[str, Any]]]


@dataclasses.dataclass(frozen=True)
class Configs:
    """The configurations of a node, None if absent or not known. The inventory declares the layers."""

    layers: Sequence[Config] = ()
    pushed: Config | None = None
    assigned: Config | None = None
    live: Config | None = None
    kubeadm: Mapping[str, tuple[Any, Any]] = dataclasses.field(default_factory=dict)
    """The paths at which kubeadm's configuration is out of sync: its value and the group's declared value."""
    files: own_values.Files | None = None
    """The node's own file and the one that the kubelet reads, if its checkpoint is built on its own file."""
    own: Record = dataclasses.field(default_factory=lambda: NO_RECORD)
    """The node's own values of the fields that sources replaced."""


class Finder:
    """Finds the drift of many nodes and compares equal configurations only once."""

    def __init__(self) -> None:
        self._values: dict[tuple[str, int, bool], dict[str, Any]] = {}
        self._found: dict[tuple[int, bool, str], Differing] = {}

    def rows(self, configs: Configs, facts: NodeFacts) -> list[Row]:
        """Return the drift of a node: rows about the node as a whole first, then rows sorted by path.

        A row holds path, the stages, kubeadm, cause, message and remedy. Secrets are masked, absent values are None.
        Each difference has one row. Raises OverlayError when the layers cannot be merged.
        """
        found: dict[str, Row] = {}
        for path, values in self._differing(configs.layers, _stages(configs, facts), facts):
            cause = drift_cause.of_field(path, values, facts)
            if DECLARED in values or not _of_the_node(path, values, configs, facts, cause.cause):
                found[path] = _row(path, values, configs, cause)
        for row in (*self._undeclared(configs, facts), *self._own_file(configs, facts)):
            found.setdefault(row["path"], row)
        causes = {row["cause"] for row in found.values()}
        for row in _kubeadm_rows(configs):
            found.setdefault(row["path"], row)
        node = []
        for cause in drift_cause.of_node(facts):
            if cause.cause not in causes:
                node.append(_node_row(cause, facts))
        return [*node, *sorted(found.values(), key=_by_path)]

    def _undeclared(self, configs: Configs, facts: NodeFacts) -> Iterator[Row]:
        """Yield a row for each value that a former source declared, no layer declares, and the node still runs."""
        if configs.live is None or not configs.own["own"]:
            return
        found = own_values.undeclared(configs.own, Declared(configs.layers), configs.live, facts.minor, facts.dropin)
        read = self._read_all(_stages(configs, facts), facts)
        for path in sorted([*found.known, *found.unknown]):
            own, text = found.known.get(path), None
            # The kubelet's default is live where the source leaves the field to it, as the node's own file does.
            if own is None and path in configs.own["absent"]:
                continue
            if own is not None:
                text = _shown(path, own)
            elif path in found.known:
                text = "absent"
            values = {stage: known.get(path) for stage, known in read.items()}
            yield _row(path, values, configs, drift_cause.of_undeclared(text, facts.dropin))

    def _own_file(self, configs: Configs, facts: NodeFacts) -> Iterator[Row]:
        """Yield a row for each value that the own file of a node has got, and its checkpoint does not have; with a
        drop-in, and its kubelet has not read.
        """
        if configs.files is None or configs.live is None:
            return
        live = self._read(configs.live, facts)
        declared = Declared(configs.layers)
        if facts.dropin:
            ours = facts.found.content or {}
            found = own_values.pending(configs.files, ours, declared, configs.live, facts.minor)
        else:
            found = own_values.later(configs.files, declared, facts.minor)
        for change in found:
            if change.path in configs.own["own"] or overlay.is_set(change.path, facts.flags_in_force):
                continue
            now = "the default"
            if change.after is not None:
                now = _shown(change.path, change.after)
            values = {DISK: change.before, LIVE: live.get(change.path)}
            if facts.dropin:
                values = {DISK: change.after, LIVE: change.before}
            yield _row(change.path, values, configs, drift_cause.of_own_file(now, facts.dropin))

    def rendering(self, configs: Configs, facts: NodeFacts) -> list[Row]:
        """Return the declared values that the live configuration shows in another form with the same meaning."""
        if configs.live is None or not configs.layers:
            return []
        drifted = dict(self._differing(configs.layers, {LIVE: configs.live}, facts))
        declared = _declared(Declared(configs.layers), {}, facts)
        message = "the kubelet shows the value in another form, or omits it, with the same meaning"
        cause = Cause(drift_cause.RENDERING, message, "Nothing to do.")
        rows = []
        for path, value in overlay.written(declared, facts.dropin):
            live = paths.value_at(configs.live, path)
            if paths.show(path) not in drifted and not compare.same(value, live):
                rows.append(_row(paths.show(path), {DECLARED: value, LIVE: live}, configs, cause))
        return sorted(rows, key=_by_path)

    def _differing(self, layers: Sequence[Config], stages: Mapping[str, Config], facts: NodeFacts) -> Differing:
        """Return every path whose known values differ, with its values by stage."""
        known = (facts.minor, facts.dropin, json.dumps([list(layers), stages], sort_keys=True))
        if known not in self._found:
            base = stages.get(LIVE)
            if not facts.dropin:
                base = stages.get(PUSHED, base)
            declared = Declared(layers)
            all_stages = dict(stages)
            if base is not None and layers:
                all_stages = {DECLARED: _declared(declared, base, facts), **stages}
            read = self._read_all(_as_run(all_stages, facts), facts)
            self._found[known] = list(differing.differing(read, declared.paths(facts.dropin), facts.minor))
        return self._found[known]

    def _read_all(self, stages: Mapping[str, Config], facts: NodeFacts) -> dict[str, dict[str, Any]]:
        return {stage: self._read(config, facts) for stage, config in stages.items()}

    def _read(self, config: Config, facts: NodeFacts) -> dict[str, Any]:
        known = (json.dumps(config, sort_keys=True), facts.minor, facts.dropin)
        if known not in self._values:
            self._values[known] = compare.normalise(config, facts.minor, runs=facts.dropin)
        return self._values[known]


def _declared(declared: Declared, base: Config, facts: NodeFacts) -> Config:
    """Return what is declared as the stage of it: over a base, or as a drop-in."""
    if facts.dropin:
        return declared.as_dropin()
    return declared.over(base)


def _as_run(stages: Mapping[str, Config], facts: NodeFacts) -> Mapping[str, Config]:
    """Return the stages of a drop-in as what the kubelet would run if each was laid over what it runs now.

    A drop-in holds few fields, and its maps and nulls mean something only on top of others.
    """
    live = stages.get(LIVE)
    if not facts.dropin or live is None:
        return stages
    run = dict(stages)
    for stage in {*stages} - {LIVE}:
        run[stage] = compare.with_defaults(merged_dropins.merge(live, [stages[stage]]), facts.minor)
    return run


def _stages(configs: Configs, facts: NodeFacts) -> dict[str, Config]:
    """Return the configurations that are known, in the order of the stages."""
    host, reported = facts.found, facts.assigned or {}
    found = {PUSHED: configs.pushed, ASSIGNED: configs.assigned, DISK: host.content, LIVE: configs.live}
    # A checkpoint that matches its digest is the assigned configuration, even if the ConfigMap has changed since.
    is_assigned = host.reference == (reported.get("uid"), reported.get("resourceVersion"))
    if configs.assigned is None and is_assigned and not host.damage:
        found[ASSIGNED] = host.content
    return paths.present(found)


def _of_the_node(path: str, values: Mapping[str, Any], configs: Configs, facts: NodeFacts, cause: str) -> bool:
    """Return whether something of the node itself overrides a value that is the node's own as well: no drift.

    This is so on a local config, and for what a checkpoint has from the node's own file.
    """
    if not facts.source:
        return cause == drift_cause.FLAG or _its_own(path, values)
    built = facts.checkpoint and delivery.of(delivery.CHECKPOINT).needs_file(facts.minor)
    from_file = built and configs.own["complete"]
    replaced = overlay.is_set(path, configs.own["own"])
    overridden = cause in (drift_cause.FLAG, drift_cause.DROP_IN) or _its_own(path, values)
    return bool(from_file and not replaced and overridden and LIVE in values)


def _its_own(path: str, values: Mapping[str, Any]) -> bool:
    """Return whether a kubelet set a machine-specific value itself, such as a serving certificate.

    Source: cmd/kubelet/app/server.go InitializeTLS.
    """
    configured = paths.present(values).keys() - {LIVE}
    return fields.is_of_machine(path) and not configured


def _shown(path: str, value: Any) -> str:
    return shown_value(compare.mask(path, value))


def _by_path(row: Row) -> str:
    return str(row["path"])


def _kubeadm_rows(configs: Configs) -> Iterator[Row]:
    message = "kubeadm's ConfigMap has another value, which kubeadm applies to nodes that it joins or upgrades"
    remedy = "Declare the value for all nodes of the cluster, then run the rollout with kubelet_config_kubeadm: update."
    cause = Cause(drift_cause.KUBEADM, message, remedy)
    for path, (_has, wanted) in configs.kubeadm.items():
        yield _row(path, {DECLARED: wanted}, configs, cause)


def _row(path: str, values: Mapping[str, Any], configs: Configs, cause: Cause) -> Row:
    row: Row = {"path": path}
    for stage in STAGES:
        row[stage] = compare.mask(path, values.get(stage))
    row["kubeadm"] = compare.mask(path, configs.kubeadm.get(path, (None, None))[0])
    return {**row, **cause._asdict()}


def _node_row(cause: Cause, facts: NodeFacts) -> Row:
    row: Row = {"path": SOURCE, **dict.fromkeys(STAGES), "kubeadm": None, **cause._asdict()}
    row.update({ASSIGNED: describe(facts.assigned), LIVE: describe(facts.active)})
    if facts.source and not facts.fault:
        row[PUSHED] = describe(facts.source)
    if facts.host:
        row[DISK] = facts.host.file
    return row


def summary(nodes: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the counts of nodes, drifted nodes and differences by cause, and the nodes that could not be checked."""
    causes: Counter[str] = Counter()
    drifted, unchecked = 0, []
    for name, node in nodes.items():
        drifted += bool(node["drift"])
        if _why_unchecked(node):
            unchecked.append(name)
        for row in node["drift"]:
            causes[row["cause"]] += 1
    return {
        "nodes": len(nodes),
        "drifted": drifted,
        "differences": sum(causes.values()),
        "causes": paths.only(causes, CAUSES),
        "not_looked_at": sorted(unchecked),
    }


def lines(nodes: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return the drift for users: a block for each set of nodes with the same drift, then the totals."""
    groups: dict[str, list[str]] = {}
    for name, node in nodes.items():
        if node["drift"] or _why_unchecked(node):
            groups.setdefault(json.dumps([node["drift"], node["host"]], sort_keys=True), []).append(name)
    text = []
    for names in groups.values():
        node = nodes[names[0]]
        title = f"{shown_nodes(names)}:"
        if _why_unchecked(node):
            title += f" {_why_unchecked(node)}"
        text.append(title)
        for row in node["drift"]:
            text.append(f"  {_line(row)}")
    counts = summary(nodes)
    causes = ", ".join(f"{cause} {count}" for cause, count in counts["causes"].items())
    total = f"drift: {counted(counts['nodes'], 'node')}, {counts['drifted']} drifted, "
    total += counted(counts["differences"], "difference")
    if causes:
        total += f" ({causes})"
    return [*text, total]


def _why_unchecked(node: Mapping[str, Any]) -> str:
    """Return why a node itself could not be checked, empty if it was, or was not asked to be."""
    if node["host"] == "looked at":
        return ""
    return str(node["host"])


def _line(row: Mapping[str, Any]) -> str:
    cause = f"{row['cause']}: {row['message']}. {row['remedy']}"
    if row["path"] == SOURCE:
        return f"{SOURCE}: {cause}"
    values = ", ".join(f"{stage} {shown_value(row[stage])}" for stage in (*STAGES, "kubeadm") if row[stage] is not None)
    return f"{row['path']}: {values or 'set nowhere'}; {cause}"
