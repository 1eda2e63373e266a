# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.rules.problem import (
    LAST_READ,
    WARNING,
    EffectiveConfig,
    Problem,
    Rule,
)


def test_a_row_is_a_plain_mapping() -> None:
    row = {"severity": WARNING, "path": "a", "message": "m", "remedy": "r", "rule": "x"}
    assert Problem(**row).row() == row
    assert Problem(**row, value="-1").row() == {**row, "value": "-1"}


@pytest.mark.parametrize(
    ("since", "until", "minor", "holds", "certain"),
    [
        (0, None, 19, True, False),
        (0, None, 20, True, True),
        (0, None, LAST_READ, True, True),
        (0, None, LAST_READ + 1, True, False),
        (27, 33, 26, False, False),
        (27, 33, 27, True, True),
        (27, 33, 33, True, True),
        (27, 33, 34, False, False),
        (19, 19, 19, True, False),
    ],
)
def test_the_versions_of_a_rule(since: int, until: int | None, minor: int, holds: bool, certain: bool) -> None:
    rule = Rule("one", since, until, lambda _config: iter(()))
    assert (rule.holds_at(minor), rule.is_certain(EffectiveConfig({}, minor))) == (holds, certain)


def test_a_rule_that_distributions_change_is_never_certain() -> None:
    rule = Rule("one", 0, None, lambda _config: iter(()), sure=False)
    assert rule.holds_at(33) and not rule.is_certain(EffectiveConfig({}, 33))


@pytest.mark.parametrize(
    ("gates", "certain"),
    [({}, True), ({"Other": True}, True), ({"AllAlpha": False}, False), ({"AllBeta": True, "Mine": True}, True)],
)
def test_a_rule_with_a_gate(gates: dict[str, Any], certain: bool) -> None:
    rule = Rule("one", 0, None, lambda _config: iter(()), ("Mine",))
    assert rule.is_certain(EffectiveConfig({"featureGates": gates}, 33)) is certain
