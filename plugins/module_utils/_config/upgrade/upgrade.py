# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an upgrade to a version would do to each node: as rows, as a summary for programs, and as lines for users.

At the end, what the host means for a later kubelet: cgroup version, container runtime, static pods, and how it is
configured.
"""

from __future__ import annotations

import json
import re
from typing import Any, Iterator, Mapping

from .. import host_facts
from ..fields import fields
from ..rules.problem import EffectiveConfig
from ..values.node_row import counted, shown_nodes
from ..values.short_texts import minor_of
from . import binary_findings, config_findings, node_facts
from .node_facts import CGROUP, CHANGES, DELIVERY, POD, RUNTIME, STAYS, STOPS, UNKNOWN, VERSION, Finding, UpgradeFacts


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
        why = str(given.get("msg") or "there is no result of the node")
        return {"kubelet_version": None, "findings": [_unknown(why)._asdict()]}
    wrong = host_facts.of_upgrade(given)
    if wrong:
        return {"kubelet_version": None, "findings": [_unknown(f"what it returned is malformed at {wrong}")._asdict()]}
    facts = node_facts.read(given)
    found = sorted(set(findings(facts, target)), key=node_facts.order)
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
        *check(facts, target),
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


# CRI v1 alone from 1.26 on (containerd has it since 1.6). As announced (k/k 139121), kubelets end without the call
# RuntimeConfig from 1.38 on, which containerd has since 2.0.
_CRI_V1, _OLDEST_CONTAINERD, _RUNTIME_CONFIG = 26, (1, 6), 38
# kubeadm writes the socket into a file from 1.34 on, and takes the flag out of this file.
_SOCKET_IN_FILE, _KUBEADM_FLAGS = 34, "kubeadm-flags.env"
_NO_DYNAMIC = 24
# The gate is on from 1.34 on, and 1.37 removed it (k/k 131837, 140226).
_PODS_ALONE, _PODS_ALONE_GATE, _PODS_ALWAYS_ALONE = 34, "PreventStaticPodAPIReferences", 37
# k/k 138127
_HUGE_PAGES, _HUGE_PAGES_GATE = 37, "HugepageAwareEviction"
_FLAG, _FIELD = "container-runtime-endpoint", "containerRuntimeEndpoint"


def check(facts: UpgradeFacts, target: int) -> Iterator[Finding]:
    """Yield what stops or changes a kubelet of the target minor on this host."""
    merged = facts.merged(min(target, fields.NEWEST_MINOR))
    if facts.cgroup_version == 1:
        yield from _cgroup(facts, merged, target)
    yield from _runtime(facts, target)
    yield from _static_pods(facts, merged, target)
    yield from _huge_pages(facts, merged, target)
    yield from _socket(facts, target)
    yield from _delivery(facts, target)


def _cgroup(facts: UpgradeFacts, merged: Mapping[str, Any], target: int) -> Iterator[Finding]:
    """Source: ValidateKubeletConfiguration, and NewMainKubelet for swap."""
    effective = EffectiveConfig(merged, min(target, fields.NEWEST_MINOR))
    found = []
    if target >= 31 and effective.truth("failCgroupV1"):
        why = "with failCgroupV1: true, the default from 1.35 on, the kubelet does not run there"
        remedy = "Move the host to cgroup v2. Until then, set failCgroupV1: false with the upgrade."
        found.append(("failCgroupV1", why, remedy))
    if target >= 30 and effective.text("memorySwap.swapBehavior") == "LimitedSwap" and effective.gate("NodeSwap"):
        remedy = "Remove the field, or move the host to cgroup v2."
        found.append(("memorySwap.swapBehavior", "LimitedSwap needs cgroup v2 from 1.30 on", remedy))
    if target >= 32 and effective.truth("singleProcessOOMKill") is False:
        why = "the kubelet refuses singleProcessOOMKill: false there"
        found.append(("singleProcessOOMKill", why, "Remove the field."))
    for path, why, remedy in found:
        message = f"this host has version 1 cgroup controllers, and {why}"
        yield Finding(STOPS, CGROUP, path, message, remedy, facts.places(path, target))


def _runtime(facts: UpgradeFacts, target: int) -> Iterator[Finding]:
    found = re.match(r"v?(\d{1,4})\.(\d{1,4})", facts.runtime_version)
    if facts.runtime != "containerd" or found is None:
        return
    version = (int(found.group(1)), int(found.group(2)))
    if target >= _CRI_V1 and version < _OLDEST_CONTAINERD:
        message = f"containerd {facts.runtime_version} has no CRI v1, which kubelets need from 1.26 on"
        yield Finding(STOPS, RUNTIME, "containerd", message, "Upgrade containerd to 1.6 or later first.")
    elif target >= _RUNTIME_CONFIG and version < (2, 0):
        message = (
            f"containerd {facts.runtime_version} does not report its cgroup driver (CRI RuntimeConfig), and kubelets "
            f"end without it from 1.{_RUNTIME_CONFIG} on"
        )
        yield Finding(STOPS, RUNTIME, "containerd", message, "Upgrade containerd to 2 first.")


def _static_pods(facts: UpgradeFacts, merged: Mapping[str, Any], target: int) -> Iterator[Finding]:
    if target < _PODS_ALONE:
        return
    if target < _PODS_ALWAYS_ALONE and not EffectiveConfig(merged, target).gate(_PODS_ALONE_GATE):
        return
    for pod in facts.static_pods:
        name = pod.name or "static pod"
        if pod.unreadable:
            message = f"the static pods in {pod.file} were not compared: {pod.unreadable}"
            remedy = "Check by hand that they refer to no Secret or ConfigMap."
            yield Finding(UNKNOWN, POD, name, message, remedy, pod.file)
        else:
            message = (
                f"kubelets from 1.{_PODS_ALONE} on do not start a static pod that refers to objects of the API, and it "
                f"refers to {', '.join(pod.refers_to)}"
            )
            remedy = "Put what it needs into files of the host, or run it as a DaemonSet."
            yield Finding(STOPS, POD, name, message, remedy, pod.file)


def _huge_pages(facts: UpgradeFacts, merged: Mapping[str, Any], target: int) -> Iterator[Finding]:
    before = facts.minor is not None and facts.minor < _HUGE_PAGES
    if not (facts.huge_pages and before and target >= _HUGE_PAGES):
        return
    if EffectiveConfig(merged, min(target, fields.NEWEST_MINOR)).gate(_HUGE_PAGES_GATE):
        mebibytes = facts.huge_pages // 2**20
        message = (
            f"from 1.{_HUGE_PAGES} on it no longer counts the {mebibytes} Mi that this host reserves as huge pages, so "
            "the kubelet evicts pods earlier"
        )
        remedy = f"Compare the thresholds with the memory that is left, or set featureGates.{_HUGE_PAGES_GATE}: false."
        yield Finding(CHANGES, node_facts.DEFAULT, "memory.available", message, remedy)


def _socket(facts: UpgradeFacts, target: int) -> Iterator[Finding]:
    """The flag for the socket in kubeadm's file, which kubeadm replaces by a field of the node's own files."""
    flag = facts.flag(_FLAG)
    if flag is None or _KUBEADM_FLAGS not in flag.where or target < _SOCKET_IN_FILE:
        return
    message = (
        f"`kubeadm upgrade node` removes the flag from {_KUBEADM_FLAGS} and writes {_FIELD} into the node's own files"
    )
    default = fields.ALL[_FIELD].default_at(min(target, fields.NEWEST_MINOR))
    in_files = any(_FIELD in one.content for one in facts.files)
    severity, remedy = CHANGES, "Nothing to do if kubeadm upgrades the node."
    if facts.checkpoint and not in_files and flag.value != default:
        severity, remedy = STOPS, f"Declare {_FIELD}: {flag.value} for this node before the upgrade."
        message += f", which the kubelet does not read because of its checkpoint: it would use {default}"
    yield Finding(severity, RUNTIME, f"--{_FLAG}", message, remedy, flag.where)


def _delivery(facts: UpgradeFacts, target: int) -> Iterator[Finding]:
    if facts.dynamic and target >= _NO_DYNAMIC:
        message = "the kubelet has --dynamic-config-dir, and 1.24 removed Dynamic Kubelet Configuration"
        remedy = "Run the playbook migrate first. It changes the delivery and removes nothing that is configured."
        yield Finding(STOPS, DELIVERY, "native", message, remedy)
    elif facts.checkpoint:
        message = "the kubelet reads a checkpoint, so a change of the node's own config file has no effect" + (
            f" ({facts.own.path})" if facts.own else ""
        )
        remedy = "Run the playbook rollout after the upgrade."
        yield Finding(STAYS, DELIVERY, "checkpoint", message, remedy, facts.checkpoint)
