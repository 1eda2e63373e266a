# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a Node has the labels that a pod requires of it.

A kubelet that starts admits its pods again, also those that run, by the labels that its Node has then. It rejects a pod
whose node selector or required node affinity does not match (pkg/kubelet/lifecycle/predicate.go, generalFilter). The
rule is the same in 1.28 and 1.36; the latter reads its Node once more before it rejects a pod.

All labels count alike. The kubelet itself restores a few when it registers, such as kubernetes.io/hostname. Whether it
admits its pods before or after that differs from start to start: 1.20.2 rejected them in one of three.
"""

from __future__ import annotations

import re
from typing import Any, Callable, Iterator, Mapping

Json = Mapping[str, Any]
Labels = Mapping[str, str]

REASON = "NodeAffinity: the node's labels no longer match the pod's node selector or node affinity"
"""The kubelet's reason, and what it means."""
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
# k8s.io/apimachinery/pkg/util/validation IsValidLabelValue
_VALUE = re.compile(r"(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?", re.ASCII)
# What strconv.ParseInt accepts with base 10. Values of labels begin with no sign.
_NUMBER = re.compile(r"[0-9]+", re.ASCII)
_INT64 = 2**63


def unmet(spec: Any, labels: Labels) -> str:
    """Return the requirement of a pod that its Node does not meet, and what the Node has instead; empty if none.

    ``spec`` is the spec of a Pod object, ``labels`` are those of its Node. No content raises an error. Source:
    k8s.io/component-helpers/scheduling/corev1/nodeaffinity GetRequiredNodeAffinity, Match.
    """
    pod = _mapping(spec)
    for key, value in _mapping(pod.get("nodeSelector")).items():
        if labels.get(key) != value:
            return f"{key}={value}, {_has(labels, key)}"
    required = _mapping(_mapping(pod.get("affinity")).get("nodeAffinity")).get(_REQUIRED)
    terms = required.get("nodeSelectorTerms") if isinstance(required, dict) else None
    if not isinstance(terms, list) or not terms:
        return ""
    # One term has to match. A term without requirements matches no node.
    name = {"metadata.name": str(pod.get("nodeName"))}
    missed = [next(_unmet_of_term(_mapping(term), labels, name), "") for term in terms]
    if "" in missed:
        return ""
    others = f" (none of its {len(missed)} terms matches)" if len(missed) > 1 else ""
    return f"{missed[0]}{others}"


def _unmet_of_term(term: Json, labels: Labels, fields: Labels) -> Iterator[str]:
    """Yield the requirements of a term that the node does not meet: all of them have to be met."""
    expressions, names = _listed(term, "matchExpressions"), _listed(term, "matchFields")
    if not expressions and not names:
        yield "a term without requirements, which matches no node"
    for one in expressions:
        if not _matches(one, labels):
            yield f"{_shown(one)}, {_has(labels, str(one.get('key')))}"
    for one in names:
        if not _matches_field(one, fields):
            yield f"{_shown(one)}, {_has(fields, str(one.get('key')))}"


def _matches(requirement: Json, labels: Labels) -> bool:
    """Return whether labels meet a requirement (apimachinery/pkg/labels Requirement.Matches).

    An invalid requirement is never met (NewRequirement).
    """
    key, values = str(requirement.get("key")), _values(requirement)
    rule = _RULES.get(str(requirement.get("operator")))
    if rule is None or not all(_VALUE.fullmatch(value) for value in values):
        return False
    return rule(labels.get(key), values)


def _matches_field(requirement: Json, fields: Labels) -> bool:
    """Return whether fields meet a requirement with one value (nodeSelectorRequirementsAsFieldSelector)."""
    values, operator = _values(requirement), requirement.get("operator")
    if len(values) != 1 or operator not in ("In", "NotIn"):
        return False
    same = fields.get(str(requirement.get("key")), "") == values[0]
    return same if operator == "In" else not same


def _compared(has: str | None, values: list[str]) -> int:
    """Return the sign of a label minus the value of a requirement, 0 if they are not two numbers of 64 bits."""
    numbers = [int(text) for text in (has, *values) if text and _NUMBER.fullmatch(text)]
    if len(values) != 1 or len(numbers) != 2 or max(numbers) >= _INT64:
        return 0
    return (numbers[0] > numbers[1]) - (numbers[0] < numbers[1])


_RULES: Mapping[str, Callable[[str | None, list[str]], bool]] = {
    "In": lambda has, values: has is not None and has in values,
    "NotIn": lambda has, values: bool(values) and has not in values,
    "Exists": lambda has, values: has is not None and not values,
    "DoesNotExist": lambda has, values: has is None and not values,
    "Gt": lambda has, values: _compared(has, values) > 0,
    "Lt": lambda has, values: _compared(has, values) < 0,
}
"""By operator: whether the value of a label, None without the label, is as the requirement's values want it."""


def _shown(requirement: Json) -> str:
    values = _values(requirement)
    shown = f"{requirement.get('key')} {requirement.get('operator')}"
    return f"{shown} [{', '.join(values)}]" if values else shown


def _has(labels: Labels, key: str) -> str:
    return f"the node has {labels[key] or 'an empty value'}" if key in labels else "the node does not have it"


def _values(requirement: Json) -> list[str]:
    values = requirement.get("values")
    return [str(value) for value in values] if isinstance(values, list) else []


def _listed(term: Json, key: str) -> list[Json]:
    found = term.get(key)
    return [_mapping(one) for one in found] if isinstance(found, list) else []


def _mapping(value: Any) -> Json:
    return value if isinstance(value, dict) else {}
