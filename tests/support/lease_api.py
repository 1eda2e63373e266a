# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Leases of a simulated API server, and several clients whose requests a test can order freely."""

from __future__ import annotations

import contextlib
import functools
import threading
import typing as t

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import ClusterError
from tests.sim.api.direct import Direct
from tests.sim.api.objects import Objects
from tests.sim.api.store import stamp as moment


def stamp(seconds: float, digits: bool = True) -> str:
    """Return a MicroTime, or a Time, which has whole seconds."""
    return moment(seconds, micro=digits)


class LeaseApi(Direct):
    """The Leases of the namespace kube-system. `look` is called after every request, `requests` are (method, name).

    `answers`: by method, what answers instead; it gets what the API server does.
    """

    def __init__(self) -> None:
        super().__init__()
        self.items = Objects(self.store, "leases", "kube-system")
        self.requests: list[tuple[str, str]] = []
        self.look: t.Callable[[], None] = lambda: None
        self.answers: dict[str, t.Callable[[t.Callable[[], t.Any]], t.Any]] = {}

    def request(self, method: str, path: str, *arguments: t.Any, **named: t.Any) -> t.Any:
        """Answer like a session. Raises ApiError."""
        self.requests.append((method, path.partition("/leases")[2].strip("/")))
        assert (method, dict(*arguments[:1]).get("resourceVersion")) != ("GET", "0"), "a LIST from the cache may be old"
        ask = functools.partial(super().request, method, path, *arguments, **named)
        try:
            return self.answers[method](ask) if method in self.answers else ask()
        finally:
            self.look()


class Killed(BaseException):
    """SIGKILL: the client does nothing more, not even a cleanup."""


class Client:
    """A program that uses an API, in a thread that does one request or one pause per `step`.

    Replaces the session and the module `time`; its clock differs from the API server's by `off` seconds.
    """

    host = LeaseApi.host
    concurrency = 1
    kubelets = None

    def __init__(self, api: LeaseApi, work: t.Callable[[Client], t.Any], off: float = 0.0) -> None:
        self._api = api
        self._off = off
        self._turn = threading.Semaphore(0)
        self._parked = threading.Semaphore(0)
        self._killed = False
        self.asleep = 0.0
        self.done = False
        self.value: t.Any = None
        self.error: ClusterError | None = None
        self._thread = threading.Thread(target=self._run, args=(work,), daemon=True)
        self._thread.start()
        self._parked.acquire()

    def _run(self, work: t.Callable[[Client], t.Any]) -> None:
        try:
            with contextlib.suppress(Killed):
                self.value = work(self)
        except ClusterError as error:
            self.error = error
        finally:
            self.done = True
            self._parked.release()

    def _wait_for_turn(self) -> None:
        if not self._killed:
            self._parked.release()
            self._turn.acquire()
        if self._killed:
            raise Killed

    def step(self) -> None:
        """Let the client do its next request; return before the one after that."""
        if not self.done:
            self._turn.release()
            self._parked.acquire()

    def kill(self) -> None:
        """Kill the client before its next request."""
        self._killed = True
        self.step()
        self._thread.join()

    def request(self, *arguments: t.Any, **named: t.Any) -> t.Any:
        """Do a request like the session, when it is this client's turn."""
        self._wait_for_turn()
        return self._api.request(*arguments, **named)

    def server_time(self) -> float:
        """Return the time of the API server's clock, as the session does."""
        return self._api.now

    def sleep(self, seconds: float) -> None:
        """Sleep; time passes for all clients."""
        self._wait_for_turn()
        self._api.now += seconds

    def time(self) -> float:
        """Return the time of this client's clock."""
        return self._api.now + self._off

    monotonic = time


class Wall:
    """The module `time`, `off` seconds from the API server's clock; `ticks` are run at each pause."""

    def __init__(self, api: LeaseApi) -> None:
        self.api = api
        self.off = 0.0
        self.slept: list[float] = []
        self.tick: t.Callable[[], None] = lambda: None

    def time(self) -> float:
        """Return the time of this clock, in seconds."""
        return self.api.now + self.off

    monotonic = time

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self.slept.append(seconds)
        self.api.now += seconds
        self.tick()
