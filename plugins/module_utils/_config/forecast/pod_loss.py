# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The pod losses of a node: a comparison of two snapshots."""

from __future__ import annotations

from typing import Any, Mapping, NamedTuple

Pod = Mapping[str, Any]

FINISHED = ("Succeeded", "Failed")
TERMINATING = "Terminating"
# The keys of a snapshot's pod that are compared.
FIELDS = frozenset(("namespace", "name", "ready", "containers", "ids", "static", "owner", "phase", "reason"))
KINDS = ("lost", "restarted", "unready")


class Losses(NamedTuple):
    """Pods that are deleted or failed, that have other containers, and that are not Ready again yet.

    Each entry holds `namespace`, `name` and `reason`. No pod is in two of the lists.
    """

    lost: list[dict[str, str]]
    restarted: list[dict[str, str]]
    unready: list[dict[str, str]]

    @property
    def final(self) -> list[dict[str, str]]:
        """The losses that waiting does not undo."""
        return [*self.lost, *self.restarted]


def compare(before: Mapping[str, Pod], now: Mapping[str, Pod]) -> Losses:
    """Return the losses between two snapshots of the pods of one node, which are keyed by uid.

    A pod that had finished or was being deleted before is not a loss, nor is a pod that has succeeded since, nor a
    deleted pod of a Job. Only a pod that was Ready can count as restarted or unready: a crash loop needs no change.

    The API object of a static pod is a mirror. When it is deleted, the kubelet creates it again with another uid.
    Therefore a static pod is found by its name, which ends with the node's name, and its containers show whether it is
    the same pod: a changed manifest yields new containers.
    """
    mirrors = {_place(pod): pod for pod in now.values() if pod["static"]}
    losses = Losses([], [], [])
    for uid, old in before.items():
        if old["phase"] in FINISHED or old["reason"] == TERMINATING:
            continue
        new = now.get(uid) or (mirrors.get(_place(old)) if old["static"] else None)
        for kind, reason in zip(KINDS, (_lost(old, new), _restarted(old, new), _unready(old, new))):
            if reason:
                getattr(losses, kind).append({"namespace": old["namespace"], "name": old["name"], "reason": reason})
                break
    return losses


def _place(pod: Pod) -> tuple[str, str]:
    return pod["namespace"], pod["name"]


def _lost(old: Pod, new: Pod | None) -> str:
    passing = old["owner"].startswith("Job/")
    if new is None:
        # A kubelet creates the mirrors of its static pods again, and the caller waits for them.
        return "" if passing or old["static"] else "deleted through the API, by its controller, a user or the scheduler"
    if new["phase"] == "Failed":
        return new["reason"] or "Failed"
    return "being deleted through the API" if new["reason"] == TERMINATING and not passing and not old["static"] else ""


def _restarted(old: Pod, new: Pod | None) -> str:
    if new is None or not old["ready"] or new["phase"] in FINISHED:
        return ""
    again = {name: count - int(old["containers"].get(name, count)) for name, count in new["containers"].items()}
    reasons = [
        f"{name} restarted {'once' if times == 1 else f'{times} times'}" for name, times in again.items() if times > 0
    ]
    reasons += [
        f"{name} was replaced"
        for name, container in new["ids"].items()
        if again.get(name, 0) <= 0 and old["ids"].get(name, container) != container
    ]
    return f"container {', container '.join(reasons)}" if reasons else ""


def _unready(old: Pod, new: Pod | None) -> str:
    if new is None or (old["static"] and new["reason"] == TERMINATING):
        return (
            "missing: staticPodPath or staticPodURL no longer has its manifest, or its kubelet has not reported it yet"
            if old["static"]
            else ""
        )
    # A terminating pod of a Job is done.
    if not old["ready"] or new["ready"] or new["phase"] in FINISHED or new["reason"] == TERMINATING:
        return ""
    return new["reason"] or "not Ready"
