# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What controller modules are made of: options, output, failures of nodes, repeated requests, parallel work, times."""

from __future__ import annotations

import itertools
import json
import sys
import threading
import typing as t
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api import (
    controller_module,
    errors,
    parallel,
    timestamps,
)
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import (
    ApiError,
    ClusterError,
    MissingLibrary,
    NodesFailed,
)
from tests.sim.api.direct import Clock
from tests.support.api.server import Answer, Server, kubeconfig

Stage = t.Callable[[t.Any, dict[str, t.Any], bool], dict[str, t.Any]]
Run = t.Callable[..., dict[str, t.Any]]


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("KUBECONFIG", raising=False)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, run_main: Run) -> Run:
    """Run a stage in a module with options, and return what the module prints."""

    def runner(stage: Stage, **options: t.Any) -> dict[str, t.Any]:
        monkeypatch.setattr(sys, "argv", ["some_module"])
        module = controller_module.define({"word": {"type": "str"}}, stage)
        return run_main(module.run, **{"host": "http://127.0.0.1:1", **options})

    return runner


def test_options_and_result(run: Run) -> None:
    seen: list[t.Any] = []

    def stage(session: t.Any, options: dict[str, t.Any], check_mode: bool) -> dict[str, t.Any]:
        seen.extend([session.host, options["word"], options["request_timeout"], check_mode])
        return {"changed": True, "nodes": {"n1": 1}}

    result = run(stage, word="given", _ansible_check_mode=True)
    assert seen == ["http://127.0.0.1:1", "given", 30, True]
    assert (result["changed"], result["nodes"]) == (True, {"n1": 1})


@pytest.mark.parametrize("wanted", [True, False])
def test_diff_only_where_it_is_asked_for(run: Run, wanted: bool) -> None:
    result = run(lambda *_given: {"changed": True, "diff": [{"before": "a"}]}, _ansible_diff=wanted)
    assert ("diff" in result) is wanted


@pytest.mark.parametrize(
    ("check_mode", "result", "marked"),
    [
        (True, {"changed": True, "nodes": {}}, True),
        (False, {"changed": True, "nodes": {}}, False),
        (True, {"changed": False, "nodes": {}}, False),
        (True, {"changed": True}, False),
    ],
    ids=["forecast", "done", "nothing to do", "no nodes"],
)
@pytest.mark.parametrize("fails", [False, True])
def test_a_forecast_of_changed_nodes_is_marked(
    run: Run, check_mode: bool, result: dict[str, t.Any], marked: bool, fails: bool
) -> None:
    def stage(*_given: t.Any) -> dict[str, t.Any]:
        if fails:
            raise NodesFailed("assigning", {"n1": "why"}, result)
        return result

    assert run(stage, _ansible_check_mode=check_mode).get("check_mode", False) is marked


def test_failures_carry_the_result_so_far(run: Run) -> None:
    def stage(*_given: t.Any) -> dict[str, t.Any]:
        raise NodesFailed("assigning", {"n1": "why"}, {"changed": True, "nodes": {"n1": {}}, "diff": []})

    result = run(stage)
    assert result["failed"] and result["msg"] == "assigning: 1 node failed.\nn1: why"
    assert (result["changed"], result["nodes"], "diff" in result) == (True, {"n1": {}}, False)


def test_missing_library(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(*_given: t.Any, **_options: t.Any) -> t.NoReturn:
        raise MissingLibrary("the Python package kubernetes could not be imported")

    monkeypatch.setattr(controller_module, "Session", absent)
    result = run(lambda *_given: {})
    assert "could not be imported. Failed to import the required Python library (kubernetes)" in result["msg"]


@pytest.mark.parametrize("fails", [False, True])
def test_warnings(run: Run, monkeypatch: pytest.MonkeyPatch, fails: bool) -> None:
    """Those of the API server and of the stage are shown as warnings of Ansible and are not in the result."""
    warned: list[str] = []
    monkeypatch.setattr(controller_module.AnsibleModule, "warn", lambda _module, text: warned.append(text))
    found = {"changed": True, "warnings": ["not in sync"]}

    def stage(session: t.Any, *_given: t.Any) -> dict[str, t.Any]:
        session.request("GET", "/api")
        if fails:
            raise ClusterError("nothing else", found)
        return found

    with Server(Answer(headers=[("Warning", '299 - "spec.configSource: deprecated"')])) as server:
        result = run(stage, host=server.url)
    assert result.get("failed", False) is fails
    assert sorted(warned) == ["API server: spec.configSource: deprecated", "not in sync"]


def test_secrets_are_in_no_output(run: Run) -> None:
    """Neither secrets in options nor those in a kubeconfig that is set as a mapping."""

    def stage(*_given: t.Any) -> dict[str, t.Any]:
        raise ClusterError("seen hunter2 and swordfish and xyzzy-plugh")

    user = {"token": "swordfish", "client-key-data": "xyzzy-plugh"}
    config = kubeconfig({"x": "http://h"}, {"token": "swordfish"})
    config["users"].append({"name": "y", "user": user})
    text = json.dumps(run(stage, api_key="hunter2", kubeconfig=config))
    assert "seen ****" in text
    assert not [secret for secret in ("hunter2", "swordfish", "xyzzy-plugh") if secret in text]


def test_results_are_not_shared() -> None:
    ClusterError("one").result["key"] = 1
    assert ClusterError("two").result == {}
    assert ApiError(404, "gone").result == {}


class Attempts:
    """Raises the given errors in turn, repeats the last one, then returns."""

    def __init__(self, *failures: Exception, forever: bool = False) -> None:
        self.failures = itertools.chain(failures, itertools.repeat(failures[-1])) if forever else iter(failures)
        self.count = 0

    def __call__(self) -> str:
        self.count += 1
        for error in self.failures:
            raise error
        return "done"


def busy(after: float | None = None) -> ApiError:
    return ApiError(503, "busy", retry_after=after, transient=True)


def persist(attempt: t.Callable[[], str], budget: float, clock: Clock) -> str:
    return errors.persist(attempt, budget, sleep=clock.sleep, clock=clock.monotonic)


@pytest.mark.parametrize(("failures", "budget"), [(0, 0), (3, 60)])
def test_repeated_until_it_succeeds(failures: int, budget: float) -> None:
    clock, attempt = Clock(), Attempts(*[busy()] * failures)
    assert persist(attempt, budget, clock) == "done"
    assert (attempt.count, len(clock.slept)) == (failures + 1, failures)


@pytest.mark.parametrize(
    ("error", "budget"), [(busy(), 0), (ApiError(404, "no"), 60), (ClusterError("other"), 60), (ValueError("no"), 60)]
)
def test_one_try(error: Exception, budget: float) -> None:
    """Without a budget, and for what does not pass."""
    clock, attempt = Clock(), Attempts(error, forever=True)
    with pytest.raises(type(error)):
        persist(attempt, budget, clock)
    assert (attempt.count, clock.slept) == (1, [])


def test_pauses_double_up_to_a_limit() -> None:
    steps = [0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0, 5.0]
    for pause, step in zip(errors.pauses(), steps):
        assert step / 2 <= pause <= step


def test_pauses_of_many_clients_differ() -> None:
    assert len({next(errors.pauses()) for _client in range(20)}) > 10


def test_gives_up_within_the_budget_with_the_last_error() -> None:
    last = busy()
    clock, attempt = Clock(), Attempts(busy(), busy(), last, forever=True)
    with pytest.raises(ApiError) as caught:
        persist(attempt, 30, clock)
    assert caught.value is last
    assert 25 <= clock.now - 1000 <= 30


def test_the_longer_of_the_pauses_counts() -> None:
    clock = Clock()
    persist(Attempts(busy(after=7), busy(after=0)), 60, clock)
    assert clock.slept[0] == 7
    assert 0.2 <= clock.slept[1] <= 0.4


def test_outcomes_in_the_order_of_the_items() -> None:
    """Independent of the order in which the work ends: here the first item waits for the last."""
    last_done = threading.Event()

    def work(item: int) -> int:
        if item == 0:
            assert last_done.wait(10)
        if item == 4:
            last_done.set()
        return item * 10

    found = [(outcome.item, outcome.value, outcome.error) for outcome in parallel.each(range(5), work, 8)]
    assert found == [(item, item * 10, None) for item in range(5)]


@pytest.mark.parametrize(("concurrency", "expected"), [(1, 1), (3, 3), (100, 6), (0, 1), (-1, 1)])
def test_no_more_at_once_than_asked_and_no_less(concurrency: int, expected: int) -> None:
    together = threading.Barrier(expected, timeout=60)
    lock = threading.Lock()
    running, most = 0, 0

    def work(_item: int) -> None:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        together.wait()
        with lock:
            running -= 1

    parallel.each(range(6), work, concurrency)
    assert most == expected


@pytest.mark.parametrize(("items", "workers"), [(1, 1), (4, 1), (5, 2), (10, 3), (100, 8)])
def test_fewer_workers_for_what_is_short(items: int, workers: int) -> None:
    """No worker has fewer items than justify its connection, if there are enough items."""
    together = threading.Barrier(workers, timeout=60)
    used: set[int] = set()

    def work(item: int) -> None:
        used.add(threading.get_ident())
        if item < workers:
            together.wait()

    parallel.each(range(items), work, 8, parallel.SHORT)
    assert len(used) == workers


def test_nothing_to_do() -> None:
    assert parallel.each([], pytest.fail, 8) == []


def test_one_failure_does_not_stop_the_others() -> None:
    errors = {2: ApiError(403, "no"), 3: ClusterError("neither")}

    def work(item: int) -> int:
        if item in errors:
            raise errors[item]
        return item

    outcomes = parallel.each([1, 2, 3, 4], work, 2)
    assert [outcome.value for outcome in outcomes] == [1, None, None, 4]
    assert {outcome.item: outcome.error for outcome in outcomes if outcome.error} == errors


@pytest.mark.parametrize("error", [ApiError(401, "who are you"), ValueError("defect"), KeyboardInterrupt()])
def test_hopeless_failures_end_everything(error: BaseException) -> None:
    """Queued requests are not sent: only a few of 50 items start."""
    begun = []

    def work(item: int) -> None:
        begun.append(item)
        if item == 0:
            raise error
        release.wait(0.01)

    release = threading.Event()
    with pytest.raises(type(error)):
        parallel.each(range(50), work, 2)
    assert 0 in begun and len(begun) < 25


def test_the_result_of_an_outcome() -> None:
    assert parallel.Outcome("n1", value=3).result() == 3
    assert parallel.Outcome("n1").why == "no answer"
    failed: parallel.Outcome[str, int] = parallel.Outcome("n1", error=ApiError(404, "gone"))
    assert failed.why == "gone"
    with pytest.raises(ApiError, match="gone"):
        failed.result()


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1970-01-01T00:01:00Z", 60.0),
        ("1970-01-01T00:01:00.250000Z", 60.25),
        ("1970-01-01T01:01:00+01:00", 60.0),
        (None, None),
        ("", None),
        ("soon", None),
        (7, None),
    ],
)
def test_parse(text: t.Any, seconds: float | None) -> None:
    assert timestamps.parse(text) == seconds


def test_text() -> None:
    assert timestamps.text(60.25) == "1970-01-01T00:01:00.250000Z"
    assert timestamps.parse(timestamps.text(1_800_000_000.5)) == 1_800_000_000.5


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(-3, "0 s"), (0.4, "0 s"), (119, "119 s"), (120, "2 min"), (7199, "120 min"), (7200, "2 h"), (86400, "24 h")],
)
def test_span(seconds: float, words: str) -> None:
    assert timestamps.span(seconds) == words


@pytest.fixture
def own(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock of this machine."""
    made = Clock()
    monkeypatch.setattr(timestamps, "time", made)
    return made


def test_the_clock_of_a_server(own: Clock) -> None:
    """Only the monotonic clock counts between two answers. The last answer counts, if it has a date."""
    clock = timestamps.ServerClock()
    assert clock.now() is None
    clock.note("Sun, 22 Nov 2026 15:00:00 GMT")
    own.now += 7
    began = timestamps.parse("2026-11-22T15:00:00Z") or 0.0
    assert clock.now() == began + 7.5
    for date in (None, "", "yesterday", "Sun, 99 Nov 2026 15:00:00 GMT", 7):
        clock.note(date)
    assert clock.now() == began + 7.5
    clock.note("Sun, 22 Nov 2026 14:00:00 GMT")
    assert clock.now() == began - 3600 + 0.5
    for date in (None, "", "yesterday"):
        # A server without a date is assumed to have that of this machine.
        clock = timestamps.ServerClock()
        clock.note(date)
        own.now += 7
        assert clock.now() == own.time()
