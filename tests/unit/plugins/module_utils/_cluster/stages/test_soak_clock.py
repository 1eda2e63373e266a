# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stage soak: a kubelet that restarts, and the clock of its node that is set, each without and with the other."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api import timestamps
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import ApiError
from tests.sim.api.direct import Clock, Direct
from tests.support.objects import node, status
from tests.support.soaking import A, cluster, done, fail, run, state, stopped

REFUSED = ApiError(503, "connection refused", transient=True)
HOUR = 3600.0
# When a kubelet was started that has run for a minute, and one that has just become Ready. Soaks begin at 1000.
OLD, YOUNG = 940.0, 995.0


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return stopped(monkeypatch)


def jump(second: float, seconds: float) -> t.Callable[[Clock, Direct], None]:
    """Set the clock of the node."""
    return lambda clock, api: clock.at(second, lambda: api.fast.update(n1=seconds))


def restart(second: float) -> t.Callable[[Clock, Direct], None]:
    """Start the kubelet again."""
    return lambda clock, api: clock.at(second, lambda: api.births.update(n1=1000.0 + second))


def away(second: float, until: float, birth: float) -> t.Callable[[Clock, Direct], None]:
    """Let the kubelet not answer for a while."""

    def set_up(clock: Clock, api: Direct) -> None:
        clock.at(second, lambda: api.births.update(n1=REFUSED))
        clock.at(until, lambda: api.births.update(n1=birth))

    return set_up


def crash_loop(clock: Clock, api: Direct) -> None:
    """Start the kubelet again every 8 s."""
    for second in range(8, 120, 8):
        restart(second)(clock, api)


Acts = tuple[t.Callable[[Clock, Direct], None], ...]
SAME: dict[str, Acts] = {
    "nothing": (),
    "ahead": (jump(12, HOUR),),
    "ahead, a little": (jump(12, 5.0),),
    "back": (jump(12, -HOUR),),
    "back, a little": (jump(12, -5.0),),
    "ahead and back": (jump(12, HOUR), jump(42, 0.0)),
    "back, seen by the last look": (jump(59, -HOUR),),
    "back while the kubelet does not answer": (away(28, 38, OLD), jump(33, -HOUR)),
}
OTHER: dict[str, Acts] = {
    "restart": (restart(12),),
    "restart that the last look sees": (restart(58),),
    "restart, then ahead": (restart(12), jump(20, HOUR)),
    "back, then restart": (jump(12, -HOUR), restart(20)),
    "restart, and back by as much": (restart(12), jump(14, -72.0)),
    "crash loop": (crash_loop,),
    "crash loop with a jump": (crash_loop, jump(12, HOUR)),
}


@pytest.mark.parametrize("acts", SAME.values(), ids=SAME)
@pytest.mark.fault(case=21)
def test_a_clock_that_is_set_is_no_restart(clock: Clock, acts: Acts) -> None:
    api = cluster(clock, done())
    api.births["n1"] = OLD
    for act in acts:
        act(clock, api)
    result = run(api)
    assert result["nodes"]["n1"]["ok"] and result["warnings"] == []


@pytest.mark.parametrize("acts", OTHER.values(), ids=OTHER)
@pytest.mark.fault(case=21)
def test_a_restart_is_seen_whatever_the_clock(clock: Clock, acts: Acts) -> None:
    api = cluster(clock, done())
    api.births["n1"] = OLD
    for act in acts:
        act(clock, api)
    assert state(fail(api)) == "restarted"


@pytest.mark.parametrize("ahead", [0.0, HOUR, -HOUR])
def test_a_young_kubelet_that_restarts(clock: Clock, ahead: float) -> None:
    """Its successor has more relists than it had, but too few for the time since."""
    api = cluster(clock, done())
    api.births["n1"] = YOUNG
    restart(8)(clock, api)
    jump(10, ahead)(clock, api)
    assert state(fail(api)) == "restarted"


def test_a_kubelet_that_does_not_answer_after_a_jump(clock: Clock) -> None:
    api = cluster(clock, done())
    away(12, 200, OLD)(clock, api)
    jump(12, HOUR)(clock, api)
    assert state(fail(api, seconds=300)) == "not_ready"


@pytest.mark.parametrize(
    ("silent", "birth"), [pytest.param({"n1"}, OLD, id="no counter"), pytest.param(set(), 1000.0, id="no relist yet")]
)
def test_what_cannot_be_known_fails_no_node(clock: Clock, silent: set[str], birth: float) -> None:
    """Without a counter, or with one that had just begun, the start alone does not show a jump from a restart."""
    api = cluster(clock, done("n1"), done("n2"))
    api.silent, api.births["n1"] = silent, birth
    jump(12, HOUR)(clock, api)
    result = run(api)
    assert result["summary"]["ok"] == 2
    (warning,) = result["warnings"]
    assert warning.startswith("Node n1: whether its kubelet restarted during the soak is unknown: ")
    assert "journalctl -u kubelet" in warning


def reported(started: float, heartbeat: float) -> dict[str, t.Any]:
    """Return a node whose guard reports the start of the kubelet; both times by the clock of the node."""
    begun = timestamps.text(started)[:19] + "Z"
    found = node("n1", marked=A, reported={**status(A, A), "reason": "passed its trial", "started": begun})
    found["status"]["conditions"][1]["lastHeartbeatTime"] = timestamps.text(heartbeat)[:19] + "Z"
    return found


@pytest.mark.parametrize("ahead", [HOUR, -HOUR])
@pytest.mark.parametrize("anew", [True, False])
@pytest.mark.fault(case=21)
def test_a_jump_with_a_guard(clock: Clock, ahead: float, anew: bool) -> None:
    """The guard reports the start anew during a trial. After it the start stays, and the heartbeats are older."""
    began = clock.time()
    api = cluster(clock, reported(began - 60, began))
    api.births["n1"] = OLD
    jump(12, ahead)(clock, api)
    started = began - 60 + (ahead if anew else 0.0)
    clock.at(13, lambda: api.nodes.update(n1=reported(started, began + 12 + ahead)))
    assert run(api)["summary"]["ok"] == 1


def test_the_report_of_a_guard_leads_to_a_look(clock: Clock) -> None:
    """At the next poll, not at the next look at all processes; one look for each report."""
    began = clock.time()
    api = cluster(clock, reported(began - 60, began))
    api.births["n1"] = OLD
    jump(7, HOUR)(clock, api)
    clock.at(8, lambda: api.nodes.update(n1=reported(began - 60 + HOUR, began + 8 + HOUR)))
    restart(17)(clock, api)
    clock.at(18, lambda: api.nodes.update(n1=reported(began + 17 + HOUR, began + 18 + HOUR)))
    assert (state(fail(api)), clock.now) == ("restarted", 1020)
    assert api.count("GET", "/api/v1/nodes/n1/proxy/metrics") == 3


def test_a_heartbeat_by_a_clock_that_was_set_back(clock: Clock) -> None:
    """It is older than the last one before the soak, and one all the same."""
    api = cluster(clock, done())
    api.births["n1"] = OLD
    jump(1, -HOUR)(clock, api)
    assert run(api)["summary"]["ok"] == 1
