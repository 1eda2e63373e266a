# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The roles of a user who reads with `read: node`, and of the service account whose tokens nodes receive."""

from __future__ import annotations

import dataclasses
import typing as t

USER, ACCOUNT = "livenodes-reader", "kubelet-configz"
NAMESPACE = "kube-system"
READER = f"system:serviceaccount:{NAMESPACE}:{ACCOUNT}"
RBAC = "rbac.authorization.k8s.io"


@dataclasses.dataclass(frozen=True)
class Rule:
    """A rule of RBAC."""

    resources: tuple[str, ...]
    verbs: tuple[str, ...] = ("get",)
    groups: tuple[str, ...] = ("",)
    names: tuple[str, ...] = ()

    def shown(self) -> dict[str, t.Any]:
        """Return it as the API has it."""
        names = {"resourceNames": [*self.names]} if self.names else {}
        return {"apiGroups": [*self.groups], "resources": [*self.resources], "verbs": [*self.verbs], **names}


def for_user(account: str = ACCOUNT, tokens: bool = True) -> list[dict[str, t.Any]]:
    """Return the objects that let the user read Nodes and make tokens of the account."""
    rules = [Rule(("nodes",), ("get", "list"))]
    rules += [Rule(("serviceaccounts/token",), ("create",), names=(account,))] if tokens else []
    return _bound(USER, {"apiGroup": RBAC, "kind": "User", "name": USER}, rules)


def reading(account: str, *rules: Rule) -> list[dict[str, t.Any]]:
    """Return the objects that give the account these rules."""
    return _bound(account, {"kind": "ServiceAccount", "namespace": NAMESPACE, "name": account}, rules)


def _bound(name: str, subject: dict[str, str], rules: t.Sequence[Rule]) -> list[dict[str, t.Any]]:
    head, meta = {"apiVersion": f"{RBAC}/v1"}, {"name": name}
    role = {"apiGroup": RBAC, "kind": "ClusterRole", "name": name}
    return [
        {**head, "kind": "ClusterRole", "metadata": dict(meta), "rules": [rule.shown() for rule in rules]},
        {**head, "kind": "ClusterRoleBinding", "metadata": dict(meta), "roleRef": role, "subjects": [subject]},
    ]
