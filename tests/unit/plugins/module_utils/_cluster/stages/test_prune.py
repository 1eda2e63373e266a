# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Prune: which ConfigMaps it removes, and when it does not."""

from __future__ import annotations

import datetime
import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import ApiError, ClusterError
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.objects import lease, lease_objects
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.stages import push
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import document
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values.annotation import PREFIX
from tests.sim.api.direct import Direct
from tests.support.calls import CONFIGMAPS, NODES, PAGE, Call, Calls
from tests.support.clock import Clock
from tests.support.objects import HEADER, configmap, items, node, place, reference, status

TEXT = document.render({**HEADER, "maxPods": 50})
SUFFIX = "abcdefghkm"


def options(**given: t.Any) -> dict[str, t.Any]:
    return {"name": "base", "namespace": "kube-system", "key": "kubelet", **given}


class Pruned(Calls):
    """The expected requests without those for Leases, which an API server in memory answers."""

    def __init__(self, *expected: Call) -> None:
        super().__init__(*expected)
        self.leases = Direct()

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        super().__exit__(kind, *error)
        assert not any(item["spec"]["holderIdentity"].startswith("prune on ") for item in self.leases.leases.values())

    def server_time(self) -> float:
        """Return the time of the API server's clock."""
        return self.leases.now

    def _send(self, method: str, path: str, *rest: t.Any) -> bytes:  # type: ignore[override]  # the same
        asked = self.leases if "/leases" in path else super()
        return asked._send(method, path, *rest)


def managed(*found: dict[str, t.Any]) -> Call:
    return Call(
        "GET", CONFIGMAPS, items(*found), (("labelSelector", "app.kubernetes.io/managed-by=livenodes.kubelet"),)
    )


def delete(name: str, answer: t.Any = None, dry_run: bool = False) -> Call:
    preconditions = {"uid": f"uid-{name}", "resourceVersion": "7"}
    asked = {
        "kind": "DeleteOptions",
        "apiVersion": "v1",
        "preconditions": preconditions,
        **({"dryRun": ["All"]} if dry_run else {}),
    }
    return Call("DELETE", f"{CONFIGMAPS}/{name}", {} if answer is None else answer, body=asked)


def cluster(*found: dict[str, t.Any]) -> Call:
    return Call("GET", NODES, items(*found), PAGE)


@pytest.mark.parametrize("check_mode", [False, True])
def test_prune_removes_unused_configmaps(check_mode: bool) -> None:
    idle = f"base-{SUFFIX}"
    with Pruned(managed(configmap(idle, TEXT)), cluster(node("n1")), delete(idle, dry_run=check_mode)) as session:
        result = push.push(session, options(state="pruned"), check_mode)
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
    with Pruned(
        managed(configmap(name, TEXT)), cluster(node("n1"), node("n2", ready="Unknown", version="v1.24.0", **using))
    ) as session:
        result = push.push(session, options(state="pruned"), False)
    assert (result["changed"], result["pruned"], result["kept"]) == (False, [], [name])


@pytest.mark.parametrize(
    "name", ["other-abcdefghkm", "base-gpu-abcdefghkm", "base", "base-short", "base-abcdefghkmn", "mybase-abcdefghkm"]
)
def test_prune_keeps_other_names(name: str) -> None:
    """A name that begins like ours is not ours: ours is the first part and the hash, nothing between them."""
    with Pruned(managed(configmap(name, TEXT)), cluster(node("n1"))) as session:
        result = push.push(session, options(state="pruned"), False)
    assert (result["changed"], result["kept"]) == (False, [name])


def test_prune_sees_the_same_name_in_another_namespace() -> None:
    name = f"base-{SUFFIX}"
    elsewhere = node("n1", {**place(name), "namespace": "other"})
    with Pruned(managed(configmap(name, TEXT)), cluster(elsewhere), delete(name)) as session:
        assert push.push(session, options(state="pruned"), False)["pruned"] == [name]


def test_prune_reports_what_could_not_be_removed() -> None:
    one, two = f"base-{SUFFIX}", f"base-{SUFFIX[::-1]}"
    calls = (
        managed(configmap(one, TEXT), configmap(two, "garbage: [")),
        cluster(),
        delete(one, ApiError(403, "forbidden")),
        delete(two),
    )
    with Pruned(*calls) as session, pytest.raises(ClusterError, match=f"{one}: forbidden") as caught:
        push.push(session, options(state="pruned"), False)
    assert (caught.value.result["changed"], caught.value.result["pruned"]) == (True, [two])


def under_way(leases: Direct, held: bool = True) -> dict[str, t.Any]:
    """A rollout of one node of the cluster holds, or claims, its Lease."""
    claim = lease_objects.create(leases, "kube-system", "ops@bastion", "workers", ["n7"], 300)
    if held:
        lease_objects.renew(leases, claim.lease(), held=True)
    return claim.lease()


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(lease, "time", made)
    return made


@pytest.mark.parametrize("held", [True, False])
def test_prune_removes_nothing_while_a_rollout_is_under_way(waits: Clock, held: bool) -> None:
    """It may have pushed what it has not assigned yet. Nothing is read, and its Lease stays."""
    with Pruned() as session:
        mine = under_way(session.leases, held)
        with pytest.raises(ClusterError) as caught:
            push.push(session, options(state="pruned"), False)
        assert list(session.leases.leases) == [mine["name"]]
    first, second, third = caught.value.message.splitlines()
    assert first == (
        "a rollout is under way, and may have pushed ConfigMaps that no node uses yet; nothing was pruned."
    )
    state = "has been rolling out to" if held else "has been waiting to roll out to"
    assert second.startswith(f"ops@bastion {state} workers since ") and second.endswith("after the last renewal.")
    assert third.startswith("Wait until it is done and run again. ")
    assert [row["holder"] for row in caught.value.result["obstacles"]] == ["ops@bastion"]


def test_prune_waits_for_a_claim_that_is_withdrawn(waits: Clock) -> None:
    with Pruned(managed(), cluster()) as session:
        under_way(session.leases, held=False)
        waits.at(3, session.leases.leases.clear)
        assert not push.push(session, options(state="pruned"), False)["changed"]


def test_prune_in_check_mode_warns_of_a_rollout(waits: Clock) -> None:
    idle = f"base-{SUFFIX}"
    calls = (managed(configmap(idle, TEXT)), cluster(node("n1")), delete(idle, dry_run=True))
    with Pruned(*calls) as session:
        under_way(session.leases)
        result = push.push(session, options(state="pruned"), True)
        assert len(session.leases.leases) == 1
    assert result["pruned"] == [idle] and result["warnings"][0].startswith("a rollout is under way")


def test_no_rollout_begins_while_prune_runs(waits: Clock) -> None:
    """Any rollout, since the Lease covers all nodes."""
    refused: list[str] = []
    given = {"state": "held", "group": "batch", "holder": "me", "duration": 300, "wait": 0, "lease": None}

    class Watched(Pruned):
        def _send(self, method: str, path: str, *rest: t.Any) -> bytes:  # type: ignore[override]  # the same
            if path == NODES:
                with pytest.raises(ClusterError) as caught:
                    lease.lease(self.leases, {**given, "namespace": "kube-system", "nodes": ["n5"]}, False)
                refused.append(caught.value.message)
            return super()._send(method, path, *rest)

    with Watched(managed(), cluster()) as session:
        push.push(session, options(state="pruned"), False)
    assert " has been rolling out to all nodes since " in refused[0] and "Nodes in both rollouts: n5." in refused[0]


def test_prune_stops_when_it_loses_its_lease(waits: Clock) -> None:
    """Its node list took long, and a rollout has taken the Lease over."""
    idle = f"base-{SUFFIX}"

    class Slow(Pruned):
        def _send(self, method: str, path: str, *rest: t.Any) -> bytes:  # type: ignore[override]  # the same
            if path == NODES:
                waits.sleep(60)
                self.leases.leases.clear()
            return super()._send(method, path, *rest)

    with (
        Slow(managed(configmap(idle, TEXT)), cluster(node("n1"))) as session,
        pytest.raises(ClusterError, match=f"{idle}: this rollout lost its Lease"),
    ):
        push.push(session, options(state="pruned"), False)


def test_prune_on_an_api_server_without_leases() -> None:
    """Older than 1.14: no rollout can hold one either."""

    class Old(Calls):
        def _send(self, method: str, path: str, *rest: t.Any) -> bytes:  # type: ignore[override]  # the same
            if "/leases" in path:
                raise ApiError(404, "the server could not find the requested resource", "NotFound")
            return super()._send(method, path, *rest)

    for check_mode in (False, True):
        with Old(managed(), cluster()) as session:
            assert not push.push(session, options(state="pruned"), check_mode)["changed"]


@pytest.mark.parametrize(("days", "kept"), [(-1, False), (0, True), (7, True), (None, False)])
def test_a_staged_configmap_is_kept_until_its_day(days: int | None, kept: bool) -> None:
    """A label that is not a day protects nothing: no later prune would remove the ConfigMap."""
    today = datetime.datetime.now(datetime.UTC).date()
    until = "soon" if days is None else (today + datetime.timedelta(days=days)).isoformat()
    staged = configmap(f"base-{SUFFIX}", TEXT)
    staged["metadata"]["labels"] = {f"{PREFIX}staged-until": until}
    removal = [] if kept else [delete(f"base-{SUFFIX}")]
    with Pruned(managed(staged), cluster(node("n1")), *removal) as session:
        result = push.push(session, options(state="pruned"), False)
    assert (result["kept"], result["pruned"]) == (([f"base-{SUFFIX}"], []) if kept else ([], [f"base-{SUFFIX}"]))
