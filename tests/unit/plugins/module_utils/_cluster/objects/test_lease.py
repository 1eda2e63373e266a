# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Lease of a rollout: requests, messages, waits. Interleaved rollouts are in test_lease_objects."""

from __future__ import annotations

import functools
import re
import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import ApiError, ClusterError
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.objects import lease, lease_objects
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values.annotation import PREFIX
from tests.sim.api import store
from tests.sim.api.direct import Clock, Direct
from tests.support.api.calls import Calls

NODES = ["n1", "n2"]
NOTHING = {"changed": True, "lease": {}, "taken_over": [], "obstacles": [], "warnings": []}
stamp = functools.partial(store.stamp, micro=True)


@pytest.fixture
def api() -> Direct:
    return Direct()


@pytest.fixture
def wall(api: Direct, monkeypatch: pytest.MonkeyPatch) -> Clock:
    monkeypatch.setattr(lease, "time", api.clock)
    return api.clock


def hold(api: t.Any, nodes: t.Sequence[str] = tuple(NODES), check: bool = False, **options: t.Any) -> dict[str, t.Any]:
    who = {"nodes": list(nodes), "group": "batch", "holder": "me"}
    terms = {"state": "held", "duration": 60, "wait": None, "namespace": "kube-system", "lease": None}
    return lease.lease(api, {**who, **terms, **options}, check)


def refused(api: t.Any, **options: t.Any) -> ClusterError:
    with pytest.raises(ClusterError) as caught:
        hold(api, **options)
    return caught.value


def release(api: t.Any, held: dict[str, t.Any], check: bool = False) -> bool:
    return bool(lease.lease(api, {"state": "released", "lease": held}, check)["changed"])


def methods(api: Direct) -> list[str]:
    assert not any("resourceVersion=0" in request.url for request in api.asked), "a LIST from the cache may be old"
    return [method for method, _path in api.requests]


def test_hold(api: Direct, wall: Clock) -> None:
    """Three requests; everything another rollout wants to know stands in the Lease."""
    found = hold(api, ["n2", "n1"])
    assert methods(api) == ["POST", "GET", "PATCH"]
    ((name, item),) = api.leases.items()
    made = {"name": name, "namespace": "kube-system", "uid": item["metadata"]["uid"], "holder": "me", "group": "batch"}
    assert found == {**NOTHING, "lease": {**made, "duration": 60}}
    assert name.startswith("livenodes-kubelet-rollout-") and len(name) > len("livenodes-kubelet-rollout-") + 8
    labels = {"app.kubernetes.io/managed-by": "livenodes.kubelet", f"{PREFIX}lease": "rollout"}
    assert item["metadata"]["labels"] == labels
    notes = {f"{PREFIX}group": "batch", f"{PREFIX}nodes": '["n1","n2"]', f"{PREFIX}state": "held"}
    assert item["metadata"]["annotations"] == notes
    times = {"acquireTime": stamp(api.now), "renewTime": stamp(api.now)}
    assert item["spec"] == {"holderIdentity": "me", "leaseDurationSeconds": 60, **times}


TOO_MANY = "2000 nodes take 406001 bytes, and a Lease can hold 256000: roll out to fewer nodes"


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"nodes": []}, "nodes is an empty list"),
        ({"nodes": [f"{number:0200}" for number in range(2000)]}, TOO_MANY),
        ({"duration": 0}, "duration is 0: set the seconds"),
        ({"duration": -5}, "duration is -5"),
    ],
    ids=["no names", "more names than a Lease can keep", "0", "-5"],
)
def test_options_that_make_no_sense(api: Direct, wall: Clock, options: dict[str, t.Any], text: str) -> None:
    assert text in refused(api, **options).message
    assert not api.requests


def test_a_live_holder_is_named(api: Direct, wall: Clock) -> None:
    """At once when it cannot expire within the wait; our claim is gone again."""
    theirs = hold(api, [f"n{number:02}" for number in range(20)], holder="ops@bastion", group="frontend")["lease"]
    began = stamp(api.now)
    api.now += 100
    lease_objects.renew(api, theirs)
    api.now += 12
    api.asked.clear()
    error = refused(api, nodes=[f"n{number:02}" for number in range(5, 30)], wait=30)
    assert methods(api) == ["POST", "GET", "DELETE"] and not wall.slept
    assert list(api.leases) == [theirs["name"]]
    obstacle = {"name": theirs["name"], "holder": "ops@bastion", "group": "frontend", "renewed": stamp(api.now - 12)}
    assert error.result == {"changed": False, "obstacles": [obstacle]}
    for text in (
        "another rollout is running on nodes of batch; nothing was changed.",
        f"ops@bastion has been rolling out to frontend since {began}. "
        f"It renewed its Lease kube-system/{theirs['name']} 12 s ago, which expires 60 s after the last renewal. ",
        "Nodes in both rollouts: n05, n06, n07, n08, n09, n10, n11, n12, n13, n14 and 5 more.",
        "Wait until it is done and run again",
        f"kubectl -n kube-system delete lease {theirs['name']}",
    ):
        assert text in error.message


@pytest.mark.fault(case=18)
def test_a_dead_holder_is_waited_for_and_taken_over(api: Direct, wall: Clock) -> None:
    """By default the wait is long enough for any holder of the same duration; only a LIST a look."""
    dead = hold(api, holder="dead")["lease"]
    died = api.now
    api.asked.clear()
    found = hold(api)
    assert found["taken_over"] == [{"name": dead["name"], "holder": "dead", "group": "batch", "renewed": stamp(died)}]
    assert re.search(rf"{dead['name']} of dead was taken over.* at {stamp(died)}.* on batch", found["warnings"][0])
    assert list(api.leases) == [found["lease"]["name"]]
    assert 65 < api.now - died <= 70
    looks = len(wall.slept)
    assert methods(api) == ["POST", "GET", "DELETE", *["GET"] * looks, "POST", "GET", "DELETE", "PATCH"]


@pytest.mark.parametrize("wait", [None, 1000])
def test_a_sign_of_life_ends_the_wait(api: Direct, wall: Clock, wait: int | None) -> None:
    """However long one would wait."""
    theirs = hold(api, holder="alive")["lease"]
    began = api.now

    def beat() -> None:
        if api.now - began >= 20:
            lease_objects.renew(api, theirs)

    wall.tick = beat
    assert "alive has been rolling out to batch" in refused(api, wait=wait).message
    assert 20 <= api.now - began <= 22


def test_a_rollout_that_ends_meanwhile_makes_the_plan_old(api: Direct, wall: Clock) -> None:
    """What it has changed is not in the plan of the one that waits. A prune changes no node."""
    hold(api, holder="other")
    wall.tick = api.leases.clear
    assert "the Lease of other was removed while this rollout waited" in refused(api, wait=70).message
    assert not api.leases
    with lease.whole_cluster(api, "prune", "", False):
        assert hold(api, wait=70)["lease"]


def test_a_claim_is_waited_for_until_it_is_held_or_gone(api: Direct, wall: Clock) -> None:
    """Its expiry does not matter, since a claim lasts only a moment."""
    other = lease_objects.create(api, "kube-system", "other", "theirs", NODES, 60)
    assert "other has been waiting to roll out to theirs" in refused(api, wait=0).message
    wall.tick = lambda: lease_objects.renew(api, other.lease(), held=True)
    assert "other has been rolling out to theirs" in refused(api, wait=10).message
    wall.tick = api.leases.clear
    lease_objects.delete(api, "kube-system", other.name, other.uid)
    lease_objects.create(api, "kube-system", "other", "theirs", NODES, 60)
    assert hold(api, wait=10)["taken_over"] == []


def test_a_holder_that_renews_at_the_last_moment_keeps_its_lease(api: Direct, wall: Clock) -> None:
    """It renews between our look and our delete."""
    theirs = hold(api, holder="slow")["lease"]
    api.now += 70
    api.asked.clear()

    def back() -> None:
        if methods(api)[-1] == "GET":
            api.look = lambda: None
            lease_objects.renew(api, theirs)

    api.look = back
    assert "slow has been rolling out to batch" in refused(api, wait=0).message
    assert list(api.leases) == [theirs["name"]]


def test_a_claim_that_was_taken_for_dead_is_not_held(api: Direct, wall: Clock) -> None:
    """Another rollout deleted our claim between the LIST and the last step."""
    api.look = lambda: api.leases.clear() if methods(api)[-1] == "GET" else None
    assert "this rollout lost its Lease" in refused(api).message


def test_nothing_is_left_when_a_request_fails(api: Direct, wall: Clock) -> None:
    """The look, or the removal of a dead claim."""
    api.answers["GET *"] = ApiError(403, "leases is forbidden")
    assert refused(api).message == "leases is forbidden"
    assert not api.leases
    api.answers.clear()
    dead = hold(api, holder="dead")["lease"]["name"]
    api.now += 70
    api.answers[f"DELETE */{dead}"] = ApiError(403, "leases is forbidden")
    assert refused(api, wait=0).message == "leases is forbidden"
    assert list(api.leases) == [dead]


def test_an_answer_that_was_lost_on_the_way(api: Direct, wall: Clock) -> None:
    """The session repeats the request: our own claim is there already."""

    def twice(ask: t.Callable[[], t.Any]) -> t.Any:
        ask()
        return ask()

    api.answers["POST *"] = twice
    assert hold(api)["lease"]["name"] in api.leases
    assert methods(api) == ["POST", "GET", "GET", "PATCH"]


@pytest.mark.parametrize("mine", [-4000.0, 14.0, 4000.0])
@pytest.mark.parametrize("theirs", [-4000.0, 0.0, 4000.0])
@pytest.mark.fault(case=57)
def test_a_wrong_clock_neither_steals_nor_loses_a_lease(api: Direct, wall: Clock, mine: float, theirs: float) -> None:
    """The API server's clock decides alone: for a live holder, for one that has just died, for one that is dead."""
    wall.off = theirs
    held = hold(api, holder="other")["lease"]
    api.now += 60
    lease_objects.renew(api, held)
    assert api.leases[held["name"]]["spec"]["renewTime"] == stamp(api.now)
    wall.off = mine
    api.now += 64.9
    assert "other has been rolling out to batch" in refused(api, wait=0).message
    api.now += 0.2
    assert [row["name"] for row in hold(api, wait=0)["taken_over"]] == [held["name"]]


def test_the_time_of_a_claim_is_that_of_its_creation(api: Direct, wall: Clock) -> None:
    """Set by the API server. Its clock is not known before the first answer."""
    wall.off = 4000
    made = lease_objects.create(api, "kube-system", "me", "batch", NODES, 60)
    assert set(api.leases[made.name]["spec"]) == {"holderIdentity", "leaseDurationSeconds"}
    assert made.acquired == made.renewed == made.created == api.now


@pytest.mark.usefixtures("no_garbage")
def test_damaged_leases(api: Direct, wall: Clock) -> None:
    """Whatever is not readable is in the way, and expires."""
    name = hold(api, ["other"], holder="x")["lease"]["name"]
    notes = api.leases[name]["metadata"]["annotations"]
    for text in ("[", '"n1"', "", "[" * 200_000):
        notes[lease_objects.NODES] = text
        assert "Nodes in both rollouts: n1, n2." in refused(api, wait=0).message
    notes.clear()
    assert "x has been rolling out to an unnamed group" in refused(api, wait=0).message
    api.leases[name]["spec"] = {}
    (claim,) = lease_objects.read(api, "kube-system", NODES)
    assert (claim.holder, claim.held, claim.renewed) == ("unknown", True, claim.created)
    assert claim.acquired == claim.created
    api.now += 20
    assert [row["holder"] for row in hold(api)["taken_over"]] == ["unknown"]


def test_check_mode(api: Direct, wall: Clock) -> None:
    """One LIST; nothing is created, and the obstacles are reported."""
    assert hold(api, check=True) == NOTHING
    assert methods(api) == ["GET"] and not api.leases
    theirs = hold(api, holder="other")["lease"]
    found = hold(api, check=True)
    assert [row["holder"] for row in found["obstacles"]] == ["other"]
    assert "other has been rolling out to batch" in found["warnings"][0]
    assert list(api.leases) == [theirs["name"]] and not wall.slept


@pytest.mark.parametrize("held", [None, {}, {"name": ""}])
def test_without_a_lease_nothing_is_renewed_or_released(held: dict[str, t.Any] | None) -> None:
    with Calls() as session:
        lease.Keeper(session, held).keep()
        assert release(session, held or {}) is False


@pytest.mark.parametrize(
    "lose",
    [
        lambda leases, _name: leases.clear(),
        lambda leases, name: leases[name]["metadata"].update(uid="other"),
        lambda leases, name: leases[name]["spec"].update(holderIdentity="other"),
    ],
)
def test_a_lease_that_was_lost(api: Direct, wall: Clock, lose: t.Callable[..., None]) -> None:
    held = hold(api)["lease"]
    lose(api.leases, held["name"])
    lost = f"this rollout lost its Lease kube-system/{held['name']}, held by me: it was deleted"
    cause = "or another rollout of the same nodes took over after 60 s.*look for the other rollout"
    with pytest.raises(lease_objects.LeaseLost, match=f"{lost}, {cause}"):
        lease_objects.renew(api, held)


def test_a_renewal_that_fails_for_another_reason(api: Direct, wall: Clock) -> None:
    held = hold(api)["lease"]
    api.answers["PATCH *"] = ApiError(403, "forbidden")
    with pytest.raises(ApiError, match="forbidden"):
        lease_objects.renew(api, held)
    assert api.requests[-1] == ("PATCH", lease_objects.path("kube-system", held["name"]))


@pytest.mark.parametrize("use", [lease.Keeper, release])
def test_an_incomplete_lease(use: t.Callable[..., t.Any]) -> None:
    words = "lease has no duration, holder, namespace, uid: pass the value `lease` of kubelet_rollout_lease"
    with Calls() as session, pytest.raises(ClusterError, match=words):
        use(session, {"name": "a"})


def test_release(api: Direct, wall: Clock) -> None:
    """Forecast, done, and again; one request each. That of another rollout stays."""
    held = hold(api)["lease"]
    other = hold(api, ["n9"])["lease"]
    api.asked.clear()
    assert release(api, held, check=True) and held["name"] in api.leases
    assert release(api, held)
    assert not release(api, held, check=True)
    assert not release(api, held)
    assert not release(api, {**other, "uid": "not ours"}) and not release(api, {**other, "uid": "not ours"}, check=True)
    assert methods(api) == ["GET", "DELETE", "GET", "DELETE", "DELETE", "GET"]
    assert list(api.leases) == [other["name"]]
    api.answers["GET *"] = ApiError(403, "leases is forbidden")
    with pytest.raises(ApiError, match="forbidden"):
        release(api, other, check=True)


@pytest.mark.parametrize("check", [False, True])
def test_an_api_server_without_leases(api: Direct, check: bool) -> None:
    """Before 1.14. A namespace that does not exist is another error."""
    pattern = f"* {lease_objects.path('kube-system')}*"
    api.answers[pattern] = ApiError(404, "404 page not found")
    found = hold(api, check=check)
    assert (found["lease"], found["warnings"]) == ({}, [lease.NO_LEASES])
    assert not release(api, found["lease"])
    api.answers[pattern] = ApiError(404, "404 page not found", "NotFound")
    with pytest.raises(ClusterError, match="page not found"):
        hold(api, check=check)


MASTERS = (("m1", "m2"), ("m3",), ("m4", "w1"))


def test_only_one_rollout_changes_the_control_plane(api: Direct, wall: Clock) -> None:
    """Three rollouts to three masters would change two of them at a time: they have no node in common."""
    first = hold(api, MASTERS[0], control_plane=True, wait=0)["lease"]
    for names in MASTERS[1:]:
        error = refused(api, nodes=names, control_plane=True, wait=0)
        assert "Both change control-plane nodes" in error.message and "/control-plane" not in error.message
    workers = hold(api, ["w2"], wait=0)["lease"]
    assert set(api.leases) == {first["name"], workers["name"]}
    release(api, first)
    assert hold(api, MASTERS[1], control_plane=True, wait=0)["lease"]["name"] in api.leases


def test_common_nodes_of_the_control_plane_are_named(api: Direct, wall: Clock) -> None:
    hold(api, MASTERS[0], control_plane=True, wait=0)
    message = refused(api, nodes=("m2", "w1"), control_plane=True, wait=0).message
    assert "Nodes in both rollouts: m2." in message and "Both change" not in message
