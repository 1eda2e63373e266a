# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The parts of the code whose mutants are tried."""

from __future__ import annotations

import typing as t

from tools.collection_tree import ROOT

CODE = ROOT / "plugins" / "module_utils"
TESTS = ROOT / "tests" / "unit" / "plugins" / "module_utils"


def every() -> list[str]:
    """Return all parts, the most important first: folders with code and with a folder of tests."""
    pure = sorted(f"_config/{path.parent.name}" for path in (CODE / "_config").glob("*/__init__.py"))
    return ["_node/store", "_node/guard", *(part for part in pure if (TESTS / part).is_dir())]


def chosen(names: t.Sequence[str]) -> list[tuple[str, str]]:
    """Return the parts that names stand for, all for none, each with the file that is wanted of it, or empty.

    A name may be a path in the checkout, and a folder above parts. Raises SystemExit for one that stands for no part.
    """
    found: list[tuple[str, str]] = []
    for name in names:
        plain = name.rpartition("module_utils/")[2].strip("/")
        folder, _slash, file = plain.rpartition("/")
        if file.endswith(".py") and folder in every() and (CODE / plain).is_file():
            found.append((folder, plain))
            continue
        parts = [(part, "") for part in every() if f"{part}/".startswith(f"{plain}/")]
        if not parts:
            raise SystemExit(f"{name} is no part of the code with mutants: choose among {', '.join(every())}")
        found += parts
    return list(dict.fromkeys(found)) or [(part, "") for part in every()]
