# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from typing import Any

import pytest
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
    trusting = {"authentication": {"x509": {"clientCAFile": "/etc/kubernetes/pki/ca.crt"}}}
    assert checks.problems({**model.HEADER, **model.configz({}), **trusting}, 20) == []


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


@pytest.mark.parametrize(
    ("config", "remedy"),
    [
        # Quotes help.
        ({"clusterDomain": 5}, 'Put it in quotes: "5".'),
        # YAML has lost how these were written.
        ({"clusterDomain": 1.3}, 'Put it in quotes: "1.3", or "1.30" if it was written so.'),
        ({"clusterDomain": False}, 'Put it in quotes, as it was written, such as "false" or "off".'),
        # In quotes, the kubelet would refuse these too.
        ({"showHiddenMetricsForVersion": 1.3}, 'Write "1.35" (in quotes), or remove it.'),
        ({"topologyManagerPolicy": False}, "Use one of none, best-effort, restricted, single-numa-node."),
        ({"hairpinMode": False}, "Use one of them."),
        (
            {"evictionSoft": {"memory.available": "1Gi"}, "evictionSoftGracePeriod": {"memory.available": 90}},
            'Write a Go duration with its unit, such as "1m30s".',
        ),
        ({"evictionHard": {"memory.available": 0}}, 'To switch a threshold off, write "0%" or leave its key out.'),
    ],
)
def test_the_remedy_for_a_value_that_is_no_text_leads_to_a_good_one(config: dict[str, Any], remedy: str) -> None:
    [problem] = [one for one in checks.problems(config, 36) if one.rule == "type"]
    assert problem.remedy == remedy


def test_the_remedy_for_a_soft_threshold_holds_for_every_delivery() -> None:
    """A drop-in merges these maps; elsewhere they are replaced as a whole."""
    [problem] = [one for one in checks.problems({"evictionSoft": {"memory.available": "1Gi"}}, 36) if one.path]
    assert "Unless the node gets a drop-in, repeat the other keys of the map." in problem.remedy
