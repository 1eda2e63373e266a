# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The resources of the API that the collection and the kubelets use, and the paths of requests for them. What old API
servers do differently, and what every API server does differently for old kubelets.
"""

from __future__ import annotations

import dataclasses
import typing as t
import urllib.parse

from tests.sim.api.refusal import Refusal


@dataclasses.dataclass(frozen=True)
class Kind:
    """One resource: `version` is group and version."""

    plural: str
    kind: str
    version: str = "v1"
    namespaced: bool = True

    @property
    def resource(self) -> str:
        """Return the name that messages use."""
        group = self.version.rpartition("/")[0]
        return f"{self.plural}.{group}" if group else self.plural


ADMISSION = "admissionregistration.k8s.io/v1"
KINDS = {
    kind.plural: kind
    for kind in (
        Kind("nodes", "Node", namespaced=False),
        Kind("namespaces", "Namespace", namespaced=False),
        Kind("configmaps", "ConfigMap"),
        Kind("pods", "Pod"),
        Kind("serviceaccounts", "ServiceAccount"),
        Kind("events", "Event"),
        Kind("leases", "Lease", "coordination.k8s.io/v1"),
        Kind("poddisruptionbudgets", "PodDisruptionBudget", "policy/v1beta1"),
        Kind("roles", "Role", "rbac.authorization.k8s.io/v1"),
        Kind("rolebindings", "RoleBinding", "rbac.authorization.k8s.io/v1"),
        Kind("clusterroles", "ClusterRole", "rbac.authorization.k8s.io/v1", namespaced=False),
        Kind("clusterrolebindings", "ClusterRoleBinding", "rbac.authorization.k8s.io/v1", namespaced=False),
        # They are stored, and decide about no request.
        Kind("validatingadmissionpolicies", "ValidatingAdmissionPolicy", ADMISSION, namespaced=False),
        Kind("validatingadmissionpolicybindings", "ValidatingAdmissionPolicyBinding", ADMISSION, namespaced=False),
    )
}


@dataclasses.dataclass(frozen=True)
class Route:
    """What a path names: an object, or a collection if `name` is empty. `rest` is what follows a subresource."""

    kind: Kind
    namespace: str = ""
    name: str = ""
    sub: str = ""
    rest: str = ""


def route(path: str) -> Route:
    """Return what a path names. Raises Refusal (404) for a path that this API server does not serve."""
    words = [urllib.parse.unquote(word) for word in path.strip("/").split("/")]
    if words[0] == "api" and len(words) > 2:
        words = words[2:]
    elif words[0] == "apis" and len(words) > 3:
        words = words[3:]
    else:
        raise not_served()
    namespace = ""
    if words[0] == "namespaces" and len(words) > 2:
        namespace, words = words[1], words[2:]
    kind = KINDS.get(words[0])
    if kind is None or (namespace and not kind.namespaced):
        raise not_served()
    name, sub = (*words[1:3], "", "")[:2]
    return Route(kind, namespace, name, sub, "/".join(words[3:]))


def not_served() -> Refusal:
    """Return the answer for a path that nothing serves."""
    return Refusal(404, "the server could not find the requested resource")


FIRST_FORM = range(8, 11)
LAST_OLD_PROXY = 9
FIRST_DRY_RUN = 12
FIRST_SERVED = {"leases": 14, "validatingadmissionpolicies": 30, "validatingadmissionpolicybindings": 30}


def has_first_form(item: t.Mapping[str, t.Any]) -> bool:
    """Return whether a Node's kubelet is one of the first."""
    version = ((item.get("status") or {}).get("nodeInfo") or {}).get("kubeletVersion") or "v1.0"
    return int(version.split(".")[1]) in FIRST_FORM
