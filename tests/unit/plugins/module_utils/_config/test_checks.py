# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from hypothesis import given

from ansible_collections.livenodes.kubelet.plugins.module_utils._config import checks, compare

from . import kubelet_model as model


def test_a_plain_configuration_has_no_problem() -> None:
    assert checks.problems({**model.HEADER, **model.configz({})}, 20) == []


def test_refusals_come_first_then_by_path_and_all_three_kinds_are_asked() -> None:
    found = checks.problems({"maxPods": "5", "eventBurst": -1, "runOnce": True, "nothing": 1}, 20)
    assert [(problem.severity, problem.path, problem.rule) for problem in found] == [
        ("refusal", "maxPods", "type"), ("refusal", "nothing", "unknown-field"), ("refusal", "runOnce", "run-once"), ("warning", "eventBurst", "not-negative")]
    assert set(found[0].row()) == {"severity", "path", "message", "remedy", "rule"}


@given(model.configs(most=40))
def test_filling_in_defaults_changes_no_verdict(config: dict[str, object]) -> None:
    assert checks.problems(config, 20) == checks.problems(compare.with_defaults(config), 20)
