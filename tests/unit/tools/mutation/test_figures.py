# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The survivors that may stay name code that exists, and the page has the figures of the last run."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tools.mutation import figures, page, parts

FOUND, REASONS = figures.read(figures.FIGURES), figures.argued()
ROWS = [
    {"file": "_node/store/meta.py", "function": "read", "status": "killed"},
    {"file": "_node/store/meta.py", "function": "read", "status": "timeout"},
    {"file": "_node/store/meta.py", "function": "Meta.text", "status": "survived", "change": "a < b => a <= b"},
    {"file": "_node/store/meta.py", "function": "other", "status": "no tests", "change": "1 => 2"},
    {"file": "_node/store/meta.py", "function": "other", "status": "skipped"},
]


def functions(path: Path) -> set[str]:
    """Return the functions of a file and the methods of its classes, as a survivor names them."""
    found = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        for one in node.body if isinstance(node, ast.ClassDef) else [node]:
            if isinstance(one, ast.FunctionDef):
                found.add(f"{node.name}.{one.name}" if isinstance(node, ast.ClassDef) else one.name)
    return found


@pytest.mark.parametrize("reason", REASONS, ids=lambda reason: reason.text)
def test_survivors_name_functions_that_exist(reason: figures.Reason) -> None:
    for mutant in reason.mutants:
        file, function = mutant.partition(": ")[0].split(" ")
        assert function in functions(parts.CODE / file), mutant


def test_survivors_with_a_reason_still_survive() -> None:
    """In the last run of their part. One that a test kills by now must be removed from the list."""
    survivors = {mutant for row in FOUND.values() for mutant in row["survivors"]}
    argued = [mutant for reason in REASONS for mutant in reason.mutants]
    assert [mutant for mutant in argued if mutant not in survivors] == []
    assert len(argued) == len(set(argued))


def test_the_page_is_generated() -> None:
    assert page.PAGE.read_text(encoding="utf-8") == page.page(FOUND, REASONS), "run python -m tools.mutation.page"


def test_counts_of_a_part() -> None:
    row = figures.summary(ROWS, 5, 12.3)
    assert {key: row[key] for key in ("mutants", "every", "tried", "killed", "timeout", "survived", "seconds")} == {
        "mutants": 5,
        "every": 5,
        "tried": 4,
        "killed": 1,
        "timeout": 1,
        "survived": 2,
        "seconds": 12,
    }
    assert row["survivors"] == ["_node/store/meta.py Meta.text: a < b => a <= b", "_node/store/meta.py other: 1 => 2"]


def test_a_part_replaces_its_former_figures_only(tmp_path: Path) -> None:
    path = tmp_path / "mutation.json"
    for part, every in (("_node/store", 2), ("_node/guard", 3), ("_node/store", 1)):
        figures.keep(path, part, figures.summary(ROWS, every, 1))
    found = figures.read(path)
    assert {part: row["every"] for part, row in found.items()} == {"_node/store": 1, "_node/guard": 3}
    reasons = [figures.Reason("why", ("_node/store/meta.py other: 1 => 2",))]
    assert set(figures.unexplained(found, reasons)) == {"_node/store/meta.py Meta.text: a < b => a <= b"}
    text = page.page(found, reasons)
    assert "  * - all\n    - 10\n    -\n    - 8\n    - 4\n    - 4\n" in text
    assert "  * - why\n    - 2\n" in text and "Without a reason yet: 2 survivors" in text


@pytest.mark.parametrize(
    ("name", "chosen"),
    [
        ("_node/store", [("_node/store", "")]),
        ("plugins/module_utils/_node/guard/", [("_node/guard", "")]),
        ("_node/store/meta.py", [("_node/store", "_node/store/meta.py")]),
        ("_node", [("_node/store", ""), ("_node/guard", "")]),
    ],
)
def test_a_name_chooses_parts(name: str, chosen: list[tuple[str, str]]) -> None:
    assert parts.chosen([name]) == chosen


def test_no_name_chooses_all() -> None:
    assert parts.chosen([]) == parts.chosen(["_node", "_config"])


@pytest.mark.parametrize("name", ["_node/sto", "_cluster", "_node/store/no.py"])
def test_a_name_without_a_part_is_refused(name: str) -> None:
    with pytest.raises(SystemExit, match=f"{name} is no part"):
        parts.chosen([name])
