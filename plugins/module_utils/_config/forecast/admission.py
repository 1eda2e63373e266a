# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The pods that a restarted kubelet would admit again, and those that it would refuse.

It admits them again: static pods first, then in the order of their creation (kubelet.go HandlePodAdditions). A pod that
does not fit fails permanently (lifecycle/predicate.go). A critical pod preempts others (preemption/preemption.go). The
kubelet compares with the allocatable resources of the Node object, which at the first restart are often still the old
ones (kubelet_getters.go getNodeAnyWay). The next restart then rejects the pods.

It also compares the labels that its Node has then. It rejects a pod
whose node selector or required node affinity does not match (pkg/kubelet/lifecycle/predicate.go, generalFilter). The
rule is the same in 1.28 and 1.36; the latter reads its Node once more before it rejects a pod.

All labels count alike. The kubelet itself restores a few when it registers, such as kubernetes.io/hostname. Whether it
admits its pods before or after that differs from start to start: 1.20.2 rejected them in one of three.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any, Callable, Iterable, Iterator, Mapping, Sequence

from ..values import paths
from .allocatable import PODS, RESOURCES, shown
from .node_usage import Key, LossCause, Pod

_Json = Mapping[str, Any]
_Labels = Mapping[str, str]

REASON = "NodeAffinity: the node's labels no longer match the pod's node selector or node affinity"
"""The kubelet's reason, and what it means."""
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
# k8s.io/apimachinery/pkg/util/validation IsValidLabelValue
_VALUE = re.compile(r"(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?", re.ASCII)
# What strconv.ParseInt accepts with base 10. Values of labels begin with no sign.
_NUMBER = re.compile(r"[0-9]+", re.ASCII)
_INT64 = 2**63


def unmet(spec: Any, labels: _Labels) -> str:
    """Return the requirement of a pod that its Node does not meet, and what the Node has instead; empty if none.

    ``spec`` is the spec of a Pod object, ``labels`` are those of its Node. No content raises an error. Source:
    k8s.io/component-helpers/scheduling/corev1/nodeaffinity GetRequiredNodeAffinity, Match.
    """
    pod = _mapping(spec)
    for key, value in _mapping(pod.get("nodeSelector")).items():
        if labels.get(key) != value:
            return f"{key}={value}, {_has(labels, key)}"
    required = _mapping(_mapping(_mapping(pod.get("affinity")).get("nodeAffinity")).get(_REQUIRED))
    terms = _listed(required, "nodeSelectorTerms")
    if not terms:
        return ""
    # One term has to match. A term without requirements matches no node.
    name = {"metadata.name": str(pod.get("nodeName"))}
    missed = [next(_unmet_of_term(term, labels, name), "") for term in terms]
    if "" in missed:
        return ""
    if len(missed) > 1:
        return f"{missed[0]} (none of its {len(missed)} terms matches)"
    return missed[0]


def _unmet_of_term(term: _Json, labels: _Labels, fields: _Labels) -> Iterator[str]:
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


def _matches(requirement: _Json, labels: _Labels) -> bool:
    """Return whether labels meet a requirement (apimachinery/pkg/labels Requirement.Matches).

    An invalid requirement is never met (NewRequirement).
    """
    key, values = str(requirement.get("key")), _values(requirement)
    rule = _RULES.get(str(requirement.get("operator")))
    if rule is None or not all(map(_VALUE.fullmatch, values)):
        return False
    return rule(labels.get(key), values)


def _matches_field(requirement: _Json, fields: _Labels) -> bool:
    """Return whether fields meet a requirement with one value (nodeSelectorRequirementsAsFieldSelector)."""
    values, operator = _values(requirement), requirement.get("operator")
    if len(values) != 1 or operator not in ("In", "NotIn"):
        return False
    same = fields.get(str(requirement.get("key")), "") == values[0]
    return bool(same == (operator == "In"))


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


def _shown(requirement: _Json) -> str:
    values = _values(requirement)
    shown = f"{requirement.get('key')} {requirement.get('operator')}"
    if values:
        shown += f" [{', '.join(values)}]"
    return shown


def _has(labels: _Labels, key: str) -> str:
    if key not in labels:
        return "the node does not have it"
    return f"the node has {labels[key] or 'an empty value'}"


def _values(requirement: _Json) -> list[str]:
    return list(map(str, paths.typed(requirement.get("values"), list)))


def _listed(term: _Json, key: str) -> list[_Json]:
    return list(map(_mapping, paths.typed(term.get(key), list)))


def _mapping(value: Any) -> _Json:
    return paths.typed(value, dict)


_Room = Mapping[str, Fraction]
_ONE = Fraction(1)
_NONE = Fraction(0)


def refused(pods: Iterable[Pod], room: _Room) -> dict[Key, LossCause]:
    """Return the pods that would no longer run, with the cause; ``room`` holds the allocatable resources."""
    admitted: list[Pod] = []
    lost: dict[Key, LossCause] = {}
    used = dict.fromkeys(room, _NONE)

    def take(pod: Pod, sign: int) -> None:
        for resource in used:
            used[resource] += sign * _request(pod, resource)

    for pod in sorted(pods, key=lambda pod: (not pod.static, pod.created, pod.key)):
        lacking = _lacking(pod, used, room)
        if lacking and pod.critical:
            victims = _preempted(lacking, [other for other in admitted if _gives_way(other, pod)]) or ()
            for victim in victims:
                admitted.remove(victim)
                take(victim, -1)
                lost[victim.key] = LossCause(
                    f"preempted by a critical pod that would not fit otherwise (OutOf{next(iter(lacking))})",
                    f"for {'/'.join(pod.key)}",
                )
            if victims:
                lacking = {}
        if lacking:
            resource = next(iter(lacking))
            lost[pod.key] = LossCause(_reason(resource), f"{shown(resource, room[resource])} allocatable")
        else:
            admitted.append(pod)
            take(pod, 1)
    return lost


def _request(pod: Pod, resource: str) -> Fraction:
    if resource == PODS:
        return _ONE
    return pod.requests.get(resource, _NONE)


def _lacking(pod: Pod, used: _Room, room: _Room) -> dict[str, Fraction]:
    """Return the amounts that are missing for a pod, in the order in which the kubelet checks resources."""
    short = {}
    for resource in RESOURCES:
        if resource in room and used[resource] + _request(pod, resource) > room[resource]:
            short[resource] = used[resource] + _request(pod, resource) - room[resource]
    return short


def _gives_way(pod: Pod, critical: Pod) -> bool:
    """Return whether a critical pod may preempt a pod (pkg/kubelet/types Preemptable)."""
    if pod.critical:
        # A static pod's priority is known to the API server, and to the kubelet only if its manifest states it.
        return pod.priority < critical.priority and not (pod.static or critical.static)
    return True


def _preempted(lacking: _Room, pods: Sequence[Pod]) -> list[Pod] | None:
    """Return the pods to preempt (getPodsToPreempt): as few Guaranteed as possible, then as few Burstable.

    Returns None when preempting all of them would not suffice.
    """
    of_class: dict[str, list[Pod]] = {"BestEffort": [], "Burstable": [], "Guaranteed": []}
    for pod in pods:
        of_class.setdefault(pod.qos, []).append(pod)
    best_effort, burstable = of_class["BestEffort"], of_class["Burstable"]
    chosen: list[Pod] = []
    for left, given in ((of_class["Guaranteed"], best_effort + burstable), (burstable, best_effort), (best_effort, [])):
        need = _less(lacking, [*given, *chosen])
        while need:
            if not left:
                return None
            pod = min(left, key=lambda pod: _distance(need, pod))
            left.remove(pod)
            chosen.append(pod)
            need = _less(need, [pod])
    return chosen


def _less(need: _Room, pods: Sequence[Pod]) -> dict[str, Fraction]:
    rest = {}
    for resource, amount in need.items():
        given = sum(_request(pod, resource) for pod in pods)
        if amount > given:
            rest[resource] = amount - given
    return rest


def _distance(need: _Room, pod: Pod) -> tuple[Fraction, Fraction, Fraction, Key]:
    """Return how far a pod's requests are from the need; ties are broken in favour of the smaller pod."""
    apart = sum((max(amount - _request(pod, resource), _NONE) / amount) ** 2 for resource, amount in need.items())
    return Fraction(apart), _request(pod, "memory"), _request(pod, "cpu"), pod.key


NO_ROOM = "OutOf"
"""The begin of the reason that pods request more than a node of this size has for them."""


def _reason(resource: str) -> str:
    if resource == PODS:
        return f"{NO_ROOM}pods: maxPods or podsPerCore allows fewer pods than the node runs"
    return f"{NO_ROOM}{resource}: the pods request more than would be allocatable"
