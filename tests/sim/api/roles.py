# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who may do what by Roles and ClusterRoles (plugin/pkg/auth/authorizer/rbac, pkg/registry/rbac).

Kubelets of the first form need a Role for their ConfigMap: the Node authorizer of their time does not know config
sources. All other users need a rule for every request, unless they are administrators.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import typing as t

from tests.sim.api.kinds import Route, has_first_form
from tests.sim.api.refusal import Refusal
from tests.sim.api.store import Item, Store

NODE = "system:node:"
ADMIN = "kubernetes-admin"
MASTERS, AUTHENTICATED = "system:masters", "system:authenticated"
VERBS = {"GET": "get", "POST": "create", "PATCH": "patch", "PUT": "update", "DELETE": "delete"}
RBAC = "rbac.authorization.k8s.io"


@dataclasses.dataclass(frozen=True)
class Asked:
    """One permission that a request needs. `resource` includes the subresource; `group` is empty for the core group."""

    verb: str
    group: str
    resource: str
    namespace: str = ""
    name: str = ""

    def rule(self) -> tuple[str, str, str, str]:
        """Return it without the name of the object."""
        return self.verb, self.group, self.resource, self.namespace

    def refusal(self, user: str) -> Refusal:
        """Return the 403 of the API server (apiserver/pkg/endpoints/handlers/responsewriters/errors.go)."""
        plural = self.resource.partition("/")[0]
        what = f"{plural}.{self.group}" if self.group else plural
        named = f'{what} "{self.name}"' if self.name else what
        place = f'in the namespace "{self.namespace}"' if self.namespace else "at the cluster scope"
        return Refusal(
            403,
            f'{named} is forbidden: User "{user}" cannot {self.verb} resource "{self.resource}" in API group '
            f'"{self.group}" {place}',
        )


def asked(method: str, place: Route, query: t.Mapping[str, str]) -> Asked:
    """Return the permission that a request needs (apiserver/pkg/endpoints/request/requestinfo.go)."""
    verb = VERBS[method]
    if not place.name:
        many = {"get": "watch" if query.get("watch") in ("true", "1") else "list", "delete": "deletecollection"}
        verb = many.get(verb, verb)
    resource = f"{place.kind.plural}/{place.sub}" if place.sub else place.kind.plural
    return Asked(verb, place.kind.version.rpartition("/")[0], resource, place.namespace, place.name)


def is_admin(user: str, groups: t.Collection[str]) -> bool:
    """Return whether a user may do everything."""
    return user == ADMIN or MASTERS in groups


def permit(store: Store, user: str, groups: t.Collection[str], wanted: Asked) -> None:
    """Refuse (403) a request for which a user has no rule."""
    if is_admin(user, groups):
        return
    if user.startswith(NODE):
        if wanted.resource == "configmaps" and needs_role(store, user):
            _permit_first_form(store, user, wanted)
        return
    if not allows(store, user, groups, wanted):
        raise wanted.refusal(user)


def _permit_first_form(store: Store, user: str, wanted: Asked) -> None:
    if not may_get(store, user, wanted.namespace, wanted.name):
        raise Refusal(403, f'configmaps "{wanted.name}" is forbidden: User "{user}" cannot get configmaps')


def needs_role(store: Store, user: str) -> bool:
    """Return whether a user is a kubelet of the first form."""
    found = store.find("nodes", user[len(NODE) :]) if user.startswith(NODE) else None
    return found is not None and has_first_form(found.item)


def may_get(store: Store, user: str, namespace: str, name: str) -> bool:
    """Return whether a RoleBinding of the namespace lets a user get a ConfigMap."""
    return allows(store, user, (), Asked("get", "", "configmaps", namespace, name))


def allows(store: Store, user: str, groups: t.Collection[str], wanted: Asked) -> bool:
    """Return whether a user has a rule that includes a permission."""
    return any(_covers(rule, wanted) for rule in _rules(store, user, groups, wanted.namespace))


def check_grant(store: Store, user: str, groups: t.Collection[str], plural: str, namespace: str, item: Item) -> None:
    """Refuse (403) to let a user write a role, or bind one, that has more than the user (pkg/registry/rbac)."""
    if is_admin(user, groups) or plural not in ("roles", "rolebindings", "clusterroles", "clusterrolebindings"):
        return
    given = item.get("rules") or []
    # A patch of a binding changes its subjects. Who may do that was checked when it was created.
    if plural.endswith("bindings") and "roleRef" in item:
        given = _role_of(store, item, namespace)
    lacking = []
    for rule in given:
        names = rule.get("resourceNames") or [""]
        for resource, verb, name in itertools.product(rule["resources"], rule["verbs"], names):
            if not allows(store, user, groups, Asked(verb, rule["apiGroups"][0], resource, namespace, name)):
                lacking.append(rule)
    if lacking:
        rules = "\n".join(json.dumps(rule) for rule in lacking)
        name = (item.get("metadata") or {}).get("name", "")
        raise Refusal(
            403,
            f'{plural}.{RBAC} "{name}" is forbidden: user "{user}" (groups={json.dumps(sorted(groups))}) is attempting '
            f"to grant RBAC permissions not currently held:\n{rules}",
        )


def rules_of(store: Store, user: str, groups: t.Collection[str], namespace: str) -> list[Item]:
    """Return the rules of a user in a namespace, those of the cluster included."""
    return list(_rules(store, user, groups, namespace))


def _rules(store: Store, user: str, groups: t.Collection[str], namespace: str) -> t.Iterator[Item]:
    """Yield the rules of a user: those of the cluster, and those of a namespace."""
    member = {*groups, AUTHENTICATED}
    for plural, where in (("clusterrolebindings", ""), ("rolebindings", namespace)):
        for binding in _items(store, plural, where) if where or plural == "clusterrolebindings" else ():
            if any(_is(subject, user, member) for subject in binding.get("subjects") or ()):
                yield from _role_of(store, binding, where)


def _role_of(store: Store, binding: Item, namespace: str) -> list[Item]:
    about = binding["roleRef"]
    plural, where = ("clusterroles", "") if about["kind"] == "ClusterRole" else ("roles", namespace)
    found = store.find(plural, about["name"], where)
    return list(found.item.get("rules") or []) if found else []


def _items(store: Store, plural: str, namespace: str) -> list[Item]:
    with store.lock:
        return [entry.item for key, entry in store.tables.get(plural, {}).items() if key[0] == namespace]


def _is(subject: Item, user: str, groups: set[str]) -> bool:
    if subject["kind"] == "ServiceAccount":
        return user == f"system:serviceaccount:{subject['namespace']}:{subject['name']}"
    return subject["name"] == user if subject["kind"] == "User" else subject["name"] in groups


def _covers(rule: Item, wanted: Asked) -> bool:
    """Return whether a rule includes a permission (pkg/apis/rbac/v1/evaluation_helpers.go)."""
    names = rule.get("resourceNames")
    fields = (("verbs", wanted.verb), ("apiGroups", wanted.group), ("resources", wanted.resource))
    return all({value, "*"} & {*rule.get(field, ())} for field, value in fields) and (not names or wanted.name in names)
