# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields import compare, fields
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.rules import checks

from .. import kubelet_model as model


def test_only_refusals_by_the_validation_can_be_softened() -> None:
    found = checks.problems({"maxPods": "5", "eventBurst": -1, "runOnce": True}, 20)
    assert [(one.path, one.severity) for one in map(checks.softened, found)] == [
        ("eventBurst", "warning"),
        ("maxPods", "refusal"),
        ("runOnce", "refusal"),
    ]


def test_a_plain_configuration_has_no_problem() -> None:
    assert checks.problems({**model.HEADER, **model.configz({})}, 20) == []


def test_refusals_come_first_then_by_path_and_all_three_kinds_are_asked() -> None:
    found = checks.problems({"maxPods": "5", "eventBurst": -1, "runOnce": True, "nothing": 1}, 20)
    assert [(problem.severity, problem.path, problem.rule) for problem in found] == [
        ("refusal", "eventBurst", "not-negative"),
        ("refusal", "maxPods", "type"),
        ("refusal", "nothing", "unknown-field"),
        ("refusal", "runOnce", "run-once"),
    ]
    assert set(found[0].row()) == {"severity", "path", "message", "remedy", "rule", "value"}
    found = checks.problems({"eventBurst": -1, "runOnce": True}, 19)
    assert [(problem.severity, problem.path) for problem in found] == [
        ("refusal", "runOnce"),
        ("warning", "eventBurst"),
    ]


@given(model.configs(most=40))
def test_filling_in_defaults_changes_no_verdict(config: dict[str, object]) -> None:
    assert checks.problems(config, 20) == checks.problems(compare.with_defaults(config, 20), 20)


_JUNK = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.sampled_from(["", "1s", "5%", "a", "-1", "1Gi", "x.y"]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["a", "webhook", "cpu", "mode"]), inner, max_size=2)
    ),
    max_leaves=4,
)


@given(
    st.dictionaries(st.sampled_from([*fields.children(""), "nothing"]), _JUNK, max_size=8),
    st.sampled_from([12, 20, 23, 36, 40]),
)
def test_any_nonsense_gets_a_verdict_and_no_exception(config: dict[str, object], minor: int) -> None:
    wrong = {problem.path for problem in checks.problems(config, minor)}
    # What a kubelet knows that is newer than the tables is for its own binary to decide.
    assert "nothing" in wrong or config.get("nothing") is None or minor > fields.NEWEST_MINOR
    assert compare.changes(config, config, minor) == []
