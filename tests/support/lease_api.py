# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An API server's Leases in memory, with its preconditions, and several clients whose requests a test can order freely.

Written from the API's behaviour, independent of the code under test.
"""

from __future__ import annotations

import contextlib
import copy
import datetime
import threading
import typing as t

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import ApiError, ClusterError

Item = dict[str, t.Any]


def stamp(seconds: float, digits: bool = True) -> str:
    """Return a MicroTime, or a Time, which has whole seconds."""
    moment = datetime.datetime.fromtimestamp(seconds, datetime.UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ" if digits else "%Y-%m-%dT%H:%M:%SZ")


class LeaseApi:
    """The Leases of one namespace. `now` is the API server's clock; `look` is called after every request."""

    host = "https://api.example:6443"
    concurrency = 1

    def __init__(self, now: float = 1_800_000_000.0) -> None:
        self.items: dict[str, Item] = {}
        self.now = now
        self.revision = 7
        self.requests: list[tuple[str, str]] = []
        self.look: t.Callable[[], None] = lambda: None

    def request(
        self,
        method: str,
        path: str,
        query: t.Sequence[tuple[str, t.Any]] = (),
        body: t.Any = None,
        content_type: str = "application/json",
        budget: float | None = None,
    ) -> t.Any:
        """Answer like the API server."""
        name = path.partition("/leases")[2].strip("/")
        self.requests.append((method, name))
        try:
            return copy.deepcopy(getattr(self, f"_{method.lower()}")(name, dict(query), body))
        finally:
            self.look()

    def server_time(self) -> float:
        """Return the time of the API server's clock."""
        return self.now

    def _found(self, name: str) -> Item:
        if name not in self.items:
            raise ApiError(404, f'leases.coordination.k8s.io "{name}" not found', "NotFound")
        return self.items[name]

    def _next(self) -> str:
        self.revision += 1
        return str(self.revision)

    def _get(self, name: str, query: dict[str, t.Any], _body: t.Any) -> Item:
        if name:
            return self._found(name)
        assert "resourceVersion" not in query, "a LIST from the cache may lack what was just created"
        wanted = dict(part.split("=") for part in query["labelSelector"].split(","))
        return {"items": [item for item in self.items.values() if wanted.items() <= item["metadata"]["labels"].items()]}

    def _post(self, _name: str, _query: dict[str, t.Any], body: Item) -> Item:
        item = copy.deepcopy(body)
        name = item["metadata"]["name"]
        if name in self.items:
            raise ApiError(409, f'leases.coordination.k8s.io "{name}" already exists', "AlreadyExists")
        revision = self._next()
        item["metadata"].update(
            uid=f"uid-{revision}", resourceVersion=revision, creationTimestamp=stamp(self.now, digits=False)
        )
        self.items[name] = item
        return item

    def _patch(self, name: str, _query: dict[str, t.Any], body: list[dict[str, t.Any]]) -> Item:
        item = copy.deepcopy(self._found(name))
        for operation in body:
            *parents, last = (
                part.replace("~1", "/").replace("~0", "~") for part in operation["path"].lstrip("/").split("/")
            )
            place: t.Any = item
            for parent in parents:
                place = place[parent]
            if operation["op"] != "add" and last not in place:
                raise ApiError(422, "the server rejected our request due to an error in our request", "Invalid")
            if operation["op"] == "test" and place[last] != operation["value"]:
                raise ApiError(422, "the server rejected our request due to an error in our request", "Invalid")
            place[last] = operation["value"]
        item["metadata"]["resourceVersion"] = self._next()
        self.items[name] = item
        return item

    def _delete(self, name: str, _query: dict[str, t.Any], body: Item) -> Item:
        meta = self._found(name)["metadata"]
        if any(meta[key] != value for key, value in body["preconditions"].items()):
            raise ApiError(409, "Precondition failed", "Conflict")
        del self.items[name]
        return {"status": "Success"}


class Killed(BaseException):
    """SIGKILL: the client does nothing more, not even a cleanup."""


class Client:
    """A program that uses an API, in a thread that does one request or one pause per `step`.

    Replaces the session and the module `time`; its clock differs from the API server's by `off` seconds.
    """

    host = LeaseApi.host
    concurrency = 1

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
