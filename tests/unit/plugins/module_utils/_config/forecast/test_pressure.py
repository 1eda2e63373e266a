# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a node uses, what it can allocate, and under which pressure it would come."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.forecast import allocatable, node_usage
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.forecast.node_usage import (
    LossCause,
    NodeUsage,
    Observed,
    Pod,
)
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.plan import plan
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.rules.problem import EffectiveConfig

from ..plan.tables import LIVE, table

GI = 2**30
OFF: dict[str, Any] = {"evictionHard": {}, "enforceNodeAllocatable": []}


def _pod(name: str, used: float | None = 0, asked: float = 0, signal: str = "memory.available", **fields: Any) -> Pod:
    usage = {} if used is None else {signal: Fraction(int(used * GI))}
    return Pod(
        "default",
        name,
        requests={"memory": Fraction(int(asked * GI)), "ephemeral-storage": Fraction(int(asked * GI))},
        usage=usage,
        **fields,
    )


def _load(
    *pods: Pod, available: float = 2, capacity: float = 8, signal: str = "memory.available", **fields: Any
) -> NodeUsage:
    return NodeUsage(
        {"memory": Fraction(8 * GI)},
        pods,
        {signal: Observed(Fraction(int(available * GI)), Fraction(int(capacity * GI)))},
        **fields,
    )


def _found(load: NodeUsage, **config: Any) -> node_usage.Pressure:
    return node_usage.pressure(EffectiveConfig({**OFF, **config}, 20), load)


def _gone(load: NodeUsage, **config: Any) -> list[str]:
    return [name for _namespace, name in _found(load, **config).evicted]


def _hard(value: str, load: NodeUsage, signal: str = "memory.available", **config: Any) -> list[str]:
    return _gone(load, evictionHard={signal: value}, **config)


def test_no_more_pods_are_evicted_than_needed() -> None:
    load = _load(_pod("a", 3), _pod("b", 2), _pod("c", 1))
    assert _hard("2Gi", load) == []
    assert _hard("2049Mi", load) == ["a"]
    assert _hard("5Gi", load) == ["a"]
    assert _hard("5121Mi", load) == ["a", "b"]
    assert _hard("62.5%", load) == ["a"]


def test_minimum_reclaim_evicts_more() -> None:
    load = _load(_pod("a", 1), _pod("b", 1), _pod("c", 1))
    assert _hard("3Gi", load) == ["a"]
    assert _hard("3Gi", load, evictionMinimumReclaim={"memory.available": "1Gi"}) == ["a", "b"]
    assert _hard("3Gi", load, evictionMinimumReclaim={"memory.available": "25%"}) == ["a", "b", "c"]
    assert _hard("2Gi", load, evictionMinimumReclaim={"memory.available": "1Gi"}) == []


@pytest.mark.parametrize(
    ("first", "then"),
    [
        (_pod("b", None), _pod("a", 3)),
        (_pod("b", None), _pod("a", None, priority=1)),
        (_pod("b", 1, 0.5, priority=9), _pod("a", 3, 3)),
        (_pod("b", 1, priority=1), _pod("a", 3, priority=2)),
        (_pod("b", 2, 1), _pod("a", 3, 2.5)),
        (_pod("b", 2, 3), _pod("a", 2, 4)),
        (_pod("a", 1), _pod("b", 1)),
    ],
)
def test_rank(first: Pod, then: Pod) -> None:
    """Unknown usage; above its request; lower priority; furthest above its request."""
    assert _hard("8Gi", _load(then, first)) == [first.name, then.name]


def test_processes_are_ranked_by_priority_and_number_alone() -> None:
    signal = "pid.available"
    pods = [
        _pod("a", 1, priority=2, signal=signal),
        _pod("b", 1, priority=1, signal=signal),
        _pod("c", 2, priority=1, signal=signal),
        _pod("d", None, priority=1),
        _pod("e", 0, priority=0, signal=signal),
    ]
    assert _hard("8Gi", _load(*pods, signal=signal), signal) == ["e", "d", "c", "b", "a"]


def test_every_inode_is_above_the_request() -> None:
    signal = "nodefs.inodesFree"
    pods = [_pod("a", 2, priority=1, signal=signal), _pod("b", 1 / GI, 1, signal), _pod("c", signal=signal)]
    assert _hard("8Gi", _load(*pods, signal=signal), signal) == ["b", "a", "c"]


def test_a_pod_of_unknown_usage_frees_nothing_for_sure() -> None:
    assert _hard(f"{2 * GI + 1}", _load(_pod("a", None), _pod("b", 3))) == ["a", "b"]


def test_critical_and_static_pods_stay() -> None:
    load = _load(_pod("a", 3, static=True), _pod("b", 3, priority=2_000_000_000), _pod("c", 1, priority=1_999_999_999))
    found = _found(load, evictionHard={"memory.available": "4Gi"})
    assert [name for _namespace, name in found.evicted] == ["c"]
    assert found.unmet == [
        "evictionHard memory.available 4Gi: evicting every pod that may be evicted frees too little; the node "
        "would keep MemoryPressure and accept no new pods"
    ]
    assert _found(_load(_pod("a", 1)), evictionHard={"memory.available": "3Gi"}).unmet == []


SOFT = {"evictionSoft": {"memory.available": "4Gi"}, "evictionSoftGracePeriod": {"memory.available": "1m30s"}}
MORE = "is more than is available"
IMAGES = "unless deleting unused images and dead containers frees enough"


@pytest.mark.parametrize(
    ("signal", "config", "reason", "number"),
    [
        ("memory.available", None, f"4Gi {MORE}", "2Gi of 8Gi"),
        ("memory.available", SOFT, f"4Gi {MORE}; evicted only if this lasts for 1m30s", "2Gi of 8Gi"),
        # Processes and inodes are no bytes.
        ("pid.available", None, f"4Gi {MORE}", f"{2 * GI} of {8 * GI}"),
        ("nodefs.inodesFree", None, f"4Gi {MORE}, {IMAGES}", f"{2 * GI} of {8 * GI}"),
        ("nodefs.available", None, f"4Gi {MORE}, {IMAGES}", "2Gi of 8Gi"),
        ("imagefs.available", {"evictionHard": {"imagefs.available": "50%"}}, f"50% {MORE}, {IMAGES}", "2Gi of 8Gi"),
    ],
)
def test_reasons(signal: str, config: dict[str, Any] | None, reason: str, number: str) -> None:
    config = config or {"evictionHard": {signal: "4Gi"}}
    [[cause]] = _found(_load(_pod("a", 3, signal=signal), signal=signal), **config).evicted.values()
    assert cause == LossCause(f"{next(iter(config))} {signal} {reason}", f"{number} available")


OF_PODS = _load(_pod("a", 3, signal="allocatableMemory.available"), available=7, pods_memory=Fraction(3 * GI))


def test_the_reason_where_pods_may_use_less_memory_than_they_do() -> None:
    config = EffectiveConfig({"evictionHard": {"memory.available": "1Gi"}, "kubeReserved": {"memory": "9Gi"}}, 20)
    [[cause]] = node_usage.pressure(config, OF_PODS).evicted.values()
    assert cause == LossCause(
        "evictionHard memory.available 1Gi exceeds the available memory that kubeReserved and systemReserved leave "
        "to pods",
        "0 of 0 available",
    )


def test_what_pods_may_use_together() -> None:
    """With `pods` in enforceNodeAllocatable, memory.available also holds for capacity less what is reserved, against
    what pods use.
    """
    four, five, pods = {"memory": "4Gi"}, {"memory": "5Gi"}, ["pods"]
    assert _hard("1Gi", OF_PODS, enforceNodeAllocatable=pods, kubeReserved=four) == []
    assert _hard("1Gi", OF_PODS, enforceNodeAllocatable=pods, kubeReserved=four, systemReserved={"memory": "1Mi"})
    assert _hard("1Gi", OF_PODS, enforceNodeAllocatable=[], kubeReserved=five) == []
    assert _hard("1Gi", replace(OF_PODS, pods_memory=None), enforceNodeAllocatable=pods, kubeReserved=five) == []
    soft = {"evictionSoft": {"memory.available": "1Gi"}, "evictionSoftGracePeriod": {"memory.available": "1m"}}
    assert _gone(OF_PODS, **soft, enforceNodeAllocatable=pods, kubeReserved=five) == []


def test_every_threshold_counts_after_an_unknown_and_a_satisfied_one() -> None:
    hard = {"imagefs.available": "5%", "memory.available": "1Gi"}
    soft = {"evictionSoft": {"memory.available": "3Gi"}, "evictionSoftGracePeriod": {"memory.available": "1m"}}
    assert _gone(_load(_pod("a", 3)), evictionHard=hard, **soft) == ["a"]


CAPACITY = {"cpu": Fraction(4), "memory": Fraction(8 * GI), "ephemeral-storage": Fraction(100 * GI)}


def _room(capacity: dict[str, Fraction] | None = None, **config: Any) -> dict[str, Fraction]:
    return allocatable.allocatable(
        EffectiveConfig({"evictionHard": {}, **config}, 20), CAPACITY if capacity is None else capacity
    )


def test_what_is_reserved_and_the_hard_thresholds_are_not_for_pods() -> None:
    room = _room(
        kubeReserved={"cpu": "500m", "memory": "1Gi", "ephemeral-storage": "10Gi"},
        systemReserved={"cpu": "250m", "memory": "1Gi"},
        evictionHard={"memory.available": "512Mi", "nodefs.available": "10%", "imagefs.available": "50%"},
        evictionSoft={"memory.available": "4Gi"},
        evictionSoftGracePeriod={"memory.available": "1m"},
    )
    assert room == {"pods": 110, "cpu": Fraction(13, 4), "memory": 5.5 * GI, "ephemeral-storage": 80 * GI - 160}


def test_a_percentage_is_held_in_32_bits() -> None:
    """The Node on GKE's page Plan node sizes: a disk of 100 GiB, of which GKE reserves 6 GiB and 35 %."""
    room = _room(
        {"ephemeral-storage": Fraction(98831908 * 1024)},
        kubeReserved={"ephemeral-storage": "41Gi"},
        evictionHard={"nodefs.available": "10%"},
    )
    assert room["ephemeral-storage"] == 47060071478


def test_huge_pages_reduce_memory_and_no_amount_is_negative() -> None:
    assert allocatable.parsed({"hugepages-1Gi": "0", "hugepages-2Mi": "1Gi", "pods": "9"}) == {"hugepages-2Mi": GI}
    assert _room({**CAPACITY, "hugepages-2Mi": Fraction(GI)})["memory"] == 7 * GI
    assert _room(kubeReserved={"memory": "9Gi"})["memory"] == 0


def test_what_the_node_has_not_is_not_counted() -> None:
    assert set(_room({"cpu": Fraction(1)})) == {"pods", "cpu"}
    assert set(_room({"memory": Fraction(1)})) == {"pods", "memory"}


@pytest.mark.parametrize(
    ("config", "pods"),
    [
        ({"maxPods": 50}, 50),
        ({"maxPods": 0}, 110),
        ({"podsPerCore": 10}, 40),
        ({"podsPerCore": 1}, 4),
        ({"podsPerCore": 0}, 110),
        ({"podsPerCore": 100, "maxPods": 60}, 60),
    ],
)
def test_pods(config: dict[str, Any], pods: int) -> None:
    assert _room(**config)["pods"] == pods


@pytest.mark.parametrize(("cpus", "left"), [("0", 3), ("0-1", 2), ("0,2-3", 1), ("0-1,1-2", 1)])
def test_reserved_cpus_take_the_place_of_other_reservations(cpus: str, left: int) -> None:
    assert _room(reservedSystemCPUs=cpus, kubeReserved={"cpu": "3"})["cpu"] == left


def test_values_that_no_kubelet_accepts_are_left_to_their_own_rules() -> None:
    assert _room(kubeReserved={"memory": "lots"})["memory"] == 8 * GI
    assert _room(maxPods="lots", podsPerCore="lots")["pods"] == 0


def memory(amount: str) -> dict[str, Any]:
    return {"kubeReserved": {"memory": amount}}


HAS = {"cpu": "4", "memory": "64Gi", "ephemeral-storage": "100Gi", "pods": "110"}
RULE = "beyond-capacity"


def beyond(layer: dict[str, Any], live: dict[str, Any] = LIVE, flags: Any = None, **row: Any) -> list[tuple[str, str]]:
    """Return path and message of the refusals for this reason, of a node on 1.30 unless the row has another version."""
    row = {"kubelet_version": "v1.30.1", "capacity": HAS, **row}
    made = plan.make_plan(
        plan.Request(table(live, **row), layer, flags={"n0": flags} if flags else None, deliveries={"n0": "dropin"})
    )
    found = [problem for problem in made["nodes"]["n0"]["problems"] if problem["rule"] == RULE]
    assert all(problem["severity"] == "refusal" for problem in found)
    assert made["refused"] or not found
    return [(problem["path"], problem["message"]) for problem in found]


@pytest.mark.parametrize(
    ("layer", "path", "words"),
    [
        (memory("80Gi"), "kubeReserved", "keep back 80.1Gi of memory, and the node has 64Gi"),
        ({"systemReserved": {"cpu": "4001m"}}, "systemReserved", "keep back 4.001 of cpu, and the node has 4"),
        # Beyond a floating-point number.
        ({"systemReserved": {"cpu": "1e999"}}, "systemReserved", "of cpu, and the node has 4"),
        ({"systemReserved": {"memory": "1e999"}}, "systemReserved", "of memory, and the node has 64Gi"),
        (
            {"kubeReserved": {"cpu": "2"}, "systemReserved": {"cpu": "3"}},
            "kubeReserved",
            "keep back 5 of cpu, and the node has 4",
        ),
        ({"reservedSystemCPUs": "0-7"}, "reservedSystemCPUs", "keep back 8 of cpu, and the node has 4"),
        ({"evictionHard": {"memory.available": "80Gi"}}, "evictionHard", "keep back 80Gi of memory"),
        ({"evictionHard": {"nodefs.available": "1Ti"}}, "evictionHard", "keep back 1Ti of ephemeral-storage"),
        ({**memory("30Gi"), "evictionHard": {"memory.available": "60%"}}, "evictionHard", "keep back 68.4Gi of memory"),
    ],
)
def test_more_than_the_node_has(layer: dict[str, Any], path: str, words: str) -> None:
    [(found, message)] = beyond(layer)
    assert (found, words in message) == (path, True), message


@pytest.mark.parametrize(
    ("layer", "more"),
    [
        ({"systemReserved": {"cpu": "4"}}, {}),
        ({"kubeReserved": {"pid": "99999999"}}, {}),
        ({"evictionHard": {"imagefs.available": "1Ti"}}, {}),
        ({"evictionSoft": {"memory.available": "80Gi"}}, {}),
        ({"kubeReserved": {"ephemeral-storage": "1Ti"}, "localStorageCapacityIsolation": False}, {}),
        # The percentage is rounded.
        ({"evictionHard": {"memory.available": "50%"}, "kubeReserved": {"memory": "32Gi"}}, {}),
        # Not known.
        *((memory("80Gi"), {"capacity": capacity}) for capacity in (None, {"memory": 5}, {"memory": "lots"})),
        # A flag decides.
        (memory("80Gi"), {"flags": ["--kube-reserved=memory=1Gi"]}),
        ({"evictionHard": {"memory.available": "80Gi"}}, {"flags": ["--experimental-allocatable-ignore-eviction"]}),
        # The node runs with it already.
        *((layer, {"live": {**LIVE, **memory("80Gi")}}) for layer in (memory("90Gi"), {"maxPods": 5})),
    ],
)
def test_what_the_node_has_or_may_have(layer: dict[str, Any], more: dict[str, Any]) -> None:
    assert beyond(layer, **more) == []


def test_each_node_has_its_own_limit() -> None:
    current = table(LIVE, {**LIVE, "maxPods": 5}, kubelet_version="v1.30.1")
    for name, memory in (("n0", "64Gi"), ("n1", "16Gi")):
        current["nodes"][name]["capacity"] = {**HAS, "memory": memory}
    layer = {"kubeReserved": {"memory": "32Gi"}}
    made = plan.make_plan(plan.Request(current, layer, deliveries={"n0": "dropin", "n1": "dropin"}))
    refused = [name for name, row in made["nodes"].items() if any(one["rule"] == RULE for one in row["problems"])]
    assert refused == ["n1"]
