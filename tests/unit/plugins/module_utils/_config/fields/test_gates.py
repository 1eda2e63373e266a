# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields import fields, gates, gates_table
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields.gates import State


def test_a_history_is_read_word_by_word() -> None:
    gate = gates.lookup("CPUManager")
    assert gate is not None
    assert gate.states == (State(10, "b", True, False), State(26, "g", True, True))
    assert (gate.removed_in, gate.kubelet) == (33, True)
    assert [gate.at(minor) for minor in (9, 10, 25, 26, 32, 33)] == [
        None,
        gate.states[0],
        gate.states[0],
        gate.states[1],
        gate.states[1],
        None,
    ]


def test_every_history_is_in_order_and_complete() -> None:
    for name, history in gates_table.GATES.items():
        gate = gates.lookup(name)
        assert gate is not None
        steps = [state.since for state in gate.states] + ([gate.removed_in] if gate.removed_in else [])
        assert gate.states and steps == sorted(set(steps)), name
        assert len(history.split()) == len(steps) + gate.kubelet, name


def test_the_fields_and_gates_that_the_tables_name_exist() -> None:
    for name, paths in gates_table.FIELDS_OF.items():
        assert gates.lookup(name) is not None and set(paths) <= set(fields.ALL)
    for minor, rows in gates_table.NEEDS.items():
        for name in {*rows, *(one for needed in rows.values() for one in needed)}:
            gate = gates.lookup(name)
            assert gate is not None and gate.at(minor) is not None, (minor, name)


@pytest.mark.parametrize("minor", range(20, fields.NEWEST_MINOR + 1))
def test_the_defaults_of_every_minor_fit_together(minor: int) -> None:
    """A kubelet starts without any gate given."""
    for name, needed in gates.needs(minor).items():
        gate = gates.lookup(name)
        if gate and gate.enabled(minor, {}):
            assert all(gates.default(other, minor) for other in needed), name


@pytest.mark.parametrize(
    ("name", "minor", "given", "on"),
    [
        ("NodeSwap", 28, {}, False),
        ("NodeSwap", 30, {}, True),
        ("NodeSwap", 28, {"NodeSwap": True}, True),
        ("NodeSwap", 28, {"AllBeta": True}, True),
        ("NodeSwap", 28, {"AllBeta": True, "NodeSwap": False}, False),
        ("NodeSwap", 28, {"AllAlpha": True}, False),
        ("NodeSwap", 27, {"AllAlpha": True}, True),
        ("NodeSwap", 30, {"AllBeta": False}, False),
        # Locked.
        ("NodeSwap", 34, {"AllBeta": False}, True),
        # Unknown to this minor.
        ("NodeSwap", 21, {}, False),
        ("NodeSwap", 21, {"AllAlpha": True}, False),
    ],
)
def test_whether_a_gate_is_on(name: str, minor: int, given: dict[str, bool], on: bool) -> None:
    gate = gates.lookup(name)
    assert gate is not None and gate.enabled(minor, given) is on


@pytest.mark.parametrize(
    ("name", "minor", "on"),
    [
        ("TopologyManager", 17, False),
        ("TopologyManager", 18, True),
        ("TopologyManager", 36, True),
        ("GracefulNodeShutdown", 19, False),
        ("GracefulNodeShutdown", 20, False),
        ("GracefulNodeShutdown", 21, True),
        ("GracefulNodeShutdown", 40, True),
        ("MemoryQoS", 36, False),
        # Gone: on or off as at the end.
        ("DynamicKubeletConfig", 25, False),
        ("DynamicKubeletConfig", 26, False),
        ("DownwardAPIHugePages", 22, False),
        ("DownwardAPIHugePages", 29, True),
        ("RuntimeClass", 19, False),
        ("RuntimeClass", 24, True),
    ],
)
def test_the_default_of_a_gate(name: str, minor: int, on: bool) -> None:
    assert gates.default(name, minor) is on


def test_a_gate_of_no_table_has_no_default() -> None:
    with pytest.raises(KeyError, match="NoSuchGate"):
        gates.default("NoSuchGate", 30)


def test_the_gates_that_others_need() -> None:
    assert gates.needs(36)["ProcMountType"] == ("UserNamespacesSupport",)
    assert gates.needs(19) == {}


@pytest.mark.parametrize(
    ("wrong", "minor", "near"),
    [("Nodeswap", 28, "NodeSwap"), ("NodeSwaps", 28, "NodeSwap"), ("NodeSwaps", 20, None), ("Zzz", 28, None)],
)
def test_the_nearest_gate_of_a_minor(wrong: str, minor: int, near: str | None) -> None:
    assert gates.nearest(wrong, minor) == near
