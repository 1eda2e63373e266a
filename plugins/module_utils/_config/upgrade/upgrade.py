# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an upgrade to a version would do to each node: as rows, as a summary for programs, and as lines for users."""

from __future__ import annotations

import json
from typing import Any, Iterator, Mapping

from ..fields import fields
from ..plan import host_facts
from ..values.node_row import counted, shown_nodes
from ..values.short_texts import minor_of
from . import binary_findings, config_findings, host_findings, node_facts
from .finding import CHANGES, STOPS, UNKNOWN, VERSION, Finding, order
from .node_facts import UpgradeFacts


class UpgradeError(ValueError):
    """The target version cannot be used. The text states why, and what to do."""


def target_minor(version: Any) -> int:
    """Return the minor of a target version such as 1.36 or v1.36.2. Raises UpgradeError."""
    found = minor_of(str(version).strip())
    if found is None or found < fields.OLDEST_MINOR:
        raise UpgradeError(
            f"kubelet_config_target_version is {version}, which is not a Kubernetes version from "
            f"1.{fields.OLDEST_MINOR} on. Write it as 1.{fields.NEWEST_MINOR} or v1.{fields.NEWEST_MINOR}.2; in YAML, "
            "put it in quotes, because 1.30 without them is the number 1.3."
        )
    return found


def row(result: Mapping[str, Any] | None, target: int) -> dict[str, Any]:
    """Return the version of a node and its findings; `result` is that of the module `kubelet_upgrade_info`.

    A result that failed, that is missing or malformed, is a finding too.
    """
    given = result or {}
    if "kubelet" not in given:
        return {"kubelet_version": None, "findings": [_not_examined(given)._asdict()]}
    wrong = host_facts.of_upgrade(given)
    if wrong:
        return {"kubelet_version": None, "findings": [_unknown(f"what it returned is malformed at {wrong}")._asdict()]}
    facts = node_facts.read(given)
    found = sorted(set(findings(facts, target)), key=order)
    return {"kubelet_version": facts.version or None, "findings": [one._asdict() for one in found]}


def findings(facts: UpgradeFacts, target: int) -> list[Finding]:
    """Return everything that an upgrade of this node to the target minor would stop or change."""
    if facts.minor is not None and facts.minor > target:
        message = f"the kubelet is {facts.version}, newer than 1.{target}; nothing was compared"
        remedy = "Set kubelet_config_target_version to the version of the upgrade."
        return [Finding(UNKNOWN, VERSION, "", message, remedy)]
    known = [
        *config_findings.flags(facts, target),
        *config_findings.values(facts, target),
        *config_findings.defaults(facts, target),
        *config_findings.meanings(facts, target),
        *host_findings.check(facts, target),
    ]
    return [*_gaps(facts), *binary_findings.not_asked(facts, target), *binary_findings.weighed(facts, target, known)]


def _gaps(facts: UpgradeFacts) -> list[Finding]:
    """Return what could not be read of the node."""
    found = []
    for path, why in facts.unreadable.items():
        message = f"{path} could not be examined: {why}"
        remedy = "Make the file readable on the node as plain YAML, or check it by hand."
        found.append(Finding(UNKNOWN, VERSION, path, message, remedy))
    if not facts.argv:
        message = "the kubelet's command line is not known, so its flags and files were not compared"
        remedy = "See kubelet_preflight_info for the reason, and repair it."
        found.append(Finding(UNKNOWN, VERSION, "", message, remedy))
    if facts.minor is None:
        message = "the version of the kubelet is not known, so changed defaults were not compared"
        found.append(Finding(UNKNOWN, VERSION, "", message, "Repair the kubelet of this node, then run again."))
    return found


def _not_examined(result: Mapping[str, Any]) -> Finding:
    if result.get("unreachable"):
        return _unknown("it is unreachable")
    return _unknown(str(result.get("msg") or "there is no result of the node"))


def _unknown(why: str) -> Finding:
    message = f"the node was not examined: {why.rstrip('. ')}"
    return Finding(UNKNOWN, VERSION, "", message, "Correct the cause, then run again.")


Nodes = Mapping[str, Mapping[str, Any]]


def summary(nodes: Nodes, target: int) -> dict[str, Any]:
    """Return the counts of nodes by their worst finding, and whether each of them would start."""
    stopped, unknown, changed = [], [], []
    for name, node in sorted(nodes.items()):
        severities = {one["severity"] for one in node["findings"]}
        if STOPS in severities:
            stopped.append(name)
        elif UNKNOWN in severities:
            unknown.append(name)
        if CHANGES in severities:
            changed.append(name)
    return {
        "target": f"1.{target}",
        "nodes": len(nodes),
        "would_stop": stopped,
        "unknown": unknown,
        "changed": changed,
        "ready": not stopped and not unknown,
    }


def lines(nodes: Nodes, target: int) -> list[str]:
    """Return the findings for users: a block for each set of nodes with the same findings, then the totals."""
    groups: dict[str, list[str]] = {}
    for name, node in nodes.items():
        if node["findings"]:
            groups.setdefault(json.dumps(node), []).append(name)
    text: list[str] = []
    for names in groups.values():
        text += _block(names, nodes[names[0]])
    if target > fields.NEWEST_MINOR:
        newest = fields.NEWEST_MINOR
        text.append(f"The tables end with 1.{newest}: defaults that a later version changed are not in this result.")
    counts = summary(nodes, target)
    return [
        *text,
        f"upgrade to {counts['target']}: {counted(counts['nodes'], 'node')}, {len(counts['would_stop'])} would stop, "
        f"{len(counts['unknown'])} unknown, {len(counts['changed'])} would change",
    ]


def _block(names: list[str], node: Mapping[str, Any]) -> Iterator[str]:
    yield f"{shown_nodes(names)} ({node['kubelet_version'] or 'unknown version'}):"
    for one in node["findings"]:
        title = f"{one['kind']} {one['name']}".rstrip()
        if one["where"]:
            title += f" ({one['where']})"
        yield f"  {one['severity']}: {title}: {one['message']}. {one['remedy']}"
