# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Finds causes and remedies that the kubelet's status does not name, from the API or from the configuration."""

from __future__ import annotations

import dataclasses
import typing as t

from ..._config import delivery as deliveries
from ..._config.fields import fields
from ..._config.values import node_row, paths
from ..._config.values.short_texts import clipped
from ..api import timestamps
from ..api.errors import ApiError, ClusterError, NodesFailed
from ..api.session import Session
from ..objects import nodes
from . import verdict
from .verdict import MEANING_FOLLOWS, Verdict

LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
CSRS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
# The signer of what kubelets serve with (k8s.io/api/certificates/v1 KubeletServingSignerName).
_SERVING = "kubernetes.io/kubelet-serving"

_NODE_USER = "system:node:"

# Differences that a message shows, and the characters of a value in it.
_SHOWN, _LONGEST = 2, 20
# The first minor whose kubelet merges drop-ins over its file.
_CONFIG_DIR_MINOR = 28


def unseen(what: str, undone: str, names: t.Sequence[str], error: ClusterError) -> NodesFailed:
    """Return the failure of all nodes if the API server is unavailable from the start, so that no state is known."""
    message = f"{undone}: {error.message}. Its kubelet keeps running; run again to see its state"
    rows = {name: node_row.Row(False, "pending", message, error=error.message).shown(differences=[]) for name in names}
    return NodesFailed(what, dict.fromkeys(names, message), verdict.result(rows, 0.0))


def missing(source: dict[str, str], node: nodes.Node) -> Verdict:
    """Return the verdict on a node whose ConfigMap does not exist, so that its kubelet can never fetch it."""
    return Verdict(
        "sync_error",
        f"the ConfigMap {nodes.describe(source)} does not exist; its kubelet still runs "
        f"{nodes.describe(node.part('active'))}. Push it again or assign another",
        True,
    )


def refusal(found: Verdict, fault: str | None, problems: t.Sequence[t.Any], *, guarded: bool) -> Verdict:
    """Add the likely cause of a load or validation error, which the kubelet writes only to its log.

    `guarded`: whether a guard has reverted the node, not its kubelet.
    """
    # The cause replaces the general meaning of the error.
    short = dataclasses.replace(found, message=found.message.partition(MEANING_FOLLOWS)[0])
    if fault:
        return _final(short, f"Cause: {fault}. Correct it and run again")
    causes = "; ".join(f"{_about(problem)} ({problem.remedy})" for problem in problems)
    if causes:
        return _final(short, f"Likely cause: {causes}")
    if guarded:
        return _final(found, "On the node: journalctl -u kubelet -u livenodes-kubelet-guard")
    return _final(found, "On the node: journalctl -u kubelet | grep 'config controller'")


def _about(problem: t.Any) -> str:
    """Return a problem's message, which in the kubelet's words may name the field already."""
    words = str(problem.message).replace("invalid configuration: ", "")
    if words.startswith(problem.path):
        return words
    return f"{problem.path}: {words}"


def differs(differences: t.Sequence[dict[str, t.Any]], minor: int, delivery: str) -> Verdict:
    """Return the verdict on a node whose source is active but whose live values differ.

    `minor` is that of its kubelet (20 for 1.20), 0 if unknown. Only the command line of a kubelet overrides a dynamic
    configuration. Over a file go also the drop-ins of --config-dir, which exists from 1.28 on (KEP-3983).
    """
    shown = [f"{item['path']} is {_short(item['live'])}, not {_short(item['expected'])}" for item in differences]
    causes = ". ".join(_overrides(differences, minor, delivery))
    return Verdict("differs", f"its config is active, but not all is live: {_listed(shown)}. {causes}", True)


def undeclared_changes(found: t.Sequence[dict[str, t.Any]]) -> str:
    """Return in words what has changed on a node that no drop-in declares, and what of the node explains it."""
    return (
        f"beside what is declared, the restart changed {_changed(found)}. The node's own configuration changed before "
        "it. To keep a value, declare it"
    )


def unexplained(found: t.Sequence[dict[str, t.Any]]) -> Verdict:
    """Return the verdict on a node whose drop-in is live, but with other changes that nothing of the node explains."""
    return Verdict(
        "differs",
        f"its config is active, but beside what is declared the restart changed {_changed(found)}. Neither the node's "
        "own file nor another drop-in, a flag or a default explains it. Look at `journalctl -u kubelet` on the node, "
        "and declare the value that you want",
        True,
    )


def _changed(found: t.Sequence[dict[str, t.Any]]) -> str:
    shown = []
    for item in found:
        text = f"{item['path']} was {_short(item['before'])}, now {_short(item['live'])}"
        if item["cause"]:
            text += f" ({item['cause']})"
        shown.append(text)
    return _listed(shown)


def _listed(shown: t.Sequence[str]) -> str:
    return node_row.first_of(shown, _SHOWN, "; ", "; and ")


def _overrides(differences: t.Sequence[dict[str, t.Any]], minor: int, delivery: str) -> t.Iterator[str]:
    """Yield what can override the fields on such a node, one sentence for each cause."""
    absent = [item["path"] for item in differences if minor and not exists(item["path"], minor)]
    if not absent:
        yield _override(differences, minor, delivery)
        return
    yield f"Kubelet 1.{minor} does not have {node_row.first_of(absent, _SHOWN)}: remove the field"
    if any(item["path"] not in absent for item in differences):
        yield "The playbook drift names what overrides the rest"


def _override(differences: t.Sequence[dict[str, t.Any]], minor: int, delivery: str) -> str:
    """Return the same for fields that the kubelet has."""
    names = [f"--{' or --'.join(item['flags'])}" for item in differences if item["flags"]]
    flags = node_row.first_of(names, _SHOWN)
    which = "them" if len(differences) > 1 else "it"
    if deliveries.of(delivery).on_node and minor >= _CONFIG_DIR_MINOR:
        what = f"a flag ({flags}) or a drop-in" if flags else "a drop-in"
        return f"The API does not show whether {what} in --config-dir overrides {which}: the playbook drift names it"
    if flags:
        return (
            f"Only a flag of its kubelet can override {which} ({flags}): remove the flag (see `systemctl cat kubelet`) "
            "or the field"
        )
    return f"The cause is unknown, since no flag sets {which}: see the kubelet's log"


def exists(path: str, minor: int) -> bool:
    """Return whether kubelets of a minor version have a field; true for what is not known."""
    owner = fields.owner(path)
    return owner is None or owner.exists_at(minor)


def _short(value: t.Any) -> str:
    return clipped(repr(value), _LONGEST)


def sync_error(session: Session, node: str, source: dict[str, str], found: Verdict) -> Verdict:
    """Add why a kubelet cannot get an existing ConfigMap, forbidden or unreachable (one POST)."""
    attributes = {**paths.only(source, ("namespace", "name")), "verb": "get", "version": "v1", "resource": "configmaps"}
    user = {"user": f"{_NODE_USER}{node}", "groups": ["system:nodes", "system:authenticated"]}
    try:
        status = session.review("SubjectAccessReview", {**user, "resourceAttributes": attributes})
    except ApiError as error:
        return _final(found, f"The ConfigMap exists; whether the node may read it is unknown: {error.message}")
    more = (
        f"The ConfigMap exists, but system:node:{node} is forbidden to read it "
        f"({status.get('reason') or 'no reason given'}): enable the Node authorizer and the gate DynamicKubeletConfig "
        "in kube-apiserver, or grant the permission"
    )
    if status.get("allowed"):
        more = (
            "The ConfigMap exists and the node may read it: the kubelet cannot reach the API server, or will succeed "
            "soon; see `journalctl -u kubelet` on the node"
        )
    return _final(found, more)


def certificates(session: Session, names: t.Collection[str]) -> dict[str, str]:
    """Return the remedy for each node whose serving certificate waits for an approval (one LIST, none without nodes).

    A kubelet with serverTLSBootstrap refuses all connections until then. If the user may not list the requests, that is
    all that is known of each node. Requests that are approved or denied already need no operator.
    """
    try:
        query = [("fieldSelector", f"spec.signerName={_SERVING}")]
        items = (session.request("GET", CSRS, query).get("items") or []) if names else []
    except ApiError:
        text = (
            "With serverTLSBootstrap, its kubelet refuses connections until an operator approves its certificate: find "
            "the request with `kubectl get csr`, and run `kubectl certificate approve <name>`"
        )
        return dict.fromkeys(names, text)
    found: dict[str, str] = {}
    for item in sorted(items, key=lambda item: str(item["metadata"].get("creationTimestamp"))):
        # Of several requests of a kubelet, the last one counts.
        found[_waiting_for(item)] = (
            "Its certificate waits for an approval, and its kubelet refuses connections until then: look at the "
            f"request, and run `kubectl certificate approve {item['metadata']['name']}`"
        )
    return paths.only(found, names)


def _waiting_for(request: dict[str, t.Any]) -> str:
    """Return the node whose serving certificate waits for the approval of a request, empty if none does."""
    spec, status = request.get("spec") or {}, request.get("status") or {}
    user = str(spec.get("username") or "")
    decided = status.get("conditions") or status.get("certificate")
    if decided or spec.get("signerName") != _SERVING or not user.startswith(_NODE_USER):
        return ""
    return user[len(_NODE_USER) :]


def _final(found: Verdict, more: str) -> Verdict:
    return Verdict(found.state, f"{found.message}. {more}", True)


def silence(
    session: Session, names: t.Iterable[str], found: t.Mapping[str, nodes.Node] | None = None
) -> dict[str, float]:
    """Return the seconds since each kubelet last renewed its Lease (one LIST); empty if Leases cannot be read.

    For kubelets whose API servers have no Leases, the seconds since the last heartbeat in the Nodes
    `found`, once their control plane misses it. By the API server's clock: that of this machine may be wrong.
    """
    names = list(names)
    try:
        renewals = heartbeats(session, names)
    except ApiError:
        renewals = {}
    for name, node in (found or {}).items():
        if name in names and node.ready == "Unknown" and not node.form.has_lease:
            beat = timestamps.parse(node.heartbeat)
            if beat:
                renewals.setdefault(name, beat)
    if not renewals:
        return {}
    now = session.server_time()
    return {name: max(0.0, now - renewed) for name, renewed in renewals.items()}


def heartbeats(session: Session, names: t.Iterable[str]) -> dict[str, float]:
    """Return when each kubelet last renewed its Lease: seconds since 1970 by its clock (one LIST).

    Empty if the API server has no Leases (before 1.14): these kubelets renew the Node alone. Raises ApiError.
    """
    wanted = set(names)
    try:
        items = session.request("GET", LEASES).get("items") or []
    except ApiError as error:
        if error.status != 404 or error.reason:
            raise
        items = []
    renewals = {}
    for item in items:
        name, renewed = item["metadata"]["name"], timestamps.parse((item.get("spec") or {}).get("renewTime"))
        if name in wanted and renewed:
            renewals[name] = renewed
    return renewals
