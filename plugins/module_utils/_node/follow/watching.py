# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The follower's service: it watches its own Node, and starts a process of its own for each look at what has changed.

This process stays small. The switch of a configuration needs tables and commands that would double its memory.
"""

from __future__ import annotations

import json
import random
import sys
import time
from typing import Any, Callable, Iterator
from urllib.parse import quote

from ..._config.values import annotation, following
from ..system import command
from ..system.kubeconfig import ApiError, Kubeconfig

LOOK_SECONDS = 900.0
"""How long one look may take: the inspection, a switch, and the restart of a kubelet."""
QUIET_SECONDS = 900.0
"""After so many seconds without an event the watch begins again. A kubelet writes its Node every five minutes."""
WATCH_SECONDS = (1200, 2400)
"""How long a watch lasts, by chance: so that not all nodes begin the next one together."""
PAUSE_SECONDS = (1.0, 45.0), (40.0, 50.0)
"""How long to wait after a failure, by chance, and after each further one in a row: thousands of nodes lose a restarted
API server at the same moment. While it is away, all of them together knock as slowly as they come back.
"""
EARLY_SECONDS = 10.0
"""A watch that ends so many seconds before its time was ended by an API server that stops, as all others there."""
_READ = (annotation.SOURCE, following.FOLLOW)


def follow(open_api: Callable[[], Kubeconfig], look: list[str], program: Callable[[], str | None]) -> None:
    """Watch the Node until another program is installed: systemd starts that one then.

    C(look): the command that looks once; its exit status is not 0 if it must look again. C(program): returns which
    program is installed.
    """
    done: Any = None
    failures = 0
    ours = program()
    while True:
        try:
            api = open_api()
            for node in _seen(api, api.node_name()):
                failures = 0
                if program() != ours:
                    return
                now = _key(node)
                if now != done or not _has_answer(node):
                    _look(look)
                    done = now
        except ApiError as error:
            sys.stderr.write(f"{error}\n")
            failures += 1
            time.sleep(pause(failures))


def pause(failures: int) -> float:
    """Return the seconds to wait after so many failures in a row."""
    return random.uniform(*PAUSE_SECONDS[min(failures, len(PAUSE_SECONDS)) - 1])


def _look(look: list[str]) -> None:
    """Look once. Raises ApiError if that must be repeated."""
    done = command.execute(look, LOOK_SECONDS)
    if done.returncode:
        raise ApiError(done.stderr.strip() or f"the look at the Node ended with exit status {done.returncode}")
    sys.stderr.write(done.stderr)


def _seen(api: Kubeconfig, name: str) -> Iterator[dict[str, Any]]:
    """Yield the Node as the API server has it in its cache, then after each change, until the watch ends.

    Revision 0 means any: the watch begins with the present state, so none is ever too old (410). Without a revision, or
    with bookmarks, it needs an etcd that reports its progress, from 3.4.31 or 3.5.13 on (storage/cacher of Kubernetes
    1.32). Raises ApiError, also if the watch ends early.
    """
    seconds = random.randint(*WATCH_SECONDS)
    place = f"/api/v1/nodes?fieldSelector={quote(f'metadata.name={name}')}&watch=true&resourceVersion=0"
    path = f"{place}&timeoutSeconds={seconds}"
    end = time.monotonic() + seconds
    for line in api.lines(path, QUIET_SECONDS):
        try:
            event = json.loads(line)
            kind, node = event["type"], event["object"]
        except (ValueError, TypeError, KeyError) as error:
            raise ApiError(f"the watch of Node {name} sent what is no event: {error}") from error
        if kind == "ERROR":
            raise ApiError(f"the watch of Node {name} ended: {node.get('message')}")
        if kind in ("ADDED", "MODIFIED"):
            yield node
    if time.monotonic() < end - EARLY_SECONDS:
        raise ApiError(f"the API server has ended the watch of Node {name} before its time")


def _has_answer(node: dict[str, Any]) -> bool:
    """Return whether the Node has an answer of a follower. One that was removed or damaged is written again."""
    return following.answer(node["metadata"].get("annotations") or {})[0] is not None


def _key(node: dict[str, Any]) -> tuple[Any, ...]:
    """Return what a look depends on."""
    notes = node["metadata"].get("annotations") or {}
    return (node["metadata"].get("uid"), *(notes.get(name) for name in _READ))
