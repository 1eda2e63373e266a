# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields import gates, gates_table
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.rules import checks, feature_gates
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.rules.problem import (
    REFUSAL,
    WARNING,
    EffectiveConfig,
    Problem,
)
from tests.support.table_minors import BEYOND, NEWEST

UNKNOWN, LOCKED, NEEDS = feature_gates.NAMES


def _found(minor: int, **given_gates: Any) -> list[Problem]:
    return list(feature_gates.check(EffectiveConfig({"featureGates": given_gates}, minor)))


@pytest.mark.parametrize(
    ("name", "value", "rule", "refused"),
    [
        ("NoSuchGate", True, UNKNOWN, range(20, 37)),
        # Not yet known, and gone.
        ("NodeSwap", True, UNKNOWN, (20, 21)),
        ("CPUManager", True, UNKNOWN, range(33, 37)),
        ("DynamicKubeletConfig", False, UNKNOWN, range(26, 37)),
        # Locked: the other value is refused, its own is not.
        ("CPUManager", False, LOCKED, range(26, 33)),
        ("NodeSwap", False, LOCKED, range(34, 37)),
        ("NodeSwap", True, LOCKED, ()),
        ("AllowServiceLBStatusOnNonLB", True, LOCKED, range(32, 35)),
        ("AllowServiceLBStatusOnNonLB", False, LOCKED, ()),
        ("DynamicKubeletConfig", True, LOCKED, (24, 25)),
        # What other gates need.
        ("GracefulNodeShutdown", False, NEEDS, (35, 36)),
        ("NodeDeclaredFeatures", False, NEEDS, (36,)),
        ("GracefulNodeShutdown", True, NEEDS, ()),
    ],
)
@pytest.mark.fault(case=4)
def test_the_minors_that_refuse_a_gate(name: str, value: bool, rule: str, refused: Any) -> None:
    found = {
        minor: problem for minor in range(12, 37) for problem in _found(minor, **{name: value}) if problem.rule == rule
    }
    assert sorted(found) == list(refused)
    for problem in found.values():
        assert (problem.severity, problem.path, problem.value) == (REFUSAL, f"featureGates.{name}", str(value).lower())


@pytest.mark.parametrize(
    ("minor", "given_gates", "message", "remedy"),
    [
        (
            24,
            {"DynamicKubeletConfig": True},
            "cannot set feature gate DynamicKubeletConfig to true, feature is locked to false",
            "Remove it, or set it to false.",
        ),
        (
            26,
            {"DynamicKubeletConfig": True},
            "unrecognized feature gate: DynamicKubeletConfig",
            "Remove it: 1.26 removed the gate, which was off by default before.",
        ),
        (28, {"NodeSwaps": True}, "unrecognized feature gate: NodeSwaps", "Did you mean NodeSwap?"),
        (28, {"Zzz": True}, "unrecognized feature gate: Zzz", "Remove it, or correct its name."),
        (
            33,
            {"CPUManager": True},
            "unrecognized feature gate: CPUManager",
            "1.33 removed the gate, which was on by default",
        ),
        # Off as beta, and on at last.
        (36, {"CSIMigrationPortworx": False}, "unrecognized feature gate: CSIMigrationPortworx", "which was on by"),
        (21, {"NodeSwap": True}, "unrecognized feature gate: NodeSwap", "the gate exists from 1.22 on"),
        (
            34,
            {"NodeSwap": False},
            "cannot set feature gate NodeSwap to false, feature is locked to true",
            "set it to true",
        ),
        (
            35,
            {"GracefulNodeShutdown": False, "WindowsGracefulNodeShutdown": False},
            "GracefulNodeShutdownBasedOnPodPriority is enabled, but depends on features that are disabled: "
            "[GracefulNodeShutdown]",
            "Set featureGates.GracefulNodeShutdownBasedOnPodPriority: false too, or GracefulNodeShutdown to true.",
        ),
    ],
)
def test_the_message_is_the_kubelet_s_and_the_remedy_fits(
    minor: int, given_gates: dict[str, bool], message: str, remedy: str
) -> None:
    [problem] = _found(minor, **given_gates)
    assert problem.message == message
    assert remedy in problem.remedy


def test_the_gate_that_needs_another_is_named_where_that_one_is_off_by_default() -> None:
    [problem] = _found(36, GangScheduling=True)
    assert (problem.rule, problem.path, problem.value) == (NEEDS, "featureGates.GangScheduling", "true")


def test_gates_that_go_together_are_accepted() -> None:
    off = dict.fromkeys(
        ("GracefulNodeShutdown", "GracefulNodeShutdownBasedOnPodPriority", "WindowsGracefulNodeShutdown"), False
    )
    assert _found(36, **off) == []
    assert _found(36, AllBeta=True, AllAlpha=False) == []


def test_a_kubelet_newer_than_the_table_decides_by_itself() -> None:
    """An unknown gate may be one of its own. What is gone, or is locked, hardly comes back."""
    needed = {name for names in gates_table.NEEDS[max(gates_table.NEEDS)].values() for name in names}
    free = [name for name in needed if not gates.lookup(name).at(NEWEST).locked]
    assert free and _found(BEYOND, BrandNew=True, **dict.fromkeys(free, False)) == []
    assert {(one.severity, one.path) for one in _found(BEYOND, CPUManager=True, NodeSwap=False)} == {
        (WARNING, "featureGates.CPUManager"),
        (WARNING, "featureGates.NodeSwap"),
    }


@pytest.mark.parametrize("value", [None, 5, {"NodeSwap": "true"}, {"NodeSwap": None}])
def test_what_is_no_gate_is_the_type_check_s_concern(value: Any) -> None:
    assert list(feature_gates.check(EffectiveConfig({"featureGates": value}, 21))) == []


def test_allow_invalid_softens_them() -> None:
    [problem] = [one for one in checks.problems({"featureGates": {"NoSuchGate": True}}, 33) if one.rule == UNKNOWN]
    assert checks.softened(problem).severity == WARNING


@given(st.sampled_from(sorted(gates_table.GATES)), st.integers(20, 36), st.booleans())
def test_a_known_gate_at_its_default_is_never_refused(name: str, minor: int, also: bool) -> None:
    gate = gates.lookup(name)
    state = gate.at(minor) if gate else None
    found = _found(minor, **{name: state.default if state else also})
    assert [problem.rule for problem in found] == ([] if state else [UNKNOWN])
