# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lease objects and their requests; several rollouts at once, some killed on the way: never two on one node."""

from __future__ import annotations

import contextlib
import itertools
import threading
import types
import typing as t

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import ApiError, ClusterError
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.objects import lease, lease_objects
from tests.sim.api.direct import Direct
from tests.support.api.calls import Call, Calls, InProcess
from tests.support.examples import examples

PATH = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
HELD = {"name": "mine", "namespace": "kube-system", "uid": "u", "holder": "me", "duration": 60}


def trimmed(revision: str = "9") -> lease_objects.Claim:
    """Return a Lease as it is read."""
    notes = {lease_objects.NODES: '["n1", "n2"]', lease_objects.GROUP: "workers"}
    names = {"namespace": "kube-system", "name": "mine", "uid": "u", "resourceVersion": revision}
    times = {"acquireTime": "2026-01-01T00:00:01.000000Z", "renewTime": "2026-01-01T00:00:30.500000Z"}
    spec = {"holderIdentity": "me", "leaseDurationSeconds": 60, **times}
    meta = {**names, "creationTimestamp": "2026-01-01T00:00:00Z", "annotations": notes}
    return lease_objects.trim({"metadata": meta, "spec": spec})


def test_trim() -> None:
    claim = trimmed()
    assert (claim.holder, claim.group, claim.held, claim.duration) == ("me", "workers", True, 60)
    assert (claim.acquired - claim.created, claim.renewed - claim.created) == (1.0, 30.5)
    assert claim.expires == claim.renewed + 60 + lease_objects.SKEW
    assert claim.shared(["n3", "n2"]) == ["n2"]
    assert claim.lease() == {**HELD, "group": "workers"}


@pytest.mark.parametrize(("one", "other", "older"), [("9", "10", True), ("10", "9", False), ("10", "10", False)])
def test_older_compares_revisions_as_numbers(one: str, other: str, older: bool) -> None:
    assert trimmed(one).older(trimmed(other)) is older


@pytest.mark.parametrize("revision", [None, "9"])
def test_delete_is_bound_to_what_was_read(revision: str | None) -> None:
    preconditions = {"uid": "u", **({"resourceVersion": revision} if revision else {})}
    body = {"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": preconditions}
    for answer, deleted in (({}, True), (ApiError(404, "gone"), False), (ApiError(409, "changed"), False)):
        with Calls(Call("DELETE", f"{PATH}/mine", answer, (), body)) as session:
            found = lease_objects.delete(session, "kube-system", "mine", "u", revision)
        assert found is deleted


DURATION = 60
SETS = (("n1",), ("n2",), ("n1", "n2"), ("n2", "n3"), ("n3",), ("n1", "n2", "n3"))
PLAN = st.lists(
    st.tuples(st.sampled_from(("step", "step", "step", "step", "step", "kill", "late", "renew")), st.integers(0, 3)),
    max_size=60,
)


class Killed(BaseException):
    """SIGKILL: the client does nothing more, not even a cleanup."""


class Client(InProcess):
    """A program that uses an API, in a thread that does one request or one pause per `step`.

    Replaces the session and the module `time`; its clock differs from the API server's by `off` seconds.
    """

    def __init__(self, api: Direct, work: t.Callable[[Client], t.Any], off: float = 0.0) -> None:
        super().__init__()
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

    def _send(self, *given: t.Any) -> bytes:
        """Do a request like the session, when it is this client's turn."""
        self._wait_for_turn()
        return self._api._send(*given)  # pylint: disable=protected-access

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


class Clocks:
    """The module `time` as the client in the calling thread has it."""

    def __init__(self) -> None:
        self.mine = threading.local()

    def __getattr__(self, name: str) -> t.Any:
        return getattr(self.mine.client, name)


@pytest.fixture(scope="module", autouse=True)
def clocks() -> t.Iterator[Clocks]:
    made = Clocks()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lease, "time", made)
        numbers = itertools.count()
        patch.setattr(lease_objects, "secrets", types.SimpleNamespace(token_hex=lambda _size: str(next(numbers))))
        yield made


def overlap(one: t.Collection[str], other: t.Collection[str]) -> bool:
    return bool(set(one) & set(other))


class Race:
    """Claimants on one API server, and the rule, looked at after every single request."""

    def __init__(self, clocks: Clocks, sets: t.Sequence[tuple[str, ...]], offs: t.Sequence[float], wait: int) -> None:
        self.api = Direct()
        self.api.look = self._never_two
        self.problems: list[str] = []
        self.sets = sets
        self.clients = [
            Client(self.api, self._work(clocks, names, index, wait), off)
            for index, (names, off) in enumerate(zip(sets, offs, strict=True))
        ]

    @staticmethod
    def _work(clocks: Clocks, names: tuple[str, ...], index: int, wait: int) -> t.Callable[[Client], t.Any]:
        who = {"nodes": list(names), "holder": f"h{index}", "group": f"g{index}"}
        terms = {"state": "held", "duration": DURATION, "wait": wait, "namespace": "kube-system", "lease": None}
        options = {**who, **terms}

        def work(client: Client) -> t.Any:
            clocks.mine.client = client
            held = lease.lease(client, options, False)
            while True:
                lease_objects.renew(client, held["lease"])

        return work

    def _never_two(self) -> None:
        held = [item for item in map(lease_objects.trim, self.api.leases.values()) if item.held]
        for one, other in itertools.combinations(held, 2):
            assert one.nodes is not None and other.nodes is not None
            if one.nodes & other.nodes:
                self.problems.append(f"{one.holder} and {other.holder} both hold {sorted(one.nodes & other.nodes)}")

    def holders(self) -> set[int]:
        return {int(item.holder[1:]) for item in map(lease_objects.trim, self.api.leases.values()) if item.held}

    def follow(self, plan: t.Sequence[tuple[str, int]]) -> None:
        for what, number in plan:
            client = self.clients[number % len(self.clients)]
            if what == "late":
                self.api.now += DURATION * (number + 1) / 3
            elif what == "kill":
                client.kill()
            else:
                client.step()

    def end(self) -> None:
        for client in self.clients:
            client.kill()
        assert not self.problems, self.problems[0]


@given(
    st.lists(st.sampled_from(SETS), min_size=2, max_size=4),
    st.lists(st.floats(-4000, 4000), min_size=4, max_size=4),
    st.sampled_from((0, 70)),
    PLAN,
)
@settings(max_examples=examples(150))
@pytest.mark.fault(case=57)
def test_never_two_on_one_node(
    clocks: Clocks, sets: list[tuple[str, ...]], offs: list[float], wait: int, plan: list[tuple[str, int]]
) -> None:
    """Killed holders, holders that are late to renew, clocks an hour apart, waiting and not."""
    race = Race(clocks, sets, offs[: len(sets)], wait)
    try:
        race.follow(plan)
    finally:
        race.end()


@given(
    st.sampled_from([pair for pair in itertools.product(SETS, SETS) if overlap(*pair)]),
    st.lists(st.integers(0, 1), max_size=14),
)
@settings(max_examples=examples(100))
def test_of_two_exactly_one_begins(
    clocks: Clocks, pair: tuple[tuple[str, ...], tuple[str, ...]], order: list[int]
) -> None:
    race = Race(clocks, pair, (0.0, 0.0), wait=0)
    try:
        race.follow([("step", number) for number in [*order, *[0, 1] * 8]])
        assert len(race.holders()) == 1
        lost = race.clients[1 - race.holders().pop()]
        assert lost.error and "another rollout is running" in lost.error.message
        # The one that gave way left nothing behind.
        assert len(race.api.leases) == 1
    finally:
        race.end()


@given(st.integers(0, 6), st.lists(st.integers(0, 1), max_size=20))
@settings(max_examples=examples(60))
def test_after_a_kill_at_any_request_one_of_two_that_wait_begins(
    clocks: Clocks, requests: int, order: list[int]
) -> None:
    """Later rollouts proceed after one that was killed at any step, without manual help."""
    race = Race(clocks, (("n1",),), (0.0,), wait=0)
    second: list[Client] = []
    try:
        race.follow([("step", 0)] * requests + [("kill", 0)])
        second += [Client(race.api, Race._work(clocks, ("n1", f"n{number}"), number, 70)) for number in (1, 2)]
        for number in [*order, *[0, 1] * 60]:
            second[number].step()
        alive = [item for item in map(lease_objects.trim, race.api.leases.values()) if item.held]
        assert [item.holder for item in alive] in (["h1"], ["h2"])
    finally:
        race.end()
        for client in second:
            client.kill()
