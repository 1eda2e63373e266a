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

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.forecast import node_usage
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.forecast.node_usage import (
    LossCause,
    NodeUsage,
    Observed,
    Pod,
)
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.rules.problem import EffectiveConfig

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


def _gone(load: NodeUsage, **config: Any) -> list[str]:
    return [name for _namespace, name in node_usage.pressure(EffectiveConfig({**OFF, **config}, 20), load).evicted]


def _hard(value: str, load: NodeUsage, signal: str = "memory.available", **config: Any) -> list[str]:
    return _gone(load, evictionHard={signal: value}, **config)


def test_no_more_pods_are_evicted_than_needed() -> None:
    load = _load(_pod("a", 3), _pod("b", 2), _pod("c", 1))
    assert _hard("2Gi", load) == []
    assert _hard("2049Mi", load) == ["a"]
    assert _hard("5Gi", load) == ["a"]
    assert _hard("5121Mi", load) == ["a", "b"]
    assert _hard("62.5%", load) == ["a"]


@pytest.mark.parametrize("value", ["0%", "100%"])
def test_thresholds_that_are_off(value: str) -> None:
    assert _hard(value, _load(_pod("a", 3), available=0)) == []


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
    pods = [
        _pod("a", 2, priority=1, signal=signal),
        _pod("b", 1 / GI, asked=1, signal=signal),
        _pod("c", signal=signal),
    ]
    assert _hard("8Gi", _load(*pods, signal=signal), signal) == ["b", "a", "c"]


def test_a_pod_of_unknown_usage_frees_nothing_for_sure() -> None:
    assert _hard(f"{2 * GI + 1}", _load(_pod("a", None), _pod("b", 3))) == ["a", "b"]


def test_critical_and_static_pods_stay() -> None:
    load = _load(_pod("a", 3, static=True), _pod("b", 3, priority=2_000_000_000), _pod("c", 1, priority=1_999_999_999))
    found = node_usage.pressure(EffectiveConfig({**OFF, "evictionHard": {"memory.available": "4Gi"}}, 20), load)
    assert [name for _namespace, name in found.evicted] == ["c"]
    assert found.unmet == [
        "evictionHard memory.available 4Gi: evicting every pod that may be evicted frees too little; the node "
        "would keep "
        "MemoryPressure and accept no new pods"
    ]


def test_a_satisfied_threshold_is_not_unmet() -> None:
    assert (
        node_usage.pressure(
            EffectiveConfig({**OFF, "evictionHard": {"memory.available": "3Gi"}}, 20), _load(_pod("a", 1))
        ).unmet
        == []
    )


def test_reasons() -> None:
    given: list[dict[str, Any]] = [
        {"evictionHard": {"memory.available": "4Gi"}},
        {"evictionSoft": {"memory.available": "4Gi"}, "evictionSoftGracePeriod": {"memory.available": "1m30s"}},
    ]
    hard, soft = (
        node_usage.pressure(EffectiveConfig({**OFF, **config}, 20), _load(_pod("a", 3))).evicted["default", "a"][0]
        for config in given
    )
    assert (hard.reason, hard.detail) == (
        "evictionHard memory.available 4Gi is more than is available",
        "2Gi of 8Gi available",
    )
    assert (
        soft.reason
        == "evictionSoft memory.available 4Gi is more than is available; evicted only if this lasts for 1m30s"
    )


def test_the_reason_where_pods_may_use_less_memory_than_they_do() -> None:
    load = _load(_pod("a", 3, signal="allocatableMemory.available"), available=7, pods_memory=Fraction(3 * GI))
    config = EffectiveConfig({"evictionHard": {"memory.available": "1Gi"}, "kubeReserved": {"memory": "9Gi"}}, 20)
    [[cause]] = node_usage.pressure(config, load).evicted.values()
    assert cause == LossCause(
        "evictionHard memory.available 1Gi exceeds the available memory that kubeReserved and systemReserved leave "
        "to pods",
        "0 of 0 available",
    )


def test_processes_are_no_bytes() -> None:
    load = _load(_pod("a", 3, signal="pid.available"), signal="pid.available")
    config = EffectiveConfig({**OFF, "evictionHard": {"pid.available": "50%"}}, 20)
    assert node_usage.pressure(config, load).evicted == {
        ("default", "a"): [
            LossCause("evictionHard pid.available 50% is more than is available", f"{2 * GI} of {8 * GI} available")
        ]
    }


@pytest.mark.parametrize(
    ("signal", "value", "text"),
    [
        ("nodefs.available", "50%", "2Gi of 8Gi available"),
        ("imagefs.available", "4Gi", "2Gi of 8Gi available"),
        ("nodefs.inodesFree", "50%", f"{2 * GI} of {8 * GI} available"),
    ],
)
def test_disks(signal: str, value: str, text: str) -> None:
    load = _load(_pod("a", 3, signal=signal), signal=signal)
    [[cause]] = node_usage.pressure(
        EffectiveConfig({**OFF, "evictionHard": {signal: value}}, 20), load
    ).evicted.values()
    assert (
        cause.reason
        == f"evictionHard {signal} {value} is more than is available, unless deleting unused images and dead "
        f"containers frees enough"
    )
    assert cause.detail == text


def test_what_pods_may_use_together() -> None:
    """With `pods` in enforceNodeAllocatable, memory.available also holds for capacity less what is reserved, against
    what pods use.
    """
    load = _load(_pod("a", 3, signal="allocatableMemory.available"), available=7, pods_memory=Fraction(3 * GI))
    config: dict[str, Any] = {"evictionHard": {"memory.available": "1Gi"}, "enforceNodeAllocatable": ["pods"]}
    assert _gone(load, **config, kubeReserved={"memory": "4Gi"}) == []
    assert _gone(load, **config, kubeReserved={"memory": "4Gi"}, systemReserved={"memory": "1Mi"}) == ["a"]
    assert _gone(load, **{**config, "enforceNodeAllocatable": []}, kubeReserved={"memory": "5Gi"}) == []
    assert _gone(replace(load, pods_memory=None), **config, kubeReserved={"memory": "5Gi"}) == []
    assert (
        _gone(
            load,
            evictionSoft=config["evictionHard"],
            evictionSoftGracePeriod={"memory.available": "1m"},
            enforceNodeAllocatable=["pods"],
            kubeReserved={"memory": "5Gi"},
        )
        == []
    )


def test_unknown_signals() -> None:
    found = node_usage.pressure(
        EffectiveConfig({**OFF, "evictionHard": {"pid.available": "5%"}}, 20), _load(_pod("a", 3))
    )
    assert (found.evicted, found.unseen) == (
        {},
        ["evictionHard pid.available 5%: the kubelet's statistics lack this signal"],
    )


def test_every_threshold_counts_after_an_unknown_and_a_satisfied_one() -> None:
    hard = {"imagefs.available": "5%", "memory.available": "1Gi"}
    soft = {"evictionSoft": {"memory.available": "3Gi"}, "evictionSoftGracePeriod": {"memory.available": "1m"}}
    assert _gone(_load(_pod("a", 3)), evictionHard=hard, **soft) == ["a"]


def test_values_that_no_kubelet_accepts_are_left_to_the_rules() -> None:
    assert _hard("lots", _load(_pod("a", 3), available=0)) == []
    assert _hard("3Gi", _load(_pod("a", 3)), evictionMinimumReclaim={"memory.available": "x%"}) == []


USED = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(0, 2), st.booleans()), max_size=8)


@given(USED, st.integers(0, 20), st.integers(1, 20), st.integers(0, 20), st.integers(0, 4))
def test_a_lower_threshold_never_evicts_more(
    rows: list[tuple[int, int, int, bool]], available: int, low: int, more: int, reclaim: int
) -> None:
    load = _load(
        *(
            _pod(f"p{number}", used, asked, priority=priority, static=static)
            for number, (used, asked, priority, static) in enumerate(rows)
        ),
        available=available,
        capacity=20,
    )
    few, many = (
        _hard(f"{value}Gi", load, evictionMinimumReclaim={"memory.available": f"{reclaim}Gi"})
        for value in (low, low + more)
    )
    assert many[: len(few)] == few
    assert (not few) or available < low
