# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The guard's program is what guard_main imports, whichever module installs it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.install import guard_install
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


def test_the_program_is_what_it_imports() -> None:
    found: set[str] = set()
    reach("_node.guard.guard_main", found)
    files = {f"{guard_install.PACKAGE}/{path.relative_to(PLACE).as_posix()}" for path in map(file_of, found) if path}
    assert set(guard_install.program()) == files | {f"{guard_install.PACKAGE}/__init__.py"}


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("from .decide import Unit", [("_node.guard.decide", ["Unit"])]),
        ("from . import decide, observe", [("_node.guard", ["decide", "observe"])]),
        ("        from ..system import binary  # late", [("_node.system", ["binary"])]),
        ("from ..system import (\n    files,\n    lock,\n)", [("_node.system", ["files", "lock"])]),
        ("from ..._config.values.short_texts import minor_of", [("_config.values.short_texts", ["minor_of"])]),
        ("from ..._config.delivery import DROPIN", [("_config.delivery", ["DROPIN"])]),
        ("import os", []),
    ],
)
def test_an_import_is_seen(line: str, names: list[tuple[str, list[str]]]) -> None:
    """What is imported from a folder is a module; test_the_program_is_what_it_imports shows which are folders."""
    assert list(guard_install._imports("_node.guard.guard", f"{line}\n")) == names
