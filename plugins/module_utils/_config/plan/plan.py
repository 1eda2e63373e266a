# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The edit stage: compares live with desired configurations and returns the changes, without side effects.

Cost: nodes with the same live variant, layers and shadowing flags share one computation (a few milliseconds). A group
of 1,000 equal nodes takes well under a second, 1,000 different nodes take some seconds.
"""

from __future__ import annotations

from typing import Any, Mapping, Sequence

from ..delivery import choice
from ..delivery.choice import CHECKPOINT, DROPIN, NATIVE, OWN_FILE_MINOR
from ..fields.field_row import EFFECTS, FORBIDDEN
from ..forecast import allocatable
from ..rules import start_rules
from ..rules.problem import REFUSAL, WARNING, Problem
from ..values import annotation, own_values
from ..values.document import API_VERSION, KIND, accept, parse, render
from ..values.identity import configmap_name as name_of
from ..values.reference import same_place
from ..values.short_texts import minor_of
from . import dropin_plan, host_facts, node_delivery, own_file, plan_node, plan_text
from .layers import Layers

STAY, EQUAL, CHANGED = "stay", "equal", "changed"
"""Whether a plan migrates checkpoints to drop-ins: not at all, if nothing changes thereby, or with changes."""


def make_plan(
    current: Mapping[str, Any],
    config: Any = None,
    node_configs: Mapping[str, Any] | None = None,
    flags: Mapping[str, Sequence[str]] | None = None,
    allow_effect: str = "disrupt",
    configmap_name: str = "livenodes-kubelet",
    namespace: str = "kube-system",
    key: str = "kubelet",
    allow_invalid: bool = False,
    target: Any = None,
    deliveries: Mapping[str, str] | None = None,
    own: Mapping[str, Any] | None = None,
    migrate: str = STAY,
    allow_effects: Mapping[str, str] | None = None,
    allow_hidden: bool = False,
) -> dict[str, Any]:
    """Return the plan after which every node runs its own configuration merged with the layers.

    ``current`` is a table as the dump returns it: ``{variants: {hash: config}, nodes: {name: {variant, kubelet_version,
    source, status, own, capacity, read}}}``. A layer is a mapping or a YAML text. ``config`` is a layer, or a list of
    them, for all nodes; ``node_configs`` is the same per node, or these by layers.OF_HOSTS, and is merged last.
    ``flags`` holds the words of the kubelets' command lines, where known. ``allow_effect`` is the highest accepted
    effect (safe, disrupt, drain or reboot), and ``allow_effects`` is that of single nodes. With ``allow_invalid``, what
    the kubelet's validation refuses is a warning only; with ``allow_hidden``, what leaves it without a /configz. A
    ``target`` is one complete configuration (a mapping or a text) that takes the place of every live configuration
    before the layers, except for the fields that belong to one machine.

    ``deliveries`` holds the requested delivery of nodes (delivery/choice.py). With ``dropin``, the desired
    configuration is what the layers declare, and nothing else: all other values stay the node's own.

    ``own`` holds the results of kubelet_preflight_info for the nodes that own_file.needed() names. With a checkpoint,
    their desired configuration is their own config file merged with the layers, in place of the live configuration.
    With a drop-in, the changes include what the restart takes up from that file.

    With ``migrate`` (STAY, EQUAL or CHANGED), only nodes with a checkpoint are planned: their sources become drop-ins,
    by default only if the kubelet then runs what it runs now.

    A value that a former source replaced and no layer declares reverts to the node's own, which ``own`` holds (see
    own_values.py). Without both ``config`` and ``node_configs``, and with a ``target``, nothing reverts.

    The result is a table of the same kind. ``variants`` holds the desired configurations. Each row of ``nodes`` holds
    ``variant``, ``configmap``, ``source`` (the reference to the ConfigMap), ``delivery``, ``whole`` (whether the
    variant is the whole configuration that the node then runs), ``action`` (none or assign), ``effect``, ``changes``,
    ``problems``, ``own`` (the record to write with the assignment, None without one) and, if known, ``node_uid`` (of
    the Node that was planned). ``refused`` is true when nothing may be written; ``summary`` is for programs and
    ``text`` (lines) for users. Secrets are masked everywhere except in ``variants``.

    Raises DocumentError for a layer that cannot be read and ValueError for an unknown effect. A problem of one node is
    a refusal in its row, not an exception.
    """
    allowed = allow_effects or {}
    for effect in {allow_effect, *allowed.values()}:
        _check_effect(effect)
    layers = Layers()
    for_all = layers.read(config, "the configuration for all nodes")
    for_node = layers.of_nodes(node_configs or {})
    known_flags, looked_at, wanted = flags or {}, own or {}, choice.checked(deliveries)
    shared = for_all if len(current["nodes"]) > 1 else ()
    goal = None if target is None else _complete(target)
    # Without any layers, the caller does not pass what the inventory declares.
    reverts = target is None and not (config is None and node_configs is None)
    # A drop-in without layers would revert everything.
    lays = reverts or target is not None
    limits = allocatable.Limits()
    planner = plan_node.Planner(current["variants"], allow_effect, shared, allow_invalid, goal, reverts)
    nodes: dict[str, Any] = {}
    variants: dict[str, Any] = {}
    names: dict[str, str] = {}
    for name, row in sorted(current["nodes"].items()):
        minor = minor_of(row.get("kubelet_version"))
        live = row.get("variant")
        if minor is None or live not in current["variants"]:
            nodes[name] = _unusable(row, _no_version(row) if minor is None else _no_config(name))
            continue
        delivery = node_delivery.chosen(wanted.get(name), row, minor)
        moves = migrate != STAY and delivery == DROPIN and row.get("delivery") == CHECKPOINT and bool(row.get("source"))
        based = delivery == CHECKPOINT and reverts and minor >= OWN_FILE_MINOR
        laid = delivery == DROPIN and lays and name in looked_at
        files, unread = _files(looked_at.get(name), current["variants"][live]) if moves or based or laid else (None, "")
        if moves and unread:
            nodes[name] = _unusable(
                row, _no_own_file(unread, REFUSAL, "the plan cannot show what the migration changes")
            )
            continue
        for_this = for_all + for_node.get(name, ())
        record = own_values.of_node(row)
        desired = planner.plan(
            live,
            minor,
            for_this,
            known_flags.get(name),
            record,
            delivery,
            files,
            moves,
            allowed.get(name),
            host_facts.binary_of(looked_at.get(name), minor),
        )
        if desired.variant not in names:
            variants[desired.variant] = desired.config
            names[desired.variant] = name_of(configmap_name, desired.text, key)
        reference = {"namespace": namespace, "name": names[desired.variant], "kubeletConfigKey": key}
        running = current["variants"][live]
        beyond = limits.problems(running, desired.expected, row, minor, known_flags.get(name))
        nodes[name] = _planned(
            row, desired, reference, delivery, minor, lays and (moves or migrate == STAY), moves, beyond
        )
        read_on_host = row.get("read") == "node"
        nodes[name]["problems"] = start_rules.accepted(nodes[name]["problems"], read_on_host, allow_hidden)
        if moves:
            _migrates(nodes[name], migrate)
        if unread and (nodes[name]["action"] == "assign" or row.get("source") is not None):
            then = (
                "the plan cannot show what its restart takes up from it"
                if delivery == DROPIN
                else "its source holds its live configuration"
            )
            stops = nodes[name]["action"] == "assign"
            nodes[name]["problems"] = [*nodes[name]["problems"], _no_own_file(unread, WARNING, then, stops).row()]
    nodes.update({name: _unusable({}, _unknown_node(name)) for name in sorted(set(for_node) - set(nodes))})
    plan = {"variants": variants, "nodes": nodes, "refused": any(_refused(row) for row in nodes.values())}
    plan["summary"] = plan_text.summary(plan)
    plan["text"] = plan_text.lines(plan)
    return plan


def _migrates(row: dict[str, Any], migrate: str) -> None:
    """Mark the row of a node that gets a drop-in instead of its checkpoint, and refuse what would change."""
    row["migrates"] = True
    if migrate == EQUAL:
        row["problems"] = [*row["problems"], *(_difference(change).row() for change in row["changes"])]


def _difference(change: Mapping[str, Any]) -> Problem:
    before, after = (plan_text.shown_value(change[side]) for side in ("before", "after"))
    return Problem(
        REFUSAL,
        change["path"],
        f"the checkpoint has {before}, and without it the kubelet would run {after}",
        "Declare the value to keep it, or accept the change with kubelet_config_migrate_changes: true.",
        "migration",
    )


def _complete(target: Any) -> dict[str, Any]:
    text = target if isinstance(target, str) else render(accept(target, "target"))
    return parse(text, "target", complete=True, minor=None)


def _check_effect(effect: str) -> None:
    if effect not in EFFECTS or effect == FORBIDDEN:
        raise ValueError(f"allow_effect is {effect!r}: use one of {', '.join(EFFECTS[:-1])}")


def _planned(
    row: Mapping[str, Any],
    desired: plan_node.NodePlan,
    reference: Mapping[str, str],
    delivery: str,
    minor: int,
    lays: bool,
    moves: bool,
    beyond: Sequence[Problem],
) -> dict[str, Any]:
    """Return the row of a node whose desired configuration is known.

    ``lays``: whether it may get a drop-in. ``moves``: whether that takes the place of its checkpoint. ``beyond``: what
    the node has too little for.
    """
    if delivery == DROPIN:
        # Also a value that equals the live one must be declared: it holds when the node's own file changes.
        changed = row.get("source") is not None or not dropin_plan.is_empty(desired.config)
        action = _action(row, reference, changed) if lays else "none"
    else:
        action = _action(row, reference, bool(desired.changes))
    changes, problems = desired.rows(action == "assign"), desired.problem_rows(action == "assign")
    unfit = (
        [problem.row() for problem in (*node_delivery.unfit(row, delivery, minor, moves), *beyond)]
        if action == "assign"
        else []
    )
    return {
        "variant": desired.variant,
        "live_variant": row.get("variant"),
        "kubelet_version": row.get("kubelet_version"),
        "configmap": reference["name"],
        "source": reference,
        "delivery": delivery,
        "whole": desired.expected is desired.config,
        "action": action,
        "effect": plan_node.effect(changes) or ("safe" if action == "assign" else None),
        "changes": changes,
        # Rows of equal nodes share their list, unless a node is unfit.
        "problems": [*unfit, *problems] if unfit else problems,
        "own": desired.record_on(reference["name"]) if action == "assign" else None,
        **({"node_uid": row["uid"]} if row.get("uid") else {}),
    }


def _action(row: Mapping[str, Any], reference: Mapping[str, str], changed: bool) -> str:
    """Return ``none`` when the node needs no assignment.

    If the node has a source, it must be in use and without error: a pending or failed source would still change the
    node.
    """
    source, status = row.get("source"), row.get("status") or {}
    if source is None:
        # Only another assignment repairs the record of what the node should run. A kubelet of another delivery does not
        # look at its spec.
        places = (annotation.SOURCE, *[annotation.SPEC] * (row.get("delivery") == NATIVE))
        return "assign" if changed or not {*places}.isdisjoint(row.get("malformed") or ()) else "none"
    active, assigned = _reference(status.get("active")), _reference(status.get("assigned"))
    if status.get("error") or not active or active != assigned or not same_place(active, _reference(source)):
        return "assign"
    if annotation.unconfirmed(status.get("reason")):
        # A run ended before it confirmed the config: the node reverts unless another run confirms it.
        return "assign"
    return "none" if not changed or same_place(active, reference) else "assign"


def _reference(source: Any) -> dict[str, Any]:
    return dict(source.get("configMap") or source) if isinstance(source, Mapping) else {}


def _unusable(row: Mapping[str, Any], problem: Problem) -> dict[str, Any]:
    return {
        "variant": None,
        "live_variant": row.get("variant"),
        "kubelet_version": row.get("kubelet_version"),
        "configmap": None,
        "action": "none",
        "effect": None,
        "changes": [],
        "problems": [problem.row()],
        "own": None,
    }


def _no_version(row: Mapping[str, Any]) -> Problem:
    return Problem(
        REFUSAL,
        "",
        f"the kubelet version is {row.get('kubelet_version')!r}, so the fields of this node are not known",
        "Dump the node again; the version comes from Node.status.nodeInfo.",
        "no-version",
    )


def _no_config(name: str) -> Problem:
    return Problem(
        REFUSAL,
        "",
        f"the live configuration of node {name} is not known, so the changes cannot be merged into it",
        f"Dump the node again when it is reachable; the dump must contain a {KIND} ({API_VERSION}).",
        "no-live-config",
    )


def _files(facts: Any, live: Mapping[str, Any]) -> tuple[own_file.Files | None, str]:
    """Return the files of a node, or why they are not known."""
    try:
        return own_file.of_facts(facts, live), ""
    except own_file.OwnFileError as error:
        return None, str(error)


def _no_own_file(cause: str, severity: str, then: str, stops: bool = False) -> Problem:
    """Return the problem. `stops`: the rollout must change the node, which needs its host."""
    return Problem(
        severity,
        "",
        f"the node's own config file is not known ({cause}), so {then}",
        ("A rollout stops at this node. " if stops else "")
        + "Plan again when the host answers and root may read the file.",
        plan_text.NO_OWN_FILE,
    )


def _unknown_node(name: str) -> Problem:
    return Problem(
        REFUSAL,
        "",
        f"node {name} has its own configuration but is not part of this plan",
        "Correct the name, or dump that node too.",
        "unknown-node",
    )


def _refused(row: Mapping[str, Any]) -> bool:
    return any(problem["severity"] == REFUSAL for problem in row["problems"])
