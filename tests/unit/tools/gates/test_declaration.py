# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The gates of a tier."""

from __future__ import annotations

import types

import pytest

from tools.gates.declaration import Gate, declared

GATES = [
    Gate("unit", "quick", {"short": 9}),
    Gate("e2e", "lab", {"short": 5, "long": 7}),
    Gate("all", "lab", {"long": 8}),
]


# A noxfile of three gates; the real one needs nox.
NOXFILE = types.SimpleNamespace(GATES=GATES, MOST={"short": 99, "long": 999}, BUDGET=66)


def test_a_tier_has_its_gates_and_only_the_short_one_a_budget() -> None:
    short, long = declared("short", NOXFILE), declared("long", NOXFILE)
    assert (list(short.gates), short.most, short.budget) == (["unit", "e2e"], 99, 66)
    assert (list(long.gates), long.most, long.budget) == (["e2e", "all"], 999, None)


def test_named_gates_only() -> None:
    assert list(declared("short", NOXFILE).only(["e2e"]).gates) == ["e2e"]
    assert list(declared("short", NOXFILE).only([]).gates) == ["unit", "e2e"]
    with pytest.raises(SystemExit, match="no such gate in the short tier: all; its gates are unit, e2e"):
        declared("short", NOXFILE).only(["e2e", "all"])
