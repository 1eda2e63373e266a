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

from ..._config import delivery as deliveries
from ..._config.values import annotation, node_row, own_values
from ..._config.values.reference import same_place
from ..api import parallel
from ..api.errors import ApiError, ClusterError, NodesFailed
from ..api.session import Session
from ..objects import config_sources, configmaps, node_requests, nodes, readers
from ..objects.config_sources import Source
from ..objects.lease import Keeper
from .watch import read_before


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
    leaves: str = ""
    """The delivery that the node leaves in a migration."""
    before: t.Mapping[str, t.Any] | None = None
    """What the annotation `previous` must hold, None if that does not matter."""

    def reached(self, node: nodes.Node) -> bool:
        """Return whether a node has the goal. An annotation is not one, only its removal, and what a rollout notes."""
        if self.goal is None and any(text is None and _has(node, key) for key, text in self.notes.items()):
            return False
        if self.before is not None and self.before != node.previous:
            return False
        if any(node.source_fault(side) for side in self.sides) or (node.reimaged and self.goal is not None):
            return False
        return all(
            node.side(side).source == self.goal and (self.goal is None or node.named(side))
            if deliveries.of(side).on_node
            else node.form.same(node.side(side).source, self.goal)
            for side in self.sides
        )

    @property
    def recreated(self) -> bool:
        """Whether the node must run another ConfigMap of the same name, which its status does not distinguish."""
        node = self.node
        return not node.on_node and node.form.by_path and same_place(node.source, self.goal)


def assign(
    session: Session, options: dict[str, t.Any], check_mode: bool, keeper: Keeper | None = None
) -> dict[str, t.Any]:
    """Write the source of every node that has another one, and verify what the API server stored.

    Requests: one LIST, one GET for each distinct ConfigMap, one PATCH for each node that changes, and before it one GET
    of configz for each that gets a drop-in; with kubelets that need a Role those of `readers.grant`. If any node or
    ConfigMap is unfit, nothing is written. A node that does not exist, or whose PATCH fails, does not prevent the
    others. `keeper` renews the rollout's Lease before the first PATCH. Raises NodesFailed, which names every node
    concerned, and LeaseLost before anything is written. `recreated` in the result are nodes whose status may be that
    of the ConfigMap before.
    """
    wanted = config_sources.wanted(options)
    try:
        found = node_requests.find(session, wanted)
    except ApiError as error:
        raise ClusterError(f"assigning: {error.message}. Nothing was written to any node; run again") from error
    lost = node_requests.lost(session, {name: one.uid for name, one in wanted.items()}, found)
    current = {
        name: node.with_delivery(_deliver(node, wanted[name])) for name, node in found.items() if name not in lost
    }
    needed = _needed(wanted, current, options["check_source"])
    configs = config_sources.find(session, needed.values())
    steps = {name: _step(found[name], node, wanted[name], configs) for name, node in current.items()}
    rows = {name: lost[name].shown(previous=None) if name in lost else _row(steps[name]) for name in wanted}
    changing = {name: step for name, step in steps.items() if not step.reached(step.node)}
    unfit = _all_unfit(found, changing, needed, configs, check_mode)
    if unfit:
        for name, why in unfit.items():
            rows[name].update(ok=False, message=why, error=why)
        raise NodesFailed("assigning (nothing was written to any node)", _failures(rows), _result(rows, True))
    if keeper and wanted:
        keeper.keep()
    dropins = [step.node for step in changing.values() if step.goal and not deliveries.of(step.node.delivery).whole]
    seen = read_before(session, dropins) if dropins and not check_mode else None
    granted = _grant(session, steps, rows, check_mode)
    _write(session, {name: step for name, step in changing.items() if rows[name]["ok"]}, rows, check_mode)
    result = _result(rows, False)
    result["recreated"] = [name for name, step in changing.items() if rows[name]["ok"] and step.recreated]
    if granted:
        result.update(changed=True, granted=granted)
    if seen is not None:
        result["before"] = seen
    result["configmaps"] = {
        f"{source['namespace']}/{source['name']}": (configs[nodes.describe(source)].configmap or {}).get("data") or {}
        for name, source in needed.items()
        if current[name].on_node
    }
    if result["summary"]["failed"]:
        raise NodesFailed("assigning", _failures(rows), result)
    return result


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
        if source is not None and (
            node.on_node or node.form.by_uid or (check_source and not same_place(node.source, source))
        ):
            needed[name] = source
    return needed


def _row(step: _Step) -> dict[str, t.Any]:
    """Return the row of a node before anything is written."""
    node = step.node
    row = node_row.Row(True, "unchanged", f"has {nodes.describe(step.goal)}", False, node.delivery, node.source)
    previous = _previous(node, step)
    # A revert restores the delivery, too.
    left = {"delivery": step.leaves} if previous and step.leaves else {}
    return row.shown(previous={**previous, **left} if previous else None, uid=node.uid)


def _all_unfit(
    found: dict[str, nodes.Node],
    changing: dict[str, _Step],
    needed: dict[str, dict[str, str]],
    configs: dict[str, config_sources.FoundConfig],
    check_mode: bool,
) -> dict[str, str]:
    """Return why nodes cannot run their source, by node: for the node itself, else for its ConfigMap."""
    unfit = {name: why for name, step in changing.items() for why in [_unfit(found[name], step)] if why}
    for name, source in needed.items():
        why = configs[nodes.describe(source)].fault_at(found[name].minor)
        # In check mode, an absent ConfigMap may be one that push would create.
        if why and name not in unfit and not (check_mode and why.startswith(config_sources.ABSENT)):
            unfit[name] = f"{nodes.describe(source)}: {why}"
    return unfit


def _grant(session: Session, steps: dict[str, _Step], rows: dict[str, dict[str, t.Any]], check_mode: bool) -> list[str]:
    """Let kubelets that need a Role read what they get; return what that changed. Updates the rows where it fails."""
    sources = {name: step.goal for name, step in steps.items() if step.goal and step.node.reads_by_role}
    users: dict[readers.Place, set[str]] = {}
    for name, source in sources.items():
        users.setdefault((source["namespace"], source["name"]), set()).add(name)
    granted, failed = readers.grant(session, users, check_mode) if users else ([], {})
    for name, source in sources.items():
        why = failed.get((source["namespace"], source["name"]))
        if why:
            rows[name].update(ok=False, message=why, error=why)
    return granted


def _write(session: Session, steps: dict[str, _Step], rows: dict[str, dict[str, t.Any]], dry_run: bool) -> None:
    """Write all assignments, and update `rows` with their outcome."""

    def write(name: str) -> nodes.Node:
        node = steps[name].node
        return config_sources.write_source(
            session, node, steps[name].goal, dry_run, steps[name].sides, steps[name].notes
        )

    for outcome in parallel.each(list(steps), write, session.concurrency):
        step, row = steps[outcome.item], rows[outcome.item]
        if outcome.value is None:
            row.update(_refused(session, step, outcome.error))
        elif not step.reached(outcome.value):
            why = _dropped(outcome.value)
            row.update(ok=False, source=outcome.value.source, message=why, error=why)
        else:
            source = outcome.value.source
            row.update(
                changed=True,
                source=source,
                state="assigned" if source else "reset",
                message=f"assigned {nodes.describe(source)}" if source else "its source was removed",
            )


def _refused(session: Session, step: _Step, error: ClusterError | None) -> dict[str, t.Any]:
    """Return what changes in the row of a node whose PATCH has failed."""
    absent = node_requests.absence(session, error)
    if absent:
        return absent.shown(previous=None)
    why = error.message if error else "no answer"
    if isinstance(error, ApiError) and error.status == 0:
        # It may have been written. A revert of the node must find what it may have to undo.
        return {"ok": False, "state": "unknown", "message": why, "error": why, "source": step.goal}
    return {"ok": False, "message": why, "error": why}


def _deliver(node: nodes.Node, wanted: config_sources.Wanted) -> str:
    """Return the delivery by which a source reaches a node or is removed: the requested one, else that of the node."""
    if wanted.delivery != deliveries.AUTO or wanted.source is None:
        return wanted.delivery
    return deliveries.chosen(deliveries.AUTO, node.delivery, node.minor, node.source is not None)


def _step(
    found: nodes.Node, node: nodes.Node, wanted: config_sources.Wanted, configs: dict[str, config_sources.FoundConfig]
) -> _Step:
    """Return the assignment of a node. `found` is the node as read, `node` the same as the chosen delivery sees it."""
    source = wanted.source
    undone = {**(found.previous or {}), "undone": True} if wanted.undoes and found.previous is not None else None
    if source is None:
        # Without a named delivery, remove both sources: an interrupted migration leaves two.
        both = [
            side
            for side in (deliveries.NATIVE, deliveries.CHECKPOINT)
            if node.side(side).source or node.source_fault(side)
        ]
        if wanted.delivery == deliveries.AUTO:
            ours = [key for key in (annotation.PREVIOUS, annotation.OWN) if _has(node, key)]
            stale = [annotation.STATUS] if found.reimaged else []
            mark = {annotation.PREVIOUS: annotation.text(undone)} if undone else {}
            return _Step(node, None, both, {**dict.fromkeys([*ours, *stale]), **mark}, before=undone)
        return _Step(node, None, [wanted.delivery], {})
    refers = node.on_node or node.form.by_uid
    configmap = configs[nodes.describe(source)].configmap if refers else None
    # The annotation names the revision that is copied to the node; a kubelet with native delivery follows every later
    # one.
    goal = node.known(configmaps.reference(configmap, source["kubeletConfigKey"])) if configmap else source
    own = {annotation.OWN: own_values.text(wanted.own)} if wanted.own else {}
    if wanted.migrates and found.delivery == deliveries.CHECKPOINT and node.delivery == deliveries.DROPIN:
        # A rollback must not deliver the whole configuration of the checkpoint as a drop-in.
        return _Step(node, goal, [node.delivery], {annotation.PREVIOUS: None, **own}, found.delivery)
    if undone:
        return _Step(node, goal, [node.delivery], {annotation.PREVIOUS: annotation.text(undone), **own}, before=undone)
    return _Step(node, goal, [node.delivery], {**_remembered(found, goal, wanted.rollout), **own})


def _has(node: nodes.Node, key: str) -> bool:
    """Return whether a node has one of our annotations beside that with its source, also a malformed one."""
    found = {annotation.PREVIOUS: node.previous, annotation.OWN: node.own, annotation.STATUS: node.status}
    return found[key] is not None or key in node.malformed


def _previous(node: nodes.Node, step: _Step) -> Source:
    """Return the source that a node can be reverted to. If it already has its goal, an earlier run has recorded it."""
    if node.previous is not None and step.reached(node):
        return t.cast("Source", node.previous.get("configMap"))
    if node.reimaged:
        return None
    # A node with an error does not run its source.
    active = node.part("active")
    if node.error and (active is None or active.get("name")):
        return active
    return node.source


def _remembered(node: nodes.Node, goal: dict[str, str], rollout: str) -> dict[str, str | None]:
    """Return the annotation with what the node ran before the rollout, empty if that is noted or not known.

    A machine other than the one that the annotations describe runs its local config, and has reported nothing. What
    an earlier run of the same rollout has noted stays. A source that failed or is still on trial is not what the node
    ran before: it counts with what was noted before it.
    """
    named = {"rollout": rollout} if rollout else {}
    if node.reimaged:
        return {annotation.PREVIOUS: annotation.text(named), annotation.STATUS: None}
    noted = node.previous
    if noted is not None and rollout and noted.get("rollout") == rollout:
        again = {key: value for key, value in noted.items() if key != "undone"}
        return {annotation.PREVIOUS: annotation.text(again)} if again != noted else {}
    if nodes.settled(node) and not annotation.unconfirmed((node.status or {}).get("reason")):
        known = True
    else:
        known = bool(rollout) and nodes.fell_back(node)
    active = node.part("active")
    if known and same_place(active, goal):
        return {}
    if known and not (active and not active.get("name")):
        return {annotation.PREVIOUS: annotation.text({**({"configMap": active} if active else {}), **named})}
    if noted is None or not rollout:
        return {}
    kept = {"configMap": noted["configMap"]} if "configMap" in noted else {}
    return {annotation.PREVIOUS: annotation.text({**kept, **named})}


def _unfit(found: nodes.Node, step: _Step) -> str | None:
    """Return why the kubelet of a node cannot run a source by the chosen delivery; None if it can."""
    node, source = step.node, step.goal
    if source is None:
        return None
    if node.on_node:
        if found.listening and found.native.source and not same_place(found.native.source, source):
            return (
                f"its kubelet follows spec.configSource ({nodes.describe(found.native.source)}), which overrides a "
                "checkpoint. Migrate the node with the playbook migrate, or set kubelet_config_delivery to auto"
            )
        way = deliveries.of(node.delivery)
        if way.too_new_for(node.minor):
            return (
                f"its kubelet {node.kubelet_version} {way.lack} (kubelets from 1.{way.minors.start} on do); set "
                f"kubelet_config_delivery to {way.instead} for it"
            )
        other = found.on_node and not found.named(node.delivery) and not step.leaves
        if other and found.source and not found.reimaged:
            return _other_delivery(found)
        return None
    if found.on_node and found.source_fault(found.delivery):
        return found.source_fault(found.delivery)
    if found.on_node and not same_place(found.source, source):
        return _other_delivery(found)
    minors = deliveries.of(deliveries.NATIVE).minors
    if node.minor and node.minor not in minors:
        return (
            f"its kubelet {node.kubelet_version} does not follow Node.spec.configSource "
            f"(kubelets 1.{minors.start} to 1.{minors.stop - 1} do); set kubelet_config_delivery to auto or checkpoint "
            "for it"
        )
    return node.form.unfit(found.native.status is not None, source["kubeletConfigKey"], found.kubelet_version)


def _other_delivery(found: nodes.Node) -> str:
    return (
        f"its kubelet runs a {found.delivery} of {nodes.describe(found.source)}. Migrate the node with the playbook "
        "migrate, or set kubelet_config_delivery to auto"
    )


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


def _failures(rows: dict[str, dict[str, t.Any]]) -> dict[str, str]:
    return {name: row["message"] for name, row in rows.items() if not row["ok"]}


def _result(rows: dict[str, dict[str, t.Any]], refused: bool) -> dict[str, t.Any]:
    changed = [name for name, row in rows.items() if row["changed"]]
    failed = len(_failures(rows))
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


def _diff(name: str, row: dict[str, t.Any]) -> dict[str, str]:
    place = deliveries.of(row["delivery"]).source_place
    return {
        "before_header": f"Node {name}",
        "after_header": f"Node {name}",
        "before": f"{place}: {nodes.describe(row['previous'])}\n",
        "after": f"{place}: {nodes.describe(row['source'])}\n",
    }
