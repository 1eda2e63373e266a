# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.forecast import pod_forecast
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.forecast.node_usage import (
    NodeUsage,
    Observed,
    Pod,
)

GI = 2**30


def _pod(name: str, used: int = 1, **fields: Any) -> Pod:
    fields = {"created": f"2026-01-01T00:00:0{name[-1]}Z", "requests": {"cpu": Fraction(1)}, **fields}
    return Pod(
        "default",
        name,
        f"uid-{name}",
        usage={"memory.available": Fraction(used * GI), "allocatableMemory.available": Fraction(used * GI)},
        **fields,
    )


HALF = Observed(Fraction(50 * GI), Fraction(100 * GI))
LOAD = NodeUsage(
    {"cpu": Fraction(4), "memory": Fraction(8 * GI), "ephemeral-storage": Fraction(100 * GI)},
    (_pod("p1"), _pod("p2"), _pod("p3")),
    {
        "memory.available": Observed(Fraction(4 * GI), Fraction(8 * GI)),
        "nodefs.available": HALF,
        "nodefs.inodesFree": HALF,
        "imagefs.available": HALF,
    },
    Fraction(3 * GI),
)
UNREAD = NodeUsage(LOAD.capacity, LOAD.pods, unread="its kubelet does not answer")


def _forecast(
    old: dict[str, Any], new: dict[str, Any], load: NodeUsage = LOAD, changes: Any = ()
) -> dict[str, list[Any]]:
    return pod_forecast.forecast(pod_forecast.ConfigChange(old, new, 20, changes), load)


def _names(old: dict[str, Any], new: dict[str, Any], load: NodeUsage = LOAD) -> dict[str, list[Any]]:
    found = _forecast(old, new, load)
    return {kind: [row["pod"] for row in found[kind]] for kind in pod_forecast.KINDS if found[kind]}


def test_each_kind() -> None:
    assert _names({}, {"maxPods": 2}) == {"refused": ["p3"]}
    assert _names({}, {"podsPerCore": 1, "kubeReserved": {"cpu": "2"}}) == {"refused": ["p3"]}
    assert _names({}, {"evictionHard": {"memory.available": "5Gi"}}) == {"evicted": ["p1"]}
    assert _names({}, {"kubeReserved": {"memory": "5Gi"}}) == {"evicted": ["p1"]}
    both = {"maxPods": 2, "evictionHard": {"memory.available": "5Gi"}, "enforceNodeAllocatable": []}
    assert _names({}, both) == {"evicted": ["p1"], "refused": ["p3"]}


def test_a_row() -> None:
    reason = "OutOfpods: maxPods or podsPerCore allows fewer pods than the node runs"
    [row] = _forecast({}, {"maxPods": 2})["refused"]
    assert row == {**_row("p3", reason), "uid": "uid-p3"}


def test_a_pod_whose_node_has_other_labels_is_refused_at_any_restart() -> None:
    """It gives its room to the others, and nothing else about it matters."""
    whole = replace(LOAD.pods[0], qos="Guaranteed", whole_cpus=True)
    load = replace(LOAD, pods=(whole, *LOAD.pods[1:]), misplaced={whole.key: "zone=a, the node has b"})
    for new in ({"maxPods": 2}, {"syncFrequency": "90s"}, {"cpuManagerPolicy": "static", "kubeReserved": {"cpu": "1"}}):
        found = _forecast({}, new, load)
        assert [(row["pod"], row["detail"]) for row in found["refused"]] == [("p1", "zone=a, the node has b")]
        assert found["refused"][0]["reason"].startswith("NodeAffinity: the node's labels no longer match")
        assert not found["unknown"]
    assert [row["pod"] for row in _forecast({}, {"maxPods": 1}, load)["refused"]] == ["p1", "p3"]


def test_a_pod_evicted_for_two_thresholds_has_one_row_with_both() -> None:
    soft = {"evictionSoft": {"memory.available": "5Gi"}, "evictionSoftGracePeriod": {"memory.available": "1m"}}
    config = {"evictionHard": {"memory.available": "4097Mi"}, **soft, "enforceNodeAllocatable": []}
    [row] = _forecast({}, config)["evicted"]
    assert row["reason"] == (
        "evictionHard memory.available 4097Mi is more than is available; "
        "evictionSoft memory.available 5Gi is more than is available; evicted only if this lasts for 1m"
    )
    assert row["detail"] == "4Gi of 8Gi available; 4Gi of 8Gi available"


def test_only_what_the_change_causes_counts() -> None:
    """The node is over its old threshold and its old maxPods already."""
    over = {"maxPods": 2, "evictionHard": {"memory.available": "5Gi"}, "enforceNodeAllocatable": []}
    assert _names(over, {**over, "podsPerCore": 9}) == {}
    assert _names(over, {**over, "maxPods": 1}) == {"refused": ["p2"]}
    assert _names(over, {**over, "evictionHard": {"memory.available": "6Gi"}}) == {"evicted": ["p2"]}
    unmet = {**over, "evictionHard": {"memory.available": "8Gi"}}
    assert _forecast(unmet, {**unmet, "maxPods": 110})["notes"] == []


def test_what_cannot_be_satisfied_is_said() -> None:
    [note] = _forecast({}, {"evictionHard": {"memory.available": "7680Mi"}, "enforceNodeAllocatable": []})["notes"]
    words = "evictionHard memory.available 7680Mi: evicting every pod that may be evicted frees too little"
    assert note.startswith(words)


def test_a_field_that_a_flag_hides_does_not_change() -> None:
    change = {"path": "maxPods", "shadowed_by": "--max-pods=110"}
    assert _forecast({"maxPods": 110}, {"maxPods": 2}, changes=[change])["refused"] == []
    key = {"path": 'evictionHard["memory.available"]', "shadowed_by": "--eviction-hard=memory.available<100Mi"}
    old, new = ({"evictionHard": {"memory.available": amount}} for amount in ("100Mi", "5Gi"))
    assert not pod_forecast.ConfigChange(old, new, 20, [key]).touches()
    assert pod_forecast.ConfigChange({}, {"maxPods": 2}, 20, [{"path": "maxPods", "shadowed_by": None}]).touches()


def _reserved(memory: str) -> dict[str, Any]:
    return {"reservedMemory": [{"numaNode": 0, "limits": {"memory": memory}}]}


@pytest.mark.parametrize(
    ("old", "new", "touches"),
    [
        ({}, {"kubeAPIQPS": 7}, False),
        ({}, {"maxPods": 110}, False),
        ({"maxPods": 200}, {}, True),
        ({}, {"evictionHard": {}}, True),
        ({}, {"topologyManagerPolicy": "restricted"}, True),
        ({}, {"reservedSystemCPUs": "0"}, True),
        ({}, {"memoryManagerPolicy": "Static"}, True),
        # The same in another notation.
        (_reserved("1Gi"), _reserved("1024Mi"), False),
        (_reserved("1Gi"), _reserved("2Gi"), True),
    ],
)
def test_fields_that_decide_who_runs(old: dict[str, Any], new: dict[str, Any], touches: bool) -> None:
    assert pod_forecast.ConfigChange(old, new, 20).touches() is touches


EXCLUSIVE: dict[str, Any] = {"qos": "Guaranteed", "whole_cpus": True}
ONE_CPU: dict[str, Any] = {"kubeReserved": {"cpu": "1"}}
STATIC: dict[str, Any] = {"cpuManagerPolicy": "static"}
MEMORY: dict[str, Any] = {"memoryManagerPolicy": "Static"}
RESTRICTED: dict[str, Any] = {"topologyManagerPolicy": "restricted"}
CPUS = "the CPU manager (static)"


@pytest.mark.parametrize(
    ("old", "new", "fields", "word"),
    [
        ({}, STATIC, EXCLUSIVE, CPUS),
        (STATIC, {**STATIC, "reservedSystemCPUs": "0"}, EXCLUSIVE, CPUS),
        (STATIC, {**STATIC, **ONE_CPU}, EXCLUSIVE, CPUS),
        (STATIC, {"cpuManagerPolicy": "none"}, EXCLUSIVE, None),
        (STATIC, {**STATIC, "maxPods": 50}, EXCLUSIVE, None),
        ({**STATIC, **ONE_CPU}, {**STATIC, **ONE_CPU, "maxPods": 50}, EXCLUSIVE, None),
        ({}, STATIC, {"qos": "Burstable", "whole_cpus": True}, None),
        ({}, STATIC, {"qos": "Guaranteed"}, None),
        ({}, {"topologyManagerPolicy": "single-numa-node"}, EXCLUSIVE, "the topology manager (single-numa-node)"),
        ({}, RESTRICTED, {"devices": True}, "the topology manager (restricted)"),
        ({}, {"topologyManagerPolicy": "best-effort"}, EXCLUSIVE, None),
        ({}, MEMORY, {"qos": "Guaranteed"}, "the memory manager (Static)"),
        ({}, MEMORY, {"qos": "Burstable"}, None),
        (MEMORY, {**MEMORY, "maxPods": 50}, {"qos": "Guaranteed"}, None),
        (RESTRICTED, {**RESTRICTED, "maxPods": 50}, EXCLUSIVE, None),
    ],
)
def test_what_only_the_node_knows(
    old: dict[str, Any], new: dict[str, Any], fields: dict[str, Any], word: str | None
) -> None:
    rows = _forecast(old, new, NodeUsage(LOAD.capacity, (_pod("p1", **fields),), LOAD.signals))["unknown"]
    assert [(row["pod"], row["detail"]) for row in rows] == [("p1", "")] * bool(word)
    assert all(row["reason"].startswith(str(word)) for row in rows)


def test_a_pod_that_is_refused_for_sure_is_not_unknown() -> None:
    load = NodeUsage(LOAD.capacity, (_pod("p1", **EXCLUSIVE),), LOAD.signals)
    assert _names({}, {"cpuManagerPolicy": "static", "kubeReserved": {"cpu": "3500m"}}, load) == {"refused": ["p1"]}


def test_without_statistics_evictions_are_not_known_and_room_still_is() -> None:
    assert _names({}, {"maxPods": 2}, UNREAD) == {"refused": ["p3"]}
    found = _forecast({}, {"evictionHard": {"memory.available": "5Gi"}}, UNREAD)
    [row] = found.pop("unknown")
    assert (row["namespace"], row["pod"], row["detail"]) == (None, None, "its kubelet does not answer")
    assert found == {"evicted": [], "refused": [], "notes": []}
    assert _names({}, {"kubeReserved": {"memory": "1Gi"}}, UNREAD) == {"unknown": [None]}


def test_a_new_threshold_on_a_unknown_signal_is_unknown() -> None:
    threshold = {"evictionHard": {"pid.available": "5%"}}
    [row] = _forecast({"evictionHard": {}}, threshold)["unknown"]
    reason = "evictionHard pid.available 5%: the kubelet's statistics lack this signal"
    assert row == {**_row(None, reason, ""), "uid": None}
    assert _names(threshold, {**threshold, "maxPods": 100}) == {}


AMOUNT = st.sampled_from(["1Gi", "3Gi", "5Gi", "7Gi", "5%", "60%", "0%", "100%", "lots"])
CONFIGS = st.fixed_dictionaries(
    {},
    optional={
        "maxPods": st.integers(0, 5),
        "podsPerCore": st.integers(0, 2),
        "kubeReserved": st.dictionaries(st.sampled_from(["cpu", "memory"]), AMOUNT),
        "evictionHard": st.dictionaries(
            st.sampled_from(["memory.available", "nodefs.available", "pid.available"]), AMOUNT
        ),
        "evictionSoft": st.dictionaries(st.just("memory.available"), AMOUNT),
        "enforceNodeAllocatable": st.sampled_from([[], ["pods"]]),
        "cpuManagerPolicy": st.sampled_from(["none", "static"]),
        "topologyManagerPolicy": st.sampled_from(["none", "restricted"]),
    },
)
PODS = st.lists(
    st.tuples(
        st.integers(0, 4),
        st.sampled_from([0, 2_000_000_000]),
        st.sampled_from(["BestEffort", "Guaranteed"]),
        st.booleans(),
    ),
    max_size=6,
)


def _load(rows: list[Any]) -> NodeUsage:
    pods = tuple(
        _pod(f"p{number}", used, priority=priority, qos=qos, whole_cpus=whole)
        for number, (used, priority, qos, whole) in enumerate(rows)
    )
    return NodeUsage(LOAD.capacity, pods, LOAD.signals, LOAD.pods_memory)


@given(CONFIGS, PODS)
def test_no_change_no_forecast(config: dict[str, Any], rows: list[Any]) -> None:
    for load in (_load(rows), UNREAD):
        assert not any(_forecast(config, dict(config), load).values())


@given(CONFIGS, CONFIGS, PODS)
def test_every_pod_has_one_row_per_kind_and_critical_ones_are_never_evicted(
    old: dict[str, Any], new: dict[str, Any], rows: list[Any]
) -> None:
    load = _load(rows)
    found = _forecast(old, new, load)
    for kind in pod_forecast.KINDS:
        names = [row["pod"] for row in found[kind] if row["pod"]]
        assert len(names) == len(set(names))
        assert all(row["reason"] for row in found[kind])
    critical = {pod.name for pod in load.pods if pod.critical}
    assert not critical & {row["pod"] for row in found["evicted"]}
    assert not {row["pod"] for row in found["unknown"]} & {row["pod"] for row in found["refused"]}


def _row(pod: str | None, reason: str = "OutOfpods", detail: str = "2 allocatable") -> dict[str, Any]:
    return {"namespace": "default" if pod else None, "pod": pod, "uid": "u", "reason": reason, "detail": detail}


def _node(**kinds: list[Any]) -> dict[str, list[Any]]:
    return {"evicted": [], "refused": [], "unknown": [], "notes": [], **kinds}


def _plan(*effects: str | None) -> dict[str, Any]:
    rows = [{"action": "assign" if effect else "none", "effect": effect} for effect in effects]
    return {"nodes": {f"n{number}": row for number, row in enumerate(rows)}}


TOO_LITTLE = "evictionHard memory.available 4Gi is more than is available"
NO_STATISTICS = _row(None, "no statistics", "no answer")
NODES = {
    "n0": _node(refused=[_row(f"p{number}") for number in range(7)], evicted=[_row("e", TOO_LITTLE, "1Gi")]),
    "n1": _node(refused=[_row("q", detail="3 allocatable")], unknown=[NO_STATISTICS], notes=["it stays so"]),
    "n2": _node(unknown=[_row("u", "the CPU manager", "")], notes=["it stays so"]),
    "n3": _node(unknown=[_row("v", "the CPU manager", "")]),
}
COUNTS = {"nodes_to_restart": 5, "nodes_to_drain": 2, "nodes_at_risk": 2, "nodes_unknown": 1}
COUNTS |= {"pods_evicted": 1, "pods_refused": 8, "pods_unknown": 2}
EVICTED = f"1 pod (default/e) would be evicted on 1 node (n0): {TOO_LITTLE} (n0: 1Gi)"
REFUSED = (
    "7 pods (default/p0, default/p1, default/p2, default/p3, default/p4 and 2 more) would be refused "
    "at this restart or the next on 1 node (n0): OutOfpods (n0: 2 allocatable)",
    "1 pod (default/q) would be refused at this restart or the next on 1 node (n1): OutOfpods (n1: 3 allocatable)",
)
"""A line for each size: another room is another size."""
NOTE = "2 nodes (n1, n2): it stays so"


def test_summary() -> None:
    assert pod_forecast.summary(NODES, _plan("disrupt", "drain", "reboot", "safe", "safe", None)) == COUNTS
    assert set(pod_forecast.summary({}, _plan(None)).values()) == {0}


def test_lines() -> None:
    """A line for each reason, with the nodes and pods it holds for."""
    assert pod_forecast.lines(NODES, COUNTS) == [
        "forecast: 5 nodes to restart, 2 to drain, 9 pods at risk (1 evicted, 8 refused), 2 pods not known",
        f"  {EVICTED}",
        *map("  {}".format, REFUSED),
        "  warning: not known on 1 node (n1): no statistics (n1: no answer)",
        "  warning: 2 pods (default/u, default/v) not known on 2 nodes (n2, n3): the CPU manager",
        f"  warning: {NOTE}",
    ]


def test_refusal() -> None:
    lines = pod_forecast.refusal(NODES, COUNTS, 2).split("\n")
    first = "the forecast is refused. Nothing was written: 9 pods at risk, 2 allowed."
    assert lines[:-1] == [first, EVICTED, *REFUSED, NOTE]
    assert "kubelet_config_forecast: warn" in lines[-1]
