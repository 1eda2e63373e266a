# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The simulated API server as a session without HTTP, for tests that control its clock and its kubelets."""

from __future__ import annotations

import fnmatch
import json
import typing as t
import urllib.parse

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import TRANSIENT, ApiError
from tests.sim.api.handlers import Answer, Api, Request
from tests.sim.api.kinds import KINDS
from tests.sim.api.objects import Objects
from tests.sim.api.refusal import Refusal, unreachable
from tests.sim.api.server import ADMIN
from tests.sim.api.store import Store
from tests.sim.kubelets import pages
from tests.support.api.calls import InProcess

HEARTBEATS = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
CSRS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
TEXT = {"Content-Type": "text/plain"}
# The clock starts with the year 2026, when 1000 s are over since some moment.
EPOCH = 1_767_225_600.0


class Clock:
    """Replaces the module `time`: `sleep` returns at once. Each of `ticks` runs once, when its second is reached.

    `tick` runs at each sleep. `off`: how many seconds it is ahead of the clock of an API server that goes by it.
    """

    def __init__(self) -> None:
        self.now = 1000.0
        self.off = 0.0
        self.slept: list[float] = []
        self.tick: t.Callable[[], None] = lambda: None
        self._ticks: list[tuple[float, t.Callable[[], t.Any]]] = []

    def at(self, second: float, tick: t.Callable[[], t.Any]) -> None:
        """Call `tick` `second` seconds after the start."""
        self._ticks.append((1000.0 + second, tick))

    def monotonic(self) -> float:
        """Return the seconds since some moment."""
        return self.now + self.off

    def time(self) -> float:
        """Return the seconds since 1970."""
        return self.now - 1000.0 + EPOCH + self.off

    def sleep(self, seconds: float) -> None:
        assert seconds >= 0
        self.slept.append(seconds)
        self.now += seconds
        for moment, tick in [item for item in self._ticks if item[0] <= self.now]:
            self._ticks.remove((moment, tick))
            tick()
        self.tick()


class PlayedKubelets:
    """The part of a cluster that answers for its kubelets.

    `live` is what each kubelet runs, `births` when it was started, `sick` the answers of healthz instead of ok. An
    exception in place of any of them is raised. `births` are by a clock of which those of the nodes are `fast` by so
    many seconds. The kubelets in `silent` serve no counter of their relists.
    """

    def play(self, clock: t.Callable[[], float], names: t.Iterable[str]) -> None:
        """Begin: none answers for its configuration yet."""
        self._clock = clock
        self.live: dict[str, t.Any] = {}
        self.births: dict[str, t.Any] = dict.fromkeys(names, 1000.0)
        self.sick: dict[str, t.Any] = {}
        self.fast: dict[str, float] = {}
        self.silent: set[str] = set()

    def proxied(self, name: str, path: str) -> Answer:
        """Answer for a kubelet. Raises Refusal."""
        if path == "/configz":
            if name not in self.live:
                raise unreachable("connection refused")
            return Answer(200, {"kubeletconfig": _raised(self.live[name])})
        if path == "/healthz":
            return Answer(200, _raised(self.sick.get(name, "ok")).encode(), TEXT)
        if path == "/metrics":
            return Answer(200, self._metrics(name, _raised(self.births[name])).encode(), TEXT)
        if path.startswith("/stats/summary"):
            return Answer(200, {})
        raise Refusal(404, "404 page not found")

    def _metrics(self, name: str, birth: float) -> str:
        """Return what a kubelet serves: the first relist is a second after its start, and no jump changes their sum."""
        relisted = "" if name in self.silent else pages.relists(max(0.0, self._clock() - birth - 1.0))
        return pages.started(birth + self.fast.get(name, 0.0)) + relisted


def _raised(found: t.Any) -> t.Any:
    if isinstance(found, Exception):
        raise found
    return found


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
        if answer.status >= 400:
            raise ApiError(answer.status, answer.content().decode())
        return b"".join(answer.stream) if answer.stream else answer.content()
