# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Prune, of the stage push: which ConfigMaps it removes, and when it does not."""

from __future__ import annotations

import datetime
import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import ApiError, ClusterError
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.objects import lease, lease_objects, readers
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.stages import push
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import document, following
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values.annotation import PREFIX
from tests.sim.api.direct import Clock, Direct
from tests.support.api.calls import CONFIGMAPS, NODES
from tests.support.api.objects import HEADER, configmap, node, place, reference, status

TEXT = document.render({**HEADER, "maxPods": 50})
SUFFIX = "abcdefghkm"


def prune_options(**given: t.Any) -> dict[str, t.Any]:
    return {"name": "base", "namespace": "kube-system", "key": "kubelet", **given}


def cluster(*idle: str, nodes: t.Sequence[dict[str, t.Any]] = (), clock: Clock | None = None) -> Direct:
    """Return an API server with these ConfigMaps and nodes, by default one that uses none of them."""
    return Direct(*(nodes or [node("n1")]), configmaps=[configmap(name, TEXT) for name in idle], clock=clock)


def prune(api: Direct, check_mode: bool = False) -> dict[str, t.Any]:
    """Prune; its own Lease must not stay."""
    try:
        return push.push(api, prune_options(state="pruned"), check_mode)
    finally:
        assert not any(item["spec"]["holderIdentity"].startswith("prune on ") for item in api.leases.values())


@pytest.mark.parametrize("check_mode", [False, True])
def test_prune_removes_unused_configmaps(check_mode: bool) -> None:
    idle = f"base-{SUFFIX}"
    api = cluster(idle)
    result = prune(api, check_mode)
    assert list(api.configmaps) == ([idle] if check_mode else [])
    (asked,) = api.bodies(f"DELETE {CONFIGMAPS}/*")
    assert asked["preconditions"] == {"uid": f"uid-{idle}", "resourceVersion": "7"}
    assert (result["changed"], result["pruned"], result["kept"], result["summary"]) == (
        True,
        [idle],
        [],
        {"pruned": 1, "kept": 0},
    )
    assert (result["diff"][0]["before"], result["diff"][0]["after"]) == (TEXT, "")


@pytest.mark.parametrize(
    "using",
    [
        {"source": place(f"base-{SUFFIX}")},
        {"config": status(assigned=reference(f"base-{SUFFIX}", "1"))},
        {"config": status(active=reference(f"base-{SUFFIX}", "1"))},
        {"config": status(good=reference(f"base-{SUFFIX}", "1"))},
    ],
)
def test_prune_keeps_what_any_node_has_anywhere(using: dict[str, t.Any]) -> None:
    """Also a node that is not Ready and whose kubelet has another version by now."""
    name = f"base-{SUFFIX}"
    api = cluster(name, nodes=[node("n1"), node("n2", ready="Unknown", version="v1.24.0", **using)])
    result = prune(api)
    assert (result["changed"], result["pruned"], result["kept"]) == (False, [], [name])


@pytest.mark.parametrize(
    "name", ["other-abcdefghkm", "base-gpu-abcdefghkm", "base", "base-short", "base-abcdefghkmn", "mybase-abcdefghkm"]
)
def test_prune_keeps_other_names(name: str) -> None:
    """A name that begins like ours is not ours: ours is the first part and the hash, nothing between them."""
    result = prune(cluster(name))
    assert (result["changed"], result["kept"]) == (False, [name])


def test_prune_revokes_what_followers_no_longer_read() -> None:
    """Each ConfigMap that a rollout has assigned to a node with a follower has a Role of its own."""
    notes = {following.FOLLOWER: following.text(following.Answer())}
    followed = node("n1", version="v1.33.0", marked=reference("base-new"))
    followed["metadata"]["annotations"].update(notes)
    api = cluster(nodes=[followed])
    places = {("kube-system", name): ["n1"] for name in ("base-old", "base-new")}
    readers.grant(api, places, False)
    assert prune(api)["revoked"] == ["RoleBinding kube-system/base-old-reader", "Role kube-system/base-old-reader"]
    assert readers.grant(api, places, True)[0] == [
        "Role kube-system/base-old-reader",
        "RoleBinding kube-system/base-old-reader",
    ]
    assert not prune(api)["changed"]


def test_prune_sees_the_same_name_in_another_namespace() -> None:
    name = f"base-{SUFFIX}"
    elsewhere = node("n1", {**place(name), "namespace": "other"})
    assert prune(cluster(name, nodes=[elsewhere]))["pruned"] == [name]


def test_prune_reports_what_could_not_be_removed() -> None:
    one, two = f"base-{SUFFIX}", f"base-{SUFFIX[::-1]}"
    api = cluster(one)
    api.configmaps.add(configmap(two, "garbage: ["))
    api.answers[f"DELETE */{one}"] = ApiError(403, "forbidden")
    with pytest.raises(ClusterError, match=f"{one}: forbidden") as caught:
        prune(api)
    assert list(api.configmaps) == [one]
    assert (caught.value.result["changed"], caught.value.result["pruned"]) == (True, [two])


def under_way(api: Direct, held: bool = True) -> dict[str, t.Any]:
    """A rollout of one node of the cluster holds, or claims, its Lease."""
    claim = lease_objects.create(api, "kube-system", "ops@bastion", "workers", ["n7"], 300)
    if held:
        lease_objects.renew(api, claim.lease(), held=True)
    return claim.lease()


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(lease, "time", made)
    return made


@pytest.mark.parametrize("held", [True, False])
def test_prune_removes_nothing_while_a_rollout_is_under_way(waits: Clock, held: bool) -> None:
    """It may have pushed what it has not assigned yet. Nothing is read, and its Lease stays."""
    api = cluster()
    mine = under_way(api, held)
    with pytest.raises(ClusterError) as caught:
        prune(api)
    assert list(api.leases) == [mine["name"]]
    assert all("/leases" in path for _method, path in api.requests)
    first, second, third = caught.value.message.splitlines()
    assert first == (
        "a rollout is under way, and may have pushed ConfigMaps that no node uses yet; nothing was pruned."
    )
    state = "has been rolling out to" if held else "has been waiting to roll out to"
    assert second.startswith(f"ops@bastion {state} workers since ") and second.endswith("after the last renewal.")
    assert third.startswith("Wait until it is done and run again. ")
    assert [row["holder"] for row in caught.value.result["obstacles"]] == ["ops@bastion"]


def test_prune_waits_for_a_claim_that_is_withdrawn(waits: Clock) -> None:
    api = cluster()
    under_way(api, held=False)
    waits.at(3, api.leases.clear)
    assert not prune(api)["changed"]


def test_prune_in_check_mode_warns_of_a_rollout(waits: Clock) -> None:
    idle = f"base-{SUFFIX}"
    api = cluster(idle)
    under_way(api)
    result = prune(api, True)
    assert len(api.leases) == 1
    assert result["pruned"] == [idle] and result["warnings"][0].startswith("a rollout is under way")


def test_no_rollout_begins_while_prune_runs(waits: Clock) -> None:
    """Any rollout, since the Lease covers all nodes."""
    api = cluster()
    given = {"state": "held", "group": "batch", "holder": "me", "duration": 300, "wait": 0, "lease": None}
    refused: list[str] = []

    def begin() -> None:
        with pytest.raises(ClusterError) as caught:
            lease.lease(api, {**given, "namespace": "kube-system", "nodes": ["n5"]}, False)
        refused.append(caught.value.message)

    api.before(f"GET {NODES}", begin)
    prune(api)
    assert " has been rolling out to all nodes since " in refused[0] and "Nodes in both rollouts: n5." in refused[0]


def test_prune_stops_when_it_loses_its_lease(waits: Clock) -> None:
    """Its node list took long, and a rollout has taken the Lease over."""
    idle = f"base-{SUFFIX}"
    api = cluster(idle, clock=waits)
    api.before(f"GET {NODES}", lambda: (waits.sleep(60), api.leases.clear()))
    with pytest.raises(ClusterError, match=f"{idle}: this rollout lost its Lease"):
        prune(api)
    assert list(api.configmaps) == [idle]


@pytest.mark.parametrize("check_mode", [False, True])
def test_prune_on_an_api_server_without_leases(check_mode: bool) -> None:
    """Older than 1.14: no rollout can hold one either."""
    api = cluster()
    api.store.minor = 13
    assert not prune(api, check_mode)["changed"]


@pytest.mark.parametrize(("days", "kept"), [(-1, False), (0, True), (7, True), (None, False)])
def test_a_staged_configmap_is_kept_until_its_day(days: int | None, kept: bool) -> None:
    """A label that is not a day protects nothing: no later prune would remove the ConfigMap."""
    today = datetime.datetime.now(datetime.UTC).date()
    until = "soon" if days is None else (today + datetime.timedelta(days=days)).isoformat()
    api = cluster(f"base-{SUFFIX}")
    api.configmaps[f"base-{SUFFIX}"]["metadata"]["labels"][f"{PREFIX}staged-until"] = until
    result = prune(api)
    assert (result["kept"], result["pruned"]) == (([f"base-{SUFFIX}"], []) if kept else ([], [f"base-{SUFFIX}"]))


@pytest.mark.parametrize(("days", "gone"), [(-1, 2), (0, 0)])
def test_what_a_seed_refers_to_is_kept_until_its_day(days: int, gone: int) -> None:
    """A ConfigMap without data names it, and goes with it."""
    until = (datetime.datetime.now(datetime.UTC).date() + datetime.timedelta(days=days)).isoformat()
    kept, mark = f"base-{SUFFIX}", f"base-{SUFFIX}-seed-{until}"
    api = cluster(kept, mark, f"other-{SUFFIX}-seed-{until}")
    for name in (mark, f"other-{SUFFIX}-seed-{until}"):
        meta = api.configmaps[name]["metadata"]
        meta["labels"][f"{PREFIX}staged-until"] = until
        meta["annotations"] = {f"{PREFIX}seed-of": name.partition("-seed-")[0]}
    assert prune(api)["pruned"] == [kept, mark][:gone]
