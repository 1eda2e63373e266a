# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a kubelet may do (the Node authorizer, NodeRestriction) and the answers to reviews.

All other users are those of `roles`.
"""

from __future__ import annotations

import typing as t

from tests.sim.api import roles
from tests.sim.api.kinds import Route
from tests.sim.api.refusal import Refusal
from tests.sim.api.roles import NODE, VERBS
from tests.sim.api.store import Store

PATH = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
OWN = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


def permit(user: str, method: str, place: Route) -> None:
    """Let a kubelet do what a kubelet may do. Raises Refusal (403)."""
    if not user.startswith(NODE):
        return
    own, plural = user[len(NODE) :], place.kind.plural
    verb = VERBS[method]
    if place.sub == "proxy":
        # It may not read its own configuration either.
        raise _forbidden(user, "get", "nodes/proxy", place)
    if plural == "nodes" and method != "GET" and place.name not in ("", own):
        raise _forbidden(user, verb, plural, place, f': node "{own}" is not allowed to modify node "{place.name}"')
    if plural == "nodes" and method == "GET" and place.name not in ("", own):
        raise _forbidden(user, verb, plural, place)
    if plural == "leases" and (place.namespace != "kube-node-lease" or place.name not in ("", own)):
        raise _forbidden(user, verb, plural, place)
    if plural == "configmaps" and method != "GET":
        raise _forbidden(user, verb, plural, place)


def _forbidden(user: str, verb: str, resource: str, place: Route, why: str = "") -> Refusal:
    return Refusal(
        403,
        f'{place.kind.resource} "{place.name}" is forbidden: User "{user}" cannot {verb} resource "{resource}" in API '
        f'group "{place.kind.version.rpartition("/")[0]}" at the cluster scope{why}',
    )


def review(store: Store, body: dict[str, t.Any]) -> dict[str, t.Any]:
    """Return an answered SubjectAccessReview."""
    spec = body.get("spec") or {}
    user, asked = str(spec.get("user") or ""), spec.get("resourceAttributes") or {}
    status: dict[str, t.Any] = {"allowed": True}
    if user.startswith(NODE) and asked.get("resource") == "configmaps":
        name = user[len(NODE) :]
        if roles.needs_role(store, user):
            if not roles.may_get(store, user, asked.get("namespace") or "", asked.get("name") or ""):
                status = {"allowed": False, "reason": "no Role"}
        elif not refers(store, name, asked.get("namespace") or "", asked.get("name") or ""):
            status = {"allowed": False, "reason": f"no relationship found between node '{name}' and this object"}
    return {**body, "status": status}


def own(store: Store, user: str, groups: t.Sequence[str], body: dict[str, t.Any]) -> dict[str, t.Any]:
    """Return an answered SelfSubjectAccessReview."""
    about = (body.get("spec") or {}).get("resourceAttributes") or {}
    resource = "/".join(filter(None, (about.get("resource"), about.get("subresource"))))
    wanted = roles.Asked(
        about.get("verb", ""), about.get("group", ""), resource, about.get("namespace", ""), about.get("name", "")
    )
    allowed = roles.is_admin(user, groups) or roles.allows(store, user, groups, wanted)
    return {**body, "status": {"allowed": allowed}}


def refers(store: Store, node: str, namespace: str, name: str) -> bool:
    """Return whether a node's spec or one of its pods names a ConfigMap (plugin/pkg/auth/authorizer/node)."""
    found = store.find("nodes", node)
    if found is None:
        return False
    source = (found.item["spec"].get("configSource") or {}).get("configMap") or {}
    if (source.get("namespace"), source.get("name")) == (namespace, name):
        return True
    with store.lock:
        specs = [
            entry.item["spec"] for (space, _pod), entry in store.tables.get("pods", {}).items() if space == namespace
        ]
    used: set[str | None] = set()
    for spec in specs:
        if spec.get("nodeName") == node:
            used.update((volume.get("configMap") or {}).get("name") for volume in spec.get("volumes") or [])
    return name in used
