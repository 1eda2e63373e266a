# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who may assign: a ValidatingAdmissionPolicy that keeps our annotations from users who may merely patch Nodes.

RBAC decides by a verb on a resource that exists by name only. docs/rbac/option-policy.yaml is generated from this file.
"""

from __future__ import annotations

import typing as t

from ..._config.values import annotation, following
from ..api.errors import ApiError, ClusterError
from ..api.session import Session

NAME = "livenodes-kubelet-assignments"
GROUP, RESOURCE, VERB = annotation.PREFIX.rstrip("/"), "assignments", "update"
"""The permission to assign a configuration to the Node of that name."""
ASSIGNING = (annotation.SOURCE, following.FOLLOW, annotation.PREVIOUS, annotation.OWN)
"""What a node or a controller obeys: a follower the first two, a rollback and a reset the others.

A cordon is none of them: the permission to patch Nodes is that to cordon them.
"""
ANSWERS = (annotation.STATUS, following.FOLLOWER)
"""What the node writes of itself, and a controller removes."""
_VERSION = "admissionregistration.k8s.io/v1"
_META = {"name": NAME, "labels": {annotation.MANAGED_LABEL: annotation.MANAGED_BY}}
_SPEC: dict[str, t.Any] = {
    "failurePolicy": "Fail",
    # With the defaults of the API server, so that what it stores is equal.
    "matchConstraints": {
        "matchPolicy": "Equivalent",
        "namespaceSelector": {},
        "objectSelector": {},
        "resourceRules": [
            {
                "apiGroups": [""],
                "apiVersions": ["v1"],
                "operations": ["CREATE", "UPDATE"],
                # A patch of the status can change annotations too.
                "resources": ["nodes", "nodes/status"],
                "scope": "Cluster",
            }
        ],
    },
    # A heartbeat ends here.
    "matchConditions": [
        {
            "name": "annotations-change",
            "expression": (
                "request.operation == 'CREATE' || object.metadata.?annotations != oldObject.metadata.?annotations"
            ),
        }
    ],
    "variables": [
        {
            "name": "before",
            "expression": "request.operation == 'CREATE' ? {} : oldObject.metadata.?annotations.orValue({})",
        },
        {"name": "after", "expression": "object.metadata.?annotations.orValue({})"},
        {
            "name": "changed",
            "expression": f"{[*ASSIGNING, *ANSWERS]}.filter(key, variables.before[?key] != variables.after[?key])",
        },
        # Without the permission. A follower that is removed takes its orders along.
        {
            "name": "allowed",
            "expression": (
                "request.userInfo.username != 'system:node:' + object.metadata.name ? [] : "
                f"{[*ANSWERS]} + ('{following.FOLLOW}' in variables.after ? [] : ['{following.FOLLOW}'])"
            ),
        },
        {"name": "refused", "expression": "variables.changed.filter(key, !(key in variables.allowed))"},
    ],
    "validations": [
        {
            "expression": (
                f"variables.refused.size() == 0 || authorizer.group('{GROUP}').resource('{RESOURCE}') "
                f".name(object.metadata.name).check('{VERB}').allowed()"
            ),
            "messageExpression": (
                "'user ' + request.userInfo.username + ' may not change ' + variables.refused.join(' and ') + "
                f"' of the Node ' + object.metadata.name + ': that needs the verb {VERB} on {RESOURCE}.{GROUP} "
                "with the name of this Node (docs/rbac/option-policy.yaml of the collection livenodes.kubelet)'"
            ),
            "reason": "Forbidden",
        }
    ],
}
POLICY: dict[str, t.Any] = {
    "apiVersion": _VERSION,
    "kind": "ValidatingAdmissionPolicy",
    "metadata": _META,
    "spec": _SPEC,
}
BINDING: dict[str, t.Any] = {
    "apiVersion": _VERSION,
    "kind": "ValidatingAdmissionPolicyBinding",
    "metadata": _META,
    "spec": {"policyName": NAME, "validationActions": ["Deny"]},
}
_PLACES = (
    (POLICY, "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"),
    (BINDING, "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings"),
)
_ANYBODY = "every user who may patch Nodes could reconfigure kubelets that follow their Node"
_ACCEPT = "If that is acceptable in this cluster, set kubelet_config_follow_unprotected to true. Nothing was changed"


def ensure(session: Session, options: dict[str, t.Any], check_mode: bool) -> dict[str, t.Any]:
    """Create or repair policy and binding, or only require them; return whether that is a change.

    One GET for each of the two, and one POST or PUT for each that changes. Raises ClusterError.
    """
    found = [_read(session, f"{path}/{NAME}") for _wanted, path in _PLACES]
    faults = [fault(wanted, there) for (wanted, _path), there in zip(_PLACES, found)]
    if any(faults) and options["state"] == "required":
        raise ClusterError(
            f"{_ANYBODY}: {' and '.join(filter(None, faults))}. Run the playbook follow with "
            f"kubelet_config_follow=protected, as an administrator of the cluster. {_ACCEPT}"
        )
    for (wanted, path), there, wrong in zip(_PLACES, found, faults):
        if wrong and not check_mode:
            _write(session, path, wanted, there)
    return {"changed": any(faults)}


def fault(wanted: t.Mapping[str, t.Any], there: t.Mapping[str, t.Any] | None) -> str:
    """Return what an object lacks to what it must be, empty if nothing. Further actions of a binding do no harm."""
    named = f"the {wanted['kind']} {NAME}"
    if there is None:
        return f"{named} does not exist"
    spec = dict(there.get("spec") or {})
    if "Deny" in spec.get("validationActions", ()):
        spec["validationActions"] = ["Deny"]
    return "" if spec == wanted["spec"] else f"{named} is not that of this collection"


def _read(session: Session, path: str) -> dict[str, t.Any] | None:
    try:
        return t.cast("dict[str, t.Any]", session.request("GET", path))
    except ApiError as error:
        if error.status != 404:
            raise
        if NAME not in error.message:
            # The answer for a path that the API server does not serve names no object.
            raise ClusterError(
                f"{_ANYBODY}: this API server has no ValidatingAdmissionPolicy, which Kubernetes has from 1.30 on. "
                f"{_ACCEPT}"
            ) from error
        return None


def _write(session: Session, path: str, wanted: dict[str, t.Any], there: dict[str, t.Any] | None) -> None:
    if there is None:
        session.request("POST", path, (), wanted)
        return
    meta = {"resourceVersion": there["metadata"]["resourceVersion"], **wanted["metadata"]}
    session.request("PUT", f"{path}/{NAME}", (), {**wanted, "metadata": meta})
