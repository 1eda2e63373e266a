# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How the stage verify waits: lists, watches, timeouts and outages of the API server, in simulated time."""

from __future__ import annotations

import json
import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import (
    ApiError,
    ClusterError,
    NodesFailed,
)
from tests.sim.api.direct import CSRS, HEARTBEATS, REVIEWS, Clock, Direct
from tests.support.api.calls import CONFIGMAPS, NODES
from tests.support.api.objects import HEADER, node, place, status
from tests.support.api.verifying import WAIT_SLEEP, A, cluster, done, fail, heartbeat, noticed, run, turn, waiting

DOWNLOAD = "failed to sync: failed to download config, see Kubelet log for details"


@pytest.mark.parametrize("count", [1, 3, 40])
def test_one_list_a_poll_whatever_the_number_of_nodes(clock: Clock, count: int) -> None:
    names = [f"n{number}" for number in range(count)]
    api = cluster(*(waiting(name) for name in names))
    clock.at(12, turn(api, *(done(name) for name in names)))
    result = run(api, dict.fromkeys(names, place()))
    assert result["summary"]["states"] == {"active": count}
    looks = api.count("GET", NODES)
    assert looks == 1 + len(clock.slept) == 38
    assert api.count("GET", f"{CONFIGMAPS}/config-a") == 1
    assert len(api.requests) == looks + 1 + count
    # A tenth of the wait before it: what takes a second does not cost two.
    assert clock.slept[:12] == pytest.approx([*[0.1] * 11, 0.11])
    assert noticed(clock, 12)


def watched(clock: Clock, api: Direct, turns: t.Mapping[int, t.Sequence[str]]) -> None:
    """Let the user watch nodes; those of `turns` are done after so many seconds."""
    began, api.nodes_revision = clock.now, ""

    def events(_ask: t.Any) -> str:
        now = clock.now
        clock.sleep(1)
        names = [name for second, given in turns.items() if now < began + second <= clock.now for name in given]
        changes = [one for name in names for one in (waiting(name), done(name))]
        return "".join(json.dumps({"type": "MODIFIED", "object": one}) + "\n" for one in changes)

    api.answers[f"WATCH {NODES}*"] = events


def test_one_watch_a_second_for_many_nodes(clock: Clock) -> None:
    """Nodes that change are judged, and the others are not read again."""
    names = [f"n{number}" for number in range(40)]
    api = cluster(*(waiting(name) for name in names))
    watched(clock, api, {3: [*names[:20], "another"], 5: names[20:]})
    result = run(api, dict.fromkeys(names, place()))
    assert result["summary"]["states"] == {"active": 40}
    assert (api.count("GET", NODES), api.count("WATCH", NODES)) == (1, 5)
    assert len(api.requests) == 1 + 5 + 1 + 40


@pytest.mark.parametrize("status", [403, 410])
def test_nodes_that_cannot_be_watched_are_read_again(clock: Clock, status: int) -> None:
    """A user who may not watch them is not asked for that again. After 410, each LIST begins anew."""
    names = [f"n{number}" for number in range(40)]
    api = cluster(*(waiting(name) for name in names))
    api.nodes_revision = ""
    refusal = json.dumps({"type": "ERROR", "object": {"code": 410}}) + "\n"

    def refused(_ask: t.Any) -> t.Any:
        clock.sleep(1)
        return ApiError(403, "no", "Forbidden") if status == 403 else refusal

    api.answers[f"WATCH {NODES}*"] = refused
    clock.at(3, turn(api, *(done(name) for name in names)))
    result = run(api, dict.fromkeys(names, place()))
    assert result["summary"]["states"] == {"active": 40}
    looks = api.count("GET", NODES)
    assert api.count("WATCH", NODES) == (1 if status == 403 else looks - 1) and looks > 3


def test_no_nodes_to_wait_for(clock: Clock) -> None:
    """A plan that changes nothing has no sources; a list of nodes that is empty is a mistake."""
    api = cluster()
    assert run(api, {})["nodes"] == {}
    assert api.requests == []
    with pytest.raises(ClusterError, match="nodes is an empty list"):
        run(api, nodes=[])


def test_everything_is_listed_at_the_timeout(clock: Clock) -> None:
    """With the cause of each, from one LIST of heartbeats and one question for each that cannot fetch."""
    api = cluster(
        waiting("alive"),
        waiting("dead"),
        waiting("unknown"),
        waiting("deaf", config=None),
        node("unready", place(), status(A, A), ready="False"),
        waiting("forbidden", config=status(error=DOWNLOAD)),
        done("good"),
    )
    api.renewed = {"alive": heartbeat(-57), "dead": heartbeat(10), "unready": heartbeat(-57), "good": heartbeat(999)}
    api.answers[f"POST {REVIEWS}"] = {"status": {"allowed": False, "reason": "no relationship found"}}
    failed = fail(api, dict.fromkeys(api.nodes, place()))
    assert clock.now == 1060
    assert {name: row["state"] for name, row in failed.result["nodes"].items()} == {
        "alive": "not_restarting",
        "dead": "silent",
        "unknown": "pending",
        "deaf": "not_listening",
        "unready": "not_ready",
        "forbidden": "sync_error",
        "good": "active",
    }
    assert "After 60 s its kubelet is alive but has not restarted" in failed.failures["alive"]
    assert "no heartbeat for 70 s" in failed.failures["dead"]
    assert "gave up after 60 s" in failed.failures["unknown"]
    assert "system:node:forbidden is forbidden to read it (no relationship found)" in failed.failures["forbidden"]
    assert (api.count("GET", HEARTBEATS), api.count("POST", REVIEWS)) == (1, 1)
    assert (failed.result["summary"]["ok"], failed.result["summary"]["waited_seconds"]) == (1, 60.0)


@pytest.mark.parametrize(
    ("given", "may", "asked", "end"),
    [
        ({"serverTLSBootstrap": True}, True, 1, "run `kubectl certificate approve csr-x`"),
        ({"serverTLSBootstrap": True}, False, 1, "`kubectl get csr`, and run `kubectl certificate approve <name>`"),
        ({"serverTLSBootstrap": False}, True, 0, "(gave up after 60 s)"),
        ({}, True, 0, "(gave up after 60 s)"),
    ],
)
def test_a_certificate_that_waits_is_named_at_the_timeout(
    clock: Clock, given: dict[str, t.Any], may: bool, asked: int, end: str
) -> None:
    api = cluster(done(), content=json.dumps({**HEADER, **given}))
    api.live["n1"] = ApiError(503, "remote error: tls: internal error", transient=True)
    spec = {"signerName": "kubernetes.io/kubelet-serving", "username": "system:node:n1"}
    waiting_one = {"items": [{"metadata": {"name": "csr-x"}, "spec": spec}]}
    api.answers[f"GET {CSRS}"] = waiting_one if may else ApiError(403, "forbidden")
    failed = fail(api, {"n1": place()})
    assert failed.result["nodes"]["n1"]["state"] == "not_ready"
    assert failed.failures["n1"].endswith(end)
    assert api.count("GET", CSRS) == asked


def test_no_time_to_wait_is_a_look(clock: Clock) -> None:
    api = cluster(waiting())
    fail(api, {"n1": place()}, wait_timeout=0)
    assert (api.count("GET", NODES), clock.slept) == (1, [])
    assert run(cluster(done()), {"n1": place()}, wait_timeout=0)["summary"]["ok"] == 1


def test_the_last_sleep_ends_at_the_timeout(clock: Clock) -> None:
    """What comes up during it is seen."""
    fail(cluster(waiting()), {"n1": place()}, wait_timeout=5)
    assert (sum(clock.slept), clock.now) == pytest.approx((5, 1005))
    api = cluster(waiting())
    clock.at(9.5, turn(api, done()))
    assert run(api, {"n1": place()}, wait_timeout=5)["summary"]["ok"] == 1


def test_a_slow_api_server_is_asked_less_often(clock: Clock) -> None:
    """At most a third of the time is spent on requests."""
    api = cluster(waiting())

    def slow() -> None:
        clock.now += 5

    api.look = slow
    fail(api, {"n1": place()}, wait_timeout=60)
    assert clock.slept == [20, 10, 10]


AWAY = ApiError(0, "no usable answer from the API server", transient=True)


def test_a_passing_outage_of_the_api_server(clock: Clock) -> None:
    api = cluster(waiting())
    clock.at(4, lambda: api.answers.update({"*": AWAY}))
    clock.at(20, lambda: api.answers.pop("*"))
    clock.at(30, turn(api, done()))
    assert run(api, {"n1": place()})["nodes"]["n1"]["ok"]
    assert noticed(clock, 30) and max(clock.slept) == WAIT_SLEEP


def test_an_outage_of_the_api_server_until_the_end(clock: Clock) -> None:
    """Each node is named with its last verdict, and no further request is sent."""
    api = cluster(waiting("n1"), done("n2"), waiting("n3"))
    clock.at(4, lambda: api.answers.update({"*": AWAY}))
    failed = fail(api, dict.fromkeys(["n1", "n2", "n3"], place()))
    assert set(failed.failures) == {"n1", "n3"}
    assert failed.failures["n1"].startswith("no usable answer from the API server; last seen: waiting for its kubelet")
    assert (clock.now, api.count("GET", HEARTBEATS)) == (1060, 0)


def test_no_api_server_at_the_start(clock: Clock) -> None:
    api = cluster(waiting("n1"), waiting("n2"))
    api.answers["*"] = AWAY
    failed = fail(api, dict.fromkeys(["n1", "n2"], place()))
    assert set(failed.failures) == {"n1", "n2"}
    assert "not verified: no usable answer" in failed.failures["n1"]


def test_permission_lost_while_waiting(clock: Clock) -> None:
    """Waiting does not restore it; the last verdicts are kept."""
    api = cluster(waiting("n1"), done("n2"))
    clock.at(4, lambda: api.answers.update({"*": ApiError(403, "forbidden")}))
    with pytest.raises(NodesFailed, match="n1: forbidden; last seen: waiting") as caught:
        run(api, dict.fromkeys(["n1", "n2"], place()))
    assert (noticed(clock, 4), caught.value.result["nodes"]["n2"]["ok"]) == (True, True)
