# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from fractions import Fraction

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.rules import eviction
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.rules.problem import EffectiveConfig
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import amounts


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
        (HARD, "-5%", f"eviction percentage threshold {MEMORY} must be positive: -5%"),
        (HARD, "101%", f"eviction percentage threshold {MEMORY} must be <= 100%: 101%"),
        (HARD, "x%", '"x%" is not a percentage'),
        (RECLAIM, "-1", f"negative eviction minimum reclaim specified for {MEMORY}"),
        (RECLAIM, "0%", f"eviction percentage minimum reclaim {MEMORY} must be positive: 0%"),
        (RECLAIM, "101%", f"eviction percentage minimum reclaim {MEMORY} must be <= 100%: 101%"),
        (PERIOD, "90", 'time: missing unit in duration "90"'),
        (PERIOD, "-1s", "invalid eviction grace period specified: -1s, must be a positive value"),
    ],
)
def test_values_a_kubelet_dies_of(field: str, value: str, message: str) -> None:
    assert _one(field, MEMORY, value)[0] == message


def test_signals() -> None:
    assert _one("evictionHard", "memory.free", "1Gi") == (
        "unsupported eviction signal memory.free",
        f"Use one of {', '.join(eviction.signals(20))}.",
    )
    assert (
        _one("evictionHard", "memory.available<", "1Gi")[1]
        == "Write memory.available without an operator; it is always `<`."
    )
    assert _one("evictionHard", "memory.free<", "1Gi")[1].startswith("Use one of memory.available, ")
    assert _one("evictionHard", "nodefs.inodesfree", "5%")[1] == "Write nodefs.inodesFree."
    assert "containerfs.available" in _one("evictionHard", "containerfs.available", "5%")[0]
    assert list(eviction.check(EffectiveConfig({"evictionHard": {"containerfs.available": "5%"}}, 29))) == []


@pytest.mark.parametrize("operator", ["<", "> ", "=", "<= "])
def test_an_operator_in_the_value_is_taken_off_in_the_remedy(operator: str) -> None:
    assert _one(HARD, MEMORY, f"{operator}100Mi")[1] == 'Write only the amount, without an operator: "100Mi".'


def test_soft_thresholds_need_a_grace_period() -> None:
    assert (
        _one("evictionSoft", "memory.available", "1Gi")[0]
        == "grace period must be specified for the soft eviction threshold memory.available"
    )
    wrong = {SOFT: {MEMORY: "x%", "nodefs.available": "5%"}, PERIOD: {MEMORY: "1m"}}
    assert [problem.path for problem in eviction.check(EffectiveConfig(wrong, 20))] == [
        'evictionSoft["memory.available"]',
        'evictionSoft["nodefs.available"]',
    ]
    good = {
        "evictionSoft": {"memory.available": "1Gi"},
        "evictionSoftGracePeriod": {"memory.available": "1m30s", "nodefs.available": "1m"},
    }
    assert list(eviction.check(EffectiveConfig(good, 20))) == []


@pytest.mark.parametrize(
    ("field", "values"),
    [
        (HARD, ("0%", "100%", "5%", "0.5%", "1e1%", "100Mi", "1.5Gi", "12345", "1")),
        (RECLAIM, ("0", "100%", "1Gi")),
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
