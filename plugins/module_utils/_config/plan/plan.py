# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The edit stage: compares live with desired configurations and returns the changes, without side effects.

Cost: nodes with the same live variant, layers and shadowing flags share one computation (a few milliseconds). A group
of 1,000 equal nodes takes well under a second, 1,000 different nodes take some seconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Mapping

from .. import host_facts
from ..delivery import NATIVE, Delivery, checked, of, of_row
from ..fields import shadow
from ..fields.field_row import EFFECTS, FORBIDDEN, SAFE
from ..forecast import allocatable, pod_forecast
from ..host_facts import HostFacts
from ..minors import api_versions
from ..rules import start_rules
from ..rules.problem import REFUSAL, WARNING, Problem, as_rows
from ..values import annotation
from ..values.document import API_VERSION, KIND, accept, parse, render
from ..values.document import configmap_name as name_of
from ..values.reference import held, same_place
from ..values.short_texts import minor_of
from . import own_values, plan_node, plan_text, sources
from .layers import Declared, Layers
from .own_values import Record

STAY, EQUAL, CHANGED = "stay", "equal", "changed"
"""Whether a plan migrates checkpoints to drop-ins: not at all, if nothing changes thereby, or with changes."""


@dataclass(frozen=True)
class Request:
    """What a plan is made from. A layer is a mapping or a YAML text."""

    current: Mapping[str, Any]
    """A table as the dump returns it: ``{variants: {hash: config}, nodes: {name: {variant, kubelet_version, source,
    status, own, capacity, read}}}``.
    """
    config: Any = None
    """A layer for all nodes, or a list of them. Without it and ``node_configs``, nothing that sources replaced reverts.
    """
    node_configs: Mapping[str, Any] | None = None
    """The same per node, or these by layers.OF_HOSTS; merged last."""
    flags: Mapping[str, Any] | None = None
    """The kubelets' command lines by node, where known, as shadow.of_inventory() reads them."""
    allow_effect: str = "disrupt"
    """The highest accepted effect: safe, disrupt, drain or reboot."""
    configmap_name: str = "livenodes-kubelet"
    namespace: str = "kube-system"
    key: str = "kubelet"
    allow_invalid: bool = False
    """Whether what the kubelet's validation refuses is a warning only."""
    target: Any = None
    """One complete configuration (a mapping or a text) that takes the place of every live configuration before the
    layers, except for the fields that belong to one machine.
    """
    deliveries: Mapping[str, str] | None = None
    """The requested delivery of nodes (delivery.py). What a drop-in does not declare stays the node's own."""
    own: Mapping[str, Any] | None = None
    """The results of kubelet_preflight_info for the nodes that own_values.files_needed() names. A checkpoint is that
    own config file with the layers; with a drop-in, the changes include what the restart takes up from that file.
    """
    migrate: str = STAY
    """With EQUAL or CHANGED, only nodes with a checkpoint are planned: their sources become drop-ins, by default only
    if the kubelet then runs what it runs now.
    """
    allow_effects: Mapping[str, str] | None = None
    """The highest accepted effect of single nodes."""
    allow_hidden: bool = False
    """Whether what leaves a kubelet without a /configz is a warning only."""

    def reverts(self) -> bool:
        """Return whether a value that a former source replaced and no layer declares reverts to the node's own.

        Without any layers, the caller does not pass what the inventory declares.
        """
        return self.target is None and not (self.config is None and self.node_configs is None)

    def may_write_dropins(self) -> bool:
        """Return whether nodes may get a drop-in: one without layers would revert everything."""
        return self.reverts() or self.target is not None


def make_plan(request: Request) -> dict[str, Any]:
    """Return the plan after which every node runs its own configuration merged with the layers.

    The result is a table of the same kind as ``request.current``. ``variants`` holds the desired configurations. Each
    row of ``nodes`` holds ``variant``, ``configmap``, ``source`` (the reference to the ConfigMap), ``delivery``,
    ``whole`` (whether the variant is the whole configuration that the node then runs), ``action`` (none or assign),
    ``effect``, ``changes``, ``problems``, ``own`` (the record to write with the assignment, None without one) and, if
    known, ``node_uid`` (of the Node that was planned). ``refused`` is true when nothing may be written; ``summary`` is
    for programs and ``text`` (lines) for users. Secrets are masked everywhere except in ``variants``.

    Raises DocumentError for a layer that cannot be read, and ValueError for an unknown effect and for flags with wrong
    quotes. Another problem of one node is a refusal in its row, not an exception.
    """
    for effect in {request.allow_effect, *(request.allow_effects or {}).values()}:
        _check_effect(effect)
    group = _Group(request)
    nodes = {name: group.row(name, row) for name, row in sorted(request.current["nodes"].items())}
    for name in sorted(set(group.for_node) - set(nodes)):
        nodes[name] = _unusable({}, _unknown_node(name))
    return plan_text.completed(group.variants, nodes)


class _Group:
    """The nodes of a request. `variants`: the desired configurations of the rows so far."""

    def __init__(self, request: Request) -> None:
        self._request = request
        layers = Layers()
        self._for_all = layers.read(request.config, "the configuration for all nodes")
        minors = {name: minor_of(row.get("kubelet_version")) for name, row in request.current["nodes"].items()}
        self.for_node = layers.of_nodes(request.node_configs or {}, minors)
        self._deliveries = checked(request.deliveries)
        self._live: Mapping[str, Any] = request.current["variants"]
        self._flags = shadow.of_nodes(request.flags)
        self._looked_at = {**_reported(request.current), **(request.own or {})}
        self._limits = allocatable.Limits()
        # By the id of a NodePlan, all of which the planner keeps.
        self._moves: dict[int, pod_forecast.ConfigChange] = {}
        self._rooms: dict[tuple[int, tuple[tuple[str, str], ...]], dict[str, dict[str, str]]] = {}
        target, shared = None, self._for_all
        if request.target is not None:
            target = _complete(request.target)
        if len(request.current["nodes"]) <= 1:
            shared = ()
        self._planner = plan_node.Planner(
            self._live, request.allow_effect, shared, request.allow_invalid, target, request.reverts()
        )
        self.variants: dict[str, Any] = {}
        self._names: dict[str, str] = {}

    def row(self, name: str, row: Mapping[str, Any]) -> dict[str, Any]:
        """Return the plan of a node, by its row in the dump."""
        minor = minor_of(row.get("kubelet_version"))
        if minor is None:
            return _unusable(row, _no_version(row))
        if row.get("variant") not in self._live:
            return _unusable(row, _no_config(name))
        seen = host_facts.read(self._looked_at.get(name))
        asked = self._asked(name, row, minor, seen)
        files, unread = self._files(name, asked, seen)
        if asked.replaces_checkpoint and unread:
            return _unusable(row, _no_own_file(unread, REFUSAL, "the plan cannot show what the migration changes"))
        if files and not asked.delivery.whole and row.get("source") is None:
            asked = asked._replace(record=self._of_left_over(asked, files, seen))
        planned = self._planned(row, asked, self._planner.plan(asked._replace(files=files)))
        if asked.replaces_checkpoint:
            planned["migrates"] = True
            if self._request.migrate == EQUAL:
                # Such a migration must change no value.
                planned["problems"] = [*planned["problems"], *as_rows(map(_difference, planned["changes"]))]
        stops = planned["action"] == "assign"
        if unread and (stops or row.get("source") is not None):
            planned["problems"] = [*planned["problems"], _own_file_missing(unread, asked.delivery, stops)]
        return planned

    def _replaces_checkpoint(self, row: Mapping[str, Any], delivery: Delivery) -> bool:
        """Return whether a drop-in takes the place of the node's checkpoint."""
        has_checkpoint = of(row.get("delivery")).replaces_file and bool(row.get("source"))
        return self._request.migrate != STAY and not delivery.whole and has_checkpoint

    def _files(self, name: str, asked: plan_node.Asked, seen: HostFacts) -> tuple[own_values.Files | None, str]:
        """Return the files of a node where its plan needs them, or why they are not known."""
        if asked.delivery.whole:
            needed = asked.delivery.needs_file(asked.minor) and self._request.reverts()
        else:
            needed = asked.replaces_checkpoint or (self._request.may_write_dropins() and name in self._looked_at)
        if not needed:
            return None, ""
        try:
            return own_values.files_of(seen, self._live[asked.live]), ""
        except own_values.OwnFileError as error:
            return None, str(error)

    def _of_left_over(self, asked: plan_node.Asked, files: own_values.Files, seen: HostFacts) -> Record:
        """Return the record of a node without a source, which may have our drop-in all the same."""
        if not seen.ours or not any((*asked.layers, self._request.target)):
            return asked.record
        node = sources.Given(self._live[asked.live], asked.minor, Declared(asked.layers), asked.record, files)
        return sources.left_over(node, seen.ours)

    def _asked(self, name: str, row: Mapping[str, Any], minor: int, seen: HostFacts) -> plan_node.Asked:
        """Return what is asked about a node, without its files."""
        delivery = of_row(self._deliveries.get(name), row, minor)
        return plan_node.Asked(
            live=row["variant"],
            minor=minor,
            layers=self._for_all + self.for_node.get(name, ()),
            delivery=delivery,
            record=own_values.of_node(row),
            argv=self._flags.get(name),
            replaces_checkpoint=self._replaces_checkpoint(row, delivery),
            allow_effect=(self._request.allow_effects or {}).get(name),
            binary=seen.binary_of(minor),
        )

    def _planned(self, row: Mapping[str, Any], asked: plan_node.Asked, desired: plan_node.NodePlan) -> dict[str, Any]:
        """Return the row of a node whose desired configuration is known."""
        reference = self._reference(desired)
        action = self._action_of(row, asked, desired, reference)
        assigns = action == "assign"
        changes, problems = desired.rows(assigns), desired.problem_rows(assigns)
        effect, own = plan_node.effect(changes), None
        if assigns:
            effect, own = effect or SAFE, desired.record_on(reference["name"])
            if row.get("capacity"):
                own = {**own, own_values.CAPACITY: row["capacity"]}
            unfit = self._unfit(row, asked, desired)
            if unfit:
                # Rows of equal nodes share their list otherwise.
                problems = [*unfit, *problems]
        planned = plan_node.plan_row(
            row,
            variant=desired.variant,
            configmap=reference["name"],
            source=reference,
            delivery=asked.delivery.name,
            whole=desired.expected is desired.config,
            action=action,
            effect=effect,
            changes=changes,
            problems=start_rules.accepted(problems, row.get("read") == "node", self._request.allow_hidden),
            own=own,
        )
        if row.get("uid"):
            planned["node_uid"] = row["uid"]
        room = self._room(row, asked, desired, changes) if assigns else {}
        if room:
            planned["allocatable"] = room
        return planned

    def _room(
        self, row: Mapping[str, Any], asked: plan_node.Asked, desired: plan_node.NodePlan, changes: list[dict[str, Any]]
    ) -> dict[str, dict[str, str]]:
        """Return what pods may request before and after; empty if that stays or is not known. Equal nodes share it."""
        if not row.get("capacity") or allocatable.ignores_thresholds(asked.argv or ()):
            return {}
        alike = (id(desired), tuple(sorted(row["capacity"].items())))
        if alike not in self._rooms:
            if id(desired) not in self._moves:
                live = self._live[asked.live]
                self._moves[id(desired)] = pod_forecast.ConfigChange(live, desired.expected, asked.minor, changes)
            self._rooms[alike] = pod_forecast.room(self._moves[id(desired)], row["capacity"])
        return self._rooms[alike]

    def _action_of(
        self, row: Mapping[str, Any], asked: plan_node.Asked, desired: plan_node.NodePlan, reference: Mapping[str, str]
    ) -> str:
        if asked.delivery.whole:
            return _action(row, reference, bool(desired.changes))
        if not self._request.may_write_dropins() or not (asked.replaces_checkpoint or self._request.migrate == STAY):
            return "none"
        # Also a value that equals the live one must be declared: it holds when the node's own file changes.
        declares = row.get("source") is not None or not sources.is_empty(desired.config)
        return _action(row, reference, declares)

    def _unfit(
        self, row: Mapping[str, Any], asked: plan_node.Asked, desired: plan_node.NodePlan
    ) -> list[dict[str, str]]:
        """Return the problems of one node alone, whose assignment its delivery or its resources do not allow."""
        live, minor = self._live[asked.live], asked.minor
        unfit = sources.unfit(row, asked.delivery, minor, asked.replaces_checkpoint)
        return as_rows([*unfit, *self._limits.problems(live, desired.expected, row, minor, asked.argv)])

    def _reference(self, desired: plan_node.NodePlan) -> dict[str, str]:
        """Return the reference to the ConfigMap of a desired configuration, and note that one."""
        request = self._request
        if desired.variant not in self._names:
            self.variants[desired.variant] = desired.config
            self._names[desired.variant] = name_of(request.configmap_name, desired.text, request.key)
        return {"namespace": request.namespace, "name": self._names[desired.variant], "kubeletConfigKey": request.key}


def _difference(change: Mapping[str, Any]) -> Problem:
    before, after = plan_text.shown_value(change["before"]), plan_text.shown_value(change["after"])
    cause = f"the checkpoint has {before}, and without it the kubelet would run {after}"
    remedy = "Declare the value to keep it, or accept the change with kubelet_config_migrate_changes: true."
    return Problem(REFUSAL, change["path"], cause, remedy, "migration")


def _reported(current: Mapping[str, Any]) -> dict[str, Any]:
    """Return what followers have reported of the own files of their nodes, by node name."""
    rows = (current.get("nodes") or {}).items()
    return {name: annotation.mapping(row["follower"])[0] for name, row in rows if row.get("follower")}


def _complete(target: Any) -> dict[str, Any]:
    text = target if isinstance(target, str) else render(accept(target, "target"))
    return parse(text, "target", complete=True, versions=api_versions(None))


def _check_effect(effect: str) -> None:
    if effect not in EFFECTS or effect == FORBIDDEN:
        raise ValueError(f"allow_effect is {effect!r}: use one of {', '.join(EFFECTS[:-1])}")


def _action(row: Mapping[str, Any], reference: Mapping[str, str], changed: bool) -> str:
    """Return ``none`` when the node needs no assignment.

    If the node has a source, it must be in use and without error: a pending or failed source would still change the
    node.
    """
    source, status = row.get("source"), row.get("status") or {}
    if source is None:
        # Only another assignment repairs the record of what the node should run.
        return "assign" if changed or _has_malformed_source(row) else "none"
    active, assigned = held(status.get("active")), held(status.get("assigned"))
    in_use = active and active == assigned and same_place(active, held(source))
    if status.get("error") or not in_use:
        return "assign"
    if annotation.unconfirmed(status.get("reason")):
        # A run ended before it confirmed the config: the node reverts unless another run confirms it.
        return "assign"
    if changed and not same_place(active, reference):
        return "assign"
    return "none"


def _has_malformed_source(row: Mapping[str, Any]) -> bool:
    malformed = row.get("malformed") or ()
    # A kubelet of another delivery does not look at its spec.
    return annotation.SOURCE in malformed or (row.get("delivery") == NATIVE and annotation.SPEC in malformed)


def _unusable(row: Mapping[str, Any], problem: Problem) -> dict[str, Any]:
    return plan_node.plan_row(row, problems=[problem.row()])


def _no_version(row: Mapping[str, Any]) -> Problem:
    cause = f"the kubelet version is {row.get('kubelet_version')!r}, so the fields of this node are not known"
    remedy = "Dump the node again; the version comes from Node.status.nodeInfo."
    return Problem(REFUSAL, "", cause, remedy, "no-version")


def _no_config(name: str) -> Problem:
    cause = f"the live configuration of node {name} is not known, so the changes cannot be merged into it"
    remedy = f"Dump the node again when it is reachable; the dump must contain a {KIND} ({API_VERSION})."
    return Problem(REFUSAL, "", cause, remedy, "no-live-config")


def _no_own_file(cause: str, severity: str, then: str, stops: bool = False) -> Problem:
    """Return the problem. `stops`: the rollout must change the node, which needs its host."""
    message = f"the node's own config file is not known ({cause}), so {then}"
    remedy = "Correct the cause, then plan again: the host must answer, and root read the file as YAML."
    if stops:
        remedy = f"A rollout stops at this node. {remedy}"
    return Problem(severity, "", message, remedy, plan_text.NO_OWN_FILE)


def _own_file_missing(cause: str, delivery: Delivery, stops: bool) -> dict[str, Any]:
    """Return the warning's row for a node whose own file the plan needs only to show something."""
    then = "the plan cannot show what its restart takes up from it"
    if delivery.whole:
        then = "its source holds its live configuration"
    return _no_own_file(cause, WARNING, then, stops).row()


def _unknown_node(name: str) -> Problem:
    cause = f"node {name} has its own configuration but is not part of this plan"
    return Problem(REFUSAL, "", cause, "Correct the name, or dump that node too.", "unknown-node")
