# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Node objects: read in one LIST, trimmed to what we need, and their config source written."""
from __future__ import annotations

import dataclasses
import typing as t
import urllib.parse

from .._config.version import minor_of
from .errors import ApiError, ClusterError
from .session import Session

# Large enough for few requests, small enough that a page of full Node objects (20 KB each) stays cheap to parse.
PAGE = 250
# Argument spec of the modules that choose nodes by name or label.
SELECTION: dict[str, dict[str, t.Any]] = {"nodes": {"type": "list", "elements": "str"}, "label_selectors": {"type": "list", "elements": "str"}}
# The first and last minor whose kubelet follows Node.spec.configSource.configMap (kubernetes PR 63221; removed by PR 106932).
NATIVE_MINORS = range(11, 24)


@dataclasses.dataclass(frozen=True)
class Node:
    """What we need of a Node object. `source` and `status` are spec.configSource.configMap and status.config as the API shows them."""

    name: str
    resource_version: str
    kubelet_version: str
    source: dict[str, str] | None
    status: dict[str, t.Any] | None
    ready: str
    ready_reason: str
    heartbeat: str
    unschedulable: bool

    @property
    def minor(self) -> int:
        """The kubelet's minor version, 0 when it has not said."""
        return minor_of(self.kubelet_version) or 0

    def part(self, name: str) -> dict[str, str] | None:
        """Return the config map reference under `assigned`, `active` or `lastKnownGood`, None for local."""
        return ((self.status or {}).get(name) or {}).get("configMap")

    @property
    def error(self) -> str:
        """The kubelet's status.config.error, empty when there is none."""
        return (self.status or {}).get("error") or ""


def trim(node: dict[str, t.Any]) -> Node:
    """Reduce a Node object as the API returns it."""
    spec, status = node.get("spec") or {}, node.get("status") or {}
    ready: dict[str, str] = next((item for item in status.get("conditions") or [] if item.get("type") == "Ready"), {})
    return Node(
        name=node["metadata"]["name"],
        resource_version=node["metadata"].get("resourceVersion") or "",
        kubelet_version=(status.get("nodeInfo") or {}).get("kubeletVersion") or "",
        source=(spec.get("configSource") or {}).get("configMap"),
        status=status.get("config"),
        ready=ready.get("status") or "Unknown",
        ready_reason=": ".join(filter(None, (ready.get("reason"), ready.get("message")))),
        heartbeat=ready.get("lastHeartbeatTime") or "",
        unschedulable=bool(spec.get("unschedulable")),
    )


def read(session: Session, names: t.Collection[str] | None = None, selectors: t.Sequence[str] = ()) -> dict[str, Node]:
    """List nodes, by name where names are given, in the order of the names; else all that match the label selectors.

    One LIST (a page for each 250 nodes), whatever the number of names. Raises ClusterError naming every node that does not exist.
    """
    if names is not None and not names:
        raise ClusterError("nodes is an empty list: name at least one node, or leave it out for all nodes of the cluster")
    query: list[tuple[str, t.Any]] = [("labelSelector", ",".join(selectors))] if selectors else []
    if names is not None and len(names) == 1:
        query.append(("fieldSelector", f"metadata.name={next(iter(names))}"))
    wanted = None if names is None else set(names)
    found = {node.name: node for node in _pages(session, query) if wanted is None or node.name in wanted}
    if names is None:
        return found
    absent = [name for name in names if name not in found]
    if absent:
        raise ClusterError(
            f"the cluster at {session.host} has no node named {', '.join(absent)}"
            + (" with these labels" if selectors else "")
            + ": check the names with `kubectl get nodes`; where inventory names differ from node names set kubelet_config_node_name"
        )
    return {name: found[name] for name in names}


def _pages(session: Session, query: list[tuple[str, t.Any]]) -> list[Node]:
    for last_try in (False, True):
        nodes: list[Node] = []
        more = ""
        try:
            while True:
                page = session.request("GET", "/api/v1/nodes", [*query, ("limit", PAGE), *([("continue", more)] if more else [])])
                nodes.extend(trim(item) for item in page.get("items") or [])
                more = (page.get("metadata") or {}).get("continue") or ""
                if not more:
                    return nodes
        except ApiError as error:
            # The pages of one LIST expire after some minutes: begin again, once.
            if error.status != 410 or last_try:
                raise
    raise AssertionError("the last try returns or raises")


def write_source(session: Session, node: Node, source: dict[str, str] | None, dry_run: bool) -> Node:
    """Set or remove (None) spec.configSource of one node with a merge patch and return the node as the API server stored it.

    The patch carries the resourceVersion that was read, so a change by somebody else in between is never overwritten unseen: on a
    conflict the node is read again, and the patch is repeated only while the source is still the one we decided upon.
    """
    path = f"/api/v1/nodes/{urllib.parse.quote(node.name)}"
    query = [("dryRun", "All")] if dry_run else []
    current = node
    for _attempt in range(5):
        body = {"metadata": {"resourceVersion": current.resource_version}, "spec": {"configSource": {"configMap": source} if source else None}}
        try:
            return trim(session.request("PATCH", path, query, body, "application/merge-patch+json"))
        except ApiError as error:
            if error.status != 409:
                raise
        current = trim(session.request("GET", path))
        if current.source == source:
            # Ours after all: the answer to an earlier try was lost on the way.
            return current
        if current.source != node.source:
            raise ApiError(409, f"somebody else changed spec.configSource to {describe(current.source)} meanwhile; run again to decide anew", "Conflict")
    raise ApiError(409, "the Node object changes faster than it can be patched; run again", "Conflict")


def describe(source: dict[str, str] | None) -> str:
    """Name a source in a sentence."""
    return f"{source.get('namespace')}/{source.get('name')} key {source.get('kubeletConfigKey')}" if source else "the local config"
