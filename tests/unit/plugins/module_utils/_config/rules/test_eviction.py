# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields.effective_config import EffectiveConfig
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.rules import eviction


def _one(field: str, signal: str, value: str, minor: int = 20) -> tuple[str, str]:
    [problem] = eviction.check(EffectiveConfig({field: {signal: value}}, minor))
    return problem.message, problem.remedy


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("evictionHard", "<100Mi", "quantities must match"),
        ("evictionHard", "0", "must be positive: 0"),
        ("evictionHard", "-5", "must be positive: -5"),
        ("evictionHard", "-5%", "must be positive: -5%"),
        ("evictionHard", "101%", "must be <= 100%: 101%"),
        ("evictionHard", "x%", "is not a percentage"),
        ("evictionMinimumReclaim", "-1", "negative eviction minimum reclaim specified for memory.available"),
        ("evictionMinimumReclaim", "0%", "must be positive"),
        ("evictionSoftGracePeriod", "90", "missing unit"),
        ("evictionSoftGracePeriod", "-1s", "must be a positive value"),
    ],
)
def test_values_a_kubelet_dies_of(field: str, value: str, message: str) -> None:
    assert message in _one(field, "memory.available", value)[0]


def test_signals() -> None:
    assert _one("evictionHard", "memory.free", "1Gi") == (
        "unsupported eviction signal memory.free",
        f"Use one of {', '.join(eviction.signals(20))}.",
    )
    assert (
        _one("evictionHard", "memory.available<", "1Gi")[1]
        == "Write memory.available without an operator; it is always `<`."
    )
    assert _one("evictionHard", "nodefs.inodesfree", "5%")[1] == "Write nodefs.inodesFree."
    assert "containerfs.available" in _one("evictionHard", "containerfs.available", "5%")[0]
    assert list(eviction.check(EffectiveConfig({"evictionHard": {"containerfs.available": "5%"}}, 29))) == []


def test_an_operator_in_the_value_is_taken_off_in_the_remedy() -> None:
    assert (
        _one("evictionHard", "memory.available", "<100Mi")[1] == 'Write only the amount, without an operator: "100Mi".'
    )


def test_soft_thresholds_need_a_grace_period() -> None:
    assert (
        _one("evictionSoft", "memory.available", "1Gi")[0]
        == "grace period must be specified for the soft eviction threshold memory.available"
    )
    good = {
        "evictionSoft": {"memory.available": "1Gi"},
        "evictionSoftGracePeriod": {"memory.available": "1m30s", "nodefs.available": "1m"},
    }
    assert list(eviction.check(EffectiveConfig(good, 20))) == []


@pytest.mark.parametrize("value", ["0%", "100%", "5%", "0.5%", "1e1%", "100Mi", "1.5Gi", "12345"])
def test_thresholds_that_a_kubelet_accepts(value: str) -> None:
    assert list(eviction.check(EffectiveConfig({"evictionHard": {"memory.available": value}}, 20))) == []
