# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What stops a batch beside the budget: nodes that are away or silent, the window, labels that cost pods, a pause."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api import timestamps
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import ApiError, ClusterError
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.rollout import gate, pause
from tests.sim.api.direct import HEARTBEATS, Clock, Direct
from tests.support.api import gating
from tests.support.api.calls import CONFIGMAPS, NODES, PAGE, Call, Calls
from tests.support.api.gating import GROUP, Node, group, refused, run
from tests.support.api.objects import configmap, items, live, node, place, pod, status

pytestmark = pytest.mark.usefixtures("clock")
TRIO = ["n1", "n2", "n3"]
OPTIONS: dict[str, t.Any] = {"nodes": TRIO, "label_selectors": None, "skip": True, "unready": False}
DEAD = ApiError(503, "dial tcp: connection refused", "ServiceUnavailable")
POSTING = "not Ready (KubeletReady: posting)"


def info(api: Direct, **options: t.Any) -> dict[str, t.Any]:
    return gate.info(api, {**OPTIONS, **options}, False)  # type: ignore[arg-type]  # by its shape


@pytest.mark.parametrize(
    ("second", "kubelet", "unready", "expected"),
    [
        (node("n2"), live(), False, ""),
        # Ready and not readable: not away. Whatever reads it refuses.
        (node("n2"), DEAD, False, ""),
        (node("n2"), DEAD, True, ""),
        (node("n2", unschedulable=True), live(), False, ""),
        (node("n2", ready="False"), live(), False, POSTING),
        (node("n2", ready="Unknown"), DEAD, False, POSTING),
        (node("n2", ready="False"), live(), True, ""),
        (node("n2", ready="False"), DEAD, True, POSTING),
        (None, DEAD, False, "has no such Node"),
        (None, DEAD, True, "has no such Node"),
    ],
)
def test_who_is_away(second: t.Any, kubelet: t.Any, unready: bool, expected: str) -> None:
    listed = [node("n1"), *([second] if second else []), node("n3")]
    for one in listed:
        one["metadata"]["uid"] = f"uid-{one['metadata']['name']}"
    found = info(Direct(*listed, live={"n2": kubelet}), unready=unready)
    # By the uid, a rollout knows a Node that was created again since its plan.
    uids = {name: row["uid"] for name, row in found["nodes"].items()}
    assert uids == {one["metadata"]["name"]: one["metadata"]["uid"] for one in listed}
    assert list(found["away"]) == (["n2"] if expected else [])
    if expected:
        row = found["away"]["n2"]
        assert (row["ok"], row["state"]) == (False, "skipped") and expected in row["message"]


def test_without_the_option_a_missing_node_is_an_error() -> None:
    with pytest.raises(ClusterError, match="has no node named n2, n3"):
        info(Direct(node("n1")), skip=False)
    assert info(Direct(node("n1")), skip=False, nodes=["n1"])["away"] == {}


@pytest.mark.parametrize("options", [{"nodes": None}, {"nodes": []}, {"label_selectors": ["a=b"]}])
def test_nodes_must_be_named(options: dict[str, t.Any]) -> None:
    """Without their names, it is not known who is missing."""
    with pytest.raises(ClusterError, match="skip: name the nodes"):
        info(Direct(node("n1")), **options)


def test_counts() -> None:
    """A node that is both cordoned and not Ready is unavailable once."""
    listed = items(
        node("n1", config={}),
        node("n2", ready="False", unschedulable=True, config=status(error="bad")),
        node("n3", ready="Unknown"),
        node("n4", unschedulable=True),
        node("a5", place(), status(error="bad")),
    )
    with Calls(Call("GET", NODES, listed, PAGE)) as session:
        result = gate.info(session, {"nodes": None, "label_selectors": None, "skip": False}, True)
    assert (result["changed"], list(result["nodes"])) == (False, ["n1", "n2", "n3", "n4", "a5"])
    states = {"ready": 3, "unschedulable": 2, "unavailable": 3, "settled": 3, "failed": ["a5", "n2"]}
    assert result["summary"] == {"nodes": 5, **states, "native": 3, "checkpoint": 0, "dropin": 0}


def beating(name: str, seconds: float, clock: Clock, **fields: t.Any) -> Node:
    """A node whose condition was written so many seconds ago."""
    made = node(name, **fields)
    made["status"]["conditions"][1]["lastHeartbeatTime"] = timestamps.text(clock.time() - seconds)
    return made


@pytest.mark.parametrize(
    ("written", "renewed", "silent", "lists"),
    [(30, 500, False, 0), (250, 5, False, 1), (250, 59, False, 1), (250, 61, True, 1), (250, None, False, 1)],
)
def test_silence(clock: Clock, written: float, renewed: float | None, silent: bool, lists: int) -> None:
    """Both have to be old; one more LIST, only where a Node was not written for long."""
    api = Direct(*(beating(name, written if name == "n7" else 0, clock) for name in GROUP), live={"n7": DEAD})
    api.renewed = {} if renewed is None else {"n7": timestamps.text(clock.time() - renewed)}
    if silent:
        text = "silent: its kubelet has sent no heartbeat for 61 s by the API server's clock, but its Node is still"
        assert text in refused(api, "n1").message
        assert "n7: in the batch and silent: its kubelet" in refused(api, "n7").message
        api.asked.clear()
    assert run(api, "n1", max_unavailable=2)["budget"]["limit"] == 2
    assert api.count("GET", HEARTBEATS) == lists


def test_a_kubelet_that_answers_has_a_wrong_clock(clock: Clock) -> None:
    """The node controller goes by its own clock: a node whose clock is an hour slow stays Ready."""
    api = Direct(*(beating(name, 3600 if name == "n7" else 0, clock) for name in GROUP), live={"n7": live()})
    api.renewed = {"n7": timestamps.text(clock.time() - 3600)}
    assert run(api, "n7")["budget"]["unavailable"] == {}
    assert api.count("GET", "/api/v1/nodes/n7/proxy/configz") == 1
    # Nodes without a heartbeat are not judged by it.
    for item in api.nodes.values():
        del item["status"]["conditions"][1]["lastHeartbeatTime"]
    clock.now += 3600
    assert run(api, "n1") and api.count("GET", HEARTBEATS) == 1


def windowed(clock: Clock, api: Direct, left: float, needs: float, timeout: int = 0) -> dict[str, t.Any]:
    """Ask for a batch in a window that ends in `left` seconds, of which the batch needs some."""
    window = {"minutes": 60, "ends": clock.time() + left, "needs": needs, "began": [5.0]}
    return gating.look(api, TRIO, ["n1"], timeout=timeout, window=window)


def test_a_batch_that_ends_in_time_begins(clock: Clock) -> None:
    """Its result contains the time when it began."""
    found = windowed(clock, Direct(*map(node, TRIO)), 300, 300)
    assert found["window"] == {"began": [5.0, clock.time()]} and found["paused"] is None


def test_a_batch_that_would_end_too_late_pauses_the_rollout(clock: Clock) -> None:
    """Before the API server is asked for anything."""
    api = Direct(*map(node, TRIO))
    with pytest.raises(ClusterError) as caught:
        windowed(clock, api, 300, 301, timeout=60)
    assert caught.value.message == (
        "the window of 60 minutes ends in 5 min, and this batch may take 5 min. Nothing was begun. Run again in the "
        "next window: the rollout continues where it stopped. For more nodes in a window, use larger batches or a "
        "shorter soak"
    )
    assert caught.value.result["paused"]["by"] == "kubelet_config_window_minutes"
    assert not api.requests and not clock.slept


def test_the_wait_for_the_budget_does_not_outlast_the_window(clock: Clock) -> None:
    api = Direct(node("n1"), node("n2", ready="False"), node("n3"))
    with pytest.raises(ClusterError, match="the window of 60 minutes ends in 8 s"):
        windowed(clock, api, 20, 10, timeout=600)
    assert api.count("GET", NODES) > 1 and sum(clock.slept) <= 12


def entry(manager: str, time: str, *keys: str) -> dict[str, t.Any]:
    fields = {"f:data": {f"f:{key}": {} for key in keys}}
    return {"manager": manager, "time": time, "operation": "Update", "fieldsV1": fields}


def read(data: dict[str, str] | None, *managers: dict[str, t.Any]) -> dict[str, str] | None:
    meta = {"name": "p", "creationTimestamp": "2026-01-01T00:00:00Z", "managedFields": list(managers)}
    found = {"metadata": meta, "data": data}
    with Calls(Call("GET", f"{CONFIGMAPS}/p", found)) as session:
        return pause.read_pause(t.cast("t.Any", session), "kube-system", "p")


@pytest.mark.parametrize(
    ("data", "paused"),
    [
        *((data, False) for data in (None, {}, {"reason": "why"})),
        *(({"paused": value}, False) for value in ("", "false", " No\n", "0", "OFF")),
        *(({"paused": value}, True) for value in ("true", "True", "yes", "1", "until monday")),
    ],
)
def test_what_pauses(data: dict[str, str] | None, paused: bool) -> None:
    assert bool(read(data)) is paused


def test_since_when_and_by_whom_is_that_of_the_key() -> None:
    """Who wrote something else later has not paused anything."""
    found = read(
        {"paused": "true", "reason": " release day\n"},
        entry("kubectl-create", "2026-01-01T00:00:00Z", "reason"),
        entry("kubectl-edit", "2026-01-02T00:00:00Z", "paused"),
        entry("kubectl-patch", "2026-01-03T00:00:00Z", "paused", "reason"),
        entry("other", "2026-01-04T00:00:00Z", "reason"),
        {"manager": "odd"},
    )
    assert found == {"since": "2026-01-03T00:00:00Z", "by": "kubectl-patch", "reason": "release day"}


ZONE = "topology.kubernetes.io/zone"


def placed(*names: str, of: str = "n1") -> list[dict[str, t.Any]]:
    """Return pods that require the zone a."""
    return [{**pod(name, of), "spec": {"nodeName": of, "nodeSelector": {ZONE: "a"}}} for name in names]


@pytest.mark.fault(case=29)
def test_pods_that_a_changed_label_would_cost(clock: Clock) -> None:
    """Without another request, and without waiting: only a change of the labels or of the pods helps."""
    api = group(n1=node("n1", labels={ZONE: "b"}), n2=node("n2", labels={ZONE: "a"}))
    api.pods.add(pod("free", "n1"), *placed("web"), *placed("db", of="n2"))
    began = clock.time()
    error = refused(api, "n1", "n2", max_unavailable=3, pods=True, timeout=60)
    assert clock.time() == began
    assert error.message == (
        "the batch may not begin, and nothing was changed on its nodes. Their restarted kubelets would reject pods. "
        "NodeAffinity: the node's labels no longer match the pod's node selector or node affinity:\n"
        f"n1: default/web needs {ZONE}=a, the node has b\n"
        "Correct the labels, move these pods to other nodes first, or accept their loss: allow_pod_loss sets how many "
        "are accepted on each node (in roles: kubelet_config_allow_pod_loss)."
    )
    assert error.result["pods"]["n1"]["uid-web"]["misplaced"] == f"{ZONE}=a, the node has b"
    assert (api.count("GET", NODES), api.count("GET", "/api/v1/pods")) == (1, 2)


@pytest.mark.parametrize(
    ("options", "begins"),
    [
        ({"allow_pod_loss": "1"}, False),
        ({"allow_pod_loss": "2"}, True),
        ({"allow_pod_loss": "true"}, True),
        ({"drained": ["n1"]}, True),
        ({"drained": ["n2"]}, False),
        ({"pods": False}, True),
    ],
)
def test_losses_that_are_allowed(clock: Clock, options: dict[str, t.Any], begins: bool) -> None:
    """On each node; the pods of a drained node move before its kubelet restarts."""
    api = group()
    api.pods.add(*placed("web", "db"), *placed("log", of="n2"))
    given = {"max_unavailable": 3, "pods": True, "allow_pod_loss": "1", **options}
    if begins:
        assert run(api, "n1", "n2", **given)["window"]
    else:
        error = refused(api, "n1", "n2", **given)
        assert "n1: default/db needs" in error.message and "n2:" not in error.message


def test_many_misplaced_pods_are_counted(clock: Clock) -> None:
    api = group()
    api.pods.add(*placed(*"abcdefg"))
    message = refused(api, "n1", pods=True).message
    assert "; default/e needs" in message and "; and 2 more\n" in message and "default/f" not in message


PAUSE = "livenodes-kubelet-rollout"


def paused(**data: str) -> dict[str, t.Any]:
    made = configmap(PAUSE, data=data)
    made["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z"
    return made


def test_a_pause(clock: Clock) -> None:
    """Before the nodes are looked at, and not waited for."""
    api = group()
    api.configmaps[PAUSE] = paused(paused="true", reason="release day")
    error = refused(api, "n1", timeout=60)
    assert error.message == (
        "rollouts are paused since 2026-01-01T00:00:00Z: release day (key paused of the ConfigMap "
        "kube-system/livenodes-kubelet-rollout). Nothing was begun. "
        "End the pause with `kubectl -n kube-system patch configmap livenodes-kubelet-rollout --type=merge "
        '-p \'{"data":{"paused":null}}\'`, then run again: the rollout continues where it stopped'
    )
    assert error.result["paused"] == {"since": "2026-01-01T00:00:00Z", "by": "", "reason": "release day"}
    assert not clock.slept and api.count("GET", NODES) == 0
    assert run(api, "n1", pause_configmap="other") and run(api, "n1", pause_configmap="")
    api.configmaps[PAUSE]["data"] = {"paused": "yes"}
    api.configmaps[PAUSE]["metadata"]["managedFields"] = [entry("kubectl-edit", "2026-01-02T00:00:00Z", "paused")]
    assert "since 2026-01-02T00:00:00Z by kubectl-edit, no reason given (key paused" in refused(api, "n1").message


@pytest.mark.parametrize(
    ("before", "options", "after", "changed"),
    [
        (None, {}, {"paused": "true"}, True),
        (None, {"reason": "n1 was reverted"}, {"paused": "true", "reason": "n1 was reverted"}, True),
        # As a text block of YAML ends.
        (None, {"reason": "a\n"}, {"paused": "true", "reason": "a"}, True),
        ({"other": "kept"}, {"reason": "a"}, {"other": "kept", "paused": "true", "reason": "a"}, True),
        ({"paused": "yes", "reason": "a"}, {}, {"paused": "yes", "reason": "a"}, False),
        ({"paused": "yes", "reason": "a"}, {"reason": "b"}, {"paused": "true", "reason": "b"}, True),
        ({"paused": "yes", "reason": "a", "other": "kept"}, {"state": "resumed"}, {"other": "kept"}, True),
        ({"paused": "false"}, {"state": "resumed"}, {"paused": "false"}, False),
        (None, {"state": "resumed"}, None, False),
    ],
)
def test_pausing_and_resuming(before: t.Any, options: dict[str, str], after: t.Any, changed: bool) -> None:
    """Twice each, and in check mode before; other keys of the ConfigMap stay."""
    api = Direct(configmaps=[] if before is None else [paused(**before)])
    given = {"state": "paused", "reason": "", "namespace": "kube-system", "pause_configmap": PAUSE, **options}

    def there() -> t.Any:
        return api.configmaps[PAUSE]["data"] if PAUSE in api.configmaps else None

    assert (pause.pause(api, given, True)["changed"], there()) == (changed, before)
    first = pause.pause(api, given, False)
    assert (first["changed"], there()) == (changed, after)
    assert pause.pause(api, given, False) == {"changed": False, "paused": first["paused"], "diff": []}
    assert bool(first["paused"]) == ("paused" in (after or {}) and after["paused"] != "false")


def test_a_pause_while_it_waits(clock: Clock) -> None:
    api = group(n7=node("n7", ready="False"))
    clock.at(5, lambda: api.configmaps.add(paused(paused="true")))
    assert refused(api, "n1", timeout=60).message.startswith("rollouts are paused since")


def test_the_option_pause_stops_after_the_batch_that_is_under_way(clock: Clock) -> None:
    api = group()
    assert run(api, "n1", pause=True)["paused"] is None
    assert run(api, "n1", started=True)["paused"] is None
    error = refused(api, "n1", pause=True, started=True)
    words = "paused by the option pause after the previous batch; nothing was changed on the nodes after it. Run again"
    assert error.message.startswith(words)
    assert error.result["paused"] == {"since": "2026-01-01T00:00:00.000000Z", "by": "the option pause", "reason": ""}


def test_an_empty_batch_asks_for_the_pause_alone(clock: Clock) -> None:
    api = group(n7=node("n7", ready="False"), n8=node("n8", ready="False"))
    assert run(api)["budget"]["left"] == 0
    api.configmaps[PAUSE] = paused(paused="true")
    assert "rollouts are paused" in refused(api).message
