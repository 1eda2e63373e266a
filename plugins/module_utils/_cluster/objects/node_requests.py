# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Node objects as the API server has them: read in LISTs or one by one, or watched; those that are gone or replaced."""

from __future__ import annotations

import json
import re
import time
import typing as t
import urllib.parse

from ..._config.values import node_row, paths
from ..api import kubelet_endpoint, parallel
from ..api.errors import Accepting, ApiError, ClusterError
from ..api.session import Json, Session
from .nodes import Node, trim

# Nodes in a page, at most: few enough that full Node objects (20 KB each) are cheap to parse.
_PAGE = 250
# So few nodes are read again, not watched: a watch sends the changes of all nodes.
_FEW = 8
_NODES = "/api/v1/nodes"
# Characters of names in a label selector, as a URL has them: proxies take URLs of 8 KB.
_SELECTOR = 6000
# With each selector, the API server goes through all nodes. For more than so many, all nodes are listed.
_MOST_SELECTORS = 4
# Kubelets put the name of their host there, which is that of the Node almost everywhere.
_HOSTNAME = "kubernetes.io/hostname"
# Where a watch begins after the status of a refusal: such a user may only LIST; after the next LIST.
_UNWATCHED = {403: None, 410: ""}
_LABEL_VALUE = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
# Argument spec of the modules that choose nodes by name or label.
SELECTION: dict[str, Json] = {
    "nodes": {"type": "list", "elements": "str"},
    "label_selectors": {"type": "list", "elements": "str"},
}
# Reason of the error of a write to a Node that is another one than before.
CREATED_AGAIN = "CreatedAgain"


def read(session: Session, names: t.Collection[str] | None = None, selectors: t.Sequence[str] = ()) -> dict[str, Node]:
    """Return nodes by name: those of `names` in that order, or all that match the label selectors.

    One LIST (a page for each 250 nodes), for names of these nodes alone: by their label for the host name, several
    LISTs if the names are long. Nodes without such a label need one GET each, or a LIST of all if they are many.
    Raises ClusterError, which names every node that does not exist.
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
    since = session.nodes_revision
    try:
        if names is None:
            return _selected(session, None, selectors)
        if len(names) == 1:
            found = _selected(session, next(iter(names)), selectors)
        elif selectors:
            found = _selected(session, None, selectors)
        else:
            found = _named(session, names)
    except ApiError:
        # A watch must not begin after what was never returned.
        session.nodes_revision = since
        raise
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
    selectors = _by_hostname(names)
    found: dict[str, Node] = {}
    since = None
    if len(selectors) <= _MOST_SELECTORS:
        for selector in selectors:
            found.update(_selected(session, None, [selector]))
            # A watch from here on shows the changes of all that was read.
            since = since or session.nodes_revision
    missing = [name for name in names if name not in found]
    if len(missing) > _PAGE:
        return _pages(session, ())
    found.update(_each(session, missing))
    session.nodes_revision = since or session.nodes_revision
    return found


def _by_hostname(names: t.Iterable[str]) -> list[str]:
    """Return label selectors that match the nodes of these names, as far as a name can be a label's value."""
    groups: list[list[str]] = []
    left = 0
    for name in filter(_LABEL_VALUE.fullmatch, names):
        # A comma takes three characters.
        left -= len(name) + 3
        if left < 0:
            groups.append([])
            left = _SELECTOR - len(name)
        groups[-1].append(name)
    return [f"{_HOSTNAME} in ({','.join(group)})" for group in groups]


def _each(session: Session, names: list[str]) -> dict[str, Node]:
    """Return the nodes that exist, by name (one GET for each)."""
    found = {}
    for outcome in session.each(names, lambda name: session.request("GET", path(name)), parallel.SHORT):
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
    return paths.without(found, gone), gone


def changed(
    session: Session, uids: t.Mapping[str, str], seconds: float, answered: t.Callable[[Node], bool]
) -> tuple[dict[str, Node], dict[str, node_row.Row]]:
    """Wait for some seconds, then return as `find_known` those of the nodes that have changed since the last read.

    One watch of all nodes, of whole seconds. It ends early once all of the nodes have `answered` in it, or are gone;
    not with 0 seconds, which is the last look. For few nodes, and for a user who may not watch nodes, it is one read;
    these may be unchanged. A watch that ends too early is followed by a read after the seconds. Raises ApiError.
    """
    if len(uids) <= _FEW or not session.nodes_revision:
        time.sleep(seconds)
        return find_known(session, uids)
    is_last_look = not seconds
    last, broken = _watched(session, uids, max(1, min(int(seconds), session.timeout // 2)), is_last_look, answered)
    if broken and (is_last_look or not last):
        return find_known(session, uids)
    found = {name: node for name, node in last.items() if node is not None}
    return _as_known(session, {name: uids[name] for name in last}, found)


def _watched(
    session: Session, uids: t.Collection[str], seconds: int, to_the_end: bool, answered: t.Callable[[Node], bool]
) -> tuple[dict[str, Node | None], bool]:
    """Return what a watch of these seconds shows last of each node that has changed, and whether it ended too early.

    It is left once all nodes have answered, unless it is needed C(to_the_end). Raises ApiError.
    """
    end = time.monotonic() + seconds
    last: dict[str, Node | None] = {}
    waiting, broken = set(uids), False
    try:
        for name, node in _changes(session, uids, seconds):
            last[name] = node
            waiting.add(name)
            if node is None or answered(node):
                waiting.remove(name)
            if not waiting and not to_the_end:
                break
    except ApiError as error:
        if error.status in _UNWATCHED:
            session.nodes_revision = _UNWATCHED[error.status]
        elif not error.transient:
            raise
        broken = True
    left = end - time.monotonic()
    if waiting and left > 0:
        # An API server would have gone on.
        broken = True
        time.sleep(left)
    return last, broken


def _changes(session: Session, uids: t.Container[str], seconds: int) -> t.Iterator[tuple[str, Node | None]]:
    """Yield each change of these nodes since the last read, None for a node that was deleted (one watch).

    A server that goes on after the seconds is left a second later.
    """
    late = time.monotonic() + seconds + 1
    query = [("watch", "true"), ("allowWatchBookmarks", "true"), ("resourceVersion", session.nodes_revision)]
    for kind, item in events(session, [*query, ("timeoutSeconds", seconds)], session.timeout):
        meta = item["metadata"]
        session.nodes_revision = meta["resourceVersion"]
        if meta.get("name") in uids:
            yield meta["name"], None if kind == "DELETED" else trim(item)
        if time.monotonic() > late:
            return


def events(session: Session, query: t.Sequence[tuple[str, t.Any]], quiet: float) -> t.Iterator[tuple[str, Json]]:
    """Yield type and object of each event of a watch of Nodes as it arrives (one GET, never repeated).

    `quiet` as in Session.lines. Raises ApiError, with status 410 if the API server does not have all events since the
    revision of the query.
    """
    for line in session.lines(_NODES, query, quiet):
        try:
            event = json.loads(line)
            kind, item = event["type"], event["object"]
            if kind != "ERROR":
                # A bookmark has nothing else.
                str(item["metadata"]["resourceVersion"])
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            why = f"{session.host} sent what is no event of a watch of Nodes ({error!r})"
            raise ApiError(0, why, transient=True) from error
        if kind == "ERROR":
            reason = item.get("message") if isinstance(item, dict) else item
            raise ApiError(410, f"{session.host} ended a watch of Nodes: {reason}", transient=True)
        yield kind, item


def path(name: str) -> str:
    """Return the API path of a Node."""
    return f"{_NODES}/{urllib.parse.quote(name)}"


def _pages(session: Session, query: t.Sequence[tuple[str, t.Any]]) -> dict[str, Node]:
    """List nodes page by page."""
    # The pages of a LIST expire after some minutes: list again from the start, once.
    with Accepting(410):
        return _pages_once(session, query)
    return _pages_once(session, query)


def _pages_once(session: Session, query: t.Sequence[tuple[str, t.Any]]) -> dict[str, Node]:
    nodes: dict[str, Node] = {}
    more: list[tuple[str, str]] = []
    while True:
        page = session.request("GET", _NODES, [*query, ("limit", _PAGE), *more])
        for item in page.get("items") or []:
            nodes[item["metadata"]["name"]] = _read(session, item)
        about = page.get("metadata") or {}
        if not more and session.nodes_revision is not None:
            session.nodes_revision = about.get("resourceVersion") or ""
        if not about.get("continue"):
            return nodes
        more = [("continue", about["continue"])]


def _read(session: Session, item: Json) -> Node:
    """Return a Node, and note for the session how its kubelet can be asked."""
    session.seen[item["metadata"]["name"]] = kubelet_endpoint.seen_in(item)
    return trim(item)
