# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The feature gates, and the thresholds of eviction."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields import gates, gates_table
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.rules import eviction, feature_gates
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.rules.problem import (
    REFUSAL,
    WARNING,
    EffectiveConfig,
    Problem,
)
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import amounts
from tests.support.kubelets.table_minors import BEYOND, NEWEST

UNKNOWN, LOCKED, NEEDS = feature_gates.NAMES
NO_GATE, LOCK = "unrecognized feature gate: ", "cannot set feature gate {} to {}, feature is locked to {}"
DYNAMIC, SHUTDOWN = "DynamicKubeletConfig", "GracefulNodeShutdown"


def _found(minor: int, **given_gates: Any) -> list[Problem]:
    return list(feature_gates.check(EffectiveConfig({"featureGates": given_gates}, minor)))


@pytest.mark.parametrize(
    ("name", "value", "rule", "refused"),
    [
        ("NoSuchGate", True, UNKNOWN, range(20, 37)),
        # Not yet known, and gone.
        ("NodeSwap", True, UNKNOWN, (20, 21)),
        ("CPUManager", True, UNKNOWN, range(33, 37)),
        ("DynamicKubeletConfig", False, UNKNOWN, range(26, 37)),
        # Locked: the other value is refused, its own is not.
        ("CPUManager", False, LOCKED, range(26, 33)),
        ("NodeSwap", False, LOCKED, range(34, 37)),
        ("NodeSwap", True, LOCKED, ()),
        ("AllowServiceLBStatusOnNonLB", True, LOCKED, range(32, 35)),
        ("AllowServiceLBStatusOnNonLB", False, LOCKED, ()),
        ("DynamicKubeletConfig", True, LOCKED, (24, 25)),
        # What other gates need.
        ("GracefulNodeShutdown", False, NEEDS, (35, 36)),
        ("NodeDeclaredFeatures", False, NEEDS, (36,)),
        ("GracefulNodeShutdown", True, NEEDS, ()),
    ],
)
@pytest.mark.fault(case=4)
def test_the_minors_that_refuse_a_gate(name: str, value: bool, rule: str, refused: Any) -> None:
    found = {
        minor: problem for minor in range(12, 37) for problem in _found(minor, **{name: value}) if problem.rule == rule
    }
    assert sorted(found) == list(refused)
    for problem in found.values():
        assert (problem.severity, problem.path, problem.value) == (REFUSAL, f"featureGates.{name}", str(value).lower())


@pytest.mark.parametrize(
    ("minor", "given_gates", "message", "remedy"),
    [
        (24, {DYNAMIC: True}, LOCK.format(DYNAMIC, "true", "false"), "Remove it, or set it to false."),
        (
            26,
            {DYNAMIC: True},
            f"{NO_GATE}{DYNAMIC}",
            "Remove it: 1.26 removed the gate, which was off by default before.",
        ),
        (28, {"NodeSwaps": True}, f"{NO_GATE}NodeSwaps", "Did you mean NodeSwap?"),
        (28, {"Zzz": True}, f"{NO_GATE}Zzz", "Remove it, or correct its name."),
        (33, {"CPUManager": True}, f"{NO_GATE}CPUManager", "1.33 removed the gate, which was on by default"),
        # Off as beta, and on at last.
        (36, {"CSIMigrationPortworx": False}, f"{NO_GATE}CSIMigrationPortworx", "which was on by"),
        (21, {"NodeSwap": True}, f"{NO_GATE}NodeSwap", "the gate exists from 1.22 on"),
        (34, {"NodeSwap": False}, LOCK.format("NodeSwap", "false", "true"), "set it to true"),
        (
            *(35, {SHUTDOWN: False, f"Windows{SHUTDOWN}": False}),
            f"{SHUTDOWN}BasedOnPodPriority is enabled, but depends on features that are disabled: [{SHUTDOWN}]",
            f"Set featureGates.{SHUTDOWN}BasedOnPodPriority: false too, or {SHUTDOWN} to true.",
        ),
    ],
)
def test_the_message_is_the_kubelet_s_and_the_remedy_fits(
    minor: int, given_gates: dict[str, bool], message: str, remedy: str
) -> None:
    [problem] = _found(minor, **given_gates)
    assert problem.message == message
    assert remedy in problem.remedy


def test_the_gate_that_needs_another_is_named_where_that_one_is_off_by_default() -> None:
    [problem] = _found(36, GangScheduling=True)
    assert (problem.rule, problem.path, problem.value) == (NEEDS, "featureGates.GangScheduling", "true")


def test_gates_that_go_together_are_accepted() -> None:
    off = dict.fromkeys((SHUTDOWN, f"{SHUTDOWN}BasedOnPodPriority", f"Windows{SHUTDOWN}"), False)
    assert _found(36, **off) == []
    assert _found(36, AllBeta=True, AllAlpha=False) == []


def test_a_kubelet_newer_than_the_table_decides_by_itself() -> None:
    """An unknown gate may be one of its own. What is gone, or is locked, hardly comes back."""
    needed = {name for names in (gates.needs(NEWEST) or {}).values() for name in names}
    free = [name for name in needed if not gates.lookup(name).at(NEWEST).locked]
    assert free and _found(BEYOND, BrandNew=True, **dict.fromkeys(free, False)) == []
    gone_and_locked = _found(BEYOND, CPUManager=True, NodeSwap=False)
    assert sorted(one.path for one in gone_and_locked) == ["featureGates.CPUManager", "featureGates.NodeSwap"]
    assert {one.severity for one in gone_and_locked} == {WARNING}


@pytest.mark.parametrize("value", [None, 5, {"NodeSwap": "true"}, {"NodeSwap": None}])
def test_what_is_no_gate_is_the_type_check_s_concern(value: Any) -> None:
    assert list(feature_gates.check(EffectiveConfig({"featureGates": value}, 21))) == []


@given(st.sampled_from(sorted(gates_table.GATES)), st.integers(20, 36), st.booleans())
def test_a_known_gate_at_its_default_is_never_refused(name: str, minor: int, also: bool) -> None:
    gate = gates.lookup(name)
    state = gate.at(minor) if gate else None
    found = _found(minor, **{name: state.default if state else also})
    assert [problem.rule for problem in found] == ([] if state else [UNKNOWN])


def _one(field: str, signal: str, value: str, minor: int = 20) -> tuple[str, str]:
    [problem] = eviction.check(EffectiveConfig({field: {signal: value}}, minor))
    return problem.message, problem.remedy


HARD, SOFT = "evictionHard", "evictionSoft"
PERIOD, RECLAIM = "evictionSoftGracePeriod", "evictionMinimumReclaim"
MEMORY = "memory.available"


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        (HARD, "<100Mi", amounts.NO_QUANTITY),
        (HARD, "0", f"eviction threshold {MEMORY} must be positive: 0"),
        (HARD, "-5", f"eviction threshold {MEMORY} must be positive: -5"),
        (HARD, "-5%", f"eviction percentage threshold {MEMORY} must be >= 0%: -5%"),
        (HARD, "101%", f"eviction percentage threshold {MEMORY} must be <= 100%: 101%"),
        (HARD, "x%", '"x%" is not a percentage'),
        (RECLAIM, "-1", f"negative eviction minimum reclaim specified for {MEMORY}"),
        (RECLAIM, "0%", f"eviction percentage minimum reclaim {MEMORY} must be positive: 0%"),
        (PERIOD, "90", 'time: missing unit in duration "90"'),
        (PERIOD, "-1s", "invalid eviction grace period specified: -1s, must be a positive value"),
    ],
)
def test_values_a_kubelet_dies_of(field: str, value: str, message: str) -> None:
    assert _one(field, MEMORY, value)[0] == message


def test_signals() -> None:
    message, remedy = _one(HARD, "memory.free", "1Gi")
    assert message == "unsupported eviction signal memory.free"
    assert remedy == f"Use one of {', '.join(eviction.signals(20))}."
    assert _one(HARD, f"{MEMORY}<", "1Gi")[1] == f"Write {MEMORY} without an operator; it is always `<`."
    assert _one(HARD, "memory.free<", "1Gi")[1].startswith("Use one of memory.available, ")
    assert _one(HARD, "nodefs.inodesfree", "5%")[1] == "Write nodefs.inodesFree."
    assert "containerfs.available" in _one(HARD, "containerfs.available", "5%")[0]
    assert list(eviction.check(EffectiveConfig({HARD: {"containerfs.available": "5%"}}, 29))) == []


@pytest.mark.parametrize("operator", ["<", "> ", "=", "<= "])
def test_an_operator_in_the_value_is_taken_off_in_the_remedy(operator: str) -> None:
    assert _one(HARD, MEMORY, f"{operator}100Mi")[1] == 'Write only the amount, without an operator: "100Mi".'


def test_soft_thresholds_need_a_grace_period() -> None:
    message = f"grace period must be specified for the soft eviction threshold {MEMORY}"
    assert _one(SOFT, MEMORY, "1Gi")[0] == message
    wrong = {SOFT: {MEMORY: "x%", "nodefs.available": "5%"}, PERIOD: {MEMORY: "1m"}}
    paths = [problem.path for problem in eviction.check(EffectiveConfig(wrong, 20))]
    assert paths == [f'{SOFT}["{MEMORY}"]', f'{SOFT}["nodefs.available"]']
    good = {SOFT: {MEMORY: "1Gi"}, PERIOD: {MEMORY: "1m30s", "nodefs.available": "1m"}}
    assert list(eviction.check(EffectiveConfig(good, 20))) == []
    off = {SOFT: {MEMORY: "0%", "nodefs.available": "100%"}}
    assert list(eviction.check(EffectiveConfig(off, 20))) == []


@pytest.mark.parametrize(
    ("field", "values"),
    [
        (HARD, ("0%", "100%", "5%", "0.5%", "1e1%", "100Mi", "1.5Gi", "12345", "1")),
        # It has no upper limit.
        (RECLAIM, ("0", "100%", "101%", "1Gi")),
        (PERIOD, ("0s", "1m30s")),
    ],
)
def test_values_that_a_kubelet_accepts(field: str, values: tuple[str, ...]) -> None:
    for value in values:
        assert list(eviction.check(EffectiveConfig({field: {MEMORY: value}}, 20))) == []


def _active(enforced: list[str], **fields: dict[str, str]) -> list[eviction.Threshold]:
    return eviction.thresholds(EffectiveConfig({"enforceNodeAllocatable": enforced, **fields}, 20))


def test_active_thresholds() -> None:
    """Those for the memory of all pods together exist only where the limit of the pods is enforced."""
    fields = {
        HARD: {MEMORY: "100Mi", "nodefs.available": "10%", "imagefs.available": "0%", "pid.available": "100%"},
        SOFT: {MEMORY: "200Mi", "nodefs.available": "15%", "nodefs.inodesFree": "5%"},
        PERIOD: {MEMORY: "1m30s", "nodefs.available": "2m"},
        RECLAIM: {MEMORY: "1Gi"},
    }
    found = [
        eviction.Threshold(HARD, MEMORY, "100Mi", "1Gi"),
        eviction.Threshold(HARD, "nodefs.available", "10%"),
        eviction.Threshold(SOFT, MEMORY, "200Mi", "1Gi", "1m30s"),
        eviction.Threshold(SOFT, "nodefs.available", "15%", "0", "2m"),
        eviction.Threshold(SOFT, "nodefs.inodesFree", "5%"),
    ]
    assert _active([], **fields) == found
    memory_of_pods = eviction.Threshold(HARD, eviction.ALLOCATABLE_MEMORY, "100Mi", "1Gi")
    assert _active(["pods"], **fields) == [*found, memory_of_pods]


def test_a_threshold_without_an_amount_is_not_active() -> None:
    """The rules refuse it; a live configuration may have it all the same."""
    assert _active([], evictionHard={MEMORY: "some"}) == []
    assert _active([], evictionHard={MEMORY: "1Gi"}, evictionMinimumReclaim={MEMORY: "x%"}) == []


@pytest.mark.parametrize(
    ("value", "reclaim", "amount", "target"), [("10%", "5%", 20, 30), ("10%", "7", 20, 27), ("7", "0", 7, 7)]
)
def test_amounts_are_of_the_capacity(value: str, reclaim: str, amount: int, target: int) -> None:
    threshold = eviction.Threshold(HARD, MEMORY, value, reclaim)
    assert (threshold.amount(Fraction(200)), threshold.target(Fraction(200))) == (amount, target)
