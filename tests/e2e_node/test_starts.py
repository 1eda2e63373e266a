# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A kubelet of an older minor ends where the plan refuses for its minor, and starts where it does not."""

from __future__ import annotations

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.rules import checks
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.rules.problem import REFUSAL
from tests.lab.lab import Lab
from tests.support.kubelet_starts import ENDS, HIDES, OLDER, STARTS
from tests.support.start_outcome import opened, outcome

RULES = {rule for _fields, rule in (*ENDS, *HIDES, *OLDER)}


@pytest.mark.long
@pytest.mark.minors(last=23, reason="tests/e2e_modern/test_starts.py has the newest one")
def test_what_ends_this_kubelet(static_lab: Lab) -> None:
    minor = static_lab.node("n1").release.minor
    different, compared = [], 0
    with opened(static_lab, "n1") as node:
        for fields in (*(fields for fields, _rule in (*ENDS, *HIDES, *OLDER)), *STARTS):
            refusals = {problem.rule for problem in checks.problems(fields, minor) if problem.severity == REFUSAL}
            # Others concern fields and values that this minor does not know.
            if refusals <= RULES:
                compared += 1
                found = outcome(node, fields)
                if (found != "starts") != bool(refusals):
                    different.append((fields, found, refusals))
    assert different == []
    assert compared > len(STARTS)
