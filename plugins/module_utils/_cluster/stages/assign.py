# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stage assign: write down what each node should run, where its delivery has that, or take it away again.

A kubelet with native delivery follows by itself. For the others the ConfigMap's content is returned, for the role
`checkpoint` to carry to the node.
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
    """What is to be done with one node: `node` as the delivery that was chosen sees it, `goal` to stand on its `sides`,
    beside these annotations.
    """

    node: nodes.Node
    goal: Source
    sides: t.Sequence[str]
    notes: t.Mapping[str, str | None]

    def reached(self, node: nodes.Node) -> bool:
        """Tell whether a state of the node is the goal. What is only to be remembered on the way there is no goal of
        its own.
        """
        if self.goal is None and self.notes and node.previous is not None:
            return False
        return all(
            node.side(side).source == self.goal
            if side == nodes.CHECKPOINT
            else same_place(node.side(side).source, self.goal)
            for side in self.sides
        )


def assign(session: Session, options: dict[str, t.Any], check_mode: bool) -> dict[str, t.Any]:
    """Write the source of every node that has another one, and read back what was stored.

    Requests: one LIST, one GET a distinct ConfigMap, one PATCH a node that changes; nothing is written when any node or
    ConfigMap is unfit. Raises NodesFailed naming every node concerned.
    """
    wanted = config_sources.wanted(options)
    try:
        found = nodes.read(session, wanted) if wanted else {}
    except ApiError as error:
        raise ClusterError(f"assigning: {error.message}. Nothing was written to any node; run again") from error
    current = {name: node.seen_as(deliver(node, wanted[name])) for name, node in found.items()}
    # Only a kubelet with native delivery reads the ConfigMap itself; to the others its content is carried, also by a
    # run that goes on where one was cut off.
    needed = {
        name: source
        for name, one in wanted.items()
        for source in [one.source]
        if source
        and (
            current[name].delivery == nodes.CHECKPOINT
            or (options["check_source"] and not same_place(current[name].source, source))
        )
    }
    configs = config_sources.find(session, needed.values())
    steps = {name: _step(found[name], node, wanted[name], configs) for name, node in current.items()}
    rows: dict[str, dict[str, t.Any]] = {
        name: {
            "changed": False,
            "delivery": node.delivery,
            "source": node.source,
            "previous": _former(node, steps[name]),
            "state": "unchanged",
        }
        for name, node in current.items()
    }
    changing = [name for name, step in steps.items() if not step.reached(step.node)]
    unfit = {name: why for name in changing for why in [_unfit(found[name], steps[name])] if why}
    for name, source in needed.items():
        why = configs[nodes.describe(source)].fault
        # In check mode the ConfigMap may be one that push would have made.
        if why and name not in unfit and not (check_mode and why.startswith(config_sources.ABSENT)):
            unfit[name] = f"{nodes.describe(source)}: {why}"
    if unfit:
        raise NodesFailed("assigning (nothing was written to any node)", unfit, _result(rows, unfit))
    failures = _write(session, {name: steps[name] for name in changing}, rows, check_mode)
    result = _result(rows, failures)
    result["configmaps"] = {
        f"{source['namespace']}/{source['name']}": (configs[nodes.describe(source)].configmap or {}).get("data") or {}
        for name, source in needed.items()
        if current[name].delivery == nodes.CHECKPOINT
    }
    if failures:
        raise NodesFailed("assigning", failures, result)
    return result


def _write(
    session: Session, steps: dict[str, _Step], rows: dict[str, dict[str, t.Any]], dry_run: bool
) -> dict[str, str]:
    """Take the steps, note in `rows` what came of each, and return why some failed."""
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
    """Return how a source reaches a node, or is taken away: as asked, else as the node itself shows, never as the API
    server would accept.
    """
    if wanted.delivery != nodes.AUTO or wanted.source is None:
        return wanted.delivery
    return nodes.CHECKPOINT if node.delivery == nodes.NONE else node.delivery


def _step(
    found: nodes.Node, node: nodes.Node, wanted: config_sources.Wanted, configs: dict[str, config_sources.Found]
) -> _Step:
    """`node` is what was found as the delivery that was chosen sees it."""
    source = wanted.source
    if source is None:
        # Taken away everywhere, unless one side is named: also where a move from one delivery to the other was cut off.
        both = [side for side in (nodes.NATIVE, nodes.CHECKPOINT) if node.side(side).source]
        if wanted.delivery == nodes.AUTO:
            return _Step(node, None, both, {annotation.PREVIOUS: None} if node.previous is not None else {})
        return _Step(node, None, [wanted.delivery], {})
    configmap = configs[nodes.describe(source)].configmap if node.delivery == nodes.CHECKPOINT else None
    # The annotation names the revision that was carried to the node; a kubelet with native delivery follows every later
    # one.
    goal = configmaps.reference(configmap, source["kubeletConfigKey"]) if configmap else source
    return _Step(node, goal, [node.delivery], _remembered(found, goal))


def _former(node: nodes.Node, step: _Step) -> Source:
    """Return what a node ran, and can go back to. One that has its goal got it from an earlier run, which noted that."""
    if node.previous is not None and step.reached(node):
        return node.previous.get("configMap")
    # Whoever failed with what it should run runs something else.
    return node.part("active") if node.error else node.source


def _remembered(node: nodes.Node, goal: dict[str, str]) -> dict[str, str | None]:
    """Return the annotation that says what a node ran before. What failed, or has not been proven, is nothing to come
    back to.
    """
    if (
        not node_status.settled(node)
        or (node.status or {}).get("reason") == annotation.ON_TRIAL
        or same_place(node.part("active"), goal)
    ):
        return {}
    active = node.part("active")
    return {annotation.PREVIOUS: annotation.text({"configMap": active} if active else {})}


def _unfit(found: nodes.Node, step: _Step) -> str | None:
    """Say why the kubelet of a node could not run a source delivered so; None when it can."""
    node, source = step.node, step.goal
    if source is None:
        return None
    if node.delivery == nodes.CHECKPOINT:
        if found.listening and found.native.source and not same_place(found.native.source, source):
            return (
                f"its kubelet follows spec.configSource, which names {nodes.describe(found.native.source)}: that is stronger than a checkpoint. "
                "Move the node over with the playbook migrate, or leave kubelet_config_delivery to auto"
            )
        return None
    if found.delivery == nodes.CHECKPOINT and not same_place(found.source, source):
        return (
            f"its kubelet runs a checkpoint, of {nodes.describe(found.source)}: move the node over with the playbook migrate, or leave "
            "kubelet_config_delivery to auto"
        )
    if node.minor and node.minor not in nodes.NATIVE_MINORS:
        return (
            f"its kubelet {node.kubelet_version} does not follow Node.spec.configSource.configMap (kubelets 1.11 to 1.23 do); "
            "set kubelet_config_delivery to auto or checkpoint for it"
        )
    if found.native.status is None:
        return (
            "nobody is listening: its kubelet reports no status.config (one that has just started does so within 15 s). Start the kubelet with "
            "--dynamic-config-dir=DIR and the feature gate DynamicKubeletConfig (off by default from 1.22), or set kubelet_config_delivery to "
            "auto or checkpoint for it"
        )
    return None


def _dropped(stored: nodes.Node) -> str:
    if stored.delivery == nodes.CHECKPOINT:
        return f"the API server accepted the patch but stored {nodes.describe(stored.source)}: does an admission webhook change Node annotations?"
    return (
        f"the API server accepted the patch but stored {nodes.describe(stored.source)}: its feature gate DynamicKubeletConfig is off "
        "(default from 1.22, gone in 1.26); turn it on at kube-apiserver, or set kubelet_config_delivery to checkpoint"
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
