# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Node objects: read in one LIST, or again by name, trimmed to what we need, and their config source written."""

from __future__ import annotations

import dataclasses
import typing as t
import urllib.parse

from ..._config.values import annotation
from ..._config.values import reference as references
from ..._config.values.version import minor_of
from ..api import parallel
from ..api.errors import ApiError, ClusterError
from ..api.session import Session

describe = references.describe

AUTO, NATIVE, CHECKPOINT, NONE = "auto", "native", "checkpoint", "none"
# What users may ask for.
DELIVERIES = (AUTO, NATIVE, CHECKPOINT)
# Where the source of a node stands, by delivery.
WHERE = {NATIVE: "spec.configSource", CHECKPOINT: f"the annotation {annotation.SOURCE}", NONE: "spec.configSource"}
# Where a LIST had more nodes than so many times those that are read again, a GET each costs less, here and in the API
# server.
MANY = 4
# Large enough for few requests, small enough that a page of full Node objects (20 KB each) stays cheap to parse.
PAGE = 250
# Argument spec of the modules that choose nodes by name or label.
SELECTION: dict[str, dict[str, t.Any]] = {
    "nodes": {"type": "list", "elements": "str"},
    "label_selectors": {"type": "list", "elements": "str"},
}
# The first and last minor whose kubelet follows Node.spec.configSource.configMap (kubernetes PR 63221; removed by PR
# 106932).
NATIVE_MINORS = range(11, 24)
# Labels that say what a node is for, as kubectl reads them (pkg/printers of kubectl, findNodeRoles).
ROLE_PREFIX, ROLE = "node-role.kubernetes.io/", "kubernetes.io/role"


@dataclasses.dataclass(frozen=True)
class Side:
    """One delivery's view of a node: the reference it should run (None: its local config), and its status in the shape
    of Node.status.config.

    A status of None was never reported.
    """

    source: dict[str, str] | None = None
    status: dict[str, t.Any] | None = None


@dataclasses.dataclass(frozen=True)
class Node:
    """What we need of a Node object. `native` is spec.configSource and status.config, `checkpoint` the annotations of
    the other delivery.

    `delivery` says which of the two counts: `native`, `checkpoint`, or `none` when nothing delivers a config to the
    node yet. `cordoned` is our own mark on a node that we cordoned, None without it.
    """

    name: str
    resource_version: str
    kubelet_version: str
    native: Side
    checkpoint: Side
    delivery: str
    ready: str
    ready_reason: str
    heartbeat: str
    unschedulable: bool
    # What the annotation `previous` holds: None when there is none, empty for the local config.
    previous: dict[str, t.Any] | None
    # What our own cordon says: None when there is none.
    cordoned: dict[str, t.Any] | None
    capacity: dict[str, str]
    labels: dict[str, str]
    taints: list[dict[str, str]]
    addresses: dict[str, str]
    """The first address of each type."""
    os: str
    arch: str

    @property
    def roles(self) -> list[str]:
        """What `kubectl get nodes` shows as roles, none where that shows <none>."""
        marked = {key[len(ROLE_PREFIX) :] for key in self.labels if key.startswith(ROLE_PREFIX)}
        return sorted(filter(None, marked | {self.labels.get(ROLE, "")}))

    @property
    def control_plane(self) -> bool:
        """Whether it is a node of the control plane; kubeadm below 1.24 said `master`."""
        return not {"control-plane", "master"}.isdisjoint(self.roles)

    @property
    def minor(self) -> int:
        """The kubelet's minor version, 0 when it has not said."""
        return minor_of(self.kubelet_version) or 0

    @property
    def listening(self) -> bool:
        """Whether its kubelet follows Node.spec.configSource.

        A kubelet with --dynamic-config-dir always reports status.config, an empty one at least; one without never does.
        """
        return self.native.status is not None and (not self.minor or self.minor in NATIVE_MINORS)

    def side(self, delivery: str) -> Side:
        """Return the view of one delivery."""
        return self.checkpoint if delivery == CHECKPOINT else self.native

    @property
    def source(self) -> dict[str, str] | None:
        """What the node should run, None for its local config."""
        return self.side(self.delivery).source

    @property
    def status(self) -> dict[str, t.Any] | None:
        """What it reports, None when it never did."""
        return self.side(self.delivery).status

    def part(self, name: str) -> dict[str, str] | None:
        """Return the config map reference under `assigned`, `active` or `lastKnownGood`, None for local."""
        return _part(self.status, name)

    @property
    def error(self) -> str:
        """The error in its status, empty when there is none."""
        return (self.status or {}).get("error") or ""

    @property
    def references(self) -> list[dict[str, str]]:
        """Every ConfigMap reference the node has, in either delivery."""
        found = [
            reference
            for side in (self.native, self.checkpoint)
            for reference in (
                side.source,
                *(_part(side.status, name) for name in ("assigned", "active", "lastKnownGood")),
            )
        ]
        return [reference for reference in (*found, _reference(self.previous)) if reference]

    def seen_as(self, delivery: str) -> Node:
        """Return the node judged by one delivery, whichever counts; `auto` leaves that as it is."""
        return self if delivery == AUTO else dataclasses.replace(self, delivery=delivery)


def _part(status: dict[str, t.Any] | None, name: str) -> dict[str, str] | None:
    return _reference((status or {}).get(name))


def _reference(holder: t.Any) -> dict[str, str] | None:
    """Return the reference in `{"configMap": ...}`. Anybody can write an annotation: what is no reference is none."""
    found = holder.get("configMap") if isinstance(holder, dict) else None
    return found if isinstance(found, dict) and found.get("namespace") and found.get("name") else None


def trim(node: dict[str, t.Any]) -> Node:
    """Reduce a Node object as the API returns it."""
    spec, status = node.get("spec") or {}, node.get("status") or {}
    ready: dict[str, str] = next((item for item in status.get("conditions") or [] if item.get("type") == "Ready"), {})
    notes = node["metadata"].get("annotations") or {}
    system = status.get("nodeInfo") or {}
    marked, told = annotation.parse(notes.get(annotation.SOURCE)), annotation.parse(notes.get(annotation.STATUS))
    found = Node(
        name=node["metadata"]["name"],
        resource_version=node["metadata"].get("resourceVersion") or "",
        kubelet_version=system.get("kubeletVersion") or "",
        native=Side(_reference(spec.get("configSource")), status.get("config")),
        checkpoint=Side(_reference(marked), told),
        delivery=NONE if marked is None and told is None else CHECKPOINT,
        previous=annotation.parse(notes.get(annotation.PREVIOUS)),
        ready=ready.get("status") or "Unknown",
        ready_reason=": ".join(filter(None, (ready.get("reason"), ready.get("message")))),
        heartbeat=ready.get("lastHeartbeatTime") or "",
        unschedulable=bool(spec.get("unschedulable")),
        labels=node["metadata"].get("labels") or {},
        cordoned=annotation.parse(notes.get(annotation.CORDONED)),
        taints=spec.get("taints") or [],
        # Reversed, so that of several addresses of one type the first stays.
        addresses={item["type"]: item["address"] for item in reversed(status.get("addresses") or [])},
        os=system.get("operatingSystem") or "",
        arch=system.get("architecture") or "",
        capacity=status.get("capacity") or {},
    )
    return dataclasses.replace(found, delivery=NATIVE) if found.delivery == NONE and found.listening else found


def read(session: Session, names: t.Collection[str] | None = None, selectors: t.Sequence[str] = ()) -> dict[str, Node]:
    """List nodes, by name where names are given, in the order of the names; else all that match the label selectors.

    One LIST (a page for each 250 nodes), whatever the number of names. Raises ClusterError naming every node that does
    not exist.
    """
    if names is not None and not names:
        raise ClusterError(
            "nodes is an empty list: name at least one node, or leave it out for all nodes of the cluster"
        )
    query: list[tuple[str, t.Any]] = [("labelSelector", ",".join(selectors))] if selectors else []
    if names is not None and len(names) == 1:
        query.append(("fieldSelector", f"metadata.name={next(iter(names))}"))
    wanted = None if names is None else set(names)
    listed = _pages(session, query)
    session.nodes_listed = len(listed)
    found = {node.name: node for node in listed if wanted is None or node.name in wanted}
    return found if names is None else _in_order(session, names, found, selectors)


def again(session: Session, names: t.Collection[str]) -> dict[str, Node]:
    """Read nodes by name that this session has read before, in the order of the names: a GET a node where they are few
    of those listed, else as `read`.

    Raises ClusterError naming every node that is gone.
    """
    if len(names) * MANY > session.nodes_listed:
        return read(session, names)
    found = {}
    for outcome in parallel.each(
        list(names), lambda name: session.request("GET", _path(name)), session.concurrency, parallel.SHORT
    ):
        if outcome.value is not None:
            found[outcome.item] = trim(outcome.value)
        elif outcome.error and not (isinstance(outcome.error, ApiError) and outcome.error.status == 404):
            raise outcome.error
    return _in_order(session, names, found)


def _in_order(
    session: Session, names: t.Collection[str], found: dict[str, Node], selectors: t.Sequence[str] = ()
) -> dict[str, Node]:
    absent = [name for name in names if name not in found]
    if absent:
        raise ClusterError(
            f"the cluster at {session.host} has no node named {', '.join(absent)}"
            + (" with these labels" if selectors else "")
            + ": check the names with `kubectl get nodes`; where inventory names differ from node names set kubelet_config_node_name"
        )
    return {name: found[name] for name in names}


def _path(name: str) -> str:
    return f"/api/v1/nodes/{urllib.parse.quote(name)}"


def _pages(session: Session, query: list[tuple[str, t.Any]]) -> list[Node]:
    for last_try in (False, True):
        nodes: list[Node] = []
        more = ""
        try:
            while True:
                page = session.request(
                    "GET", "/api/v1/nodes", [*query, ("limit", PAGE), *([("continue", more)] if more else [])]
                )
                nodes.extend(trim(item) for item in page.get("items") or [])
                more = (page.get("metadata") or {}).get("continue") or ""
                if not more:
                    return nodes
        except ApiError as error:
            # The pages of one LIST expire after some minutes: begin again, once.
            if error.status != 410 or last_try:
                raise
    raise AssertionError("the last try returns or raises")


def write_source(
    session: Session,
    node: Node,
    source: dict[str, str] | None,
    dry_run: bool,
    sides: t.Collection[str] = (),
    notes: t.Mapping[str, str | None] | None = None,
) -> Node:
    """Set or remove (None) what a node should run with a merge patch; return the node as the API server stored it.

    `sides` are the deliveries to write it for, by default the one that counts; `notes` are annotations to set or remove
    (None) beside. The patch carries the resourceVersion that was read, so a change by somebody else in between is never
    overwritten unseen: on a conflict the node is read again, and the patch is repeated only while the sources are still
    those we decided upon.
    """
    sides = sides or (node.delivery,)
    path = _path(node.name)
    query = [("dryRun", "All")] if dry_run else []
    current = node
    for _attempt in range(5):
        try:
            patch = _patch(current.resource_version, source, sides, notes or {})
            return trim(session.request("PATCH", path, query, patch, "application/merge-patch+json")).seen_as(
                node.delivery
            )
        except ApiError as error:
            if error.status != 409:
                raise
        current = trim(session.request("GET", path)).seen_as(node.delivery)
        if all(current.side(side).source == source for side in sides):
            # Ours after all: the answer to an earlier try was lost on the way.
            return current
        for side in sides:
            now = current.side(side).source
            if now != node.side(side).source:
                raise ApiError(
                    409,
                    f"somebody else changed {WHERE[side]} to {describe(now)} meanwhile; run again to decide anew",
                    "Conflict",
                )
    raise ApiError(409, "the Node object changes faster than it can be patched; run again", "Conflict")


def _patch(
    resource_version: str, source: dict[str, str] | None, sides: t.Collection[str], notes: t.Mapping[str, str | None]
) -> dict[str, t.Any]:
    whole = {"configMap": source} if source else None
    body: dict[str, t.Any] = {"metadata": {"resourceVersion": resource_version}}
    annotations = {
        **notes,
        **({annotation.SOURCE: annotation.text(whole) if whole else None} if CHECKPOINT in sides else {}),
    }
    if annotations:
        body["metadata"]["annotations"] = annotations
    if set(sides) - {CHECKPOINT}:
        body["spec"] = {"configSource": whole}
    return body
