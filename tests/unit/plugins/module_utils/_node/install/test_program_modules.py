# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The list of the program's modules is what guard_main imports, whichever module installs the guard."""

from __future__ import annotations

import ast
from pathlib import Path

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.install import program_modules
from tests.support.ansible import ROOT

PLACE = ROOT / "plugins/module_utils"


def file_of(name: str) -> Path | None:
    path = PLACE / name.replace(".", "/")
    return next((file for file in (path.with_suffix(".py"), path / "__init__.py") if file.is_file()), None)


def reach(name: str, found: set[str]) -> None:
    """Add a module, its packages and all that it imports of ours, functions included."""
    file = file_of(name)
    if name in found or file is None:
        return
    found.add(name)
    above = name if file.name == "__init__.py" else name.rpartition(".")[0]
    reach(name.rpartition(".")[0], found)
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level:
            parts = above.split(".")
            base = ".".join([*parts[: len(parts) - node.level + 1], *filter(None, [node.module])])
            for each in (base, *(f"{base}.{alias.name}" for alias in node.names)):
                reach(each, found)


def test_the_list_is_what_the_program_imports() -> None:
    found: set[str] = set()
    reach("_node.guard.guard_main", found)
    assert sorted(found) == list(program_modules.MODULES)
