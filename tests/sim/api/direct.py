# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The simulated API server as a session of the collection, without HTTP: for tests that control every moment."""

from __future__ import annotations

import fnmatch
import json
import typing as t
import urllib.parse

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import TRANSIENT, ApiError
from tests.sim.api.handlers import Api, Request
from tests.sim.api.kinds import KINDS
from tests.sim.api.objects import Objects
from tests.sim.api.refusal import Refusal
from tests.sim.api.server import ADMIN
from tests.sim.api.store import Store
from tests.sim.kubelets.played import PlayedKubelets
from tests.support.calls import InProcess
from tests.support.clock import Clock

HEARTBEATS = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
CSRS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"


class Direct(PlayedKubelets, InProcess):
    """An API server of 1.20 in memory, whose clock is `clock`, with these objects and kubelets that a test plays.

    `asked` are all requests. `answers` has what happens to those whose method and path match a key such as
    `GET */pods`, the latest key first: an ApiError is raised, a function gets one that asks the API server, anything
    else is the answer. The method of a watch is WATCH. `look` is called after each request.
    """

    def __init__(
        self,
        *nodes: dict[str, t.Any],
        configmaps: t.Iterable[dict[str, t.Any]] = (),
        pods: t.Iterable[dict[str, t.Any]] = (),
        live: t.Mapping[str, t.Any] | None = None,
        clock: Clock | None = None,
    ) -> None:
        super().__init__()
        self.clock = clock or Clock()
        self.store = Store(20, self.server_time)
        self.nodes = Objects(self.store, "nodes")
        self.configmaps = Objects(self.store, "configmaps", "kube-system")
        self.leases = Objects(self.store, "leases", "kube-system")
        self.pods = Objects(self.store, "pods", None)
        self.nodes.add(*nodes)
        self.configmaps.add(*configmaps)
        self.pods.add(*pods)
        self._beats = Objects(self.store, "leases", "kube-node-lease")
        self.play(self.clock.monotonic, self.nodes)
        self.live.update(live or {})
        self.asked: list[Request] = []
        self.answers: dict[str, t.Any] = {}
        self.look: t.Callable[[], None] = lambda: None
        self._api = Api(self.store, "v1.20.2", self.proxied)

    @property
    def now(self) -> float:
        """The time of the API server's clock, in seconds since 1970."""
        return self.clock.time() - self.clock.off

    @now.setter
    def now(self, seconds: float) -> None:
        self.clock.now += seconds - self.now

    @property
    def renewed(self) -> dict[str, str]:
        """The heartbeats of kubelets by node, as times."""
        return {name: item["spec"]["renewTime"] for name, item in self._beats.items()}

    @renewed.setter
    def renewed(self, moments: t.Mapping[str, str]) -> None:
        self._beats.clear()
        self._beats.add(*({"metadata": {"name": name}, "spec": {"renewTime": at}} for name, at in moments.items()))

    @property
    def requests(self) -> list[tuple[str, str]]:
        """Return method and path, without the query, of all requests."""
        return [(request.method, request.path) for request in self.asked]

    def count(self, method: str, path: str) -> int:
        """Return the number of requests of a method to exactly this path."""
        return self.requests.count((method, path))

    def bodies(self, pattern: str) -> list[t.Any]:
        """Return the bodies of the requests that match, as a key of `answers` does."""
        return [item.body for item in self.asked if fnmatch.fnmatchcase(f"{item.method} {item.path}", pattern)]

    def before(self, pattern: str, act: t.Callable[[], t.Any]) -> None:
        """Call `act` before each request that matches, as a key of `answers` does."""
        self.answers[pattern] = lambda ask: (act(), ask())[1]

    def delete(self, pod: str) -> None:
        """Remove a pod; a watch shows its last state."""
        self.store.delete(KINDS["pods"], self.pods[pod]["metadata"]["namespace"], pod, {}, False)

    def server_time(self) -> float:
        """Return the time of the API server's clock."""
        return self.now

    def _send(
        self,
        method: str,
        path: str,
        query: t.Sequence[tuple[str, t.Any]],
        body: t.Any,
        more: dict[str, t.Any],
        budget: float | None,
    ) -> bytes:
        """Answer like a session. Raises ApiError."""
        watched = ("watch", "true") in query
        if watched:
            # The events that there are, and no wait for more.
            query = [(key, 0 if key == "timeoutSeconds" else value) for key, value in query]
        url = f"{path}?{urllib.parse.urlencode(query)}" if query else path
        request = Request(method, url, more.get("content_type", ""), body if body is not None else b"", ADMIN)
        name = "WATCH" if watched else method
        self.asked.append(Request(name, url, body=body))
        try:
            return self._answered(f"{name} {path}", request)
        finally:
            self.look()

    def _answered(self, what: str, request: Request) -> bytes:
        for pattern in reversed(self.answers):
            if not fnmatch.fnmatchcase(what, pattern):
                continue
            answer = self.answers[pattern]
            if callable(answer):
                answer = answer(lambda: self._asked(request))
            if isinstance(answer, ApiError):
                raise answer
            if isinstance(answer, str):
                return answer.encode()
            return answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        return self._asked(request)

    def _asked(self, request: Request) -> bytes:
        try:
            answer = self._api.answer(request)
        except Refusal as error:
            raise ApiError(
                error.status,
                error.message,
                error.reason,
                error.retry_after,
                error.status in TRANSIENT,
                dict(error.causes),
            ) from None
        return b"".join(answer.stream) if answer.stream else answer.content()
