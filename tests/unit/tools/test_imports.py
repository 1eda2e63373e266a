# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests that need a lab can be imported without one: what they import from tests and tools is there."""

from __future__ import annotations

import ast
import functools
import typing as t
from pathlib import Path

import pytest

from tools.collection_tree import ROOT

FILES = sorted((ROOT / "tests").rglob("*.py"))
OURS = ("tests", "tools")


def place(module: str) -> Path | None:
    """Return the file or folder of a module of this repository."""
    path = ROOT.joinpath(*module.split("."))
    return next((found for found in (path.with_suffix(".py"), path) if found.exists()), None)


@functools.cache
def names(path: Path) -> set[str]:
    """Return the names that a file binds anywhere, or those of the modules in a folder."""
    if path.is_dir():
        return {found.stem for found in path.iterdir()}
    bound: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            bound.add(node.name)
        elif isinstance(node, ast.Name):
            bound.add(node.id)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            bound.update(alias.asname or alias.name for alias in node.names)
    return bound


def absent(text: str) -> t.Iterator[str]:
    """Yield what a program imports from this repository and what is not there."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in OURS:
            found = place(node.module or "")
            for alias in node.names:
                if found is None or alias.name not in names(found):
                    yield f"{node.module}.{alias.name}"


@pytest.mark.parametrize(
    "folder", sorted({path.parent for path in FILES}), ids=lambda path: str(path.relative_to(ROOT))
)
def test_what_is_imported_is_there(folder: Path) -> None:
    found = {path.name: list(absent(path.read_text(encoding="utf-8"))) for path in FILES if path.parent == folder}
    assert {name: missing for name, missing in found.items() if missing} == {}


def test_what_is_missing_is_seen() -> None:
    text = (
        "from tests.e2e.no_such_file import views\nfrom tests.support.lab.views import look, no_such_name\nimport os\n"
    )
    assert list(absent(text)) == ["tests.e2e.no_such_file.views", "tests.support.lab.views.no_such_name"]
