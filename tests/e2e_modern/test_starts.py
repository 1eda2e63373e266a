# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a plan refuses because it ends or hides a kubelet does so, and its neighbours do not."""

from __future__ import annotations

import typing as t

import pytest

from tests.lab.lab import Lab
from tests.support.dropin_node import DropinNode
from tests.support.kubelet_starts import ENDS, HIDES, STARTS
from tests.support.start_outcome import opened, outcome


@pytest.fixture(scope="module")
def node(lab: Lab) -> t.Iterator[DropinNode]:
    """Yield a node of the newest release whose config file may be changed."""
    with opened(lab, "n3") as node:
        yield node


@pytest.mark.parametrize(
    "part",
    [
        pytest.param(slice(0, None, 6), id="some"),
        pytest.param(slice(None), id="all", marks=pytest.mark.long),
    ],
)
def test_a_kubelet_ends_where_the_plan_refuses(node: DropinNode, part: slice) -> None:
    wanted = [
        *((fields, ("ends",)) for fields, _rule in ENDS[part]),
        # Which of two servers gets the port differs.
        *((fields, ("ends", "hides")) for fields, _rule in HIDES[part]),
        *((fields, ("starts",)) for fields in STARTS[part]),
    ]
    found = [(fields, outcome(node, fields), allowed) for fields, allowed in wanted]
    assert [row for row in found if row[1] not in row[2]] == []
