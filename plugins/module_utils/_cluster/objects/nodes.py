# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Node objects: read in one LIST or again by name, reduced to the fields in use; and their config source written."""

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
# The values that operators may set.
DELIVERIES = (AUTO, NATIVE, CHECKPOINT)
# Where the source of a node is stored, by delivery.
WHERE = {NATIVE: "spec.configSource", CHECKPOINT: f"the annotation {annotation.SOURCE}", NONE: "spec.configSource"}
# A GET for each node is cheaper than a LIST, here and in the API server, if the LIST had more than this many times the
# nodes that are read again.
MANY = 4
# Nodes in a page: enough for few requests, few enough that full Node objects (20 KB each) are cheap to parse.
PAGE = 250
# Argument spec of the modules that choose nodes by name or label.
SELECTION: dict[str, dict[str, t.Any]] = {
    "nodes": {"type": "list", "elements": "str"},
    "label_selectors": {"type": "list", "elements": "str"},
}
# The first and last minor whose kubelet follows Node.spec.configSource.configMap (kubernetes PR 63221; removed by PR
# 106932).
NATIVE_MINORS = range(11, 24)
# Labels with the roles of a node, as kubectl reads them (pkg/printers of kubectl, findNodeRoles).
ROLE_PREFIX, ROLE = "node-role.kubernetes.io/", "kubernetes.io/role"


@dataclasses.dataclass(frozen=True)
class Side:
    """A node as one delivery sees it: the reference it should run (None: its local config), and its status.

    The status has the shape of Node.status.config; None means that it was never reported.
    """

    source: dict[str, str] | None = None
    status: dict[str, t.Any] | None = None


@dataclasses.dataclass(frozen=True)
class Node:
    """The fields of a Node object that this collection uses.

    `native` holds spec.configSource and status.config, `checkpoint` the annotations of the other delivery. `delivery`
    names the one that counts: `native`, `checkpoint`, or `none` if no configuration was delivered to the node yet.
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
    # Content of the annotation `previous`: None if there is none, empty for the local config.
    previous: dict[str, t.Any] | None
    # The mark of a cordon by this collection: None if there is none.
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
        """The roles that `kubectl get nodes` shows, an empty list for <none>."""
        marked = {key[len(ROLE_PREFIX) :] for key in self.labels if key.startswith(ROLE_PREFIX)}
        return sorted(filter(None, marked | {self.labels.get(ROLE, "")}))

    @property
    def control_plane(self) -> bool:
        """Whether it is a control-plane node; kubeadm before 1.24 used the role `master`."""
        return not {"control-plane", "master"}.isdisjoint(self.roles)

    @property
    def minor(self) -> int:
        """The minor version of the kubelet, 0 if it is unknown."""
        return minor_of(self.kubelet_version) or 0

    @property
    def listening(self) -> bool:
        """Whether its kubelet follows Node.spec.configSource.

        A kubelet with --dynamic-config-dir always reports status.config, at least an empty one; others never do.
        """
        return self.native.status is not None and (not self.minor or self.minor in NATIVE_MINORS)

    def side(self, delivery: str) -> Side:
        """Return the node as one delivery sees it."""
        return self.checkpoint if delivery == CHECKPOINT else self.native

    @property
    def source(self) -> dict[str, str] | None:
        """What the node should run, None for its local config."""
        return self.side(self.delivery).source

    @property
    def status(self) -> dict[str, t.Any] | None:
        """The status it reports, None if it never did."""
        return self.side(self.delivery).status

    def part(self, name: str) -> dict[str, str] | None:
        """Return the reference under `assigned`, `active` or `lastKnownGood` of its status, None for local."""
        return _part(self.status, name)

    @property
    def error(self) -> str:
        """The error in its status, empty if there is none."""
        return (self.status or {}).get("error") or ""

    @property
    def references(self) -> list[dict[str, str]]:
        """All ConfigMap references of the node, of both deliveries."""
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
        """Return the node with `delivery` as the one that counts; `auto` changes nothing."""
        return self if delivery == AUTO else dataclasses.replace(self, delivery=delivery)


def _part(status: dict[str, t.Any] | None, name: str) -> dict[str, str] | None:
    return _reference((status or {}).get(name))


def _reference(holder: t.Any) -> dict[str, str] | None:
    """Return the reference in `{"configMap": ...}`, None for any other value: any user may edit an annotation."""
    found = holder.get("configMap") if isinstance(holder, dict) else None
    return found if isinstance(found, dict) and found.get("namespace") and found.get("name") else None


def trim(node: dict[str, t.Any]) -> Node:
    """Return the Node for a Node object of the API."""
    meta, spec, status = node["metadata"], _mapping(node, "spec"), _mapping(node, "status")
    notes, system = _mapping(meta, "annotations"), _mapping(status, "nodeInfo")
    conditions = {item.get("type"): item for item in reversed(status.get("conditions") or [])}
    ready: dict[str, str] = conditions.get("Ready", {})
    marked, reported = annotation.parse(notes.get(annotation.SOURCE)), annotation.parse(notes.get(annotation.STATUS))
    found = Node(
        name=meta["name"],
        resource_version=_text(meta, "resourceVersion"),
        kubelet_version=_text(system, "kubeletVersion"),
        native=Side(_reference(spec.get("configSource")), status.get("config")),
        checkpoint=Side(_reference(marked), reported),
        delivery=NONE if marked is None and reported is None else CHECKPOINT,
        previous=annotation.parse(notes.get(annotation.PREVIOUS)),
        ready=_text(ready, "status") or "Unknown",
        ready_reason=": ".join(filter(None, (ready.get("reason"), ready.get("message")))),
        heartbeat=_text(ready, "lastHeartbeatTime"),
        unschedulable=bool(spec.get("unschedulable")),
        labels=_mapping(meta, "labels"),
        cordoned=annotation.parse(notes.get(annotation.CORDONED)),
        taints=spec.get("taints") or [],
        # Reversed: of several addresses of one type, the first counts.
        addresses={item["type"]: item["address"] for item in reversed(status.get("addresses") or [])},
        os=_text(system, "operatingSystem"),
        arch=_text(system, "architecture"),
        capacity=_mapping(status, "capacity"),
    )
    return dataclasses.replace(found, delivery=NATIVE) if found.delivery == NONE and found.listening else found


def _mapping(holder: dict[str, t.Any], key: str) -> dict[str, t.Any]:
    return holder.get(key) or {}


def _text(holder: dict[str, t.Any], key: str) -> str:
    return holder.get(key) or ""


def read(session: Session, names: t.Collection[str] | None = None, selectors: t.Sequence[str] = ()) -> dict[str, Node]:
    """Return nodes by name: those of `names` in that order, or all that match the label selectors.

    One LIST (a page for each 250 nodes), whatever the number of names. Raises ClusterError, which names every node that
    does not exist.
    """
    if names is not None and not names:
        raise ClusterError("nodes is an empty list: name at least one node, or omit nodes for all nodes of the cluster")
    query: list[tuple[str, t.Any]] = [("labelSelector", ",".join(selectors))] if selectors else []
    if names is not None and len(names) == 1:
        query.append(("fieldSelector", f"metadata.name={next(iter(names))}"))
    wanted = None if names is None else set(names)
    listed = _pages(session, query)
    session.nodes_listed = len(listed)
    found = {node.name: node for node in listed if wanted is None or node.name in wanted}
    return found if names is None else _in_order(session, names, found, selectors)


def again(session: Session, names: t.Collection[str]) -> dict[str, Node]:
    """Read nodes again that this session has listed, in the order of the names.

    One GET for each node if they are few of those listed, else as `read`. Raises ClusterError, which names every node
    that no longer exists.
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
            + ": check the names with `kubectl get nodes`; if inventory names differ from node names, "
            "set kubelet_config_node_name"
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
            # The pages of a LIST expire after some minutes: list again from the start, once.
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
    """Set or remove (None) the source of a node with a merge patch; return the node as the API server stored it.

    `sides` are the deliveries to write it for, by default the one that counts. `notes` are further annotations to set
    or remove (None). The patch contains the resourceVersion that was read: after a conflict the node is read again, and
    the patch is repeated only if the sources are unchanged. Raises ApiError, 409 if another writer changed a source.
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
            # An earlier try has written it, and its answer was lost.
            return current
        for side in sides:
            now = current.side(side).source
            if now != node.side(side).source:
                raise ApiError(
                    409,
                    f"another user or program changed {WHERE[side]} to {describe(now)} during the run; run again",
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
