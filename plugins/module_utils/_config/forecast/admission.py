# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The pods that a restarted kubelet would admit again, and those that it would refuse.

A restarted kubelet admits its pods again: static pods first, then in the order of their creation (kubelet.go
HandlePodAdditions). A pod that does not fit fails permanently (lifecycle/predicate.go). A critical pod preempts others
(preemption/preemption.go). The kubelet compares with the allocatable resources of the Node object, which at the first
restart are often still the old ones (kubelet_getters.go getNodeAnyWay). The next restart then costs the pods.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Iterable, Mapping, Sequence

from .allocatable import PODS, RESOURCES, shown
from .node_usage import Key, LossCause, Pod

Room = Mapping[str, Fraction]
_ONE = Fraction(1)
_NONE = Fraction(0)


def refused(pods: Iterable[Pod], room: Room) -> dict[Key, LossCause]:
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
            victims = _preempted(lacking, [other for other in admitted if _gives_way(other, pod)])
            for victim in victims or ():
                admitted.remove(victim)
                take(victim, -1)
                lost[victim.key] = LossCause(
                    f"preempted by a critical pod that would not fit otherwise (OutOf{next(iter(lacking))})",
                    f"for {'/'.join(pod.key)}",
                )
            lacking = {} if victims else lacking
        if lacking:
            resource = next(iter(lacking))
            lost[pod.key] = LossCause(_reason(resource), f"{shown(resource, room[resource])} allocatable")
        else:
            admitted.append(pod)
            take(pod, 1)
    return lost


def _request(pod: Pod, resource: str) -> Fraction:
    return _ONE if resource == PODS else pod.requests.get(resource, _NONE)


def _lacking(pod: Pod, used: Room, room: Room) -> dict[str, Fraction]:
    """Return the amounts that are missing for a pod, in the order in which the kubelet checks resources."""
    short = {
        resource: used[resource] + _request(pod, resource) - room[resource]
        for resource in RESOURCES
        if resource in room
    }
    return {resource: amount for resource, amount in short.items() if amount > 0}


def _gives_way(pod: Pod, critical: Pod) -> bool:
    """Return whether a critical pod may preempt a pod (pkg/kubelet/types Preemptable)."""
    if pod.critical:
        # A static pod's priority is known to the API server, and to the kubelet only if its manifest states it.
        return pod.priority < critical.priority and not (pod.static or critical.static)
    return True


def _preempted(lacking: Room, pods: Sequence[Pod]) -> list[Pod] | None:
    """Return the pods to preempt (getPodsToPreempt): as few Guaranteed as possible, then as few Burstable.

    Returns None when preempting all of them would not suffice.
    """
    best_effort, burstable, guaranteed = (
        [pod for pod in pods if pod.qos == qos] for qos in ("BestEffort", "Burstable", "Guaranteed")
    )
    chosen: list[Pod] = []
    for group, given in ((guaranteed, best_effort + burstable), (burstable, best_effort), (best_effort, [])):
        need = _less(lacking, [*given, *chosen])
        left = list(group)
        while need:
            if not left:
                return None
            pod = min(left, key=lambda pod: _distance(need, pod))
            left.remove(pod)
            chosen.append(pod)
            need = _less(need, [pod])
    return chosen


def _less(need: Room, pods: Sequence[Pod]) -> dict[str, Fraction]:
    rest = {resource: amount - sum(_request(pod, resource) for pod in pods) for resource, amount in need.items()}
    return {resource: amount for resource, amount in rest.items() if amount > 0}


def _distance(need: Room, pod: Pod) -> tuple[Fraction, Fraction, Fraction, Key]:
    """Return how far a pod's requests are from the need; ties are broken in favour of the smaller pod."""
    apart = sum((max(amount - _request(pod, resource), _NONE) / amount) ** 2 for resource, amount in need.items())
    return Fraction(apart), _request(pod, "memory"), _request(pod, "cpu"), pod.key


def _reason(resource: str) -> str:
    if resource == PODS:
        return "OutOfpods: maxPods or podsPerCore allows fewer pods than the node runs"
    return f"OutOf{resource}: the pods request more than would be allocatable"
