# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What became of a node's pods: two snapshots held against each other."""

from __future__ import annotations

from typing import Any, Mapping, NamedTuple

Pod = Mapping[str, Any]

FINISHED = ("Succeeded", "Failed")
TERMINATING = "Terminating"
# What a snapshot has of each pod, as far as it is compared.
FIELDS = frozenset(("namespace", "name", "ready", "containers", "ids", "static", "owner", "phase", "reason"))
KINDS = ("lost", "restarted", "unready")


class Losses(NamedTuple):
    """Pods that are gone or failed, whose containers are not the same any more, and that are not Ready again yet:
    `namespace`, `name`, `reason` each.

    No pod is in two of them.
    """

    lost: list[dict[str, str]]
    restarted: list[dict[str, str]]
    unready: list[dict[str, str]]

    @property
    def final(self) -> list[dict[str, str]]:
        """Those that no waiting brings back."""
        return [*self.lost, *self.restarted]


def compare(before: Mapping[str, Pod], now: Mapping[str, Pod]) -> Losses:
    """Compare the pods of one node, by uid, as the collection's snapshots show them.

    What had finished or was being deleted before is no loss, nor is a pod that has succeeded meanwhile, or is gone and
    was a Job's. Only a pod that was Ready can be restarted or unready: one in a crash loop needs no change for that.

    The API object of a static pod is a mirror that its kubelet makes again, with another uid, when somebody deletes it:
    it is the pod of that name (names end with the node's), and its containers say whether it is the same. A static pod
    whose manifest changed has new ones.
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
        # A kubelet shows its static pods again by itself: that is waited for.
        return "" if passing or old["static"] else "deleted through the API, by its controller, a user or the scheduler"
    if new["phase"] == "Failed":
        return new["reason"] or "Failed"
    return "being deleted through the API" if new["reason"] == TERMINATING and not passing and not old["static"] else ""


def _restarted(old: Pod, new: Pod | None) -> str:
    if new is None or not old["ready"] or new["phase"] in FINISHED:
        return ""
    again = {name: count - int(old["containers"].get(name, count)) for name, count in new["containers"].items()}
    said = [
        f"{name} restarted {'once' if times == 1 else f'{times} times'}" for name, times in again.items() if times > 0
    ]
    said += [
        f"{name} is another one"
        for name, container in new["ids"].items()
        if again.get(name, 0) <= 0 and old["ids"].get(name, container) != container
    ]
    return f"container {', container '.join(said)}" if said else ""


def _unready(old: Pod, new: Pod | None) -> str:
    if new is None or (old["static"] and new["reason"] == TERMINATING):
        return (
            "not there: its manifest is gone from where staticPodPath or staticPodURL says, or its kubelet has yet to show it again"
            if old["static"]
            else ""
        )
    # One of a Job that is going is done.
    if not old["ready"] or new["ready"] or new["phase"] in FINISHED or new["reason"] == TERMINATING:
        return ""
    return new["reason"] or "not Ready"
