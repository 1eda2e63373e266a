# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a plan refuses is what a real kubelet did not survive, and nothing beside it."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.rules import checks
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.rules.problem import REFUSAL
from tests.support.kubelet_starts import ENDS, HIDES, STARTS

MINOR = 36


def refusals(config: dict[str, Any]) -> set[str]:
    found = [problem for problem in checks.problems(config, MINOR) if problem.severity == REFUSAL]
    assert all(problem.path and problem.message and problem.remedy for problem in found)
    return {problem.rule for problem in found}


@pytest.mark.parametrize(("config", "rule"), [*ENDS, *HIDES])
def test_what_ends_or_hides_a_kubelet_is_refused(config: dict[str, Any], rule: str) -> None:
    assert refusals(config) == {rule}


@pytest.mark.parametrize("config", STARTS)
def test_what_starts_is_not_refused(config: dict[str, Any]) -> None:
    assert refusals(config) == set()
