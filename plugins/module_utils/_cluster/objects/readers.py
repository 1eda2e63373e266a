# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Roles and RoleBindings `<configmap>-reader`, with which kubelets may read their ConfigMap whose form is `by_role`.

The Node authorizer of their API servers does not know which ConfigMap a node has as its config source; later ones do
(plugin/pkg/auth/authorizer/node). Check mode sends no request that writes: API servers before 1.12 ignore
the parameter dryRun.
"""

from __future__ import annotations

import typing as t

from ..._config.values import annotation
from ..api.errors import Accepting, ApiError, ClusterError
from ..api.session import Session, object_path
from . import configmaps, nodes

Place = t.Tuple[str, str]
"""Namespace and name of a ConfigMap."""
GROUP = "rbac.authorization.k8s.io"
_ROLES, _BINDINGS = "roles", "rolebindings"
_SUFFIX = "-reader"
_USER = "system:node:"
_TRIES = 5
_GRANT = "grant the verbs get, create and patch on roles and rolebindings there, and get on configmaps"


def _path(resource: str, namespace: str, name: str = "") -> str:
    """Return the API path of a Role or RoleBinding, or of a namespace's collection of them."""
    return object_path(f"/apis/{GROUP}/v1", namespace, resource, name)


def in_use(found: t.Iterable[nodes.Node]) -> dict[Place, set[str]]:
    """Return the kubelets that need a Role to read a ConfigMap, by ConfigMap.

    Only what they are assigned: they keep every ConfigMap that they have read on their disk.
    """
    sources = {}
    for node in found:
        if node.by_follower:
            sources[node.name] = node.noted.source
        elif node.form.by_role:
            sources[node.name] = node.native.source
    return users_of(sources)


def users_of(sources: t.Mapping[str, t.Mapping[str, str] | None]) -> dict[Place, set[str]]:
    """Return the nodes by the ConfigMap of their source; without those that have none."""
    users: dict[Place, set[str]] = {}
    for name, source in sources.items():
        if source:
            users.setdefault((source["namespace"], source["name"]), set()).add(name)
    return users


def grant(
    session: Session, users: t.Mapping[Place, t.Collection[str]], check_mode: bool
) -> tuple[list[str], dict[Place, str]]:
    """Let nodes get their ConfigMap; return the Roles or RoleBindings that changed, and by ConfigMap what failed.

    Requests for each ConfigMap: two GETs, and one POST or PATCH for each of the two objects that changes.
    """
    outcomes = session.each(users, lambda place: _grant(session, place, sorted(users[place]), check_mode))
    failed = {outcome.item: outcome.error.message for outcome in outcomes if outcome.error}
    return [name for outcome in outcomes for name in outcome.value or []], failed


def _grant(session: Session, place: Place, names: list[str], check_mode: bool) -> list[str]:
    namespace, reader = place[0], place[1] + _SUFFIX
    try:
        changed = []
        if _ensure_role(session, place, check_mode):
            changed.append(f"Role {namespace}/{reader}")
        if _ensure_binding(session, place, names, check_mode):
            changed.append(f"RoleBinding {namespace}/{reader}")
        return changed
    except ApiError as error:
        if error.status != 403:
            raise
        raise ClusterError(
            f"the Role {namespace}/{reader}, which its kubelet needs to read the ConfigMap, was refused "
            f"({error.message}); {_GRANT}"
        ) from error


def _ensure_role(session: Session, place: Place, check_mode: bool) -> bool:
    """Create or repair the Role of a ConfigMap; return whether it changes."""
    namespace, name = place
    rule = {"apiGroups": [""], "resources": ["configmaps"], "resourceNames": [name], "verbs": ["get"]}
    there = session.find(_path(_ROLES, namespace, name + _SUFFIX))
    if there is None:
        if not check_mode:
            body = {"kind": "Role", "apiVersion": f"{GROUP}/v1", "metadata": _meta(place), "rules": [rule]}
            # Another run may have created the same since.
            with Accepting(409):
                session.request("POST", _path(_ROLES, namespace), (), body)
        return True
    if any(_allows(given, name) for given in there.get("rules") or []):
        return False
    if not configmaps.is_ours(there):
        raise ClusterError(
            f"the Role {namespace}/{name}{_SUFFIX} exists, and does not let a node get the ConfigMap: delete it"
        )
    if not check_mode:
        session.patch(_path(_ROLES, namespace, name + _SUFFIX), {"rules": [rule]})
    return True


def _allows(rule: t.Mapping[str, t.Any], name: str) -> bool:
    wanted = (("apiGroups", ""), ("resources", "configmaps"), ("verbs", "get"))
    named = rule.get("resourceNames") or [name]
    return name in named and all({value, "*"} & {*(rule.get(field) or [])} for field, value in wanted)


def _ensure_binding(session: Session, place: Place, names: list[str], check_mode: bool) -> bool:
    """Bind nodes to the Role of a ConfigMap, beside those that are bound; return whether that changes anything."""
    namespace, reader = place[0], place[1] + _SUFFIX
    for _attempt in range(_TRIES):
        there = session.find(_path(_BINDINGS, namespace, reader))
        if there is not None and (there.get("roleRef") or {}).get("name") != reader:
            raise ClusterError(f"the RoleBinding {namespace}/{reader} exists for another Role than {reader}: delete it")
        if there is not None and _nodes_of(there) >= {*names}:
            return False
        if check_mode:
            return True
        if _write_binding(session, place, there, names):
            return True
    raise ClusterError(f"the RoleBinding {namespace}/{reader} changes faster than it can be patched; run again")


def _write_binding(session: Session, place: Place, there: dict[str, t.Any] | None, names: list[str]) -> bool:
    """Create or extend a RoleBinding; return False if another run has created or changed it since."""
    with Accepting(409):
        if there is None:
            ref = {"apiGroup": GROUP, "kind": "Role", "name": place[1] + _SUFFIX}
            body = {"kind": "RoleBinding", "apiVersion": f"{GROUP}/v1", "metadata": _meta(place), "roleRef": ref}
            subjects = list(map(_subject, names))
            session.request("POST", _path(_BINDINGS, place[0]), (), {**body, "subjects": subjects})
        else:
            added = sorted({*names} - _nodes_of(there))
            _bind(session, there, [*(there.get("subjects") or []), *map(_subject, added)])
        return True
    return False


def _bind(session: Session, binding: t.Mapping[str, t.Any], subjects: list[t.Any]) -> None:
    meta = binding["metadata"]
    body = {"metadata": {"resourceVersion": meta["resourceVersion"]}, "subjects": subjects}
    session.patch(_path(_BINDINGS, meta["namespace"], meta["name"]), body)


def revoke(session: Session, namespace: str, users: t.Mapping[Place, set[str]], check_mode: bool) -> list[str]:
    """Remove from our RoleBindings the nodes that no longer have the ConfigMap, and both objects once no node has it.

    Returns what changed. Two LISTs, and one request for each object that changes. Raises ApiError.
    """
    label = [("labelSelector", f"{annotation.MANAGED_LABEL}={annotation.MANAGED_BY}")]
    found = {
        resource: session.request("GET", _path(resource, namespace), label).get("items") or []
        for resource in (_BINDINGS, _ROLES)
    }
    changed = []
    for binding in found[_BINDINGS]:
        place = _place(namespace, binding)
        if place is None or _nodes_of(binding) <= users.get(place, set()):
            continue
        changed.append(f"RoleBinding {namespace}/{binding['metadata']['name']}")
        if not check_mode:
            _unbind(session, binding, users.get(place, set()))
    for role in found[_ROLES]:
        place = _place(namespace, role)
        if place is not None and not users.get(place):
            changed.append(f"Role {namespace}/{role['metadata']['name']}")
            if not check_mode:
                _delete(session, _ROLES, role)
    return changed


def _place(namespace: str, item: t.Mapping[str, t.Any]) -> Place | None:
    """Return the ConfigMap that a Role or RoleBinding is for, None for an object of another name."""
    name = item["metadata"]["name"]
    return (namespace, name[: -len(_SUFFIX)]) if name.endswith(_SUFFIX) else None


def _unbind(session: Session, binding: t.Mapping[str, t.Any], needed: set[str]) -> None:
    """Remove from a RoleBinding the nodes that are not needed, and the whole if nothing is left."""
    kept = [item for item in binding.get("subjects") or [] if _node_of(item) in (*needed, None)]
    if kept:
        _bind(session, binding, kept)
    else:
        _delete(session, _BINDINGS, binding)


def _delete(session: Session, resource: str, item: t.Mapping[str, t.Any]) -> None:
    meta = item["metadata"]
    session.delete_exactly(_path(resource, meta["namespace"], meta["name"]), {"uid": meta["uid"]})


def _meta(place: Place) -> dict[str, t.Any]:
    label = {annotation.MANAGED_LABEL: annotation.MANAGED_BY}
    return {"namespace": place[0], "name": place[1] + _SUFFIX, "labels": label}


def _subject(name: str) -> dict[str, str]:
    return {"apiGroup": GROUP, "kind": "User", "name": _USER + name}


def _node_of(subject: t.Mapping[str, t.Any]) -> str | None:
    """Return the node of a subject, None for another user."""
    name = str(subject.get("name") or "")
    return name[len(_USER) :] if subject.get("kind") == "User" and name.startswith(_USER) else None


def _nodes_of(binding: t.Mapping[str, t.Any]) -> set[str]:
    return set(filter(None, map(_node_of, binding.get("subjects") or [])))
