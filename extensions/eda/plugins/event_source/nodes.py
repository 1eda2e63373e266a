# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An event source of Event-Driven Ansible: what happens to the kubelets of a cluster, each event once.

It watches the Nodes, with one connection. What it sees is what `kubectl get node -o yaml` shows.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import sys
import tempfile
import threading
import time
import typing as t
from pathlib import Path

_ROOT = Path(__file__).absolute().parents[4]
if _ROOT.parts[-3:] == ("ansible_collections", "livenodes", "kubelet"):
    # ansible-rulebook runs this file by its path, outside of Ansible.
    sys.path.append(str(_ROOT.parents[2]))

# All of them are found after that line.
# pylint: disable=wrong-import-position
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator  # noqa: E402

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api import cluster_options  # noqa: E402
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import (  # noqa: E402
    ApiError,
    ClusterError,
)
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.session import Session  # noqa: E402
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.objects import (  # noqa: E402
    node_requests,
    nodes,
)
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values.annotation import CONFIRMED  # noqa: E402

DOCUMENTATION = r"""
module: nodes
short_description: Events of the kubelets of a cluster
description:
  - Watches the Nodes of a cluster and emits an event when the configuration of a kubelet was reverted or confirmed or
    has failed, when a Node is new, when the version of its kubelet has changed, and when it has drifted.
  - Each event has C(type), C(id), C(node), C(labels) (those of the Node), C(kubelet_version), C(delivery), C(variant)
    (the name of the ConfigMap that the kubelet runs, or V(local)), C(reason) and C(error).
  - C(type) is V(reverted), V(failed), V(confirmed), V(new_node), V(version_changed) or V(drifted).
  - Needs the verbs C(list) and C(watch) on nodes, and the Python packages of the collection in the interpreter that
    runs ansible-rulebook.
options:
  label_selectors:
    description: Label selectors that Nodes must match. The default is all Nodes of the cluster.
    type: list
    elements: str
    default: []
  drift_seconds:
    description:
      - How long a kubelet may run something else than its Node names before that is an event. A rollout needs a while.
    type: int
    default: 900
  state_file:
    description:
      - A file that keeps what was seen. With it, an event that happens while the source is not running is emitted at
        its next start. Without it, the state at the start is where the source begins.
    type: path
"""

EXAMPLES = r"""
- livenodes.kubelet.nodes:
    kubeconfig: /run/secrets/kubeconfig
    label_selectors: [pool=batch]
    state_file: /var/lib/eda/nodes.json
"""

NAME = "livenodes.kubelet.nodes"
NEW_NODE, VERSION_CHANGED, DRIFTED = "new_node", "version_changed", "drifted"
CONFIRMED_EVENT, REVERTED, FAILED = "confirmed", "reverted", "failed"
QUIET_SECONDS = 330.0
"""After so many seconds without an event the watch begins again. Every kubelet writes its Node every five minutes."""
WATCH_SECONDS = (1200, 2400)
PAUSE_SECONDS = (1.0, 20.0)
DRIFT_PAUSE = 10.0
"""Seconds between two looks for Nodes that have drifted."""
_SPEC: dict[str, dict[str, t.Any]] = {
    "label_selectors": {"type": "list", "elements": "str", "default": []},
    "drift_seconds": {"type": "int", "default": 900},
    "state_file": {"type": "path"},
}


class Seen(t.NamedTuple):
    """What the events of a Node follow from."""

    uid: str
    version: str
    """That of its kubelet."""
    variant: str
    """The name of the ConfigMap that the kubelet runs, or C(local)."""
    reverted: str
    """When and why it was reverted, empty if the last change was no revert."""
    error: str
    confirmed: bool
    """Whether it runs its source, confirmed or last-known-good."""
    unsettled_since: float
    """Seconds since 1970 since when the kubelet does not run what its Node names, 0 if it does."""
    drifted: bool = False
    """Whether that was an event."""


def seen(node: nodes.Node, before: Seen | None, now: float) -> Seen:
    """Return what a Node shows. C(now): seconds since 1970."""
    active, status = node.part("active"), node.status or {}
    reason = status.get("reason") or ""
    has_reverted = reason.startswith(REVERTED) or (not node.on_node and nodes.fell_back(node))
    is_good = active is not None and (reason == CONFIRMED or node.part("lastKnownGood") == active)
    since = 0.0
    if not nodes.settled(node):
        since = (before.unsettled_since if before else 0.0) or now
    return Seen(
        node.uid,
        node.kubelet_version,
        (active.get("name") or active["uid"]) if active else "local",
        f"{status.get('time', '')} {reason} {node.error}".strip() if has_reverted else "",
        node.error or node.fault or (node.follower.refused if node.follower else ""),
        is_good and not node.error,
        since,
        bool(before and before.drifted and since),
    )


def happened(before: Seen | None, now: Seen) -> list[str]:
    """Return the types of the events between two looks at a Node."""
    if before is None or before.uid != now.uid:
        return [NEW_NODE]
    types = []
    if before.version and now.version != before.version:
        types.append(VERSION_CHANGED)
    if now.reverted and now.reverted != before.reverted:
        types.append(REVERTED)
    elif now.error and now.error != before.error:
        types.append(FAILED)
    if now.confirmed and (not before.confirmed or now.variant != before.variant):
        types.append(CONFIRMED_EVENT)
    return types


def event(kind: str, node: nodes.Node, now: Seen) -> dict[str, t.Any]:
    """Return an event. Its `id` is the same however often it is emitted."""
    details = {REVERTED: now.reverted, FAILED: now.error, DRIFTED: f"{now.unsettled_since:.0f}"}
    detail = details.get(kind) or f"{now.version} {now.variant}"
    return {
        "type": kind,
        "id": _plain(f"{now.uid} {kind} {detail}"),
        "node": node.name,
        "labels": node.labels,
        "kubelet_version": _plain(now.version),
        "delivery": node.delivery,
        "variant": _plain(now.variant),
        "reason": _plain((node.status or {}).get("reason") or ""),
        "error": _plain(now.error),
    }


def _plain(words: str) -> str:
    """Return a text that a node chooses as one that is no template: a space parts the marks of templates.

    ansible-rulebook writes the arguments of an action into a playbook, and Ansible evaluates templates there.
    """
    return re.sub(r"\{(?=[{%#]|$)|#(?=jinja2:)", r"\g<0> ", words)


class Record:
    """What was seen of each Node, by name; in a file too if one is named. `is_new` until the first look."""

    def __init__(self, path: str | None) -> None:
        self._path = path
        self._is_kept = True
        self.nodes: dict[str, Seen] = {}
        self.is_new = path is None or not os.path.exists(path)
        if path is not None and not self.is_new:
            self.nodes = _read(path)

    def put(self, name: str, now: Seen | None) -> None:
        """Note a Node, or with None that it is gone."""
        if self.nodes.get(name) == now:
            return
        self._is_kept = False
        if now is None:
            del self.nodes[name]
        else:
            self.nodes[name] = now

    def keep(self) -> None:
        """Write the file if anything has changed. Raises ClusterError."""
        if self._path is None or self._is_kept:
            return
        try:
            handle, path = tempfile.mkstemp(dir=os.path.dirname(os.path.abspath(self._path)))
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump({name: list(now) for name, now in self.nodes.items()}, file)
            os.replace(path, self._path)
        except OSError as error:
            raise ClusterError(f"state_file {self._path} cannot be written: {error}. Choose another one") from error
        self._is_kept = True


def _read(path: str) -> dict[str, Seen]:
    """Return what a state file has. Raises ClusterError."""
    try:
        with open(path, encoding="utf-8") as file:
            return {name: Seen(*fields) for name, fields in json.load(file).items()}
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise ClusterError(
            f"state_file {path} cannot be read: {error}. Remove it: the source then begins with the present state"
        ) from error


class Source:
    """The watch of a cluster. `emit` takes one event, and returns when that was taken. Raises ClusterError."""

    def __init__(self, session: Session, options: dict[str, t.Any], emit: t.Callable[[dict[str, t.Any]], None]) -> None:
        self._emit = emit
        self._session = session
        self._selectors: list[str] = options["label_selectors"]
        self._drift_seconds: int = options["drift_seconds"]
        self._record = Record(options["state_file"])
        self._nodes: dict[str, nodes.Node] = {}
        self._next_drift = 0.0

    def run(self, stopped: threading.Event) -> None:
        """Emit events until it is stopped, at the end of a watch. Raises ClusterError for what no repetition mends."""
        while not stopped.is_set():
            try:
                self.look()
                while not stopped.is_set():
                    began = time.monotonic()
                    self.watch(random.randint(*WATCH_SECONDS))
                    if time.monotonic() - began < PAUSE_SECONDS[1]:
                        # A proxy may end each watch at once.
                        stopped.wait(random.uniform(*PAUSE_SECONDS))
            except ApiError as error:
                if not error.transient:
                    raise
                if not stopped.is_set():
                    sys.stderr.write(f"{NAME}: {error.message}. Trying again\n")
                stopped.wait(random.uniform(*PAUSE_SECONDS))

    def look(self) -> None:
        """List the Nodes, emit what has happened since they were seen last, and forget those that are gone.

        Raises ApiError.
        """
        found = node_requests.read(self._session, None, self._selectors)
        for name in self._record.nodes.keys() - found.keys():
            self._record.put(name, None)
        for node in found.values():
            self._note(node)
        self._record.is_new = False
        self._emit_drift()
        self._record.keep()

    def watch(self, seconds: int) -> None:
        """Emit what happens in so many seconds. Raises ApiError.

        Revision 0 means any: the watch begins with the present state, so none is ever too old (410). Without a
        revision, or with bookmarks, it needs an etcd that reports its progress (storage/cacher of Kubernetes 1.32).
        """
        query = [("watch", "true"), ("resourceVersion", "0"), ("timeoutSeconds", str(seconds))]
        if self._selectors:
            query.append(("labelSelector", ",".join(self._selectors)))
        for kind, item in node_requests.events(self._session, query, QUIET_SECONDS):
            self._take(kind, item)
            self._emit_drift()
            self._record.keep()

    def _take(self, kind: str, item: dict[str, t.Any]) -> None:
        if kind == "DELETED":
            self._record.put(item["metadata"]["name"], None)
            self._nodes.pop(item["metadata"]["name"], None)
        elif kind in ("ADDED", "MODIFIED"):
            self._note(nodes.trim(item))

    def _note(self, node: nodes.Node) -> None:
        before = self._record.nodes.get(node.name)
        now = seen(node, before, time.time())
        self._nodes[node.name] = node
        if not self._record.is_new:
            for kind in happened(before, now):
                self._emit(event(kind, node, now))
        self._record.put(node.name, now)

    def _emit_drift(self) -> None:
        """Emit each Node that has not been settled for too long, once until it settles."""
        now = time.time()
        if now < self._next_drift:
            return
        self._next_drift = now + DRIFT_PAUSE
        for name, state in list(self._record.nodes.items()):
            if state.drifted or not state.unsettled_since or now - state.unsettled_since < self._drift_seconds:
                continue
            if name in self._nodes:
                self._emit(event(DRIFTED, self._nodes[name], state))
                self._record.put(name, state._replace(drifted=True))


def options_of(arguments: dict[str, t.Any]) -> dict[str, t.Any]:
    """Return the options in the arguments of a rulebook, completed from the environment. Raises ClusterError."""
    result = ArgumentSpecValidator({**cluster_options.argument_spec(), **_SPEC}).validate(arguments)
    faults = "; ".join(result.error_messages)
    if faults:
        raise ClusterError(f"{NAME}: {faults}. Correct the source in the rulebook")
    return {**cluster_options.completed(result.validated_parameters), **_of_source(result.validated_parameters)}


def _of_source(options: dict[str, t.Any]) -> dict[str, t.Any]:
    # A rulebook whose variable for the file is not set names an empty one.
    return {**{name: options[name] for name in _SPEC}, "state_file": options["state_file"] or None}


async def main(queue: asyncio.Queue[dict[str, t.Any]], args: dict[str, t.Any]) -> None:
    """Put events into the queue of a rulebook until it is cancelled. Raises ClusterError, or what ended the watch."""
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[None] = loop.create_future()

    def emit(item: dict[str, t.Any]) -> None:
        asyncio.run_coroutine_threadsafe(queue.put(item), loop).result()

    options = options_of(args)
    source, stopped = Source(Session(options), options, emit), threading.Event()

    def run() -> None:
        try:
            source.run(stopped)
        except Exception as error:  # pylint: disable=broad-except  # without a thread, the rulebook would wait for ever
            loop.call_soon_threadsafe(ended.set_exception, error)

    # A thread of the loop's own pool would keep ansible-rulebook from ending.
    threading.Thread(target=run, name=NAME, daemon=True).start()
    try:
        await ended
    finally:
        stopped.set()
