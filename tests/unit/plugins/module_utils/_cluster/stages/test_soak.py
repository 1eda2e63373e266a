# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stage soak, on a cluster in memory in simulated time: kubelets restart, and clocks of nodes are set."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api import timestamps
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import ApiError, ClusterError
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.objects import lease_objects, pods
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.stages import soak
from tests.sim.api.direct import HEARTBEATS, Clock, Direct
from tests.support.api.calls import CONFIGMAPS, NODES
from tests.support.api.objects import live, node, place, pod, status
from tests.support.api.soaking import OWNED, A, cluster, done, fail, run, snapshot, state

AWAY = ApiError(0, "no usable answer from the API server", transient=True)
REFUSED = ApiError(503, "connection refused", transient=True)


def proxied(api: Direct, name: str) -> list[int]:
    """Return how often the metrics, the configuration and the health of a kubelet were asked for."""
    return [api.count("GET", f"{NODES}/{name}/proxy/{endpoint}") for endpoint in ("metrics", "configz", "healthz")]


@pytest.mark.parametrize("count", [1, 12])
def test_requests(clock: Clock, count: int) -> None:
    """One LIST for each poll; one GET of the process at the start, every half minute and at the end."""
    api = cluster(clock, *(done(f"n{number}") for number in range(count)))
    result = run(api)
    counts = {"nodes": count, "ok": count, "failed": 0, "states": {"active": count}}
    assert result["summary"] == {**counts, "waited_seconds": 61.0}
    assert result["nodes"]["n0"]["pods"] == {"lost": [], "restarted": [], "unready": [], "reported": []}
    assert proxied(api, "n0") == [3, 1, 3]
    # After 0, 5, ... 60 s, and at the beginning.
    counted = [api.count("GET", path) for path in (NODES, HEARTBEATS, f"{CONFIGMAPS}/config-a")]
    assert counted == [14, 2, 1]
    assert len(api.requests) == 14 + 2 + 1 + 7 * count


def test_no_time_to_soak(clock: Clock) -> None:
    """Everything is checked once, without a wait and without a comparison to an earlier state."""
    api = cluster(clock, done(), pods=[pod("a", **OWNED)])
    assert run(api, seconds=0, pods=snapshot(api))["summary"]["ok"] == 1
    assert (clock.slept, api.count("GET", HEARTBEATS)) == ([], 0)
    assert (api.count("GET", NODES), api.count("GET", pods.PODS)) == (1, 1)
    assert proxied(api, "n1") == [0, 0, 1]
    with pytest.raises(ClusterError, match="nodes is an empty list"):
        run(api, nodes=[])


def test_the_kubelet_restarted(clock: Clock) -> None:
    """Found within half a minute; the other node goes on. When all have failed, nothing is waited for."""
    api = cluster(clock, done("n1"), done("n2"))
    clock.at(12, lambda: api.births.update(n1=1012.0))
    failed = fail(api)
    assert set(failed.failures) == {"n1"} and state(failed) == "restarted"
    assert "its kubelet restarted during the soak. See `journalctl -u kubelet`" in failed.failures["n1"]
    assert failed.result["nodes"]["n2"]["ok"] and clock.now >= 1060
    began = clock.now
    clock.at(began - 1000 + 12, lambda: api.births.update(n1=began + 12))
    fail(api, nodes=["n1"], seconds=600)
    assert clock.now <= began + 35


FAILED = "failed to validate config, see Kubelet log for details"
Change = t.Callable[[Direct], None]


@pytest.mark.parametrize(
    ("change", "found", "second"),
    [
        (lambda api: api.nodes.update(n1=node("n1", place("theirs"), status(A, A))), "reassigned", 1015),
        (lambda api: api.nodes.update(n1=node("n1", place(), status(A, error=FAILED))), "fell_back", 1015),
        (lambda api: api.live.update(n1=live(maxPods=110)), "differs", 1060),
    ],
)
def test_a_configuration_that_does_not_stay(clock: Clock, change: Change, found: str, second: float) -> None:
    """Another user assigns another source, the kubelet falls back, or what is live changes."""
    api = cluster(clock, done())
    clock.at(12, lambda: change(api))
    failed = fail(api, sources={"n1": place()})
    assert (state(failed), clock.now) == (found, second)
    assert found != "differs" or failed.result["nodes"]["n1"]["differences"][0]["path"] == "maxPods"


@pytest.mark.parametrize(
    "change", [lambda api: api.nodes.update(n1=done(ready="False")), lambda api: api.births.update(n1=REFUSED)]
)
def test_unwell_for_long(clock: Clock, change: Change) -> None:
    """It is not waited for until the end of a long soak."""
    api = cluster(clock, done())
    clock.at(12, lambda: change(api))
    failed = fail(api, seconds=3600)
    assert state(failed) == "not_ready" and "60 s; see `journalctl -u kubelet`" in failed.failures["n1"]
    assert 1012 + soak.UNWELL <= clock.now <= 1012 + soak.UNWELL + 2 * soak.LOOK


def test_a_kubelet_that_is_dead_from_the_beginning(clock: Clock) -> None:
    api = cluster(clock, done("n1"), done("n2"))
    api.births["n1"] = REFUSED
    assert fail(api).failures == {"n1": "its kubelet did not answer at the start of the soak: connection refused"}


def test_heartbeats_that_may_not_be_read(clock: Clock) -> None:
    """Reported at the start, not after the soak."""
    api = cluster(clock, done())
    api.answers[f"GET {HEARTBEATS}"] = ApiError(403, "cannot list leases")
    assert "not soaked: cannot list leases" in fail(api).failures["n1"]
    assert clock.slept == []


def test_healthz_has_to_answer_in_a_row(clock: Clock) -> None:
    """One answer is none: it fails in the second of three rounds, and all begins again."""
    api = cluster(clock, done())
    clock.at(60.5, lambda: api.sick.update(n1="etcd is ill"))
    clock.at(64, api.sick.clear)
    assert run(api)["summary"]["ok"] == 1
    assert clock.now >= 1065
    api.sick["n1"] = ApiError(500, "healthz check failed", transient=True)
    assert "its kubelet does not answer the API server (healthz check failed)" in fail(api).failures["n1"]


def test_a_heartbeat_since_the_beginning(clock: Clock) -> None:
    """A Node that is Ready only by an old heartbeat."""
    api = cluster(clock, done())
    old = api.renewed
    for second in range(10, 600, 10):
        clock.at(second, lambda: setattr(api, "renewed", old))
    words = "its soak is over, and its kubelet has sent no heartbeat since the soak began: run again when the node is"
    assert fail(api).failures["n1"] == f"{words} stable"
    assert clock.now == pytest.approx(1120, abs=5)


def test_a_heartbeat_of_the_node_object(clock: Clock) -> None:
    """Before 1.14 there are no Leases of nodes."""
    api = cluster(clock, done())
    api.renewed = {}
    clock.at(9, lambda: api.nodes["n1"]["status"]["conditions"][1].update(lastHeartbeatTime="2026-01-01T00:00:09Z"))
    for second in range(10, 600, 10):
        clock.at(second + 0.1, lambda: setattr(api, "renewed", {}))
    assert run(api)["summary"]["ok"] == 1


def test_an_outage_of_the_api_server_until_the_end(clock: Clock) -> None:
    """The last verdict on each is reported; a node that had failed before has its own cause."""
    api = cluster(clock, done("n1"), done("n2"))
    clock.at(12, lambda: api.nodes.update(n2=node("n2", place("theirs"), status(A, A))))
    clock.at(22, lambda: api.answers.update({"*": AWAY}))
    failed = fail(api, sources={"n1": place(), "n2": place()})
    assert failed.failures["n1"] == (
        "no usable answer from the API server; last seen: runs kube-system/config-a key kubelet. "
        "Whether it stayed so is unknown: run again when the node is stable"
    )
    assert (state(failed), state(failed, "n2")) == ("pending", "reassigned")
    assert clock.now == pytest.approx(1120, abs=6)


def test_permission_lost(clock: Clock) -> None:
    """Waiting does not restore it."""
    api = cluster(clock, done())
    clock.at(12, lambda: api.answers.update({"*": ApiError(403, "forbidden")}))
    assert fail(api).failures["n1"].startswith("forbidden; last seen: runs kube-system/config-a")
    assert clock.now == 1015


LEASE = {"name": "rollout", "namespace": "kube-system", "uid": "u", "holder": "me", "duration": 30}


def test_the_lease_cannot_be_renewed_for_a_moment(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    def renew(_session: t.Any, _lease: dict[str, t.Any]) -> None:
        if 1020 < clock.now < 1040:
            raise AWAY

    monkeypatch.setattr(lease_objects, "renew", renew)
    assert run(cluster(clock, done()), lease=LEASE)["summary"]["ok"] == 1


HOUR = 3600.0
# When a kubelet was started that has run for a minute, and one that has just become Ready. Soaks begin at 1000.
OLD, YOUNG = 940.0, 995.0


Act = t.Callable[[Clock, Direct], None]


def jump(second: float, seconds: float) -> Act:
    """Set the clock of the node."""
    return lambda clock, api: clock.at(second, lambda: api.fast.update(n1=seconds))


def restart(second: float) -> Act:
    """Start the kubelet again."""
    return lambda clock, api: clock.at(second, lambda: api.births.update(n1=1000.0 + second))


def away(second: float, until: float, birth: float, answer: ApiError = REFUSED) -> Act:
    """Let the kubelet not answer for a while."""

    def set_up(clock: Clock, api: Direct) -> None:
        clock.at(second, lambda: api.births.update(n1=answer))
        clock.at(until, lambda: api.births.update(n1=birth))

    return set_up


def cut_off(second: float, until: float) -> Act:
    """Let the API server not answer for a while."""

    def set_up(clock: Clock, api: Direct) -> None:
        clock.at(second, lambda: api.answers.update({"*": AWAY}))
        clock.at(until, lambda: api.answers.pop("*"))

    return set_up


def unready(second: float, until: float) -> Act:
    """Let the node not be Ready for a while."""

    def set_up(clock: Clock, api: Direct) -> None:
        clock.at(second, lambda: api.nodes.update(n1=done(ready="False")))
        clock.at(until, lambda: api.nodes.update(n1=done()))

    return set_up


def crash_loop(clock: Clock, api: Direct) -> None:
    """Start the kubelet again every 8 s."""
    for second in range(8, 120, 8):
        restart(second)(clock, api)


Acts = tuple[Act, ...]
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
OTHER: dict[str, tuple[float, Acts]] = {
    "restart that the last look sees": (OLD, (restart(58),)),
    "restart, then ahead": (OLD, (restart(12), jump(20, HOUR))),
    "back, then restart": (OLD, (jump(12, -HOUR), restart(20))),
    "restart, and back by as much": (OLD, (restart(12), jump(14, -72.0))),
    "crash loop": (OLD, (crash_loop,)),
    "crash loop with a jump": (OLD, (crash_loop, jump(12, HOUR))),
    # Its successor has more relists than it had, but too few for the time since.
    "restart of a young kubelet": (YOUNG, (restart(8),)),
    "restart of a young kubelet, then ahead": (YOUNG, (restart(8), jump(10, HOUR))),
    "restart of a young kubelet, then back": (YOUNG, (restart(8), jump(10, -HOUR))),
}


def acted(clock: Clock, birth: float, *acts: Act) -> Direct:
    """Return a cluster whose kubelet was started at `birth`, and to which this will happen."""
    api = cluster(clock, done("n1"), done("n2"))
    api.births["n1"] = birth
    for act in acts:
        act(clock, api)
    return api


@pytest.mark.parametrize(
    ("seconds", "acts", "found"),
    [
        # Within the soak, shortly after its end, and long after it.
        (60, (unready(40, 41),), "active"),
        (60, (unready(40, 70),), "active"),
        (60, (unready(40, 400),), "not_ready"),
        (60, (cut_off(3, 50),), "active"),
        # Longer than UNWELL: no state of the kubelets is known meanwhile.
        (60, (cut_off(50, 112),), "active"),
        # A node that was not Ready before and after the API server was away may have been Ready in between.
        (240, (unready(18, 120), cut_off(22, 100)), "active"),
        # Between the LIST and the requests to kubelets, it is not a failure of the kubelets.
        (240, (away(28, 200, 1000.0, AWAY),), "active"),
    ],
)
def test_outages(clock: Clock, seconds: int, acts: Acts, found: str) -> None:
    api = acted(clock, 1000.0, *acts)
    if found == "active":
        assert run(api, seconds=seconds)["summary"]["ok"] == 2
    else:
        assert state(fail(api, seconds=seconds)) == found


@pytest.mark.parametrize("acts", SAME.values(), ids=SAME)
@pytest.mark.fault(case=21)
def test_a_clock_that_is_set_is_no_restart(clock: Clock, acts: Acts) -> None:
    result = run(acted(clock, OLD, *acts))
    assert result["nodes"]["n1"]["ok"] and result["warnings"] == []


@pytest.mark.parametrize(("birth", "acts"), OTHER.values(), ids=OTHER)
@pytest.mark.fault(case=21)
def test_a_restart_is_seen_whatever_the_clock(clock: Clock, birth: float, acts: Acts) -> None:
    assert state(fail(acted(clock, birth, *acts))) == "restarted"


@pytest.mark.parametrize(("silent", "birth"), [({"n1"}, OLD), (set(), 1000.0)], ids=["no counter", "no relist yet"])
def test_what_cannot_be_known_fails_no_node(clock: Clock, silent: set[str], birth: float) -> None:
    """Without a counter, or with one that had just begun, the start alone does not show a jump from a restart."""
    api = acted(clock, birth, jump(12, HOUR))
    api.silent = silent
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
    # What the guard rounds is not a restart.
    clock.at(3, lambda: api.nodes.update(n1=reported(began - 59, began + 3)))
    jump(7, HOUR)(clock, api)
    clock.at(8, lambda: api.nodes.update(n1=reported(began - 60 + HOUR, began + 8 + HOUR)))
    restart(17)(clock, api)
    clock.at(18, lambda: api.nodes.update(n1=reported(began + 17 + HOUR, began + 18 + HOUR)))
    assert (state(fail(api)), clock.now) == ("restarted", 1020)
    assert api.count("GET", "/api/v1/nodes/n1/proxy/metrics") == 3
