# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a batch may begin: the budget, the control plane, a pause."""

from __future__ import annotations

import itertools
import typing as t

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.objects import lease_objects
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.rollout import gate
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import node_row
from tests.sim.api.direct import Clock, Direct
from tests.support.api.calls import CONFIGMAPS, NODES
from tests.support.api.gating import GROUP, LEASE, Node, group, refused, run
from tests.support.api.objects import node, place, pod, reference, status

MASTER = {"node-role.kubernetes.io/control-plane": ""}
POSTING = "not Ready (KubeletReady: posting)"
OURS, MARK = "cordoned by this collection for", {"holder": "ops", "time": "2026-01-01T00:00:00Z"}


def test_a_batch_that_may_begin(clock: Clock) -> None:
    """Three requests, whatever the number of nodes."""
    api = group()
    assert run(api, "n1", "n2", max_unavailable="20%", lease=LEASE) == {
        "changed": False,
        "nodes": {name: node_row.Row(True, "begins", "may begin").shown() for name in ("n1", "n2")},
        "budget": {"nodes": 10, "limit": 2, "unavailable": {}, "left": 2},
        "paused": None,
        "pods": {},
        "window": {"began": [clock.time()]},
    }
    assert api.requests == [
        ("GET", f"{CONFIGMAPS}/livenodes-kubelet-rollout"),
        ("PATCH", lease_objects.path("kube-system", "mine")),
        ("GET", NODES),
    ]


def test_two_of_ten_not_ready_leave_nothing_of_a_fifth(clock: Clock) -> None:
    api = group(n7=node("n7", ready="False"), n8=node("n8", ready="Unknown"))
    error = refused(api, "n1", max_unavailable="20%")
    assert error.message == (
        "n1: may still not begin after 0 s; nothing was changed there.\n"
        "at most 2 of the group may be unavailable at once (max_unavailable: 20% of 10, rounded down, "
        "at least 1), and 2 outside the batch are, whatever the cause: 0 may begin, not 1. Make them available, or "
        f"raise max_unavailable, then run again:\nn7: {POSTING}\nn8: {POSTING}"
    )
    assert error.result["budget"] == {"nodes": 10, "limit": 2, "left": 0, "unavailable": {"n7": POSTING, "n8": POSTING}}
    assert run(api, "n1", max_unavailable="30%")["budget"]["left"] == 1


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (node("n7", unschedulable=True), "cordoned"),
        (node("n7", unschedulable=True, cordoned=MARK), f"{OURS} ops since 2026-01-01T00:00:00Z"),
        (node("n7", unschedulable=True, cordoned={}), f"{OURS} an unknown holder since an unknown time"),
        (node("n7", config=status(error="bad")), "its configuration failed: bad"),
        (node("n7", reported={"error": "reverted"}), "its configuration failed: reverted"),
        (
            node("n7", ready="False", config=status(error="bad"), unschedulable=True),
            f"{POSTING}; cordoned; its configuration failed: bad",
        ),
    ],
)
def test_any_cause(clock: Clock, bad: Node, why: str) -> None:
    error = refused(group(n7=bad), "n1")
    assert error.result["budget"]["unavailable"] == {"n7": why}
    assert "1 outside the batch is, whatever the cause: 0 may begin, not 1. " in error.message
    assert f"then run again:\nn7: {why}" in error.message


@pytest.mark.parametrize(
    "found",
    [
        # It runs what it fell back to. Its error stays until its next change, which the budget would prevent for ever.
        node("n7", source=place("b"), config=status(reference("b"), reference("a"), reference("a"), "bad")),
        # A kubelet of 1.24 or later never clears status.config.error.
        node("n7", source=place(), config=status(error="failed to load config"), version="v1.24.1"),
    ],
)
@pytest.mark.fault(case=62)
def test_errors_that_take_no_budget(clock: Clock, found: Node) -> None:
    assert run(group(n7=found), "n1")["budget"] == {"nodes": 10, "limit": 1, "unavailable": {}, "left": 1}


@pytest.mark.parametrize(
    ("bad", "shown"),
    [
        (node("n7", unschedulable=True), True),
        (node("n7", config=status(error="bad")), True),
        (node("n7", config=status(error="bad"), unschedulable=True, cordoned={}), True),
        (node("n7", unschedulable=True, cordoned={"holder": "me"}), False),
    ],
)
def test_a_node_of_the_batch_counts_once(clock: Clock, bad: Node, shown: bool) -> None:
    """Nothing more is down with it than was before. Its cordon that is our own is not shown."""
    found = run(group(n7=bad), "n7")["budget"]
    assert (found["left"], "n7" in found["unavailable"]) == (1, shown)
    assert list(run(group(n7=bad), "n1", max_unavailable="2")["budget"]["unavailable"]) == ["n7"]


@pytest.mark.fault(case=15)
def test_a_node_that_cannot_be_verified(clock: Clock) -> None:
    api = group(n7=node("n7", ready="False"))
    words = f"{POSTING}, so its new configuration could not be verified. Make it Ready first, or set allow_unready"
    assert f"n7: in the batch and {words}" in refused(api, "n7").message
    assert run(api, "n7", allow_unready=True)["budget"]["unavailable"] == {"n7": POSTING}


def test_the_group_is_larger_than_the_play(clock: Clock) -> None:
    """Down is down, whether the rollout is about it or not; a smaller group does not see it."""
    api = group(n9=node("n9", ready="False"))
    assert "n9: not Ready" in refused(api, "n1").message
    assert run(api, "n1", group_nodes=["n1", "n2"])["budget"]["nodes"] == 2
    assert run(api, "n1", group_nodes=None)["budget"]["nodes"] == 1


TOO_LARGE = (
    "the batch has 3 nodes (n1, n2, n3), and at most 2 of the group may be unavailable at once "
    "(max_unavailable: 25% of 10, rounded down, at least 1): set serial to at most 2, or raise max_unavailable"
)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"max_unavailable": "25%"}, TOO_LARGE),
        ({"max_unavailable": "0%"}, "max_unavailable: 0% allows no node to be changed"),
        ({"max_unavailable": "some"}, "max_unavailable: 'some' is neither a number nor a percentage"),
        ({"group_nodes": ["n2", "n3"]}, "n1: named in nodes but not in group_nodes"),
        ({"max_unavailable": 3, "allow_pod_loss": "a"}, "allow_pod_loss is 'a': set the number of pods a node may"),
    ],
)
def test_a_batch_that_could_never_begin(clock: Clock, options: dict[str, t.Any], text: str) -> None:
    """Reported at once, before any request."""
    api = group()
    assert refused(api, "n1", "n2", "n3", timeout=600, **options).message.startswith(text)
    assert not api.requests


def test_a_node_that_was_created_again_does_not_begin(clock: Clock) -> None:
    """It would be drained, and then not be changed: it is not the Node that was planned. The others begin."""
    api = group(n1=node("n1", ready="False"))
    found = run(api, "n1", "n2", uids={"n1": "uid-of-before", "n2": "uid-n2"}, max_unavailable=2, pods=True)
    assert {name: row["state"] for name, row in found["nodes"].items()} == {"n1": "replaced", "n2": "begins"}
    assert found["nodes"]["n1"]["message"] == node_row.RECREATED and list(found["pods"]) == ["n2"]


def test_a_percentage_counts_the_nodes_that_exist(clock: Clock) -> None:
    """Half of eight are four, but four of the eight were deleted."""
    given = {"group_nodes": [*GROUP[:4], "gone1", "gone2", "gone3", "gone4"], "max_unavailable": "50%"}
    assert "set serial to at most 2" in refused(group(), *GROUP[:4], **given).message
    done = run(group(), *GROUP[:2], **given)
    assert done["budget"] == {"nodes": 4, "limit": 2, "unavailable": {}, "left": 2}
    gone = "gone1, gone2, gone3, gone4"
    assert done["warnings"] == [f"group_nodes: the cluster at https://api.example:6443 has no Node named {gone}"]


@pytest.mark.parametrize(
    ("reverted", "fields", "unavailable"),
    [
        ([], {}, "its configuration failed: bad"),
        (["n7"], {}, ""),
        (["n7"], {"ready": "False"}, POSTING),
        (["n7"], {"unschedulable": True}, "cordoned"),
    ],
)
def test_a_node_that_this_rollout_has_reverted(
    clock: Clock, reverted: list[str], fields: t.Any, unavailable: str
) -> None:
    """Once it is Ready again, it does not take the budget of the next batch."""
    api = group(n7=node("n7", reported={"error": "bad"}, **fields))
    found = run(api, "n1", reverted=reverted, max_unavailable=2)["budget"]["unavailable"]
    assert found.get("n7", "") == unavailable and found.keys() <= {"n7"}


@pytest.mark.fault(case=25)
def test_it_waits_for_the_budget(clock: Clock) -> None:
    """A look every 2 s, the Lease renewed with each; it begins as soon as it may."""
    api = group(n7=node("n7", ready="False"))
    clock.at(11, lambda: api.nodes.update(n7=node("n7")))
    assert run(api, "n1", timeout=60, lease=LEASE)["budget"]["left"] == 1
    assert clock.slept == [2.0] * 6
    assert api.count("PATCH", lease_objects.path("kube-system", "mine")) == api.count("GET", NODES) == 7
    api.nodes["n7"] = node("n7", ready="False")
    clock.slept.clear()
    assert "n1: may still not begin after 7 s; nothing was changed there." in refused(api, "n1", timeout=7).message
    assert clock.slept == [2.0, 2.0, 2.0, 1.0]


def test_check_mode_neither_waits_nor_renews(clock: Clock) -> None:
    api = group(n7=node("n7", ready="False"))
    assert "n7: not Ready" in refused(api, "n1", check=True, timeout=60, lease=LEASE).message
    assert not clock.slept
    assert {method for method, _path in api.requests} == {"GET"}


def test_a_lost_lease_stops_before_any_node_is_looked_at(clock: Clock) -> None:
    api = group()
    api.leases.clear()
    assert "this rollout lost its Lease kube-system/mine" in refused(api, "n1", lease=LEASE).message
    assert NODES not in {path for _method, path in api.requests}


MASTERS: dict[str, t.Any] = {"group_nodes": ["m1", "m2", "m3"]}


def plane(*unready: str) -> Direct:
    """Three nodes of the control plane with their static pods, and a worker."""
    pods = []
    for name, component in itertools.product(MASTERS["group_nodes"], ("kube-apiserver", "etcd", "kube-scheduler")):
        full = f"{component}-{name}"
        labels = {"component": component, "tier": "control-plane"}
        is_ready = full not in unready
        pods.append(pod(full, name, "kube-system", ready=is_ready, static=True, owner=("Node", name), **labels))
    return Direct(*(node(name, labels=MASTER) for name in MASTERS["group_nodes"]), node("n1"), pods=pods)


def test_control_plane_nodes_one_at_a_time(clock: Clock) -> None:
    for batch in (("m1", "m2"), ("m1", "n1")):
        text = refused(plane(), *batch, group_nodes=["m1", "m2", "n1"], max_unavailable="100%", timeout=600).message
        assert text == (
            f"{'m1, m2' if 'm2' in batch else 'm1'}: control-plane nodes are changed one at a time, but the batch is "
            f"{', '.join(batch)}. Put each of them in its own batch (serial 1)"
        )
    assert not clock.slept
    assert run(plane(), "m1", **MASTERS)["budget"]["left"] == 1


@pytest.mark.parametrize("unready", ["kube-apiserver-m2", "etcd-m3"])
def test_the_rest_of_the_control_plane_must_be_ready(clock: Clock, unready: str) -> None:
    """Also those of other groups; waited for with the same time. One more LIST."""
    api = plane(unready)
    error = refused(api, "m1", group_nodes=["m1"], timeout=4)
    assert f"{unready} on {unready[-2:]} is not Ready (Running): the control-plane node m1 waits" in error.message
    assert clock.slept == [2.0, 2.0]
    api.pods[unready]["status"]["conditions"][1]["status"] = "True"
    api.asked.clear()
    assert run(api, "m1", group_nodes=["m1"])
    assert [path for _method, path in api.requests].count("/api/v1/namespaces/kube-system/pods") == 1
    assert len(api.requests) == 3


def test_what_the_control_plane_does_not_wait_for(clock: Clock) -> None:
    """Its own pods, those of other components, pods that are not there, and a worker for none at all."""
    for unready in ("kube-apiserver-m1", "kube-scheduler-m2"):
        assert run(plane(unready), "m1", **MASTERS)
    external = plane()
    external.pods.clear()
    assert run(external, "m1", **MASTERS)
    worker = plane("etcd-m2")
    assert run(worker, "n1", group_nodes=["n1"])
    assert ("GET", "/api/v1/namespaces/kube-system/pods") not in worker.requests


def test_pods(clock: Clock) -> None:
    """Those of the batch, and only once it may begin."""
    api = group(n7=node("n7", ready="False"))
    api.pods.add(pod("a", "n1"), pod("b", "n1"), pod("c", "n3"))
    found = run(api, "n1", "n2", max_unavailable=3, pods=True)["pods"]
    assert {name: sorted(rows) for name, rows in found.items()} == {"n1": ["uid-a", "uid-b"], "n2": []}
    api.asked.clear()
    assert refused(api, "n1", pods=True).result["pods"] == {}
    assert api.count("GET", "/api/v1/pods") == 0


NAMES = st.sets(st.integers(0, 30).map("n{}".format))
LIMITS = [(1, 10, 1), ("1", 10, 1), (" 3 ", 2, 3), ("20 %", 10, 2), ("25%", 10, 2), ("5%", 10, 1), ("33%", 3000, 990)]


@pytest.mark.parametrize(("wanted", "nodes", "limit"), LIMITS)
def test_limit(wanted: t.Any, nodes: int, limit: int) -> None:
    assert gate.node_limit(wanted, nodes) == limit


NOTHING, NEITHER = "allows no node to be changed", "is neither"


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        *((wanted, NOTHING) for wanted in (0, "0", "0%", " 00 %")),
        *((wanted, NEITHER) for wanted in ("", "half", -1, 0.2, "20%%", "1 0", True, None, "\u0663", "%", "1%0")),
        ("101%", "is more than all nodes"),
    ],
)
def test_limits_that_are_none(wanted: t.Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        gate.node_limit(wanted, 10)


@given(st.integers(1, 100), st.integers(1, 5000))
def test_a_percentage_never_allows_more_than_its_share_but_for_one_node(percent: int, nodes: int) -> None:
    found = gate.node_limit(f"{percent}%", nodes)
    assert 1 <= found <= nodes
    assert found == 1 or found * 100 <= percent * nodes < (found + 1) * 100


@given(st.integers(1, 40), NAMES, NAMES)
def test_a_batch_may_begin_when_all_that_is_down_with_it_is_within_the_limit(
    allowed: int, unavailable: set[str], batch: set[str]
) -> None:
    """The rule as it is meant, beside the figure people are shown."""
    begins = len(unavailable | batch) <= allowed
    assert begins == (len(batch) <= gate.room_left(allowed, unavailable, batch)) or not batch
    assert 0 <= gate.room_left(allowed, unavailable, batch) <= allowed
