# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A number of nodes, or a percentage of them."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.rollout import amount


@pytest.mark.parametrize(
    ("value", "of_30"),
    [
        (2, 2),
        ("2", 2),
        (" 007 ", 7),
        ("0", 0),
        ("0%", 1),
        ("1%", 1),
        ("19 %", 5),
        ("100%", 30),
        ("200%", 60),
        ("999999999", 999_999_999),
    ],
)
def test_amounts(value: Any, of_30: int) -> None:
    found = amount.parse(value)
    assert found and found.of(30) == of_30
    assert found.percent == ("%" in str(value))


@pytest.mark.parametrize(
    "value", [None, "", True, False, 5.0, -1, "-1", "1,1", "2  %", "%", "1e3", "٣", "1" * 10, [1], {}]
)
def test_what_is_none(value: Any) -> None:
    assert amount.parse(value) is None
