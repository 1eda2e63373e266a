# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""CONTRIBUTING.md describes every folder, and names with a reason each file that no unit test of its room imports."""

from __future__ import annotations

import ast
import functools
import re
import subprocess
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

import pytest

from tools.gates.declared import GATES

ROOT = Path(__file__).resolve().parents[3]
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
TESTS = "tests/unit/plugins"


def table(section: str) -> list[list[str]]:
    """The rows of a section's table, cell by cell."""
    _before, _title, rest = TEXT.partition(f"\n## {section}\n")
    assert rest, f"no section {section}"
    body = rest.split("\n## ")[0]
    rows = [line.strip("|").split("|") for line in body.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row] for row in rows[2:]]


def code(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def plugins() -> list[str]:
    """The files below plugins/ that git tracks."""
    listed = subprocess.run(["git", "ls-files", "plugins"], cwd=ROOT, check=True, text=True, stdout=subprocess.PIPE)
    return [name for name in listed.stdout.splitlines() if (ROOT / name).is_file()]


def without_test() -> set[str]:
    """The files below plugins/ that no test of their room has as its name or imports, relative to plugins/."""
    found = set()
    for name in plugins():
        path = PurePosixPath(name).relative_to("plugins")
        if path.name != "__init__.py" and not (path.suffix == ".py" and path.stem in imported_for(path.parent)):
            found.add(path.as_posix())
    return found


@functools.cache
def imported_for(room: PurePosixPath) -> set[str]:
    """The names of the modules that the test files of a folder import, and those that the files are named after."""
    names = set()
    for test in (ROOT / TESTS / room).glob("test_*.py"):
        names.add(test.stem[len("test_") :])
        for node in ast.walk(ast.parse(test.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module:
                names |= {node.module.rpartition(".")[2], *(one.name for one in node.names)}
    return names


def test_every_folder_has_a_row() -> None:
    """Every folder of plugins/; and no row describes a folder that does not exist."""
    described = [name for row in table("Folders") for name in code(row[0])]
    folders = {parent.as_posix() + "/" for name in plugins() for parent in PurePosixPath(name).parents} - {
        "./",
        "plugins/",
    }
    assert folders - set(described) == set()
    assert [name for name in described if not (ROOT / name).is_dir()] == []
    assert len(described) == len(set(described))


def test_every_file_without_a_test_is_named() -> None:
    """With the reason; a file that has a test by now is not named any more."""
    rows = table("Files that no unit test of their room imports")
    named = [name for row in rows for name in code(row[0])]
    missing = without_test()
    assert {name for name in missing if not any(fnmatchcase(name, one) for one in named)} == set()
    assert [one for one in named if not any(fnmatchcase(name, one) for name in missing)] == []
    assert [row[0] for row in rows if len(row[2]) < 5] == []
    assert [one for one in named if "*" in one and one.startswith("module_utils/")] == []


def test_what_tests_them_exists() -> None:
    for row in table("Files that no unit test of their room imports"):
        for name in code(row[1]):
            assert (ROOT / TESTS / name).is_file() if name.endswith(".py") else name in GATES, name


def test_every_gate_that_is_named_exists() -> None:
    """Also in the table of gates by change."""
    text = (ROOT / "noxfile.py").read_text(encoding="utf-8")
    gates = {*GATES, *re.findall(r"^def (\w+)\(session", text, re.MULTILINE)}
    named = re.findall(r'GATES="?([\w ]+)', TEXT) + re.findall(r"nox -s ([a-z0-9_ ]+)", TEXT)
    assert {gate for words in named for gate in words.split()} - gates == set()


@pytest.mark.parametrize("folder", ["_config", "_cluster", "_node"])
def test_at_most_a_dozen_files_a_folder(folder: str) -> None:
    """What does not fit is another room."""
    for place in (ROOT / "plugins/module_utils" / folder).rglob("*/"):
        assert len([one for one in place.glob("*.py") if one.name != "__init__.py"]) <= 12, place
