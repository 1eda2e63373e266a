# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The report of a soak on pods: lost, restarted, and slow to become Ready."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import ApiError, ClusterError
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.objects import pods
from tests.sim.api.direct import Clock
from tests.support.api.objects import pod
from tests.support.api.soaking import OWNED, cluster, done, fail, run, snapshot, state


def put(pod_object: dict[str, t.Any], **status_fields: t.Any) -> None:
    pod_object["status"].update(status_fields)


REPORTED = "Pods that changed without a loss: default/a: deleted through the API"
EVICTED, TAINTED = "EvictionByEvictionAPI", "DeletionByTaintManager"
TARGET = {"type": "DisruptionTarget", "status": "True"}


@pytest.mark.parametrize(
    ("owner", "status", "reason"),
    [
        (("ReplicaSet", "web"), {}, ""),
        (("Job", "backup"), {"phase": "Succeeded"}, ""),
        (("Job", "backup"), {"phase": "Failed"}, ""),
        (("DaemonSet", "agent"), {}, ""),
        (("ReplicaSet", "web"), {"conditions": [{**TARGET, "reason": EVICTED}]}, f" ({EVICTED})"),
    ],
)
@pytest.mark.parametrize("ended", [True, False])
@pytest.mark.fault(case=55)
def test_pods_that_the_api_deleted(
    clock: Clock, owner: tuple[str, str], status: dict[str, t.Any], reason: str, ended: bool
) -> None:
    """Reported and not counted, whether the deletion has ended or not; one watch for all looks."""
    api = cluster(clock, done("n1"), done("n2"), pods=[pod("a", owner=owner), pod("b", "n2", **OWNED)])
    before = snapshot(api)

    def delete() -> None:
        api.pods["a"]["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        put(api.pods["a"], **status)
        if ended:
            api.delete("a")

    clock.at(12, delete)
    row = run(api, pods=before, seconds=70)["nodes"]["n1"]
    shown = {"namespace": "default", "name": "a", "reason": f"deleted through the API{reason}"}
    assert row["pods"]["reported"] == [shown]
    assert row["message"].endswith(f"{REPORTED}{reason}")
    assert (api.count("GET", pods.PODS), api.count("WATCH", pods.PODS)) == (6, int(ended))


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        ({"phase": "Failed", "reason": "OutOfcpu"}, "OutOfcpu, then deleted"),
        ({"conditions": [{**TARGET, "reason": TAINTED}]}, f"deleted through the API ({TAINTED})"),
        ({"containerStatuses": [{"name": "main", "restartCount": 2}]}, "container main restarted 2 times"),
    ],
)
def test_losses_of_pods_that_are_deleted_then(clock: Clock, status: dict[str, t.Any], reason: str) -> None:
    """A controller deletes a failed pod before the next look: its last state shows the loss."""
    api = cluster(clock, done(), pods=[pod("a", owner=("DaemonSet", "agent"))])
    before = snapshot(api)
    api.pods["a"]["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    put(api.pods["a"], **status)
    api.delete("a")
    failed = fail(api, pods=before)
    assert state(failed) == "pods_lost" and f"default/a: {reason}. " in failed.failures["n1"]
    assert api.count("WATCH", pods.PODS) == 1


@pytest.mark.parametrize("error", [410, 403])
@pytest.mark.parametrize(
    ("since", "tolerations", "lost"),
    [
        pytest.param("2025-12-31T23:59:40Z", [], False, id="Ready all the time"),
        pytest.param("2026-01-01T00:00:20Z", [], True, id="not Ready for 20 s, tolerates nothing"),
        pytest.param("2026-01-01T00:00:20Z", 300, False, id="not Ready for 20 s, tolerates 300 s"),
        pytest.param("2026-01-01T00:06:40Z", 300, True, id="not Ready for 400 s, tolerates 300 s"),
        pytest.param("2026-01-01T00:06:40Z", [{"operator": "Exists"}], False, id="not Ready for 400 s, for ever"),
    ],
)
def test_deleted_pods_whose_last_state_is_unknown(
    clock: Clock, error: int, since: str, tolerations: t.Any, lost: bool
) -> None:
    """How long the Node was not Ready shows whether the taint manager can have deleted them."""
    made = pod("a", **OWNED)
    made["spec"]["tolerations"] = tolerations
    if tolerations == 300:
        one = {"effect": "NoExecute", "tolerationSeconds": 300, "operator": "Exists"}
        made["spec"]["tolerations"] = [{**one, "key": key} for key in pods.AWAY]
    api = cluster(clock, done(), pods=[made])
    before = snapshot(api)
    api.delete("a")
    api.answers["WATCH *"] = ApiError(error, "no events")
    api.nodes["n1"]["status"]["conditions"][1]["lastTransitionTime"] = since
    row = (fail(api, pods=before).result if lost else run(api, pods=before))["nodes"]["n1"]
    assert [len(row["pods"][kind]) for kind in ("lost", "reported")] == [int(lost), int(not lost)]
    assert not lost or "default/a: deleted while its Node was not Ready" in row["message"]
    assert api.count("WATCH", pods.PODS) == 1


def test_many_reported_pods(clock: Clock) -> None:
    """The message names two."""
    api = cluster(clock, done(), pods=[pod(name, **OWNED) for name in "abcde"])
    before = snapshot(api)
    for name in "abcde":
        api.delete(name)
    message = run(api, pods=before)["nodes"]["n1"]["message"]
    assert message.endswith("default/b: deleted through the API; and 3 more") and len(message) < 240


def test_an_outage_during_the_watch(clock: Clock) -> None:
    """The next look asks again."""
    api = cluster(clock, done(), pods=[pod("a", **OWNED)])
    before = snapshot(api)
    put(api.pods["a"], phase="Failed", reason="Evicted")
    api.delete("a")
    api.answers["WATCH *"] = ApiError(503, "away", transient=True)
    clock.at(40, api.answers.clear)
    assert "default/a: Evicted" in fail(api, pods=before).failures["n1"]


@pytest.mark.fault(case=55)
def test_a_pod_that_becomes_ready_by_the_restart_alone(clock: Clock) -> None:
    """As kubelets of 1.35 report it: its containers are the same."""
    made = pod("a", ready=False, **OWNED)
    made["status"]["containerStatuses"][0]["containerID"] = "containerd://1"
    api = cluster(clock, done(), pods=[made])
    before = snapshot(api)
    put(api.pods["a"], conditions=[{"type": "Ready", "status": "True"}])
    row = run(api, pods=before)["nodes"]["n1"]
    assert [item["name"] for item in row["pods"]["reported"]] == ["a"]
    assert "default/a: was not Ready before the change, and is Ready with the same containers" in row["message"]
    assert api.count("WATCH", pods.PODS) == 0


@pytest.mark.fault(case=26)
@pytest.mark.fault(case=29)
@pytest.mark.parametrize("reason", ["Evicted", "NodeAffinity"])
def test_pods_that_are_lost(clock: Clock, reason: str) -> None:
    """Named with namespace and reason, within half a minute; the other node goes on.

    The restarted kubelet admits its pods again, by the labels that the Node has now (lifecycle/predicate.go).
    """
    api = cluster(clock, done("n1"), done("n2"), pods=[pod("a", **OWNED), pod("b", "n2", **OWNED)])
    before = snapshot(api)
    clock.at(12, lambda: put(api.pods["a"], phase="Failed", reason=reason))
    failed = fail(api, pods=before)
    assert failed.failures == {
        "n1": f"pods were lost or restarted during the batch: default/a: {reason}. "
        "Its kubelet runs the assigned configuration; allow_pod_loss sets how many are accepted"
    }
    assert failed.result["nodes"]["n1"]["pods"]["lost"] == [{"namespace": "default", "name": "a", "reason": reason}]
    assert state(failed) == "pods_lost" and failed.result["nodes"]["n2"]["ok"]


@pytest.mark.parametrize(
    ("given", "ok"),
    [*((one, True) for one in ("2", "true", True)), *((one, False) for one in ("0", 0, "false", 1, False, "no", ""))],
)
def test_allowed_losses(clock: Clock, given: t.Any, ok: bool) -> None:
    """A number for each node, or any; restarted pods count too."""
    api = cluster(clock, done("n1"), pods=[pod("a", **OWNED), pod("b", **OWNED), pod("c", **OWNED)])
    options = {"pods": snapshot(api), "allow_pod_loss": given}
    put(api.pods["a"], phase="Failed", reason="Evicted")
    put(api.pods["b"], containerStatuses=[{"name": "main", "restartCount": 1}])
    result = run(api, **options) if ok else fail(api, **options).result
    found = result["nodes"]["n1"]["pods"]
    assert [[item["name"] for item in found[kind]] for kind in ("lost", "restarted")] == [["a"], ["b"]]


NO_NUMBER = r"allow_pod_loss is .*: set the number of pods a node may lose, or true"
NO_SNAPSHOT = "pods: the value of node n1 is not a snapshot; pass the result `pods` of kubelet_rollout_gate"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        *(({"allow_pod_loss": given}, NO_NUMBER) for given in ("some", "-1", "1.5", "10%")),
        *(({"pods": {"n1": given}}, NO_SNAPSHOT) for given in (["a"], {"uid": {"name": "a"}}, "a")),
    ],
)
def test_options_that_are_refused(clock: Clock, options: dict[str, t.Any], words: str) -> None:
    with pytest.raises(ClusterError, match=words):
        run(cluster(clock, done()), **options)


def test_pods_that_take_time(clock: Clock) -> None:
    """The soak ends when the last of them is Ready again, and not before."""
    api = cluster(clock, done(), pods=[pod("a", **OWNED), pod("b", ready=False, **OWNED)])
    before = snapshot(api)
    api.pods["a"] = pod("a", ready=False, **OWNED)
    clock.at(90, lambda: api.pods.update(a=pod("a", **OWNED)))
    assert run(api, pods=before)["summary"]["ok"] == 1
    assert 1090 <= clock.now <= 1093


@pytest.mark.parametrize(("allowed", "ok"), [("0", False), ("1", True), ("true", True)])
def test_pods_that_never_become_ready(clock: Clock, allowed: str, ok: bool) -> None:
    """They are waited for until pods_timeout, also where their loss is accepted."""
    api = cluster(clock, done(), pods=[pod("a", **OWNED)])
    before = snapshot(api)
    api.pods["a"] = pod("a", ready=False, **OWNED)
    options = {"pods": before, "seconds": 0, "pods_timeout": 40, "allow_pod_loss": allowed}
    if ok:
        assert run(api, **options)["nodes"]["n1"]["pods"]["unready"][0]["name"] == "a"
    else:
        failed = fail(api, **options)
        assert state(failed) == "pods_unready"
        assert "default/a: not Ready" in failed.failures["n1"] and "pods_timeout" in failed.failures["n1"]
    assert 1040 <= clock.now <= 1042


def test_a_mirror_that_is_made_again(clock: Clock) -> None:
    """The static pod itself went on."""
    api = cluster(clock, done(), pods=[pod("etcd-n1", static=True)])
    before = snapshot(api)
    clock.at(29, api.pods.clear)
    again = pod("etcd-n1", static=True)
    again["metadata"]["uid"] = "another"
    clock.at(62, lambda: api.pods.update({"etcd-n1": again}))
    assert run(api, pods=before)["summary"]["ok"] == 1
    assert clock.now >= 1062
