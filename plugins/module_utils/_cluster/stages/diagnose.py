# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Causes and remedies the kubelet's status does not name, found by asking the API or by looking at the config."""

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
    """The ConfigMap is not there: no kubelet can ever fetch it."""
    return Verdict(
        "sync_error",
        f"the ConfigMap {nodes.describe(source)} does not exist; its kubelet runs {nodes.describe(node.part('active'))} meanwhile. "
        "Push it again or assign another",
        True,
    )


def refusal(found: Verdict, fault: str | None, problems: t.Sequence[t.Any]) -> Verdict:
    """Name the likely cause of a load or validation error, which the kubelet writes to its log only."""
    if fault:
        return _final(found, f"Cause: {fault}. Remedy: correct the configuration and run again")
    causes = "; ".join(f"{problem.path}: {problem.message} ({problem.remedy})" for problem in problems)
    if causes:
        return _final(found, f"Likely cause: {causes} Correct it and run again")
    return _final(
        found, "The cause is in the kubelet's log on the node: journalctl -u kubelet | grep 'kubelet config controller'"
    )


def differs(differences: t.Sequence[dict[str, t.Any]]) -> Verdict:
    """The source is active and yet the kubelet runs other values: only its command line is stronger than a dynamic
    config.
    """
    said = []
    for item in differences:
        flags = " or ".join(f"--{name}" for name in item["flags"])
        if flags:
            why = (
                f"overridden by the kubelet's command line, flag {flags}: remove the flag (look in /var/lib/kubelet/kubeadm-flags.env, "
                "/etc/default/kubelet and the unit's drop-ins) or the field"
            )
        else:
            why = "this kubelet gives the field another value and no flag sets it; is the field known to its version?"
        said.append(f"{item['path']} is {item['live']!r}, not {item['expected']!r}: {why}")
    return Verdict("differs", "its config is active, but not all of it is live. " + "; ".join(said), True)


def sync_error(session: Session, node: str, source: dict[str, str], found: Verdict) -> Verdict:
    """Tell apart why a kubelet cannot get an existing ConfigMap (two requests): missing, forbidden, unreachable."""
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
        return _final(found, f"The ConfigMap exists; whether the node may read it could not be asked: {error.message}")
    status = review.get("status") or {}
    if status.get("allowed"):
        return _final(
            found,
            "The ConfigMap exists and the node may read it: the kubelet cannot reach the API server, or will succeed soon; "
            "look at `journalctl -u kubelet` on the node",
        )
    return _final(
        found,
        f"The ConfigMap exists but system:node:{node} is forbidden to read it ({status.get('reason') or 'no reason given'}): turn on the "
        "Node authorizer and the gate DynamicKubeletConfig at kube-apiserver, or grant it",
    )


def _final(found: Verdict, more: str) -> Verdict:
    return Verdict(found.state, f"{found.message}. {more}", True)


def silence(session: Session, names: t.Iterable[str]) -> dict[str, float]:
    """Return the seconds since each kubelet last renewed its Lease (one LIST); empty when leases cannot be read."""
    try:
        renewals = heartbeats(session, names)
    except ApiError:
        return {}
    return {name: max(0.0, time.time() - renewed) for name, renewed in renewals.items()}


def heartbeats(session: Session, names: t.Iterable[str]) -> dict[str, float]:
    """Return when each kubelet last renewed its Lease, in seconds of the node's clock (one LIST). Raises ApiError."""
    wanted = set(names)
    items = session.request("GET", LEASES).get("items") or []
    renewals = {item["metadata"]["name"]: timestamps.parse((item.get("spec") or {}).get("renewTime")) for item in items}
    return {name: renewed for name, renewed in renewals.items() if name in wanted and renewed}
