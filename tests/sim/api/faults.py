# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Faults of the API server, by request and by node, and the count of its requests."""

from __future__ import annotations

import collections
import dataclasses
import re
import threading
import typing as t

from tests.sim.api.store import Tables


@dataclasses.dataclass
class Fault:
    """What happens to the requests whose method and path match, the first `times` of them after `skip` others.

    `path` is a regular expression that must be found in the path with its query; `node` is the name of a Node in the
    path, of a Lease or of the user. Empty: any. Requests of kubelets match only if `node` or `kubelets` is set.
    """

    status: int = 0
    """Answer so and do nothing: 409, 429, 500, 503, ...; 0 does what is asked."""
    method: str = ""
    path: str = ""
    node: str = ""
    kubelets: bool = False
    times: int | None = None
    skip: int = 0
    retry_after: int | None = None
    message: str = "made by a fault"
    slow: float = 0.0
    """Seconds before anything happens."""
    reset: bool = False
    """Close the connection instead of an answer."""
    lose_answer: bool = False
    """Do what is asked, then close the connection."""
    truncate: int | None = None
    """Announce the whole answer and close the connection after so many bytes; a watch ends after so many."""
    stale: Tables | None = None
    """Read from these objects (`store.snapshot()`)."""
    drop: tuple[str, ...] = ()
    """Fields that a write loses, such as `spec.configSource`, while the answer is success."""
    then: t.Callable[[], None] | None = None
    """Is called before anything else."""
    seen: int = 0

    def meets(self, method: str, path: str, user: str) -> bool:
        """Return whether this request has the fault, and count it."""
        if self.method not in ("", method) or (self.path and not re.search(self.path, path)):
            return False
        if self.node:
            if not re.search(rf"/{re.escape(self.node)}(/|\?|$)", path) and user != f"system:node:{self.node}":
                return False
        elif user.startswith("system:node:") and not self.kubelets:
            return False
        self.seen += 1
        return self.seen > self.skip and (self.times is None or self.seen <= self.skip + self.times)


class Faults:
    """All faults of an API server. The first that meets a request happens."""

    def __init__(self) -> None:
        self._all: list[Fault] = []
        self._lock = threading.Lock()

    def add(self, status: int = 0, **more: t.Any) -> Fault:
        """Add a fault; return it, for `remove`."""
        fault = Fault(status, **more)
        with self._lock:
            self._all.append(fault)
        return fault

    def remove(self, *faults: Fault) -> None:
        """End these faults, or all."""
        with self._lock:
            self._all = [fault for fault in self._all if faults and fault not in faults]

    def of(self, method: str, path: str, user: str) -> Fault:
        """Return the fault of a request, one that does nothing if it has none."""
        with self._lock:
            return next((fault for fault in self._all if fault.meets(method, path, user)), Fault())


class Counter:
    """Requests and bytes of clients, not of kubelets: `requests` are (method, path) in their order."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.requests: list[tuple[str, str]] = []
        self.received = self.sent = 0
        self.by_kubelets: collections.Counter[str] = collections.Counter()

    def note(self, method: str, path: str, user: str, received: int) -> None:
        """Count one request, with or without an answer; `received` are the bytes of its body."""
        with self._lock:
            if user.startswith("system:node:"):
                self.by_kubelets[method] += 1
            else:
                self.requests.append((method, path))
                self.received += received

    def answered(self, user: str, sent: int) -> None:
        """Count the bytes of an answer's body."""
        if not user.startswith("system:node:"):
            with self._lock:
                self.sent += sent

    def count(self, method: str = "", containing: str = "") -> int:
        """Return how many requests of a method (any by default) had a path that contains a text."""
        with self._lock:
            return sum(method in ("", one) and containing in path for one, path in self.requests)

    def forget(self) -> None:
        with self._lock:
            self.requests.clear()
            self.received = self.sent = 0
            self.by_kubelets.clear()
