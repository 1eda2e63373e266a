# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lease objects (coordination.k8s.io/v1, Kubernetes 1.14 and later) by which rollouts keep off each other's nodes: one
a rollout.

What a Lease has no field for stands in its annotations: the group, for people, the names of the nodes, and whether it
is only claimed yet.
"""

from __future__ import annotations

import dataclasses
import json
import secrets
import time
import typing as t
import urllib.parse

from ..api import timestamps
from ..api.errors import ApiError, ClusterError
from ..api.session import Session
from . import configmaps

LABEL, ROLLOUT = "kubelet-config.livenodes.io/lease", "rollout"
GROUP = "kubelet-config.livenodes.io/group"
NODES = "kubelet-config.livenodes.io/nodes"
STATE = "kubelet-config.livenodes.io/state"
CLAIMING, HELD = "claiming", "held"
NAME = "livenodes-kubelet-rollout-"
JSON_PATCH = "application/json-patch+json"
# Clocks of two controllers may differ by this much, in seconds, before a live holder could be taken for a dead one at
# the end of its time.
SKEW = 5.0
# All annotations of an object together (validation.ValidateAnnotations: 256 KiB), less what the others need.
NAMES_FIT = 250 * 1024


@dataclasses.dataclass(frozen=True)
class Claim:
    """What one Lease says. Moments in seconds since 1970; `nodes` None: somebody made the list unreadable, so it may be
    any.
    """

    namespace: str
    name: str
    uid: str
    revision: str
    holder: str
    group: str
    held: bool
    nodes: frozenset[str] | None
    created: float
    acquired: float
    renewed: float
    duration: int

    @property
    def expires(self) -> float:
        """When its holder counts as dead unless it renews."""
        return self.renewed + self.duration + SKEW

    def older(self, other: Claim) -> bool:
        """Whether it was created before another one, while neither has been written again.

        Numbers without leading zeros, compared without reading them as such (API concepts, "resourceVersion
        comparability").
        """
        return (len(self.revision), self.revision) < (len(other.revision), other.revision)

    def shared(self, names: t.Collection[str]) -> list[str]:
        """Return which of these nodes it covers."""
        return sorted(name for name in names if self.nodes is None or name in self.nodes)

    def lease(self) -> dict[str, t.Any]:
        """Return what is handed from module to module for as long as the rollout lasts."""
        return {
            "name": self.name,
            "namespace": self.namespace,
            "uid": self.uid,
            "holder": self.holder,
            "group": self.group,
            "duration": self.duration,
        }


def path(namespace: str, name: str = "") -> str:
    """Return the API path of one Lease, or of a namespace's collection of them."""
    base = f"/apis/coordination.k8s.io/v1/namespaces/{urllib.parse.quote(namespace, safe='')}/leases"
    return f"{base}/{urllib.parse.quote(name, safe='')}" if name else base


def trim(item: dict[str, t.Any]) -> Claim:
    """Reduce a Lease object as the API returns it. Anybody can write one: what cannot be read stands in nobody's favour
    but the holder's.
    """
    meta, spec = item["metadata"], item.get("spec") or {}
    notes = meta.get("annotations") or {}
    created = timestamps.parse(meta.get("creationTimestamp")) or 0.0
    try:
        names = json.loads(notes.get(NODES) or "")
    except ValueError:
        names = None
    return Claim(
        namespace=meta["namespace"],
        name=meta["name"],
        uid=meta["uid"],
        revision=meta["resourceVersion"],
        holder=spec.get("holderIdentity") or "nobody",
        group=notes.get(GROUP) or "",
        held=notes.get(STATE) != CLAIMING,
        nodes=frozenset(map(str, names)) if isinstance(names, list) else None,
        created=created,
        acquired=timestamps.parse(spec.get("acquireTime")) or created,
        renewed=timestamps.parse(spec.get("renewTime")) or created,
        duration=spec.get("leaseDurationSeconds") or 0,
    )


def read(session: Session, namespace: str, names: t.Collection[str]) -> list[Claim]:
    """Return every claim on one of these nodes, oldest first.

    One LIST, never from the API server's cache: what was created before it was sent is in the answer.
    """
    query = [("labelSelector", f"{LABEL}={ROLLOUT}")]
    found = [trim(item) for item in session.request("GET", path(namespace), query).get("items") or []]
    return sorted((claim for claim in found if claim.shared(names)), key=lambda claim: (claim.acquired, claim.name))


def create(session: Session, namespace: str, holder: str, group: str, names: t.Collection[str], duration: int) -> Claim:
    """Create a claim that is not held yet. Raises ClusterError when there are more nodes than a Lease can name."""
    text = json.dumps(sorted(names), separators=(",", ":"))
    if len(text.encode()) > NAMES_FIT:
        raise ClusterError(
            f"the names of {len(names)} nodes take {len(text.encode())} bytes and a Lease can keep {NAMES_FIT}: roll out to fewer at a time"
        )
    name, now = NAME + secrets.token_hex(5), timestamps.text(time.time())
    body = {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {
            "namespace": namespace,
            "name": name,
            "labels": {configmaps.MANAGED_LABEL: configmaps.MANAGED_BY, LABEL: ROLLOUT},
            "annotations": {GROUP: group, STATE: CLAIMING, NODES: text},
        },
        "spec": {"holderIdentity": holder, "leaseDurationSeconds": duration, "acquireTime": now, "renewTime": now},
    }
    try:
        return trim(session.request("POST", path(namespace), body=body))
    except ApiError as error:
        if error.status != 409:
            raise
    # Nobody else makes this name up: the answer to an earlier try was lost on the way.
    return trim(session.request("GET", path(namespace, name)))


def renew(session: Session, lease: dict[str, t.Any], held: bool = False) -> None:
    """Write the present moment to a Lease, if it still is the one that was created, and mark it `held` on request (one
    PATCH).

    May be repeated when an answer was lost. A patch, as PUT would create a Lease that somebody deleted. Raises
    ClusterError when it is not ours any more.
    """
    patch = [
        {"op": "test", "path": "/metadata/uid", "value": lease["uid"]},
        {"op": "test", "path": "/spec/holderIdentity", "value": lease["holder"]},
        {"op": "replace", "path": "/spec/renewTime", "value": timestamps.text(time.time())},
    ]
    if held:
        patch.append({"op": "replace", "path": f"/metadata/annotations/{STATE.replace('/', '~1')}", "value": HELD})
    try:
        session.request("PATCH", path(lease["namespace"], lease["name"]), body=patch, content_type=JSON_PATCH)
    except ApiError as error:
        # 404: gone; 422: a test of the patch failed (apiserver's patch.go).
        if error.status not in (404, 422):
            raise
        raise ClusterError(
            f"this rollout lost its Lease {lease['namespace']}/{lease['name']}, held by {lease['holder']}: it was not renewed for {lease['duration']} s and "
            "another rollout of the same nodes took over, or somebody deleted it. Nothing more is begun; look for the other rollout, then run again"
        ) from error


def delete(session: Session, namespace: str, name: str, uid: str, revision: str | None = None) -> bool:
    """Delete a Lease if it still is the one that was read; return whether it was.

    With `revision` it must not have been written since either.
    """
    preconditions = {"uid": uid, **({"resourceVersion": revision} if revision else {})}
    body = {"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": preconditions}
    try:
        session.request("DELETE", path(namespace, name), body=body)
    except ApiError as error:
        if error.status not in (404, 409):
            raise
        return False
    return True


def exists(session: Session, lease: dict[str, t.Any]) -> bool:
    """Tell whether a Lease is there and still the one that was created (one GET)."""
    try:
        return bool(session.request("GET", path(lease["namespace"], lease["name"]))["metadata"]["uid"] == lease["uid"])
    except ApiError as error:
        if error.status != 404:
            raise
        return False
