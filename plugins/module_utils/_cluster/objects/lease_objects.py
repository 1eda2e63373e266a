# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lease objects (coordination.k8s.io/v1, Kubernetes 1.14 and later), one for each rollout, which keep two rollouts off
the same nodes.

Annotations hold what a Lease has no field for: the group (for operators), the names of the nodes, and whether the
Lease is held or only claimed. All times are those of the API server's clock.
"""

from __future__ import annotations

import dataclasses
import json
import secrets
import typing as t

from ..._config.values import annotation, paths
from ..._config.values.annotation import PREFIX
from ..api import timestamps
from ..api.errors import Accepting, ApiError, ClusterError
from ..api.session import Session, object_path

_LABEL, _ROLLOUT = PREFIX + "lease", "rollout"
GROUP = PREFIX + "group"
NODES = PREFIX + "nodes"
STATE = PREFIX + "state"
_CLAIMING, _HELD = "claiming", "held"
_NAME = "livenodes-kubelet-rollout-"
NAMESPACE = "kube-system"
"""Where the Leases of all rollouts and their pause are, wherever their ConfigMaps are."""
CONTROL_PLANE = "/control-plane"
"""Stands among the names of the nodes for the control plane: no Node can have this name."""
_JSON_PATCH = "application/json-patch+json"
# Seconds after the end of its duration in which a holder still counts as alive: the API server's clock is known to a
# second, and several API servers may differ a little.
SKEW = 5.0
# Limit of all annotations of an object (validation.ValidateAnnotations: 256 KiB), less the size of the others.
_NAMES_FIT = 250 * 1024


class LeaseLost(ClusterError):
    """The Lease of this rollout was deleted, or another rollout of the same nodes has taken over."""


@dataclasses.dataclass(frozen=True)
class Claim:
    """The content of one Lease. Times are seconds since 1970 by the API server's clock.

    `nodes` is None for a Lease that covers all nodes of the cluster, such as one whose list cannot be parsed.
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
        """When its holder counts as dead unless it renews the Lease."""
        return self.renewed + self.duration + SKEW

    def older(self, other: Claim) -> bool:
        """Return whether it was created before `other`, provided that neither was written since.

        Both revisions are decimal numbers without leading zeros, compared as strings (API concepts, "resourceVersion
        comparability").
        """
        return (len(self.revision), self.revision) < (len(other.revision), other.revision)

    def shared(self, names: t.Collection[str]) -> list[str]:
        """Return the sorted names of the nodes it covers, among `names`."""
        return sorted(name for name in names if self.nodes is None or name in self.nodes)

    def overlaps(self, names: t.Collection[str] | None) -> bool:
        """Return whether it covers any of these nodes. `names` None means all nodes of the cluster."""
        return names is None or bool(self.shared(names))

    def lease(self) -> dict[str, t.Any]:
        """Return the value that the modules of a rollout pass on until its end."""
        return paths.only(vars(self), ("name", "namespace", "uid", "holder", "group", "duration"))


def path(namespace: str, name: str = "") -> str:
    """Return the API path of one Lease, or of a namespace's collection of them."""
    return object_path("/apis/coordination.k8s.io/v1", namespace, "leases", name)


def trim(item: dict[str, t.Any]) -> Claim:
    """Return the claim in a Lease object of the API.

    Any user with access can edit a Lease: values that cannot be parsed are read in favour of its holder.
    """
    meta, spec = item["metadata"], item.get("spec") or {}
    notes = meta.get("annotations") or {}
    created = timestamps.parse(meta.get("creationTimestamp")) or 0.0
    try:
        names = json.loads(notes.get(NODES) or "")
    except (ValueError, RecursionError):
        names = None
    return Claim(
        namespace=meta["namespace"],
        name=meta["name"],
        uid=meta["uid"],
        revision=meta["resourceVersion"],
        holder=spec.get("holderIdentity") or "unknown",
        group=notes.get(GROUP) or "",
        held=notes.get(STATE) != _CLAIMING,
        nodes=frozenset(map(str, names)) if isinstance(names, list) else None,
        created=created,
        acquired=timestamps.parse(spec.get("acquireTime")) or created,
        renewed=timestamps.parse(spec.get("renewTime")) or created,
        duration=spec.get("leaseDurationSeconds") or 0,
    )


def read(session: Session, namespace: str, names: t.Collection[str] | None) -> list[Claim]:
    """Return all claims on any of these nodes (None: of the cluster), oldest first (one LIST). Raises ApiError.

    The answer never comes from the API server's cache: it contains every claim that was created before the request.
    """
    query = [("labelSelector", f"{_LABEL}={_ROLLOUT}")]
    found = list(map(trim, session.request("GET", path(namespace), query).get("items") or []))
    return sorted((claim for claim in found if claim.overlaps(names)), key=lambda claim: (claim.acquired, claim.name))


def create(
    session: Session, namespace: str, holder: str, group: str, names: t.Collection[str] | None, duration: int
) -> Claim:
    """Create a claim that is not held yet and return it. `names` None claims all nodes of the cluster.

    Its times are that of its creation, which the API server sets. Raises ClusterError if a Lease cannot hold the names.
    """
    text = "null"
    if names is not None:
        text = json.dumps(sorted(names), separators=(",", ":"))
    if names is not None and len(text.encode()) > _NAMES_FIT:
        raise ClusterError(
            f"the names of {len(names)} nodes take {len(text.encode())} bytes, and a Lease can hold {_NAMES_FIT}: "
            "roll out to fewer nodes at a time"
        )
    name = _NAME + secrets.token_hex(5)
    body = {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {
            "namespace": namespace,
            "name": name,
            "labels": {annotation.MANAGED_LABEL: annotation.MANAGED_BY, _LABEL: _ROLLOUT},
            "annotations": {GROUP: group, STATE: _CLAIMING, NODES: text},
        },
        "spec": {"holderIdentity": holder, "leaseDurationSeconds": duration},
    }
    with Accepting(409):
        return trim(session.request("POST", path(namespace), body=body))
    # The name is random, so an earlier try has created it, and its answer was lost.
    return trim(session.request("GET", path(namespace, name)))


def renew(session: Session, lease: dict[str, t.Any], held: bool = False) -> None:
    """Set the renewal time of our Lease to now; with `held`, acquire it now and mark it as held (one PATCH).

    Safe to repeat after a lost answer. A PATCH, since a PUT would create a deleted Lease again. Raises LeaseLost if the
    Lease was deleted or replaced.
    """
    now = timestamps.text(session.server_time())
    patch = [
        {"op": "test", "path": "/metadata/uid", "value": lease["uid"]},
        {"op": "test", "path": "/spec/holderIdentity", "value": lease["holder"]},
        {"op": "add", "path": "/spec/renewTime", "value": now},
    ]
    if held:
        patch.append({"op": "add", "path": "/spec/acquireTime", "value": now})
        patch.append({"op": "replace", "path": f"/metadata/annotations/{STATE.replace('/', '~1')}", "value": _HELD})
    try:
        session.request("PATCH", path(lease["namespace"], lease["name"]), body=patch, content_type=_JSON_PATCH)
    except ApiError as error:
        # 404: gone; 422: a test of the patch failed (apiserver's patch.go).
        if error.status not in (404, 422):
            raise
        raise LeaseLost(
            f"this rollout lost its Lease {lease['namespace']}/{lease['name']}, held by {lease['holder']}: it was "
            f"deleted, or another rollout of the same nodes took over after {lease['duration']} s without a renewal. "
            "The rollout stops here; look for the other rollout, then run again"
        ) from error


def delete(session: Session, namespace: str, name: str, uid: str, revision: str | None = None) -> bool:
    """Delete a Lease by name and uid, with `revision` only if unchanged since then; return whether it was deleted."""
    preconditions = {"uid": uid}
    if revision:
        preconditions["resourceVersion"] = revision
    with Accepting(409):
        return session.delete_exactly(path(namespace, name), preconditions)
    return False


def exists(session: Session, lease: dict[str, t.Any]) -> bool:
    """Return whether a Lease exists with the uid it was created with (one GET). Raises ApiError."""
    there = session.find(path(lease["namespace"], lease["name"]))
    return there is not None and bool(there["metadata"]["uid"] == lease["uid"])
