# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Measure the repository: `make house` prints how large each part is, and how dense its code reads.

A rate is per 1,000 lines of code: neither blank, nor a comment, nor a docstring. Radon counts these, and complexity.
"""

from __future__ import annotations

import ast
import collections
import subprocess
import typing as t
from pathlib import Path

import yaml
from radon.complexity import cc_visit
from radon.raw import analyze

ROOT = Path(__file__).resolve().parent.parent
PARTS: dict[str, tuple[str, ...]] = {
    "plugins": ("plugins/**/*.py", "plugins/**/*.yml"),
    "  _config": ("plugins/module_utils/_config/**/*.py",),
    "  _cluster": ("plugins/module_utils/_cluster/**/*.py",),
    "  _node": ("plugins/module_utils/_node/**/*.py",),
    "  modules": ("plugins/modules/*.py",),
    "roles": ("roles/**/*.yml", "roles/**/*.md"),
    "playbooks": ("playbooks/**/*.yml",),
    "tests": ("tests/**/*.py", "tests/**/*.yml", "tests/**/*.sh"),
    "tools": ("tools/**/*.py", "noxfile.py"),
    "data": ("tools/data/**/*",),
    "guides": ("docs/docsite/rst/*.rst",),
    "fragments": ("changelogs/fragments/*",),
}
COLUMNS = ("files", "lines", "< 40", "code", "ternaries", "compreh.", "complex", "used once")
SHORT_FILE = 40
MOST_COMPLEX = 10
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
Count = int | float | None


def files(patterns: t.Iterable[str]) -> list[Path]:
    """Return the files of these patterns that git knows, sorted."""
    words = ["git", "ls-files", "-z", "--deduplicate", *(f":(glob){pattern}" for pattern in patterns)]
    names = subprocess.run(words, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [ROOT / name for name in names.split("\0") if name]


def public_names(tree: ast.Module) -> set[str]:
    """Return the functions, classes and constants of a module that its name makes public."""
    names: set[str] = set()
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
        for target in [*getattr(node, "targets", ()), getattr(node, "target", None)]:
            if isinstance(target, ast.Name):
                names.add(target.id)
    return {name for name in names if not name.startswith("_")}


def used_names(tree: ast.AST) -> set[str]:
    """Return every name and attribute that a module reads or imports."""
    used: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            used.add(node.id)
        elif isinstance(node, ast.Attribute):
            used.add(node.attr)
        elif isinstance(node, ast.ImportFrom):
            used.update(alias.name for alias in node.names)
    return used


def row(paths: t.Sequence[Path], users: collections.Counter[str]) -> list[Count]:
    """Return one part's counts, in the order of COLUMNS; None where a count is of Python only and there is none."""
    lines = short = once = 0
    found: collections.Counter[str] = collections.Counter()
    for path in paths:
        text = path.read_text(errors="replace")
        count = len(text.splitlines())
        lines += count
        short += 0 < count < SHORT_FILE
        if path.suffix == ".py":
            found += density(text)
            once += sum(users[name] <= 1 for name in public_names(ast.parse(text)))
    sizes: list[Count] = [len(paths), lines, short]
    if not found:
        return [*sizes, None, None, None, None, None]
    rate = 1000 / found["code"]
    dense = [round(found["ternaries"] * rate, 1), round(found["comprehensions"] * rate, 1)]
    if not paths[0].is_relative_to(ROOT / "plugins"):
        return [*sizes, found["code"], *dense, found["complex"], None]
    return [*sizes, found["code"], *dense, found["complex"], once]


def density(text: str) -> collections.Counter[str]:
    """Return how much code a program has, and how much of it is dense, by kind."""
    found = collections.Counter({"code": analyze(text).sloc})
    found["complex"] = sum(block.complexity > MOST_COMPLEX for block in cc_visit(text))
    for node in ast.walk(ast.parse(text)):
        found["ternaries"] += isinstance(node, ast.IfExp)
        found["comprehensions"] += isinstance(node, COMPREHENSIONS)
    return found


def main() -> None:
    users: collections.Counter[str] = collections.Counter()
    for path in files(("plugins/**/*.py",)):
        tree = ast.parse(path.read_text())
        users.update(used_names(tree) | public_names(tree))
    print(line("", COLUMNS))
    for name, patterns in PARTS.items():
        print(line(name, row(files(patterns), users)))
    variables: list[str] = []
    for path in files(("roles/*/meta/argument_specs.yml",)):
        for entry in yaml.safe_load(path.read_text())["argument_specs"].values():
            variables.extend(entry.get("options") or {})
    print(f"\nvariables of roles: {len(set(variables))}, in {len(variables)} entries of argument specs")
    print(f"< {SHORT_FILE}: files below {SHORT_FILE} lines; ternaries and comprehensions per 1,000 lines of code;")
    print(f"complex: functions over {MOST_COMPLEX}; used once: public names that no other file of plugins uses")


def line(name: str, cells: t.Iterable[object]) -> str:
    """Return a line of the table; None is a dash."""
    text = f"{name:12}"
    for cell in cells:
        text += f"{'-' if cell is None else cell:>11}"
    return text


if __name__ == "__main__":
    main()
