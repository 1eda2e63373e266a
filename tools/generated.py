# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the generators share: tables of pages, and files that are written or compared."""

from __future__ import annotations

import argparse
import difflib
import sys
import textwrap
import typing as t
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def settle(texts: dict[Path, str], tool: str) -> int:
    """Write generated files; with `--check`, compare them and show the differences. Return the exit code."""
    parser = argparse.ArgumentParser(prog=tool)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 with a diff when a file is stale")
    if not parser.parse_args().check:
        for path, wanted in texts.items():
            path.parent.mkdir(exist_ok=True)
            path.write_text(wanted, encoding="utf-8")
        return 0
    return max(compare(path, wanted, tool) for path, wanted in texts.items())


def compare(path: Path, wanted: str, tool: str) -> int:
    """Show how a file differs from what is generated. Return 1 if it does, else 0."""
    found = path.read_text(encoding="utf-8") if path.exists() else ""
    if found == wanted:
        return 0
    name = str(path.relative_to(ROOT))
    lines = (found.splitlines(True), wanted.splitlines(True))
    sys.stdout.writelines(difflib.unified_diff(*lines, name, f"{name} (as generated)"))
    print(f"{name} is stale: run `python {tool}` and commit the result", file=sys.stderr)
    return 1


def table(rows: t.Iterable[t.Iterable[str]], widths: str = "") -> str:
    """Return a table of a page; the first row is its header, `widths` are the shares of the columns."""
    lines = ["", ".. list-table::", "  :header-rows: 1"]
    if widths:
        lines.append(f"  :widths: {widths}")
    lines.append("")
    for row in rows:
        mark = "  * -"
        for cell in row:
            lines += textwrap.wrap(
                cell,
                width=120,
                initial_indent=f"{mark} ",
                subsequent_indent="      ",
                break_long_words=False,
                break_on_hyphens=False,
            ) or [mark]
            mark = "    -"
    return "\n".join(lines) + "\n"
