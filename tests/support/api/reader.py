# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A user who reads with `read: node`: roles, the service account whose tokens nodes receive, and a host in place."""

from __future__ import annotations

import contextlib
import dataclasses
import subprocess
import sys
import typing as t

from tests.sim.cluster import Cluster

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


@contextlib.contextmanager
def granted(cluster: Cluster, *rules: Rule, account: str = ACCOUNT) -> t.Iterator[None]:
    """Give the user and the account permissions for a while."""
    given = [*for_user(account), *reading(account, *rules)]
    cluster.grant(given)
    yield
    cluster.ungrant(given)


class Here:
    """Runs programs on this machine, each as on a host. `asked` are the nodes, `programs` what they ran."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.programs: list[str] = []

    def __call__(self, node: str, program: str) -> str:
        self.asked.append(node)
        self.programs.append(program)
        return subprocess.run(
            [sys.executable, "-I", "-"], input=program, capture_output=True, text=True, check=True, timeout=60
        ).stdout


def _bound(name: str, subject: dict[str, str], rules: t.Sequence[Rule]) -> list[dict[str, t.Any]]:
    head, meta = {"apiVersion": f"{RBAC}/v1"}, {"name": name}
    role = {"apiGroup": RBAC, "kind": "ClusterRole", "name": name}
    return [
        {**head, "kind": "ClusterRole", "metadata": dict(meta), "rules": [rule.shown() for rule in rules]},
        {**head, "kind": "ClusterRoleBinding", "metadata": dict(meta), "roleRef": role, "subjects": [subject]},
    ]
