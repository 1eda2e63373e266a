# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stage assign: write the source that each node should run to the place of its delivery, or remove it.

A kubelet with native delivery follows automatically. For the others, the content of the ConfigMap is returned, and the
role `checkpoint` copies it to the node.
"""

from __future__ import annotations

import typing as t

from ..._config import delivery as deliveries
from ..._config.fields import fields
from ..._config.values import document, node_row
from ..._config.values.reference import same_place
from ..api import parallel
from ..api.errors import ApiError, ClusterError, NodesFailed, without_failure
from ..api.session import Json, Session
from ..objects import config_sources, kubelets, node_requests, nodes, readers
from ..objects.lease import Keeper
from .assign_step import Step, make_step


class _Plan(t.NamedTuple):
    """What is known before anything is written, by node name; `configs` by the text of `nodes.describe`.

    `found` are the nodes as read, `steps` the assignments of those that are there, `changing` the steps to write,
    `needed` the sources whose ConfigMaps are read, `rows` what is returned of every node.
    """

    found: dict[str, nodes.Node]
    steps: dict[str, Step]
    changing: dict[str, Step]
    needed: dict[str, dict[str, str]]
    configs: dict[str, config_sources.FoundConfig]
    rows: dict[str, Json]


def assign(session: Session, options: Json, check_mode: bool, keeper: Keeper | None = None) -> Json:
    """Write the source of every node that has another one, and verify what the API server stored.

    Requests: one LIST, one GET for each distinct ConfigMap, one PATCH for each node that changes, and before it one GET
    of configz for each that gets a drop-in and is not as in the dump; with kubelets that need a Role those of
    `readers.grant`. If any node or ConfigMap is unfit, nothing is written. A node that does not exist, or whose PATCH
    fails, does not prevent the others. `keeper` renews the rollout's Lease before the first PATCH. Raises NodesFailed,
    which names every node concerned, and LeaseLost before anything is written. `recreated` in the result are nodes
    whose status may be that of the ConfigMap before.
    """
    plan = _plan(session, options)
    rows = plan.rows
    _refuse_unfit(plan, check_mode)
    if keeper and rows:
        keeper.keep()
    seen = None
    if not check_mode:
        seen = _seen_before(session, plan.changing, options.get("current"))
    granted = _grant(session, plan.steps, rows, check_mode)
    _write(session, {name: step for name, step in plan.changing.items() if rows[name]["ok"]}, rows, check_mode)
    result = _result(rows, False)
    result["recreated"] = [name for name, step in plan.changing.items() if rows[name]["ok"] and step.recreated]
    if granted:
        result.update(changed=True, granted=granted)
    if seen is not None:
        result["before"] = seen
    result["configmaps"] = _contents(plan)
    return without_failure("assigning", result)


def _plan(session: Session, options: Json) -> _Plan:
    wanted = config_sources.wanted(options)
    try:
        found, lost = node_requests.find_known(session, {name: one.uid for name, one in wanted.items()})
    except ApiError as error:
        raise ClusterError(f"assigning: {error.message}. Nothing was written to any node; run again") from error
    current = {name: node.with_delivery(_deliver(node, wanted[name])) for name, node in found.items()}
    needed = _needed(wanted, current, options["check_source"])
    configs = config_sources.find(session, needed.values())
    steps = {}
    for name, node in current.items():
        steps[name] = make_step(found[name], node, wanted[name], configs, options)
    changing = {name: step for name, step in steps.items() if not step.reached(step.node)}
    rows = {}
    for name in wanted:
        rows[name] = lost[name].shown(previous=None) if name in lost else _row(steps[name])
    return _Plan(found, steps, changing, needed, configs, rows)


def _needed(
    wanted: dict[str, config_sources.Wanted], current: dict[str, nodes.Node], check_source: bool
) -> dict[str, dict[str, str]]:
    """Return the sources whose ConfigMaps must be read, by node.

    A kubelet with native delivery reads the ConfigMap on its own, so a new source is only checked. For the others the
    content is always needed: an earlier run may have been interrupted before it copied the content to the node. So is
    the uid for a kubelet that follows it.
    """
    needed = {}
    for name, node in current.items():
        source = wanted[name].source
        if source is None:
            continue
        always = node.on_node or node.form.by_uid
        if always or (check_source and not same_place(node.source, source)):
            needed[name] = source
    return needed


def _row(step: Step) -> Json:
    """Return the row of a node before anything is written."""
    node = step.node
    row = node_row.Row(True, "unchanged", f"has {nodes.describe(step.goal)}", False, node.delivery, node.source)
    previous = dict(step.previous or {})
    if previous and step.leaves:
        # A revert restores the delivery, too.
        previous["delivery"] = step.leaves
    more = {} if step.orders is None else {"transport": step.orders.transport}
    return row.shown(previous=previous or None, uid=node.uid, **more)


def _refuse_unfit(plan: _Plan, check_mode: bool) -> None:
    """Raise NodesFailed if nodes cannot run their source: for the node itself, else for its ConfigMap."""
    unfit = {}
    for name, step in plan.changing.items():
        fault = config_sources.unfit(plan.found[name], step.node, step.goal, bool(step.leaves))
        unfit[name] = fault or step.fault
    for name, source in plan.needed.items():
        why = plan.configs[nodes.describe(source)].fault_at(plan.found[name].minor)
        # In check mode, an absent ConfigMap may be one that push would create.
        to_be_pushed = check_mode and why and why.startswith(config_sources.ABSENT)
        if why and not unfit.get(name) and not to_be_pushed:
            unfit[name] = f"{nodes.describe(source)}: {why}"
    for name, fault in unfit.items():
        if fault:
            plan.rows[name].update(_failed(fault))
    if any(unfit.values()):
        failures = node_row.failures(plan.rows)
        raise NodesFailed("assigning (nothing was written to any node)", failures, _result(plan.rows, True))


def _seen_before(session: Session, changing: dict[str, Step], current: t.Mapping[str, t.Any] | None) -> Json | None:
    """Return what kubelets that get a drop-in run now, None without such kubelets. `current` as in `read_before`."""
    dropins = {}
    for name, step in changing.items():
        if step.goal and not deliveries.of(step.node.delivery).whole:
            dropins[name] = step.node
    if not dropins:
        return None
    return read_before(session, dropins, current or {})


def read_before(session: Session, found: dict[str, nodes.Node], current: t.Mapping[str, t.Any]) -> Json:
    """Return the live configurations as a table `{variants, nodes}` (one GET of configz for each node).

    A row has the `variant` and the paths that the source of the node has `declared` so far: these may revert. A node
    that is as in the dump `current` is not asked. One whose configuration cannot be read has no row.
    """
    table: Json = {"variants": {}, "nodes": {}}
    unknown = []
    for name, node in found.items():
        variant = _dumped(current, node)
        if variant:
            _note(table, node, variant, current["variants"][variant])
        else:
            unknown.append(name)
    for outcome in kubelets.live_configs(session, unknown, found):
        if outcome.value is not None:
            config = fields.restore(outcome.value)
            _note(table, found[outcome.item], document.variant(config), config)
    return table


def _dumped(dump: t.Mapping[str, t.Any], node: nodes.Node) -> str | None:
    """Return the variant that a node runs by a dump, None if that is not known or it has another source or kubelet now.

    Raises ClusterError for a dump of another form.
    """
    try:
        row = (dump.get("nodes") or {}).get(node.name)
        if not row or (row["source"], row["kubelet_version"]) != (node.source, node.kubelet_version):
            return None
        variant: str | None = row["variant"]
        return variant if variant in dump["variants"] else None
    except (AttributeError, KeyError, TypeError) as error:
        raise ClusterError(f"current is not a dump ({error!r}): pass it unchanged, or omit it") from error


def _note(table: Json, node: nodes.Node, variant: str, config: t.Mapping[str, t.Any]) -> None:
    table["variants"].setdefault(variant, config)
    own = (node.own or {}).get("own") or {}
    table["nodes"][node.name] = {"variant": variant, "declared": sorted(own)}


def _grant(session: Session, steps: dict[str, Step], rows: dict[str, Json], check_mode: bool) -> list[str]:
    """Let kubelets that need a Role read what they get; return what that changed. Updates the rows where it fails."""
    read = {name: step.goal for name, step in steps.items() if step.by_follower or step.node.reads_by_role}
    users = readers.users_of(read)
    granted, failed = readers.grant(session, users, check_mode)
    for place, why in failed.items():
        for name in users[place]:
            rows[name].update(_failed(why))
    return granted


def _write(session: Session, steps: dict[str, Step], rows: dict[str, Json], dry_run: bool) -> None:
    """Write all assignments, and update `rows` with their outcome."""

    def write(name: str) -> nodes.Node:
        step = steps[name]
        return config_sources.write_source(session, step.node, step.goal, dry_run, step.sides, step.notes)

    for outcome in session.each(steps, write):
        step, row, stored = steps[outcome.item], rows[outcome.item], outcome.value
        if stored is None:
            row.update(_refused(session, step, outcome))
        elif not step.reached(stored):
            row.update(_failed(_dropped(stored)), source=stored.source)
        elif stored.source:
            message = f"assigned {nodes.describe(stored.source)}"
            row.update(changed=True, source=stored.source, state="assigned", message=message)
        else:
            row.update(changed=True, source=stored.source, state="reset", message="its source was removed")


def _refused(session: Session, step: Step, outcome: parallel.Outcome[str, nodes.Node]) -> Json:
    """Return what changes in the row of a node whose PATCH has failed."""
    absent = node_requests.absence(session, outcome.error)
    if absent:
        return absent.shown(previous=None)
    if outcome.error and outcome.error.status == 0:
        # It may have been written. A revert of the node must find what it may have to undo.
        return {**_failed(outcome.why), "state": "unknown", "source": step.goal}
    return _failed(outcome.why)


def _failed(why: str) -> Json:
    return {"ok": False, "message": why, "error": why}


def _contents(plan: _Plan) -> Json:
    """Return the data of the ConfigMaps to copy to nodes, by `namespace/name`."""
    contents = {}
    for name, source in plan.needed.items():
        step = plan.steps[name]
        if step.node.on_node and not step.by_follower:
            configmap = plan.configs[nodes.describe(source)].configmap or {}
            contents[f"{source['namespace']}/{source['name']}"] = configmap.get("data") or {}
    return contents


def _deliver(node: nodes.Node, wanted: config_sources.Wanted) -> str:
    """Return the delivery by which a source reaches a node or is removed: the requested one, else that of the node."""
    if wanted.delivery != deliveries.AUTO or wanted.source is None:
        return wanted.delivery
    return deliveries.chosen(deliveries.AUTO, node.delivery, node.minor, node.source is not None)


def _dropped(stored: nodes.Node) -> str:
    if stored.on_node:
        return (
            f"the API server accepted the patch but stored {nodes.describe(stored.source)}: "
            "does an admission webhook change Node annotations?"
        )
    return (
        f"the API server accepted the patch but stored {nodes.describe(stored.source)}: its feature gate "
        f"DynamicKubeletConfig is off {stored.form.gate_off}; enable it in kube-apiserver, "
        "or set kubelet_config_delivery to checkpoint"
    )


def _result(rows: dict[str, Json], refused: bool) -> Json:
    changed = [name for name, row in rows.items() if row["changed"]]
    failed = len(node_row.failures(rows))
    return {
        "changed": bool(changed),
        "stop": refused,
        "nodes": rows,
        "summary": {
            "nodes": len(rows),
            "changed": len(changed),
            "failed": failed,
            "unchanged": len(rows) - len(changed) - failed,
        },
        "diff": [_diff(name, rows[name]) for name in changed],
    }


def _diff(name: str, row: Json) -> dict[str, str]:
    place = deliveries.of(row["delivery"]).source_place
    return {
        "before_header": f"Node {name}",
        "after_header": f"Node {name}",
        "before": f"{place}: {nodes.describe(row['previous'])}\n",
        "after": f"{place}: {nodes.describe(row['source'])}\n",
    }
