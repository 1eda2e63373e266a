# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stage assign: point nodes at their config source, or back at their local config."""
from __future__ import annotations

import typing as t

from .._config import document
from .._config.reference import PLACE, same_place
from . import bulk, configmaps, nodes
from .errors import ApiError, ClusterError, NodesFailed
from .session import Session

Source = t.Optional[t.Dict[str, str]]


def wanted_sources(options: dict[str, t.Any]) -> dict[str, Source]:
    """Return the source each node is to have, None for the local config.

    Raises ClusterError when a source is incomplete.
    """
    if options["nodes"] is not None and not options["nodes"]:
        raise ClusterError("nodes is an empty list: name at least one node")
    if options["state"] == "absent":
        return dict.fromkeys(options["nodes"] or options["sources"] or {})
    given = options["sources"] if options["sources"] is not None else dict.fromkeys(options["nodes"] or [], options["source"])
    wanted: dict[str, Source] = {}
    for name, source in given.items():
        if not isinstance(source, dict) or not source.get("namespace") or not source.get("name"):
            raise ClusterError(f"sources: node {name} needs a mapping with namespace, name and kubeletConfigKey, not {source!r}")
        key = source.get("kubeletConfigKey") or source.get("kubelet_config_key") or "kubelet"
        wanted[name] = {"namespace": source["namespace"], "name": source["name"], "kubeletConfigKey": key}
    return wanted


def assign(session: Session, options: dict[str, t.Any], check_mode: bool) -> dict[str, t.Any]:
    """Write Node.spec.configSource of every node that has another one, and read back what was stored.

    Requests: one LIST, one GET a distinct ConfigMap, one PATCH a node that changes; nothing is written when any node or
    ConfigMap is unfit. Raises NodesFailed naming every node concerned.
    """
    wanted = wanted_sources(options)
    try:
        current = nodes.read(session, wanted) if wanted else {}
    except ApiError as error:
        raise ClusterError(f"assigning: {error.message}. Nothing was written to any node; run again") from error
    rows: dict[str, dict[str, t.Any]] = {
        name: {"changed": False, "source": node.source, "previous": node.source, "state": "unchanged"} for name, node in current.items()}
    changing = [name for name, node in current.items() if not same_place(node.source, wanted[name])]
    unfit = {name: why for name in changing for why in [_unfit(current[name], wanted[name])] if why}
    missing = _bad_sources(session, [source for name in changing for source in [wanted[name]] if source], check_mode) if options["check_source"] else {}
    unfit.update({name: missing[_place(wanted[name])] for name in changing if name not in unfit and _place(wanted[name]) in missing})
    if unfit:
        raise NodesFailed("assigning (nothing was written to any node)", unfit, _result(rows, unfit))

    outcomes = bulk.each(changing, lambda name: nodes.write_source(session, current[name], wanted[name], check_mode), session.concurrency)
    failures: dict[str, str] = {}
    for outcome in outcomes:
        row, stored = rows[outcome.item], outcome.value
        if stored is None:
            failures[outcome.item] = outcome.error.message if outcome.error else "no answer"
            row["state"] = "unknown" if isinstance(outcome.error, ApiError) and outcome.error.status == 0 else "unchanged"
        elif not same_place(stored.source, wanted[outcome.item]):
            failures[outcome.item] = _dropped(stored)
            row["source"] = stored.source
        else:
            row.update(changed=True, source=stored.source, state="assigned" if stored.source else "reset")
    result = _result(rows, failures)
    if failures:
        raise NodesFailed("assigning", failures, result)
    return result


def _unfit(node: nodes.Node, source: Source) -> str | None:
    """Say why the kubelet of a node could not follow a source; None when it can."""
    if source is None:
        return None
    if node.minor and node.minor not in nodes.NATIVE_MINORS:
        return (f"its kubelet {node.kubelet_version} does not follow Node.spec.configSource.configMap (kubelets 1.11 to 1.23 do); "
                "leave it out of this group")
    if node.status is None:
        return ("nobody is listening: its kubelet reports no status.config (one that has just started does so within 15 s). Start the kubelet with "
                "--dynamic-config-dir=DIR and the feature gate DynamicKubeletConfig (off by default from 1.22), or leave the node out")
    return None


def _dropped(stored: nodes.Node) -> str:
    return (f"the API server accepted the patch but stored {nodes.describe(stored.source)}: its feature gate DynamicKubeletConfig is off "
            "(default from 1.22, gone in 1.26); turn it on at kube-apiserver, or deliver the configuration another way")


def _place(source: Source) -> tuple[str, ...]:
    return tuple(source[part] for part in PLACE) if source else ()


def _bad_sources(session: Session, sources: list[dict[str, str]], check_mode: bool) -> dict[tuple[str, ...], str]:
    """Look at every distinct source once and say what is wrong with those that no kubelet could use."""
    distinct = {_place(source): source for source in sources}
    found = bulk.each(list(distinct.values()), lambda source: source_fault(session, source), session.concurrency)
    faults: dict[tuple[str, ...], str] = {}
    for outcome in found:
        if outcome.error:
            faults[_place(outcome.item)] = f"the ConfigMap {nodes.describe(outcome.item)} could not be checked: {outcome.error.message}"
        elif outcome.value and not (check_mode and outcome.value.startswith(ABSENT)):
            # In check mode the ConfigMap may be one that push would have made.
            faults[_place(outcome.item)] = f"{nodes.describe(outcome.item)}: {outcome.value}"
    return faults


ABSENT = "there is no such ConfigMap"


def source_fault(session: Session, source: dict[str, str]) -> str | None:
    """Return what makes a source useless to every kubelet, None when nothing does (one GET)."""
    configmap = configmaps.read(session, source["namespace"], source["name"])
    return f"{ABSENT}; push it first" if configmap is None else content_fault(configmap, source["kubeletConfigKey"])


def content_fault(configmap: dict[str, t.Any], key: str) -> str | None:
    """Return what makes the content under a key unusable: absent, binary, or no KubeletConfiguration."""
    data = configmap.get("data") or {}
    if key not in data:
        if key in (configmap.get("binaryData") or {}):
            return f"the key {key} holds binary data, which kubelets ignore; its file is not UTF-8 text"
        return f"it has no key {key} (it has: {', '.join(sorted(data)) or 'none'})"
    try:
        document.parse(data[key], f"key {key}", complete=True)
    except document.DocumentError as error:
        return str(error)
    return None


def _result(rows: dict[str, dict[str, t.Any]], failures: dict[str, str]) -> dict[str, t.Any]:
    for name, why in failures.items():
        rows.setdefault(name, {"changed": False})["error"] = why
    changed = [name for name, row in rows.items() if row["changed"]]
    return {
        "changed": bool(changed),
        "nodes": rows,
        "summary": {"nodes": len(rows), "changed": len(changed), "failed": len(failures), "unchanged": len(rows) - len(changed) - len(failures)},
        "diff": [{"before_header": f"Node {name}", "after_header": f"Node {name}",
                  "before": f"spec.configSource: {nodes.describe(rows[name]['previous'])}\n",
                  "after": f"spec.configSource: {nodes.describe(rows[name]['source'])}\n"} for name in changed],
    }
