# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Node objects as the API server has them: read in one LIST or one by one; those that are gone or were replaced."""

from __future__ import annotations

import re
import time
import typing as t
import urllib.parse

from ..._config.values import node_row
from ..api import kubelet_endpoint, parallel
from ..api.errors import ApiError, ClusterError
from ..api.session import Session
from .nodes import Node, trim

# A GET for each node is cheaper than a LIST, here and in the API server, if the LIST had more than this many times the
# nodes that are read.
_MANY = 4
# Nodes in a page, at most: enough for few requests, few enough that full Node objects (20 KB each) are cheap to parse.
_PAGE = 250
# Nodes that are read again one by one. A watch sends the changes of all nodes, in a request of a second at least.
_FEW = 8
_NODES = "/api/v1/nodes"
# How API servers write that a Node has changed: its name is before all that makes the text long.
_CHANGE = re.compile(
    r'{"type": ?"MODIFIED", ?"object": ?{"kind": ?"Node", ?"apiVersion": ?"v1", ?"metadata": ?{"name": ?"([^"]+)"'
)
# Argument spec of the modules that choose nodes by name or label.
SELECTION: dict[str, dict[str, t.Any]] = {
    "nodes": {"type": "list", "elements": "str"},
    "label_selectors": {"type": "list", "elements": "str"},
}
# Reason of the error of a write to a Node that is another one than before.
CREATED_AGAIN = "CreatedAgain"


def read(session: Session, names: t.Collection[str] | None = None, selectors: t.Sequence[str] = ()) -> dict[str, Node]:
    """Return nodes by name: those of `names` in that order, or all that match the label selectors.

    One LIST (a page for each 250 nodes), for one name of that node alone. For several names the LIST ends early if the
    cluster has many more nodes: the missing ones then need one GET each, and all of them at the next read in this
    session. Raises ClusterError, which names every node that does not exist.
    """
    if names is not None and not names:
        raise ClusterError("nodes is an empty list: name at least one node, or omit nodes for all nodes of the cluster")
    found = _listed(session, names, selectors)
    absent = [name for name in names or () if name not in found]
    if absent:
        named = ", ".join(absent)
        if selectors:
            named += " with these labels"
        raise ClusterError(
            f"the cluster at {session.host} has no node named {named}: check the names with `kubectl get nodes`; if "
            "inventory names differ from node names, set kubelet_config_node_name"
        )
    return found


def find(session: Session, names: t.Collection[str]) -> dict[str, Node]:
    """Return those of the nodes that exist, in the order of the names (as `read`). Raises ApiError."""
    return _listed(session, names) if names else {}


def _listed(session: Session, names: t.Collection[str] | None, selectors: t.Sequence[str] = ()) -> dict[str, Node]:
    if names is None:
        return _selected(session, None, selectors)
    if len(names) == 1:
        found = _selected(session, next(iter(names)), selectors)
    elif selectors:
        found = _selected(session, None, selectors)
    else:
        found = _named(session, names)
    return {name: found[name] for name in names if name in found}


def _selected(session: Session, name: str | None, selectors: t.Sequence[str]) -> dict[str, Node]:
    """Return all nodes with these labels, or of them the only one that is named (one LIST)."""
    query = []
    if selectors:
        query.append(("labelSelector", ",".join(selectors)))
    if name is not None:
        query.append(("fieldSelector", f"metadata.name={name}"))
    return _pages(session, query)


def _named(session: Session, names: t.Collection[str]) -> dict[str, Node]:
    """Return those of several nodes that exist, and maybe others."""
    if len(names) * _MANY <= session.nodes_listed:
        return _each(session, list(names))
    found = _pages(session, (), names)
    # Unless the LIST ended early, the others do not exist.
    if len(found) < session.nodes_listed:
        found.update(_each(session, [name for name in names if name not in found]))
    return found


def _each(session: Session, names: list[str]) -> dict[str, Node]:
    """Return the nodes that exist, by name (one GET for each)."""
    found = {}
    for outcome in parallel.each(
        names, lambda name: session.request("GET", path(name)), session.concurrency, parallel.SHORT
    ):
        if outcome.value is not None:
            found[outcome.item] = _read(session, outcome.value)
        elif outcome.error and not absence(session, outcome.error):
            raise outcome.error
    return found


def absence(session: Session, error: ClusterError | None) -> node_row.Row | None:
    """Return the row of a node for which a request has failed since it is no longer there; None for other errors."""
    if not isinstance(error, ApiError):
        return None
    if error.reason == CREATED_AGAIN:
        return node_row.Row(False, node_row.REPLACED, node_row.RECREATED)
    # A kubelet that does not serve a path answers 404 without a reason.
    if error.reason == "NotFound":
        return _gone(session)
    return None


def _gone(session: Session) -> node_row.Row:
    return node_row.Row(False, node_row.GONE, f"the cluster at {session.host} has no such Node: {node_row.REMOVED}")


def lost(session: Session, uids: t.Mapping[str, str], found: t.Mapping[str, Node]) -> dict[str, node_row.Row]:
    """Return the rows of the nodes of `uids` that are not in `found`, or are there with another uid (empty: any)."""
    rows = {}
    for name, uid in uids.items():
        if name not in found:
            rows[name] = _gone(session)
        elif uid and found[name].uid not in ("", uid):
            rows[name] = node_row.Row(False, node_row.REPLACED, node_row.RECREATED)
    return rows


def find_known(session: Session, uids: t.Mapping[str, str]) -> tuple[dict[str, Node], dict[str, node_row.Row]]:
    """Return the nodes of `uids` that are there as known, and the rows of the others, as `find` and `lost`."""
    return _as_known(session, uids, find(session, uids))


def _as_known(
    session: Session, uids: t.Mapping[str, str], found: t.Mapping[str, Node]
) -> tuple[dict[str, Node], dict[str, node_row.Row]]:
    gone = lost(session, uids, found)
    return {name: node for name, node in found.items() if name not in gone}, gone


def changed(
    session: Session, uids: t.Mapping[str, str], seconds: float
) -> tuple[dict[str, Node], dict[str, node_row.Row]]:
    """Wait for some seconds, then return as `find_known` those of the nodes that have changed since the last read.

    One watch of all nodes, of whole seconds. It is one read for each of few nodes, and for all nodes that the user may
    not watch; these may be unchanged. Raises ApiError.
    """
    if len(uids) <= _FEW or not session.nodes_revision:
        time.sleep(seconds)
        return find_known(session, uids)
    last = _events(session, max(1, min(int(seconds), session.timeout // 2)))
    if last is None:
        return find_known(session, uids)
    known = {name: uids[name] for name in uids if name in last}
    found = {}
    for name in known:
        item = last[name]
        if item is not None:
            found[name] = trim(item)
    return _as_known(session, known, found)


def _events(session: Session, seconds: int) -> dict[str, dict[str, t.Any] | None] | None:
    """Return the last state of each node that has changed, None for one that was deleted; or None without a watch.

    Where the API server has no more events since the last read, the next read is a LIST.
    """
    query = [("watch", "true"), ("allowWatchBookmarks", "true"), ("resourceVersion", session.nodes_revision)]
    try:
        events = session.events(_NODES, [*query, ("timeoutSeconds", seconds)], _last_changes)
    except ApiError as error:
        if error.status not in (403, 410):
            raise
        session.nodes_listed, session.nodes_revision = 0, None if error.status == 403 else ""
        return None
    last: dict[str, dict[str, t.Any] | None] = {}
    for event in events:
        if event["type"] == "ERROR":
            session.nodes_listed, session.nodes_revision = 0, ""
            return None
        meta = event["object"]["metadata"]
        session.nodes_revision = meta["resourceVersion"]
        if event["type"] != "BOOKMARK":
            last[meta["name"]] = None if event["type"] == "DELETED" else event["object"]
    return last


def _last_changes(events: list[str]) -> t.Iterator[str]:
    """Yield the texts of events, of the changes of a Node only the last."""
    changes = [_CHANGE.match(event) for event in events]
    last = {change[1]: change for change in changes if change}
    for event, change in zip(events, changes):
        if change is None or change is last[change[1]]:
            yield event


def path(name: str) -> str:
    """Return the API path of a Node."""
    return f"{_NODES}/{urllib.parse.quote(name)}"


def _pages(
    session: Session, query: t.Sequence[tuple[str, t.Any]], names: t.Collection[str] | None = None
) -> dict[str, Node]:
    """List nodes page by page: all, or those of `names` until the missing ones are few of those not listed yet."""
    wanted, limit = None, _PAGE
    if names is not None:
        wanted = set(names)
        # In a large cluster, few names cost only a few nodes more than their own.
        limit = min(_PAGE, _MANY * len(wanted))
    try:
        return _pages_once(session, query, wanted, limit)
    except ApiError as error:
        # The pages of a LIST expire after some minutes: list again from the start, once.
        if error.status != 410:
            raise
    return _pages_once(session, query, wanted, limit)


def _pages_once(
    session: Session, query: t.Sequence[tuple[str, t.Any]], wanted: set[str] | None, limit: int
) -> dict[str, Node]:
    """Return the nodes of pages. `limit`: how many the first one has at most."""
    nodes: dict[str, Node] = {}
    listed = 0
    more: list[tuple[str, str]] = []
    while True:
        page = session.request("GET", _NODES, [*query, ("limit", limit), *more])
        items = page.get("items") or []
        listed += len(items)
        # Reading a Node object takes longer than receiving it.
        for item in items:
            name = item["metadata"]["name"]
            if wanted is None or name in wanted:
                nodes[name] = _read(session, item)
        about = page.get("metadata") or {}
        if not more and session.nodes_revision is not None:
            session.nodes_revision = about.get("resourceVersion") or ""
        # Absent on the last page, and if the LIST has selectors.
        left = about.get("remainingItemCount") or 0
        session.nodes_listed = listed + left
        enough = wanted is not None and (len(wanted) - len(nodes)) * _MANY <= left
        if enough or not about.get("continue"):
            return nodes
        limit, more = _PAGE, [("continue", about["continue"])]


def _read(session: Session, item: dict[str, t.Any]) -> Node:
    """Return a Node, and note for the session how its kubelet can be asked."""
    session.seen[item["metadata"]["name"]] = kubelet_endpoint.seen_in(item)
    return trim(item)
