# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""No file of tests is left out of every gate, and what a selection names exists."""

from __future__ import annotations

import ast
import re

import pytest

from tools.gates import selections
from tools.gates.selections import ROOT

FILES = [path.relative_to(ROOT).as_posix() for path in sorted((ROOT / "tests").rglob("test_*.py"))]
# The gates `browser` and `awx` run these folders without a selection.
BY_OTHERS = ("tests/browser/", "tests/awx/")


def files(words: list[str]) -> set[str]:
    """The files of tests that pytest runs with these arguments."""
    return {path for path in FILES if selections.runs(words, path)}


def test_each_selection_is_that_of_the_gate_of_its_name() -> None:
    text = (ROOT / "noxfile.py").read_text(encoding="utf-8")
    bodies = {node.name: ast.unparse(node) for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)}
    used = {name: re.findall(r"CHOSEN\['(\w+)'\]", body) for name, body in bodies.items()}
    assert {name: names for name, names in used.items() if names} == {
        name: [name] for name in selections.tests(long=True)
    }


def test_every_file_runs_in_the_long_tier() -> None:
    run = set().union(*map(files, selections.tests(long=True).values()))
    assert {path for path in FILES if path not in run and not path.startswith(BY_OTHERS)} == set()


@pytest.mark.parametrize("gate", selections.tests(long=False))
def test_the_short_tier_runs_a_part_of_the_long_one(gate: str) -> None:
    short, long = (selections.tests(tier)[gate] for tier in (False, True))
    assert files(short) <= files(long)
    assert files(short)


@pytest.mark.parametrize("tier", [False, True])
def test_what_is_named_exists(tier: bool) -> None:
    for words in selections.tests(tier).values():
        named = [word.removeprefix("--ignore=") for word in words if "tests/" in word]
        assert [path for path in named if not (ROOT / path.partition("::")[0]).exists()] == []
