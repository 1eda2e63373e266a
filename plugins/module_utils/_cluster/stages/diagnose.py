# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Finds causes and remedies that the kubelet's status does not name, from the API or from the configuration."""

from __future__ import annotations

import time
import typing as t

from ..api import timestamps
from ..api.errors import ApiError
from ..api.session import Session
from ..objects import nodes
from .verdict import Verdict

LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
ACCESS_REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"


def missing(source: dict[str, str], node: nodes.Node) -> Verdict:
    """Return the verdict on a node whose ConfigMap does not exist, so that its kubelet can never fetch it."""
    return Verdict(
        "sync_error",
        f"the ConfigMap {nodes.describe(source)} does not exist; its kubelet still runs "
        f"{nodes.describe(node.part('active'))}. Push it again or assign another",
        True,
    )


def refusal(found: Verdict, fault: str | None, problems: t.Sequence[t.Any]) -> Verdict:
    """Add the likely cause of a load or validation error, which the kubelet writes only to its log."""
    if fault:
        return _final(found, f"Cause: {fault}. Remedy: correct the configuration and run again")
    causes = "; ".join(f"{problem.path}: {problem.message} ({problem.remedy})" for problem in problems)
    if causes:
        return _final(found, f"Likely cause: {causes} Correct it and run again")
    return _final(
        found, "The cause is in the kubelet's log on the node: journalctl -u kubelet | grep 'kubelet config controller'"
    )


def differs(differences: t.Sequence[dict[str, t.Any]]) -> Verdict:
    """Return the verdict on a node whose source is active but whose live values differ.

    Only the command line of a kubelet overrides a dynamic configuration.
    """
    details = []
    for item in differences:
        flags = " or ".join(f"--{name}" for name in item["flags"])
        if flags:
            why = (
                f"overridden by the kubelet's command line, flag {flags}: remove the field, or the flag (see "
                "/var/lib/kubelet/kubeadm-flags.env, /etc/default/kubelet and the unit's drop-ins)"
            )
        else:
            why = "no flag sets it; does this kubelet version have the field?"
        details.append(f"{item['path']} is {item['live']!r}, not {item['expected']!r}: {why}")
    return Verdict("differs", "its config is active, but not all of it is live. " + "; ".join(details), True)


def sync_error(session: Session, node: str, source: dict[str, str], found: Verdict) -> Verdict:
    """Add why a kubelet cannot get an existing ConfigMap, forbidden or unreachable (one POST)."""
    attributes = {
        "namespace": source["namespace"],
        "verb": "get",
        "version": "v1",
        "resource": "configmaps",
        "name": source["name"],
    }
    try:
        review = session.request(
            "POST",
            ACCESS_REVIEWS,
            body={
                "apiVersion": "authorization.k8s.io/v1",
                "kind": "SubjectAccessReview",
                "spec": {
                    "user": f"system:node:{node}",
                    "groups": ["system:nodes", "system:authenticated"],
                    "resourceAttributes": attributes,
                },
            },
        )
    except ApiError as error:
        return _final(found, f"The ConfigMap exists; whether the node may read it is unknown: {error.message}")
    status = review.get("status") or {}
    if status.get("allowed"):
        return _final(
            found,
            "The ConfigMap exists and the node may read it: the kubelet cannot reach the API server, or will succeed "
            "soon; see `journalctl -u kubelet` on the node",
        )
    return _final(
        found,
        f"The ConfigMap exists, but system:node:{node} is forbidden to read it "
        f"({status.get('reason') or 'no reason given'}): enable the Node authorizer and the gate DynamicKubeletConfig "
        "in kube-apiserver, or grant the permission",
    )


def _final(found: Verdict, more: str) -> Verdict:
    return Verdict(found.state, f"{found.message}. {more}", True)


def silence(session: Session, names: t.Iterable[str]) -> dict[str, float]:
    """Return the seconds since each kubelet last renewed its Lease (one LIST); empty if Leases cannot be read."""
    try:
        renewals = heartbeats(session, names)
    except ApiError:
        return {}
    return {name: max(0.0, time.time() - renewed) for name, renewed in renewals.items()}


def heartbeats(session: Session, names: t.Iterable[str]) -> dict[str, float]:
    """Return when each kubelet last renewed its Lease: seconds since 1970 by its clock (one LIST). Raises ApiError."""
    wanted = set(names)
    items = session.request("GET", LEASES).get("items") or []
    renewals = {item["metadata"]["name"]: timestamps.parse((item.get("spec") or {}).get("renewTime")) for item in items}
    return {name: renewed for name, renewed in renewals.items() if name in wanted and renewed}
