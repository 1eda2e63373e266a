# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a plan refuses by a rule of a newer kubelet's validation, that kubelet refuses too, and nothing else."""

from __future__ import annotations

import typing as t

import pytest

from tests.lab.lab import Lab
from tests.support.asked_rules import CONFIGS, ask, wrong
from tests.support.preflight_node import Node


@pytest.mark.parametrize("name", ["n1", "n2"])
@pytest.mark.parametrize(
    "configs",
    [
        pytest.param(CONFIGS[::6], id="some"),
        pytest.param(CONFIGS, id="all", marks=pytest.mark.long),
    ],
)
def test_the_rules_of_the_plan_are_those_of_the_kubelet(lab: Lab, name: str, configs: list[dict[str, t.Any]]) -> None:
    node = Node(lab, lab.node(name))
    assert wrong(ask(node, configs), node.minor) == []
