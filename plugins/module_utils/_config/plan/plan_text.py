# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A plan as a summary for programs and as lines for users."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from typing import Any, Iterator, Mapping

from .. import delivery
from ..fields import compare, fields
from ..fields.field_row import EFFECTS
from ..forecast import allocatable
from ..rules import checks
from ..rules.problem import REFUSAL, WARNING
from ..values.amounts import parse_quantity
from ..values.node_row import counted, first_of, shown_nodes
from ..values.short_texts import minor_of
from . import sources

NO_OWN_FILE = "no-own-file"
"""The rule of the problem that the own file of a node is not known."""
_ALLOW_INVALID = (
    "To see a kubelet refuse such a value, set allow_invalid (in roles: kubelet_config_allow_invalid) to true."
)


_SEVERITIES = {REFUSAL: "REFUSED", WARNING: "warning"}


def completed(variants: Mapping[str, Any], nodes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the plan of these rows, with its summary and text; it is refused if a row has a refusal."""
    counts = summary({"variants": variants, "nodes": nodes})
    plan = {"variants": variants, "nodes": nodes, "refused": counts["refusals"] > 0, "summary": counts}
    plan["text"] = lines(plan)
    return plan


def summary(plan: Mapping[str, Any]) -> dict[str, Any]:
    """Return the counts of a plan, the nodes of each variant and the differences between the variants."""
    rows = plan["nodes"]
    severities: Counter[str] = Counter()
    effects: Counter[str] = Counter()
    by_variant: dict[str, list[str]] = {}
    for name, row in rows.items():
        severities.update(problem["severity"] for problem in row["problems"])
        if row["action"] != "none":
            effects[row["effect"]] += 1
        if row["variant"] is not None:
            by_variant.setdefault(row["variant"], []).append(name)
    to_change = sum(effects.values())
    return {
        "nodes": len(rows),
        "to_change": to_change,
        "unchanged": len(rows) - to_change,
        "variants": len(by_variant),
        "refusals": severities[REFUSAL],
        "warnings": severities[WARNING],
        "from_live": sum(map(_from_live, rows.values())),
        "by_effect": {effect: effects[effect] for effect in EFFECTS if effects[effect]},
        "nodes_by_variant": by_variant,
        "differences": list(itertools.chain.from_iterable(map(differences, _by_delivery(plan)))),
    }


def _by_delivery(plan: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the variants of each delivery. Those of two deliveries hold different parts of a configuration."""
    found: dict[str, dict[str, Any]] = {}
    for row in plan["nodes"].values():
        if row["variant"] in plan["variants"]:
            found.setdefault(row["delivery"], {})[row["variant"]] = plan["variants"][row["variant"]]
    return list(found.values())


def differences(variants: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the paths in which variants differ, with the value of each variant (None: absent).

    Each row also states whether the field belongs to one machine.
    """
    if len(variants) < 2:
        return []
    # Only the written values are compared: sources of this minor need not be complete.
    values = {name: compare.normalise(config, fields.NEWEST_MINOR) for name, config in variants.items()}
    found = []
    for path in sorted(set().union(*values.values())):
        given = {name: config.get(path) for name, config in values.items()}
        if not compare.all_same(given.values()):
            shown = {name: compare.mask(path, value) for name, value in given.items()}
            found.append({"path": path, "machine_specific": fields.is_of_machine(path), "values": shown})
    return found


def lines(plan: Mapping[str, Any]) -> list[str]:
    """Return a plan for users: a block for each set of equal changes, the differences of the variants, the totals."""
    groups: dict[str, list[str]] = {}
    written: dict[tuple[int, int], str] = {}
    for name, row in plan["nodes"].items():
        # Rows of equal nodes share their lists, so each list is serialised only once.
        shared = (id(row["changes"]), id(row["problems"]))
        if shared not in written:
            written[shared] = json.dumps([row["changes"], row["problems"]], sort_keys=True)
        groups.setdefault(f"{row['action']} {row['effect']} {written[shared]}", []).append(name)
    text: list[str] = []
    for names in groups.values():
        text += _block(plan["nodes"], names)
    text += _why(plan["summary"]["differences"], plan["summary"]["nodes_by_variant"])
    text += _newer(plan["nodes"])
    text.append(_sum(plan))
    return text


def refusals(plan: Mapping[str, Any]) -> str:
    """Return why a plan is refused: each reason once, with all its nodes."""
    reasons: dict[str, list[str]] = {}
    rules = set()
    for name, row in plan["nodes"].items():
        for problem in row["problems"]:
            if problem["severity"] == REFUSAL:
                reasons.setdefault(_problem_text(problem), []).append(name)
                rules.add(problem["rule"])
    text = ["the plan is refused. Nothing was written."]
    text += [f"{shown_nodes(names)}: {reason}" for reason, names in reasons.items()]
    if rules & {*checks.VALIDATED}:
        text.append(_ALLOW_INVALID)
    return "\n".join(text)


def diffs(current: Mapping[str, Any], plan: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return Ansible's ``diff`` of a plan: an entry for each pair of live and desired configuration, secrets masked."""
    pairs: dict[tuple[Any, ...], list[str]] = {}
    for name, row in plan["nodes"].items():
        if row["action"] != "none" and row["live_variant"] is not None:
            pairs.setdefault((row["live_variant"], sources.way(row)), []).append(name)
    found = []
    for (live, _way), names in pairs.items():
        desired = sources.outcome(current["variants"], plan["variants"], plan["nodes"][names[0]])
        shown = shown_nodes(names)
        found.append(compare.diff(current["variants"][live], desired, f"live on {shown}", f"desired on {shown}"))
    return found


def _block(rows: Mapping[str, Any], names: list[str]) -> Iterator[str]:
    row = rows[names[0]]
    configmaps = {rows[name]["configmap"] for name in names}
    what = "no action"
    if row["action"] != "none" and len(configmaps) > 1:
        what = f"assign {len(configmaps)} variants, effect {row['effect']}"
    elif row["action"] != "none":
        what = f"assign {row['configmap']}, effect {row['effect']}"
    yield f"{shown_nodes(names)}: {what}"
    shown = None
    for change in row["changes"]:
        # The keys of one map have one reason.
        yield f"  {_change(change, change['reason'] != shown)}"
        shown = change["reason"]
    yield from _rooms(rows, names)
    for problem in row["problems"]:
        yield f"  {_SEVERITIES[problem['severity']]}: {_problem_text(problem)}"


def _rooms(rows: Mapping[str, Any], names: list[str]) -> Iterator[str]:
    """Yield what a change leaves to pods: a line for each size of machine."""
    sizes: dict[str, list[str]] = {}
    for name in names:
        text = ", ".join(_room(rows[name].get("allocatable") or {}))
        if text:
            sizes.setdefault(text, []).append(name)
    for text, of_size in sizes.items():
        where = "" if len(of_size) == len(names) else f" on {shown_nodes(of_size)}"
        yield f"  allocatable{where}: {text}"


def _room(resources: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    for resource, row in resources.items():
        amount = {key: allocatable.shown(resource, parse_quantity(text)) for key, text in row.items()}
        of_all = f" of {amount['capacity']}" if "capacity" in amount else ""
        if row["before"] != row["after"]:
            yield f"{resource} {amount['before']} -> {amount['after']}{of_all}"


def _problem_text(problem: Mapping[str, Any]) -> str:
    text = f"{problem['message']}. {problem['remedy']}"
    if "value" in problem and problem["severity"] == REFUSAL:
        does = "the kubelet refuses" if problem["rule"] in checks.VALIDATED else "ends the kubelet"
        return f"{problem['path']} is {problem['value']}, which {does} (rule {problem['rule']}): {text}"
    if problem["path"]:
        return f"{problem['path']}: {text}"
    return text


def _change(change: Mapping[str, Any], with_reason: bool) -> str:
    before, after = shown_value(change["before"]), shown_value(change["after"])
    if change["no_longer_declared"] and change["after"] is None and not change["known"]:
        text = f"~ {change['path']}: {before}, reverts to the node's own value"
    elif change["before"] is None:
        text = f"+ {change['path']}: {after}"
    elif change["after"] is None:
        text = f"- {change['path']}: {before}"
    else:
        text = f"~ {change['path']}: {before} -> {after}"
    text += f"   [{change['effect']}]"
    if with_reason:
        text += f" {change['reason']}"
    if change["no_longer_declared"]:
        text += "   (no longer declared)"
    if change.get("own_file_changed"):
        text += "   (the node's own file changed)"
    if change["shadowed_by"]:
        text += f"   (no effect: {change['shadowed_by']})"
    return text


def shown_value(value: Any) -> str:
    """Return a value on one line."""
    if isinstance(value, str) and value and "\n" not in value:
        return value
    return json.dumps(value, ensure_ascii=False)


def _why(found: list[dict[str, Any]], nodes: Mapping[str, list[str]]) -> Iterator[str]:
    """Yield the paths in which variants differ, each with its values and the nodes that get them."""
    if found:
        yield "variants differ in:"
    for row in found:
        names: dict[str, list[str]] = {}
        for variant, value in row["values"].items():
            names.setdefault("absent" if value is None else shown_value(value), []).extend(nodes[variant])
        values = [f"{value} on {shown_nodes(group)}" for value, group in names.items()]
        mark = " (belongs to one machine)" if row["machine_specific"] else ""
        yield f"  {row['path']}{mark}: {first_of(values)}"


def _newer(rows: Mapping[str, Any]) -> Iterator[str]:
    newest = fields.NEWEST_MINOR
    names = [name for name, row in rows.items() if (minor_of(row.get("kubelet_version")) or newest) > newest]
    if names:
        yield (
            f"{shown_nodes(names)}: the kubelet is newer than 1.{newest}, the last version whose fields, "
            "defaults, flags and feature gates are known here. A field that is not known is refused; its own binary "
            "decides about all else before the switch"
        )


def _sum(plan: Mapping[str, Any]) -> str:
    counts = plan["summary"]
    text = (
        f"plan: {counted(counts['nodes'], 'node')}, {counts['to_change']} to change, {counts['unchanged']} unchanged, "
        f"{counted(counts['variants'], 'variant')}, {counted(counts['refusals'], 'refusal')}, "
        f"{counted(counts['warnings'], 'warning')}"
    )
    if counts["from_live"] == 1:
        text += "; 1 planned from its live configuration"
    elif counts["from_live"]:
        text += f"; {counts['from_live']} planned from their live configuration"
    if plan["refused"]:
        text += "; REFUSED, nothing may be written"
    return text


def _from_live(row: Mapping[str, Any]) -> bool:
    """Return whether a node is planned without its own file, on which its source should be built."""
    return delivery.of(row.get("delivery")).whole and any(
        problem["rule"] == NO_OWN_FILE and problem["severity"] == WARNING for problem in row["problems"]
    )
