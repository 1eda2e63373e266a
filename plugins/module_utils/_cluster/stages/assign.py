# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stage assign: write the source that each node should run to the place of its delivery, or remove it.

A kubelet with native delivery follows automatically. For the others, the content of the ConfigMap is returned, and the
role `checkpoint` copies it to the node.
"""

from __future__ import annotations

import dataclasses
import typing as t

from ..._config.values import annotation
from ..._config.values.reference import same_place
from ..api import parallel
from ..api.errors import ApiError, ClusterError, NodesFailed
from ..api.session import Session
from ..objects import config_sources, configmaps, node_status, nodes
from ..objects.config_sources import Source


@dataclasses.dataclass(frozen=True)
class _Step:
    """The assignment of one node.

    `node` is the node as the chosen delivery sees it, `goal` the source to write to its `sides` (deliveries), `notes`
    the annotations to write as well.
    """

    node: nodes.Node
    goal: Source
    sides: t.Sequence[str]
    notes: t.Mapping[str, str | None]

    def reached(self, node: nodes.Node) -> bool:
        """Return whether a node has the goal. The annotation with the previous source is no goal, only its removal."""
        if self.goal is None and self.notes and node.previous is not None:
            return False
        return all(
            node.side(side).source == self.goal
            if side == nodes.CHECKPOINT
            else same_place(node.side(side).source, self.goal)
            for side in self.sides
        )


def assign(session: Session, options: dict[str, t.Any], check_mode: bool) -> dict[str, t.Any]:
    """Write the source of every node that has another one, and verify what the API server stored.

    Requests: one LIST, one GET for each distinct ConfigMap, one PATCH for each node that changes. If any node or
    ConfigMap is unfit, nothing is written. Raises NodesFailed, which names every node concerned.
    """
    wanted = config_sources.wanted(options)
    try:
        found = nodes.read(session, wanted) if wanted else {}
    except ApiError as error:
        raise ClusterError(f"assigning: {error.message}. Nothing was written to any node; run again") from error
    current = {name: node.seen_as(deliver(node, wanted[name])) for name, node in found.items()}
    needed = _needed(wanted, current, options["check_source"])
    configs = config_sources.find(session, needed.values())
    steps = {name: _step(found[name], node, wanted[name], configs) for name, node in current.items()}
    rows = {name: _row(node, steps[name]) for name, node in current.items()}
    changing = {name: step for name, step in steps.items() if not step.reached(step.node)}
    unfit = _all_unfit(found, changing, needed, configs, check_mode)
    if unfit:
        raise NodesFailed("assigning (nothing was written to any node)", unfit, _result(rows, unfit))
    failures = _write(session, changing, rows, check_mode)
    result = _result(rows, failures)
    result["configmaps"] = {
        f"{source['namespace']}/{source['name']}": (configs[nodes.describe(source)].configmap or {}).get("data") or {}
        for name, source in needed.items()
        if current[name].delivery == nodes.CHECKPOINT
    }
    if failures:
        raise NodesFailed("assigning", failures, result)
    return result


def _needed(
    wanted: dict[str, config_sources.Wanted], current: dict[str, nodes.Node], check_source: bool
) -> dict[str, dict[str, str]]:
    """Return the sources whose ConfigMaps must be read, by node.

    A kubelet with native delivery reads the ConfigMap on its own, so a new source is only checked. For the others the
    content is always needed: an earlier run may have been interrupted before it copied the content to the node.
    """
    needed = {}
    for name, one in wanted.items():
        if one.source is None:
            continue
        is_new = not same_place(current[name].source, one.source)
        if current[name].delivery == nodes.CHECKPOINT or (check_source and is_new):
            needed[name] = one.source
    return needed


def _row(node: nodes.Node, step: _Step) -> dict[str, t.Any]:
    """Return the row of a node before anything is written."""
    return {
        "changed": False,
        "delivery": node.delivery,
        "source": node.source,
        "previous": _previous(node, step),
        "state": "unchanged",
    }


def _all_unfit(
    found: dict[str, nodes.Node],
    changing: dict[str, _Step],
    needed: dict[str, dict[str, str]],
    configs: dict[str, config_sources.Found],
    check_mode: bool,
) -> dict[str, str]:
    """Return why nodes cannot run their source, by node: for the node itself, else for its ConfigMap."""
    unfit = {name: why for name, step in changing.items() for why in [_unfit(found[name], step)] if why}
    for name, source in needed.items():
        why = configs[nodes.describe(source)].fault
        # In check mode, an absent ConfigMap may be one that push would create.
        if why and name not in unfit and not (check_mode and why.startswith(config_sources.ABSENT)):
            unfit[name] = f"{nodes.describe(source)}: {why}"
    return unfit


def _write(
    session: Session, steps: dict[str, _Step], rows: dict[str, dict[str, t.Any]], dry_run: bool
) -> dict[str, str]:
    """Write all assignments, update `rows` with their outcome, and return the messages of failures by node."""
    failures: dict[str, str] = {}

    def write(name: str) -> nodes.Node:
        return nodes.write_source(
            session, steps[name].node, steps[name].goal, dry_run, steps[name].sides, steps[name].notes
        )

    for outcome in parallel.each(list(steps), write, session.concurrency):
        row, stored = rows[outcome.item], outcome.value
        if stored is None:
            failures[outcome.item] = outcome.error.message if outcome.error else "no answer"
            row["state"] = (
                "unknown" if isinstance(outcome.error, ApiError) and outcome.error.status == 0 else "unchanged"
            )
        elif not steps[outcome.item].reached(stored):
            failures[outcome.item] = _dropped(stored)
            row["source"] = stored.source
        else:
            row.update(changed=True, source=stored.source, state="assigned" if stored.source else "reset")
    return failures


def deliver(node: nodes.Node, wanted: config_sources.Wanted) -> str:
    """Return the delivery by which a source reaches a node or is removed: the requested one, else that of the node."""
    if wanted.delivery != nodes.AUTO or wanted.source is None:
        return wanted.delivery
    return nodes.CHECKPOINT if node.delivery == nodes.NONE else node.delivery


def _step(
    found: nodes.Node, node: nodes.Node, wanted: config_sources.Wanted, configs: dict[str, config_sources.Found]
) -> _Step:
    """Return the assignment of a node. `found` is the node as read, `node` the same as the chosen delivery sees it."""
    source = wanted.source
    if source is None:
        # Without a named delivery, remove both sources: an interrupted migration leaves two.
        both = [side for side in (nodes.NATIVE, nodes.CHECKPOINT) if node.side(side).source]
        if wanted.delivery == nodes.AUTO:
            return _Step(node, None, both, {annotation.PREVIOUS: None} if node.previous is not None else {})
        return _Step(node, None, [wanted.delivery], {})
    configmap = configs[nodes.describe(source)].configmap if node.delivery == nodes.CHECKPOINT else None
    # The annotation names the revision that is copied to the node; a kubelet with native delivery follows every later
    # one.
    goal = configmaps.reference(configmap, source["kubeletConfigKey"]) if configmap else source
    return _Step(node, goal, [node.delivery], _remembered(found, goal))


def _previous(node: nodes.Node, step: _Step) -> Source:
    """Return the source that a node can be reverted to. If it already has its goal, an earlier run has recorded it."""
    if node.previous is not None and step.reached(node):
        return node.previous.get("configMap")
    # A node with an error does not run its source.
    return node.part("active") if node.error else node.source


def _remembered(node: nodes.Node, goal: dict[str, str]) -> dict[str, str | None]:
    """Return the annotation with the active source before the assignment, empty if that failed or is still on trial."""
    if (
        not node_status.settled(node)
        or annotation.unconfirmed((node.status or {}).get("reason"))
        or same_place(node.part("active"), goal)
    ):
        return {}
    active = node.part("active")
    return {annotation.PREVIOUS: annotation.text({"configMap": active} if active else {})}


def _unfit(found: nodes.Node, step: _Step) -> str | None:
    """Return why the kubelet of a node cannot run a source by the chosen delivery; None if it can."""
    node, source = step.node, step.goal
    if source is None:
        return None
    if node.delivery == nodes.CHECKPOINT:
        if found.listening and found.native.source and not same_place(found.native.source, source):
            return (
                f"its kubelet follows spec.configSource ({nodes.describe(found.native.source)}), which overrides a "
                "checkpoint. Migrate the node with the playbook migrate, or set kubelet_config_delivery to auto"
            )
        return None
    if found.delivery == nodes.CHECKPOINT and not same_place(found.source, source):
        return (
            f"its kubelet runs a checkpoint of {nodes.describe(found.source)}. Migrate the node with the playbook "
            "migrate, or set kubelet_config_delivery to auto"
        )
    if node.minor and node.minor not in nodes.NATIVE_MINORS:
        return (
            f"its kubelet {node.kubelet_version} does not follow Node.spec.configSource.configMap "
            "(kubelets 1.11 to 1.23 do); set kubelet_config_delivery to auto or checkpoint for it"
        )
    if found.native.status is None:
        return (
            "its kubelet is not listening: it reports no status.config (a new kubelet does so within 15 s). "
            "Start it with --dynamic-config-dir=DIR and the feature gate DynamicKubeletConfig (off by default from "
            "1.22), or set kubelet_config_delivery to auto or checkpoint for it"
        )
    return None


def _dropped(stored: nodes.Node) -> str:
    if stored.delivery == nodes.CHECKPOINT:
        return (
            f"the API server accepted the patch but stored {nodes.describe(stored.source)}: "
            "does an admission webhook change Node annotations?"
        )
    return (
        f"the API server accepted the patch but stored {nodes.describe(stored.source)}: its feature gate "
        "DynamicKubeletConfig is off (default from 1.22, removed in 1.26); enable it in kube-apiserver, or set "
        "kubelet_config_delivery to checkpoint"
    )


def _result(rows: dict[str, dict[str, t.Any]], failures: dict[str, str]) -> dict[str, t.Any]:
    for name, why in failures.items():
        rows.setdefault(name, {"changed": False})["error"] = why
    changed = [name for name, row in rows.items() if row["changed"]]
    return {
        "changed": bool(changed),
        "nodes": rows,
        "summary": {
            "nodes": len(rows),
            "changed": len(changed),
            "failed": len(failures),
            "unchanged": len(rows) - len(changed) - len(failures),
        },
        "diff": [
            {
                "before_header": f"Node {name}",
                "after_header": f"Node {name}",
                "before": f"{nodes.WHERE[rows[name]['delivery']]}: {nodes.describe(rows[name]['previous'])}\n",
                "after": f"{nodes.WHERE[rows[name]['delivery']]}: {nodes.describe(rows[name]['source'])}\n",
            }
            for name in changed
        ],
    }
