# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The effect of a configuration change on the pods of a node, forecast before anything is written: as rows, as a
summary for programs, and as lines for users.

Only the effects of the change and of its restart count: a pod that the running configuration would evict or refuse as
well is omitted, unless it runs only until its kubelet starts again (admission.py).
"""

from __future__ import annotations

from typing import Any, Iterable, Iterator, Mapping

from ..fields import compare
from ..fields.field_row import DRAIN, REBOOT
from ..fields.fields import NEWEST_MINOR, OLDEST_MINOR
from ..rules import eviction
from ..rules.problem import EffectiveConfig
from ..values.node_row import counted, shown_nodes
from ..values.paths import Config, top
from . import admission, allocatable, node_usage
from .node_usage import LossCause, NodeUsage, Pod

EVICTED, REFUSED, UNKNOWN = KINDS = ("evicted", "refused", "unknown")
_CPU_FIELDS = ("cpuManagerPolicy", "cpuManagerPolicyOptions", "reservedSystemCPUs")
_TOPOLOGY_FIELDS = ("topologyManagerPolicy", "topologyManagerPolicyOptions", "topologyManagerScope")
_MEMORY_FIELDS = ("memoryManagerPolicy", "reservedMemory")
FIELDS = (
    *("evictionHard", "evictionSoft", "evictionSoftGracePeriod", "evictionMinimumReclaim"),
    *("kubeReserved", "systemReserved", "enforceNodeAllocatable", "maxPods", "podsPerCore"),
    *(*_CPU_FIELDS, *_TOPOLOGY_FIELDS, *_MEMORY_FIELDS),
)
"""The fields that decide which pods run."""


class ConfigChange:
    """The running and the new configuration of a node, limited to the fields that decide which pods run.

    ``changes`` are the rows of the plan: a field that a flag of the kubelet hides keeps its value. The defaults are
    those of the kubelet's minor; outside the known minors, those of the nearest one.
    """

    def __init__(self, running: Config, desired: Config, minor: int, changes: Iterable[Config] = ()) -> None:
        known = min(max(minor, OLDEST_MINOR), NEWEST_MINOR)
        after = dict(desired)
        for row in changes:
            if row["shadowed_by"]:
                hidden = top(row["path"])
                after[hidden] = running.get(hidden)
        self.old = EffectiveConfig(running, known)
        self.new = EffectiveConfig(after, known)

    def touches(self, *fields: str) -> bool:
        """Return whether the change gives one of the fields another meaning."""
        return any(not compare.same(self.old.form(field), self.new.form(field)) for field in fields or FIELDS)


def room(change: ConfigChange, capacity: Any) -> dict[str, dict[str, str]]:
    """Return what pods may request on a node, as quantities: by resource the capacity, and before and after a change.

    ``capacity`` is that of the row of a dump. Empty if the change does not touch it.
    """
    if not change.touches():
        return {}
    has = allocatable.parsed(capacity)
    before, after = allocatable.allocatable(change.old, has), allocatable.allocatable(change.new, has)
    found: dict[str, dict[str, str]] = {}
    for resource in allocatable.RESOURCES:
        for key, amounts in (("before", before), ("after", after), ("capacity", has)):
            if resource in after and resource in amounts:
                found.setdefault(resource, {})[key] = allocatable.quantity(resource, amounts[resource])
    return found


def nothing() -> dict[str, list[Any]]:
    """Return the forecast of a node that loses no pod."""
    return {kind: [] for kind in (*KINDS, "notes")}


def forecast(change: ConfigChange, usage: NodeUsage) -> dict[str, list[Any]]:
    """Return the affected pods of a node (``evicted``, ``refused`` and ``unknown``), and ``notes`` on the node itself.

    A row holds ``namespace`` and ``pod`` (None if the whole node is unknown), ``uid``, the ``reason`` and ``detail``,
    the numbers of this node.
    """
    found = nothing()
    _evictions(change, usage, found)
    placed = []
    for pod in usage.pods:
        if pod.key in usage.misplaced:
            found[REFUSED].append(_row(pod, LossCause(admission.REASON, usage.misplaced[pod.key])))
        else:
            placed.append(pod)
    before = admission.refused(placed, allocatable.allocatable(change.old, usage.capacity))
    after = admission.refused(placed, allocatable.allocatable(change.new, usage.capacity))
    for pod in placed:
        if pod.key in after and pod.key not in before:
            found[REFUSED].append(_row(pod, after[pod.key]))
        causes = list(map(LossCause, _doubts(change, pod)))
        if causes and pod.key not in after:
            found[UNKNOWN].append(_row(pod, *causes))
    return found


def _evictions(change: ConfigChange, usage: NodeUsage, found: dict[str, list[Any]]) -> None:
    if usage.unread:
        # Even without numbers, thresholds that did not change are known to be harmless.
        less = allocatable.reserved(change.new, "memory") > allocatable.reserved(change.old, "memory")
        if less or eviction.thresholds(change.old) != eviction.thresholds(change.new):
            reason = "the evicted pods are not known: the kubelet's statistics cannot be read"
            found[UNKNOWN].append(_row(None, LossCause(reason, usage.unread)))
        return
    before, after = node_usage.pressure(change.old, usage), node_usage.pressure(change.new, usage)
    for pod in usage.pods:
        if pod.key in after.evicted and pod.key not in before.evicted:
            found[EVICTED].append(_row(pod, *after.evicted[pod.key]))
    found["notes"] = [text for text in after.unmet if text not in before.unmet]
    found[UNKNOWN] = [_row(None, LossCause(text)) for text in after.unseen if text not in before.unseen]


def _doubts(change: ConfigChange, pod: Pod) -> Iterator[str]:
    """Yield why the API does not show whether the node would admit a pod again."""
    guaranteed = pod.qos == "Guaranteed"
    exclusive = guaranteed and pod.whole_cpus
    if exclusive and change.new.text("cpuManagerPolicy") == "static" and _moves_cpus(change):
        yield "the CPU manager (static) reassigns whole CPUs, and only the node knows which are free"
    if guaranteed and change.new.text("memoryManagerPolicy") == "Static" and change.touches(*_MEMORY_FIELDS):
        yield "the memory manager (Static) reassigns memory by NUMA node, and only the node knows what is free"
    policy = change.new.text("topologyManagerPolicy")
    strict = policy in ("restricted", "single-numa-node")
    if strict and (exclusive or pod.devices) and change.touches(*_TOPOLOGY_FIELDS):
        yield f"the topology manager ({policy}) refuses pods that fit no NUMA node, and only the node knows which fit"


def _moves_cpus(change: ConfigChange) -> bool:
    moved = allocatable.reserved(change.old, "cpu") != allocatable.reserved(change.new, "cpu")
    return moved or change.touches(*_CPU_FIELDS)


def _row(pod: Pod | None, *causes: LossCause) -> dict[str, Any]:
    row: dict[str, Any] = {"namespace": None, "pod": None, "uid": None}
    if pod:
        row = {"namespace": pod.namespace, "pod": pod.name, "uid": pod.uid}
    reasons, details = zip(*causes)
    row["reason"] = "; ".join(reasons)
    row["detail"] = "; ".join(filter(None, details))
    return row


Nodes = Mapping[str, Config]
_WORDS = {EVICTED: "would be evicted", REFUSED: "would be refused at this restart or the next", UNKNOWN: "not known"}


def summary(nodes: Nodes, plan: Config) -> dict[str, int]:
    """Return the counts of pods by their fate, and of nodes that restart, need a drain, lose pods or are unknown."""
    counts = dict.fromkeys(("nodes_to_restart", "nodes_to_drain", "nodes_at_risk", "nodes_unknown"), 0)
    counts.update(pods_evicted=0, pods_refused=0, pods_unknown=0)
    for row in plan["nodes"].values():
        if row["action"] != "none":
            counts["nodes_to_restart"] += 1
            counts["nodes_to_drain"] += row["effect"] in (DRAIN, REBOOT)
    for node in nodes.values():
        for kind in KINDS:
            counts[f"pods_{kind}"] += sum(row["pod"] is not None for row in node[kind])
        counts["nodes_at_risk"] += bool(node[EVICTED] or node[REFUSED])
        counts["nodes_unknown"] += any(row["pod"] is None for row in node[UNKNOWN])
    return counts


def at_risk(counts: Mapping[str, int]) -> int:
    """Return the number of pods that would be lost."""
    return counts["pods_evicted"] + counts["pods_refused"]


def lines(nodes: Nodes, counts: Mapping[str, int]) -> list[str]:
    """Return a forecast for users: the totals, then a line for each reason with its nodes and pods."""
    text = [
        f"forecast: {counted(counts['nodes_to_restart'], 'node')} to restart, {counts['nodes_to_drain']} to drain, "
        f"{counted(at_risk(counts), 'pod')} at risk "
        f"({counts['pods_evicted']} evicted, {counts['pods_refused']} refused), "
        f"{counted(counts['pods_unknown'], 'pod')} not known"
    ]
    for kind in KINDS:
        text += map("  {}".format, _reasons(nodes, kind))
    return [*text, *map("  warning: {}".format, _notes(nodes))]


def refusal(nodes: Nodes, counts: Mapping[str, int], allowed: int) -> str:
    """Return why a forecast is refused, and the remedy."""
    return "\n".join(
        [
            "the forecast is refused. Nothing was written: "
            f"{counted(at_risk(counts), 'pod')} at risk, {allowed} allowed.",
            *_reasons(nodes, EVICTED),
            *_reasons(nodes, REFUSED),
            *_notes(nodes),
            "Change the configuration, move these pods to other nodes first, or accept their loss with allow_pods "
            "or refuse=false (in roles: kubelet_config_forecast_pods, or kubelet_config_forecast: warn).",
        ]
    )


def _reasons(nodes: Nodes, kind: str) -> Iterator[str]:
    hit: dict[tuple[str, str], dict[str, str]] = {}
    pods_of: dict[tuple[str, str], list[str]] = {}
    for name, node in nodes.items():
        for row in node[kind]:
            # Nodes of one size have one room.
            room_left = row["detail"] if row["reason"].startswith(admission.NO_ROOM) else ""
            group = (row["reason"], room_left)
            hit.setdefault(group, {}).setdefault(name, row["detail"])
            pods = pods_of.setdefault(group, [])
            if row["pod"] is not None:
                pods.append(f"{row['namespace']}/{row['pod']}")
    for group, details in hit.items():
        pods = pods_of[group]
        text = f"{_WORDS[kind]} on {shown_nodes(list(details))}: {group[0]}"
        # The numbers of one node stand for all nodes; the result holds those of every node.
        (first, detail), *_others = details.items()
        if detail:
            text += f" ({first}: {detail})"
        if pods:
            text = f"{shown_nodes(pods, 'pod')} {text}"
        if kind == UNKNOWN or not pods:
            text = f"warning: {text}"
        yield text


def _notes(nodes: Nodes) -> Iterator[str]:
    groups: dict[str, list[str]] = {}
    for name, node in nodes.items():
        for text in node["notes"]:
            groups.setdefault(text, []).append(name)
    for text, hit in groups.items():
        yield f"{shown_nodes(hit)}: {text}"
