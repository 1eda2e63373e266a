# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tests that need a lab can be imported without one: what they import from tests and tools is there."""

from __future__ import annotations

import importlib

import pytest

from tools.collection_tree import ROOT

# The files of the other folders run, or are imported, in gates that need nothing.
FOLDERS = ("awx", "benchmarks", "browser", "e2e", "e2e_fleet", "e2e_modern", "e2e_node", "lab", "support")


@pytest.mark.parametrize("folder", FOLDERS)
def test_what_is_imported_is_there(folder: str) -> None:
    for path in sorted((ROOT / "tests" / folder).rglob("*.py")):
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        try:
            importlib.import_module(module)
        except ModuleNotFoundError as error:
            # A package that only one gate has.
            assert (error.name or "").partition(".")[0] not in ("tests", "tools"), f"{module}: {error}"
