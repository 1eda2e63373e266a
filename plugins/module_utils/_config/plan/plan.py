# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From what nodes run now and what is wanted of them to what has to be done: the edit stage, without side effects.

Cost: nodes with the same live variant, layers and shadowing flags share one computation (a few milliseconds), so 1,000
nodes of a group take well under a second and 1,000 nodes of which no two are alike some seconds.
"""

from __future__ import annotations

from typing import Any, Mapping, Sequence

from ..fields.field_row import EFFECTS, FORBIDDEN
from ..rules.problem import REFUSAL, Problem
from ..values import annotation
from ..values.document import API_VERSION, KIND
from ..values.identity import configmap_name as name_of
from ..values.reference import same_place
from ..values.version import minor_of
from . import plan_node, plan_text
from .layers import Layers


def make_plan(
    current: Mapping[str, Any],
    config: Any = None,
    node_configs: Mapping[str, Any] | None = None,
    flags: Mapping[str, Sequence[str]] | None = None,
    allow_effect: str = "disrupt",
    configmap_name: str = "livenodes-kubelet",
    namespace: str = "kube-system",
    key: str = "kubelet",
) -> dict[str, Any]:
    """Return what to do so that every node has its own live configuration with the layers laid over it.

    ``current`` is a table as dumped: ``{variants: {hash: config}, nodes: {name: {variant, kubelet_version, source,
    status}}}``. A layer is a mapping or a YAML text; ``config`` is one or a list of them for all nodes,
    ``node_configs`` one or a list for each node named, laid on top. ``flags`` holds the command line words of the
    kubelets where known. ``allow_effect`` is the highest effect accepted (safe, disrupt, drain or reboot).

    The result is a table of the same kind: ``variants`` (the desired configurations), ``nodes`` (for each its
    ``variant``, ``configmap`` and ``source`` (the reference to it), ``action`` none or assign, ``effect``, ``changes``,
    ``problems``), ``refused`` (true: write nothing), ``summary`` for machines and ``text`` (lines) for people. Secrets
    are masked everywhere but in ``variants``.

    Raises DocumentError for a layer that cannot be read, ValueError for an unknown effect. What is wrong with one node
    is a refusal in its row, not an exception.
    """
    if allow_effect not in EFFECTS or allow_effect == FORBIDDEN:
        raise ValueError(f"allow_effect is {allow_effect!r}: use one of {', '.join(EFFECTS[:-1])}")
    layers = Layers()
    for_all = layers.read(config, "the configuration for all nodes")
    for_node = {
        name: layers.read(given, f"the configuration of node {name}") for name, given in (node_configs or {}).items()
    }
    planner = plan_node.Planner(current["variants"], allow_effect, shared=for_all if len(current["nodes"]) > 1 else ())
    nodes: dict[str, Any] = {}
    variants: dict[str, Any] = {}
    names: dict[str, str] = {}
    for name, row in sorted(current["nodes"].items()):
        minor = minor_of(row.get("kubelet_version"))
        live = row.get("variant")
        if minor is None or live not in current["variants"]:
            nodes[name] = _unusable(row, _no_version(row) if minor is None else _no_config(name))
            continue
        desired = planner.plan(
            live, minor, for_all + for_node.get(name, ()), None if flags is None or name not in flags else flags[name]
        )
        if desired.variant not in names:
            variants[desired.variant] = desired.config
            names[desired.variant] = name_of(configmap_name, desired.text, key)
        reference = {"namespace": namespace, "name": names[desired.variant], "kubeletConfigKey": key}
        action = _action(row, reference, bool(desired.changes))
        nodes[name] = {
            "variant": desired.variant,
            "live_variant": live,
            "kubelet_version": row.get("kubelet_version"),
            "configmap": reference["name"],
            "source": reference,
            "action": action,
            "effect": desired.effect or ("safe" if action == "assign" else None),
            "changes": desired.change_rows,
            "problems": desired.problem_rows(action == "assign"),
            "flags_known": flags is not None and name in flags,
        }
    for name in sorted(set(for_node) - set(nodes)):
        nodes[name] = _unusable(
            {},
            Problem(
                REFUSAL,
                "",
                f"node {name} has a configuration of its own but is not among the nodes of this plan",
                "Correct the name, or dump that node too.",
                "unknown-node",
            ),
        )
    plan = {"variants": variants, "nodes": nodes, "refused": any(_refused(row) for row in nodes.values())}
    plan["summary"] = plan_text.summary(plan)
    plan["text"] = plan_text.lines(plan)
    return plan


def _action(row: Mapping[str, Any], reference: Mapping[str, str], changed: bool) -> str:
    """Return ``none`` when the node already is, or can be left, where it should be.

    A source that is set has to be the one in use, without error: a pending or failed one would still change the node.
    """
    source, status = row.get("source"), row.get("status") or {}
    if source is None:
        return "assign" if changed else "none"
    active, assigned = _reference(status.get("active")), _reference(status.get("assigned"))
    if status.get("error") or not active or active != assigned or not same_place(active, _reference(source)):
        return "assign"
    if status.get("reason") == annotation.ON_TRIAL:
        # A run was cut off before it confirmed: without one that does, the node goes back.
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
        "flags_known": False,
    }


def _no_version(row: Mapping[str, Any]) -> Problem:
    return Problem(
        REFUSAL,
        "",
        f"the kubelet version is {row.get('kubelet_version')!r}, so it is not known which fields this node has",
        "Dump the node again; the version comes from Node.status.nodeInfo.",
        "no-version",
    )


def _no_config(name: str) -> Problem:
    return Problem(
        REFUSAL,
        "",
        f"no live configuration of node {name} is known, so there is nothing to lay the changes over",
        f"Dump the node again when it is reachable; a {KIND} ({API_VERSION}) is expected.",
        "no-live-config",
    )


def _refused(row: Mapping[str, Any]) -> bool:
    return any(problem["severity"] == REFUSAL for problem in row["problems"])
