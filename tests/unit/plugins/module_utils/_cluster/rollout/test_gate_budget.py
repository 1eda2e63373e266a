# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Budgets."""

from __future__ import annotations

import typing as t

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.rollout import gate

NAMES = st.sets(st.integers(0, 30).map("n{}".format))


@pytest.mark.parametrize(
    ("wanted", "nodes", "limit"),
    [
        (1, 10, 1),
        ("1", 10, 1),
        (" 3 ", 2, 3),
        ("20%", 10, 2),
        ("20 %", 10, 2),
        ("25%", 10, 2),
        ("5%", 10, 1),
        ("1%", 1, 1),
        ("100%", 7, 7),
        ("33%", 3000, 990),
    ],
)
def test_limit(wanted: t.Any, nodes: int, limit: int) -> None:
    assert gate.node_limit(wanted, nodes) == limit


@pytest.mark.parametrize(
    ("wanted", "text"),
    [
        (0, "0 allows no node to be changed"),
        ("0", "0 allows no node to be changed"),
        ("0%", "0% allows no node to be changed"),
        (" 00 %", "00 % allows no"),
        ("101%", "101% is more than all nodes"),
        ("", "'' is neither a number nor a percentage"),
        ("half", "'half' is neither"),
        (-1, "-1 is neither"),
        (0.2, "0.2 is neither"),
        ("20%%", "'20%%' is neither"),
        ("1 0", "'1 0' is neither"),
        (True, "True is neither"),
        (None, "None is neither"),
        ("\u0663", "is neither"),
        ("%", "'%' is neither"),
        ("1%0", "is neither"),
    ],
)
def test_nonsense(wanted: t.Any, text: str) -> None:
    with pytest.raises(ValueError, match=text.replace("(", r"\(")):
        gate.node_limit(wanted, 10)


@given(st.integers(1, 100), st.integers(1, 5000))
def test_a_percentage_never_allows_more_than_its_share_but_for_one_node(percent: int, nodes: int) -> None:
    found = gate.node_limit(f"{percent}%", nodes)
    assert 1 <= found <= nodes
    assert found == 1 or found * 100 <= percent * nodes < (found + 1) * 100


@given(st.integers(1, 40), NAMES, NAMES)
def test_a_batch_may_begin_when_all_that_is_down_with_it_is_within_the_limit(
    allowed: int, unavailable: set[str], batch: set[str]
) -> None:
    """The rule as it is meant, beside the figure people are shown."""
    begins = len(unavailable | batch) <= allowed
    assert begins == (len(batch) <= gate.room_left(allowed, unavailable, batch)) or not batch
    assert 0 <= gate.room_left(allowed, unavailable, batch) <= allowed


def test_two_of_ten_that_are_down_leave_nothing_of_a_fifth() -> None:
    down = {"n1", "n2"}
    assert gate.room_left(gate.node_limit("20%", 10), down, {"n3"}) == 0
    assert gate.room_left(gate.node_limit("20%", 10), down, {"n1"}) == 1
    assert gate.room_left(gate.node_limit("30%", 10), down, {"n3"}) == 1
