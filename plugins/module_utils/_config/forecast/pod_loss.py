# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The pod losses of a node: a comparison of two snapshots, and which of the differences a restart has caused."""

from __future__ import annotations

from typing import Any, Mapping, NamedTuple

Pod = Mapping[str, Any]

FINISHED = ("Succeeded", "Failed")
TERMINATING = "Terminating"
# The keys of a snapshot's pod that are compared.
FIELDS = frozenset(
    (
        *("namespace", "name", "ready", "containers", "ids", "static", "owner", "phase", "reason", "fault"),
        *("disruption", "tolerates", "revision", "at"),
    )
)
# The reason of a kubelet that ends a pod because of the pod's own activeDeadlineSeconds.
DEADLINE = "DeadlineExceeded"
# Reasons of the condition DisruptionTarget (since Kubernetes 1.26) that the node has caused. The others,
# EvictionByEvictionAPI and PreemptionByScheduler, are requests to the API server.
_BY_THE_NODE = ("DeletionByTaintManager", "DeletionByPodGC", "TerminationByKubelet")
DELETED = "deleted through the API"


class Losses(NamedTuple):
    """Pods that are lost or failed, that have other containers, that are not Ready again yet, and the reported ones.

    `reported` are pods that changed without a loss by the restart: deleted through the API, ended for a reason of
    their own, or Ready with the same containers though they were not before. Each entry holds `namespace`, `name` and
    `reason`. No pod is in two of the lists.
    """

    lost: list[dict[str, str]]
    restarted: list[dict[str, str]]
    unready: list[dict[str, str]]
    reported: list[dict[str, str]]

    @property
    def final(self) -> list[dict[str, str]]:
        """The losses that waiting does not undo."""
        return [*self.lost, *self.restarted]


def compare(before: Mapping[str, Pod], now: Mapping[str, Pod], last: Mapping[str, Pod], unready: float) -> Losses:
    """Return the losses between two snapshots of the pods of one node, which are keyed by uid.

    `last` holds the last known state of deleted pods. `unready` is for how many seconds the Node was not Ready since
    the first snapshot, at most.

    A pod that had finished or was being deleted before is not a loss, nor is a pod that has succeeded since. Only a
    pod that was Ready can count as restarted or unready: a crash loop needs no change.

    The restart of a kubelet deletes no pod. A deleted pod is a loss only if its kubelet had failed it before, or if its
    Node was not Ready for longer than the pod tolerates (the taint manager of Kubernetes). Controllers, users and
    evictions delete all others.

    The API object of a static pod is a mirror. When it is deleted, the kubelet creates it again with another uid.
    Therefore a static pod is found by its name, which ends with the node's name, and its containers show whether it is
    the same pod: a changed manifest yields new containers.
    """
    mirrors, refused = {}, {}
    for pod in now.values():
        if pod["static"]:
            mirrors[_place(pod)] = pod
        if pod["fault"] and pod["owner"]:
            # A DaemonSet deletes a failed pod at once. The pod that it creates instead fails for the same reason.
            refused[pod["namespace"], pod["owner"]] = pod
    losses = Losses([], [], [], [])
    for uid, old in before.items():
        if old["phase"] in FINISHED or old["reason"] == TERMINATING:
            continue
        new = now.get(uid)
        if new is None and old["static"]:
            new = mirrors.get(_place(old))
        seen = new or last.get(uid)
        kind, reason = _fate(old, new, seen, refused, unready)
        if reason:
            getattr(losses, kind).append({"namespace": old["namespace"], "name": old["name"], "reason": reason})
    return losses


def _fate(
    old: Pod, new: Pod | None, seen: Pod | None, refused: Mapping[tuple[str, str], Pod], unready: float
) -> tuple[str, str]:
    """Return kind and reason of a loss or report, an empty reason for a pod without one."""
    follower = None
    if seen is None:
        follower = refused.get((old["namespace"], old["owner"]))
    fates = (
        ("lost", _failed(seen)),
        ("restarted", _restarted(old, seen)),
        _deleted(old, new, seen, follower, unready),
        ("unready", _unready(old, new)),
        ("reported", _harmless(old, new)),
    )
    for kind, reason in fates:
        if reason:
            return kind, reason
    return "", ""


def _place(pod: Pod) -> tuple[str, str]:
    return pod["namespace"], pod["name"]


def _failed(seen: Pod | None) -> str:
    """Return why the kubelet ended a pod, empty if it did not."""
    if seen is None or seen["phase"] != "Failed" or seen["fault"] == DEADLINE:
        return ""
    deleted = seen["reason"] == TERMINATING
    if seen["fault"] and deleted:
        return f"{seen['fault']}, then deleted"
    if seen["fault"]:
        return str(seen["fault"])
    # A deletion ends containers, and those of a Job's pod may fail at any time: the Job repeats them.
    if deleted or seen["owner"].startswith("Job/"):
        return ""
    return "Failed"


def _deleted(old: Pod, new: Pod | None, seen: Pod | None, follower: Pod | None, unready: float) -> tuple[str, str]:
    """Return kind and reason for a pod that is deleted or being deleted, empty for other pods."""
    # A kubelet creates the mirrors of its static pods again, and the caller waits for them.
    if old["static"] or (new is not None and new["reason"] != TERMINATING):
        return "reported", ""
    if seen and seen["disruption"]:
        kind = "lost" if seen["disruption"] in _BY_THE_NODE else "reported"
        return kind, f"{DELETED} ({seen['disruption']})"
    if follower:
        return "lost", f"deleted, and the kubelet refuses {follower['name']}, its successor: {follower['fault']}"
    if unready > 0 and old["tolerates"] is not None and unready >= old["tolerates"]:
        return "lost", (
            f"deleted while its Node was not Ready ({unready:.0f} s at most, and it tolerates {old['tolerates']} s)"
        )
    return "reported", DELETED


def _harmless(old: Pod, new: Pod | None) -> str:
    """Return what happened to a pod that exists and that the restart did not cost, empty for nothing."""
    if new is None or old["static"]:
        return ""
    if new["phase"] == "Failed":
        return new["fault"] or "its containers ended with an error"
    # Known of kubelets of 1.35: they report such a pod as Ready until its probe fails again.
    same = old["ids"] and (old["ids"], old["containers"]) == (new["ids"], new["containers"])
    if same and new["ready"] and not old["ready"]:
        return "was not Ready before the change, and is Ready with the same containers"
    return ""


def _restarted(old: Pod, new: Pod | None) -> str:
    if new is None or not old["ready"] or new["phase"] in FINISHED:
        return ""
    reasons, again = [], set()
    for name, count in new["containers"].items():
        times = count - int(old["containers"].get(name, count))
        if times > 0:
            again.add(name)
            reasons.append(f"container {name} restarted {'once' if times == 1 else f'{times} times'}")
    for name, container in new["ids"].items():
        if name not in again and old["ids"].get(name, container) != container:
            reasons.append(f"container {name} was replaced")
    return ", ".join(reasons)


def _unready(old: Pod, new: Pod | None) -> str:
    # This is a static pod: _deleted has a reason for all others.
    if new is None or new["reason"] == TERMINATING:
        return (
            "missing: staticPodPath or staticPodURL no longer has its manifest, or its kubelet has not reported it yet"
        )
    if not old["ready"] or new["ready"] or new["phase"] in FINISHED:
        return ""
    return new["reason"] or "not Ready"
