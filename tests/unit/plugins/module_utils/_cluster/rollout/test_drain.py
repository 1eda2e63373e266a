# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Drains: the choice of pods, the requests and answers of evictions, the cordon; and how drains of nodes end."""

from __future__ import annotations

import itertools
import json
import re
import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import ApiError, ClusterError
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.objects import lease_objects, nodes
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.objects.pods import PODS
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.rollout import drain_steps
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import annotation
from tests.sim.api.direct import Clock, Direct
from tests.support.api.calls import NODES, Call, Calls
from tests.support.api.draining import AWAY, BLOCKED, BUDGET, EVICTIONS, OWNED, cordoned, eviction, fail, names, run
from tests.support.api.objects import node, pod

pytestmark = pytest.mark.usefixtures("clock")
OURS = {"holder": "ops", "time": "2026-01-01T00:00:00.000000Z"}
ALONE, DATA, PROXY = {"owner": ""}, {"emptydir": True}, {"owner": "DaemonSet/proxy"}
BOTH = {**ALONE, **DATA}
STATIC = {"owner": "Node/n1", "static": True}
GOING = {"reason": "Terminating"}


@pytest.mark.parametrize(
    ("fields", "options", "action", "reason"),
    [
        ({}, (), "evict", ""),
        (ALONE, (), "refuse", "(force evicts it"),
        (ALONE, ("force",), "evict", ""),
        (DATA, (), "refuse", "(delete_emptydir_data accepts"),
        (DATA, ("force",), "refuse", "(delete_emptydir_data accepts"),
        (DATA, ("delete_emptydir_data",), "evict", ""),
        (BOTH, (), "refuse", "elsewhere (force evicts it anyway) and has an emptyDir"),
        *(({**BOTH, "phase": phase}, (), "evict", "") for phase in ("Succeeded", "Failed")),
        ({**BOTH, **GOING}, (), "wait", ""),
        (PROXY, ("force",), "skip", "of DaemonSet/proxy"),
        ({**PROXY, **GOING}, (), "skip", "of DaemonSet/proxy"),
        ({**PROXY, "phase": "Failed"}, (), "evict", ""),
        ({**STATIC, **DATA}, ("force",), "skip", "static pod"),
        ({**STATIC, "phase": "Failed"}, ("force",), "skip", "static pod"),
    ],
)
def test_choose(fields: dict[str, t.Any], options: tuple[str, ...], action: str, reason: str) -> None:
    pod = {"phase": "Running", "reason": "", "owner": "ReplicaSet/a", "static": False, "emptydir": False, **fields}
    found = drain_steps.choose(pod, "force" in options, "delete_emptydir_data" in options)
    assert (found.action, reason in found.reason) == (action, True)


@pytest.mark.parametrize(
    ("resource", "version"), [({"group": "policy", "version": "v1"}, "policy/v1"), ({}, "policy/v1beta1")]
)
def test_eviction_version(resource: dict[str, str], version: str) -> None:
    """An API server without group and version has policy/v1beta1."""
    with Calls(Call("GET", "/api/v1", {"resources": [{"name": "pods"}, {"name": "pods/eviction", **resource}]})) as api:
        assert drain_steps.eviction_version(api) == version
    with Calls(Call("GET", "/api/v1", {"resources": []})) as api, pytest.raises(ApiError, match="pods/eviction"):
        drain_steps.eviction_version(api)


def test_evict() -> None:
    """By uid, and not repeated. Without dry runs a forecast sends nothing: the pod would be gone."""
    meta = {"namespace": "default", "name": "a"}
    wanted = {"metadata": meta, "deleteOptions": {"preconditions": {"uid": "u"}}}
    body = {"apiVersion": "policy/v1", "kind": "Eviction", **wanted}
    evicted = ("u", meta)
    with Calls(Call("POST", "/api/v1/namespaces/default/pods/a/eviction", {}, (), body)) as api:
        drain_steps.evict(api, "policy/v1", evicted, None, False)
    assert api.budgets == [0.0]
    with Calls(old=True) as api:
        drain_steps.evict(api, "policy/v1", evicted, None, True)


Answer = drain_steps.Answer
BUDGETS = f"found {drain_steps.TWO_BUDGETS}"


@pytest.mark.parametrize(
    ("error", "answer"),
    [
        (None, Answer(True)),
        (ApiError(404, "deleted"), Answer(False, "deleted")),
        (ApiError(409, "other uid"), Answer(False, "other uid")),
        (ApiError(403, "end", causes={"NamespaceTerminating": "x"}), Answer(False, "end")),
        (ApiError(429, "no", "", 7.0, True, {"DisruptionBudget": "needs 1"}), Answer(False, "needs 1", 7.0)),
        (ApiError(0, "no answer", transient=True), Answer(False, "no answer", 0.0, True)),
        (ApiError(504, "timeout", transient=True), Answer(False, "timeout", 0.0, True)),
        (ApiError(500, BUDGETS, transient=True), Answer(False, BUDGETS, None)),
        (ApiError(403, "forbidden"), Answer(False, "forbidden", None)),
        (ClusterError("other"), Answer(False, "other", None)),
    ],
)
def test_eviction_answer(error: ClusterError | None, answer: drain_steps.Answer) -> None:
    assert drain_steps.eviction_answer(error) == answer


def set_cordon(session: Calls, found: dict[str, t.Any], dry_run: bool = False) -> nodes.Node:
    return drain_steps.cordon(session, nodes.trim(found), "ops", dry_run)


def test_a_cordon_without_dry_runs() -> None:
    """Nothing is sent."""
    with Calls(old=True) as session:
        found = set_cordon(session, node(), True)
        assert drain_steps.cordoned_by_us(found)
        back = drain_steps.uncordon(session, found, True)
        assert (back.unschedulable, back.cordoned) == (False, None)
        assert not drain_steps.cordoned_by_us(set_cordon(session, node(unschedulable=True), True))
    # A mark on a node that another user has uncordoned is no cordon.
    assert not drain_steps.cordoned_by_us(nodes.trim(node(cordoned=OURS)))


def test_another_user_cordons_at_the_same_time(clock: Clock) -> None:
    """Our patch is refused, and the cordon is theirs."""
    api = Direct(node("n1"))
    api.before("PATCH *", lambda: api.nodes.add(node("n1", revision="9", unschedulable=True)))
    row = run(api)["nodes"]["n1"]
    assert (row["changed"], row["cordoned"], row["message"]) == (False, True, "no pod to evict")
    assert cordoned(api) == (True, False)


def test_something_else_changes_at_the_same_moment(clock: Clock) -> None:
    api = Direct(node("n1"))
    first = [node("n1", revision="9", labels={"a": "b"})]
    api.before("PATCH *", lambda: api.nodes.add(first.pop()) if first else None)
    assert run(api)["changed"]
    assert (cordoned(api), api.nodes["n1"]["metadata"]["labels"]["a"]) == ((True, True), "b")


def test_a_node_that_never_holds_still(clock: Clock) -> None:
    api = Direct(node("n1"), pods=[pod("a", **OWNED)])
    revisions = iter(range(10, 99))
    api.before("PATCH *", lambda: api.nodes.add(node("n1", revision=str(next(revisions)))))
    assert "it was not cordoned and no pod was evicted: the Node object changes faster" in fail(api).failures["n1"]
    assert (api.count("PATCH", f"{NODES}/n1"), api.bodies(EVICTIONS)) == (drain_steps.TRIES, [])


def test_a_cordon_that_is_not_stored(clock: Clock) -> None:
    api = Direct(node("n1"), pods=[pod("a", **OWNED)])
    api.answers["PATCH *"] = node("n1")
    assert "did not store the cordon, and no pod was evicted: does an admission webhook" in fail(api).failures["n1"]
    assert api.bodies(EVICTIONS) == []


def test_drain(clock: Clock) -> None:
    """Three LISTs a node and one POST a pod; static pods and those of a DaemonSet stay. Again, nothing is done."""
    there = [pod("a", **OWNED), pod("b", "n2", **OWNED), pod("c", "n2", **OWNED)]
    stay = [pod("etcd-n1", static=True, owner=("Node", "n1")), pod("proxy", owner=("DaemonSet", "p"))]
    api = Direct(node("n1"), node("n2"), pods=[*there, *stay])
    api.store.minor = 22
    result = run(api, grace_period=0)
    done = {name: (names(row["evicted"]), names(row["skipped"])) for name, row in result["nodes"].items()}
    assert done == {"n1": (["a"], ["etcd-n1", "proxy"]), "n2": (["b", "c"], [])}
    assert result["summary"] == {"nodes": 2, "changed": 2, "failed": 0, "evicted": 3}
    assert (cordoned(api, "n1"), cordoned(api, "n2")) == ((True, True), (True, True))
    assert sorted(api.pods) == ["etcd-n1", "proxy"]
    assert [api.count("GET", path) for path in (NODES, "/api/v1", PODS)] == [1, 1, 2 * 3]
    assert (len(api.bodies(EVICTIONS)), len(api.requests)) == (3, 1 + 1 + 2 * 3 + 2 + 3)
    left = {name: names(rows.values()) for name, rows in result["pods"].items()}
    assert left == {"n1": ["etcd-n1", "proxy"], "n2": []}
    sent = {(body["apiVersion"], body["deleteOptions"]["gracePeriodSeconds"]) for body in api.bodies(EVICTIONS)}
    assert sent == {("policy/v1", 0)}
    assert {"n1", "n2"} == {line["after_header"][5:] for line in result["diff"]}
    mark = api.nodes["n1"]["metadata"]["annotations"][annotation.CORDONED]
    api.asked.clear()
    again = run(api, nodes=["n1"])
    assert (again["changed"], again["nodes"]["n1"]["cordoned"], again["diff"]) == (False, True, [])
    assert api.requests == [("GET", NODES), ("GET", PODS), ("GET", PODS)]
    assert api.nodes["n1"]["metadata"]["annotations"][annotation.CORDONED] == mark


def test_the_mark_of_a_cordon_names_the_holder(clock: Clock) -> None:
    """A node that another user has cordoned is drained, and not marked."""
    api = Direct(node("n1"), node("n2", unschedulable=True), pods=[pod("a", "n2", **OWNED)])
    assert names(run(api, lease={"holder": "awx-17"})["nodes"]["n2"]["evicted"]) == ["a"]
    mark = json.loads(api.nodes["n1"]["metadata"]["annotations"][annotation.CORDONED])
    assert mark.keys() == {"holder", "time"} and mark["holder"] == "awx-17"
    assert cordoned(api, "n2") == (True, False)


@pytest.mark.parametrize(
    ("options", "refused"),
    [
        ({}, [("alone", "has no controller"), ("both", "has no controller"), ("data", "has an emptyDir")]),
        ({"force": True}, [("both", "has an emptyDir"), ("data", "has an emptyDir")]),
        ({"delete_emptydir_data": True}, [("alone", "has no controller"), ("both", "has no controller")]),
    ],
)
def test_refused_before_anything_is_done(options: dict[str, t.Any], refused: list[tuple[str, str]]) -> None:
    """Also on the other nodes."""
    data, both = pod("data", **OWNED), pod("both")
    for item in (data, both):
        item["spec"]["volumes"] = [{"name": "tmp", "emptyDir": {}}]
    api = Direct(node("n1"), node("n2"), pods=[pod("alone"), data, both, pod("fine", "n2", **OWNED)])
    failed = fail(api, **options)
    assert failed.message.startswith("draining (no node was cordoned, no pod evicted): 1 node failed.\nn1: ")
    found = re.findall(r"default/(\w+) (has \w+ \w+)", failed.failures["n1"])
    assert sorted(found) == refused and "fine" not in failed.message
    assert {method for method, _path in api.requests} == {"GET"}
    assert failed.result["nodes"]["n1"]["message"] == failed.failures["n1"]
    assert run(api, force=True, delete_emptydir_data=True)["summary"]["evicted"] == 4


@pytest.mark.fault(case=27)
def test_a_budget_that_blocks_until_the_end(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """The others go on; what is left is named with its budget, and the cordon stays."""
    monkeypatch.setattr("random.uniform", lambda _least, most: most)
    api = Direct(node("n1"), node("n2"), pods=[pod("a", **OWNED), pod("b", **OWNED), pod("c", "n2", **OWNED)])
    api.answers[eviction("a")] = BLOCKED
    failed = fail(api)
    assert failed.failures == {
        "n1": "the timeout of 60 s is over, and these pods are left: "
        f"default/a: {BUDGET}. It stays cordoned; state restored uncordons it"
    }
    assert (sorted(api.pods), clock.now, cordoned(api)) == (["a"], 1060, (True, True))
    rows = failed.result["nodes"]
    assert (names(rows["n1"]["evicted"]), names(rows["n2"]["evicted"])) == (["b"], ["c"])
    assert rows["n2"]["message"] == "1 pod evicted"
    # At once, after 1, 2 and 4 s more, then every 5 s and at the end; the node that is done is not listed any more.
    asked = len(api.bodies(eviction("a")))
    assert asked == 15
    assert api.count("GET", PODS) == 2 + asked


@pytest.mark.parametrize("away", [False, True])
def test_a_budget_that_is_freed(clock: Clock, away: bool) -> None:
    """Also after a passing outage of the API server."""
    api = Direct(node("n1"), pods=[pod("a", **OWNED)])
    api.answers[eviction("a")] = BLOCKED
    if away:
        clock.at(4, lambda: api.answers.update({"*": AWAY}))
    clock.at(20, api.answers.clear)
    assert names(run(api)["nodes"]["n1"]["evicted"]) == ["a"]
    assert 1020 <= clock.now <= 1030


def test_retry_after(clock: Clock) -> None:
    """The API server sets the earliest time of the next request."""
    api = Direct(node("n1"), pods=[pod("a", **OWNED)])
    api.answers[eviction("a")] = ApiError(429, "busy", retry_after=25.0, transient=True)
    fail(api)
    assert len(api.bodies(EVICTIONS)) <= 3


def test_an_eviction_that_will_never_be(clock: Clock) -> None:
    """The drain does not wait for it, but evicts the other pods."""
    api = Direct(node("n1"), pods=[pod("a", **OWNED), pod("b", **OWNED)])
    api.answers[eviction("a")] = ApiError(403, "pods is forbidden: cannot create pods/eviction", "Forbidden")
    words = "default/a: pods is forbidden: cannot create pods/eviction. It stays cordoned; state restored uncordons it"
    assert fail(api).failures == {"n1": words}
    assert (sorted(api.pods), len(api.bodies(EVICTIONS))) == (["a"], 2)
    assert clock.now < 1003


def test_pods_take_time_to_go(clock: Clock) -> None:
    """The drain waits for a pod that is already being deleted and does not evict it again."""
    api = Direct(node("n1"), pods=[pod("a", **OWNED), pod("b")])
    api.pods["a"]["metadata"]["finalizers"] = ["slow"]
    api.pods["b"]["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert "default/a: it is still being deleted (a long grace period, a finalizer" in fail(api).failures["n1"]
    clock.at(clock.now - 1000 + 20, api.pods.clear)
    api.pods["a"]["metadata"].pop("deletionTimestamp")
    api.asked.clear()
    assert names(run(api)["nodes"]["n1"]["evicted"]) == ["a"]
    assert len(api.bodies(EVICTIONS)) == 1 and clock.now >= 1080


def test_only_this_pod(clock: Clock) -> None:
    """Its successor of the same name is evicted if it runs on this node, and not changed elsewhere."""
    api = Direct(node("n1"), pods=[pod("a", **OWNED)])
    successor = pod("a", "n9")
    successor["metadata"]["uid"] = "b"
    api.before(EVICTIONS, lambda: api.pods.update(a=successor))
    assert run(api)["nodes"]["n1"]["evicted"] == []
    assert (list(api.pods), len(api.bodies(EVICTIONS))) == (["a"], 1)


def test_bound_in_the_moment_of_the_cordon(clock: Clock) -> None:
    api = Direct(node("n1"), pods=[pod("a", **OWNED)])
    api.before("PATCH *", lambda: api.pods.add(pod("late", **OWNED)))
    assert names(run(api)["nodes"]["n1"]["evicted"]) == ["a", "late"]
    api = Direct(node("n1"), pods=[pod("a", **OWNED)])
    api.before("PATCH *", lambda: api.pods.add(pod("late")))
    assert "default/late has no controller" in fail(api).failures["n1"]


def test_check_mode(clock: Clock) -> None:
    """No change and no wait; budgets are checked, and pods that would block are reported."""
    api = Direct(node("n1"), node("n2"), pods=[pod("a", **OWNED), pod("b", "n2", **OWNED)])
    api.answers[eviction("b")] = BLOCKED
    result = run(api, check_mode=True)
    assert {name: names(row["evicted"]) for name, row in result["nodes"].items()} == {"n1": ["a"], "n2": []}
    assert result["warnings"] == [f"n2: would wait for default/b: {BUDGET}"]
    assert (result["changed"], clock.slept, sorted(api.pods)) == (True, [], ["a", "b"])
    assert cordoned(api) == cordoned(api, "n2") == (False, False)
    sent = [(body["apiVersion"], body["deleteOptions"]["dryRun"]) for body in api.bodies(EVICTIONS)]
    assert sent == [("policy/v1beta1", ["All"])] * 2
    assert api.count("PATCH", f"{NODES}/n1") == api.count("PATCH", f"{NODES}/n2") == 1
    api.answers[eviction("b")] = ApiError(403, "forbidden")
    assert fail(api, check_mode=True).failures == {"n2": "default/b: forbidden"}


def test_an_answer_that_was_lost(clock: Clock) -> None:
    """The pod went: that was us."""
    api = Direct(node("n1"), pods=[pod("a", **OWNED)])
    api.answers[eviction("a")] = AWAY
    clock.at(0.1, api.pods.clear)
    result = run(api)
    assert (names(result["nodes"]["n1"]["evicted"]), result["changed"]) == (["a"], True)


@pytest.mark.parametrize(
    ("path", "answer", "words"),
    [
        (drain_steps.DISCOVERY, {"resources": []}, "has no resource pods/eviction"),
        (PODS, ApiError(403, "cannot list pods"), r"\(no node was cordoned, no pod evicted\): 1 node failed"),
    ],
)
def test_what_cannot_be_drained(clock: Clock, path: str, answer: t.Any, words: str) -> None:
    """Found out before anything is cordoned."""
    api = Direct(node("n1"), pods=[pod("a", **OWNED)])
    api.answers[f"GET {path}"] = answer
    with pytest.raises(ClusterError, match=words):
        run(api)
    assert cordoned(api) == (False, False)
    with pytest.raises(ClusterError, match="nodes is an empty list"):
        run(api, nodes=[])


LEASE = {"name": "rollout", "namespace": "kube-system", "uid": "u", "holder": "me", "duration": "30"}


def test_the_lease_is_kept(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """At once and whenever a third of its duration is over; when it is lost nothing more is evicted."""
    renewed: list[float] = []

    def renew(_session: t.Any, lease: dict[str, t.Any]) -> None:
        renewed.append(clock.now - 1000)
        if clock.now > 1030:
            raise ClusterError(f"the lease {lease['name']} is not ours any more")

    monkeypatch.setattr(lease_objects, "renew", renew)
    api = Direct(node("n1"), pods=[pod("a", **OWNED)])
    api.answers[eviction("a")] = BLOCKED
    failed = fail(api, lease=LEASE)
    words = "the lease rollout is not ours any more, and these pods are left: default/a: "
    assert failed.failures["n1"].startswith(words)
    assert renewed[0] == 0 and max(later - sooner for sooner, later in itertools.pairwise(renewed)) <= 10.01
    assert clock.now < 1045
