# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Write the defaults of each role, and the tables of variables in its README, from its argument specs.

Roles share variables. One of them describes such a variable; the specs of the others mark theirs `# as in the role X`,
and this program copies the description to them.

A table has the variables of the tasks files that its heading `Tasks` names; one before such a heading, of all others.

Usage: python tools/generate_roles.py [--check]

`--check` writes nothing, prints the differences and exits 1 when a file is stale.
"""

from __future__ import annotations

import json
import re
import sys
import typing as t
from pathlib import Path

import yaml
from collection_tree import ROOT, link
from generated import settle

sys.path.insert(0, str(link(ROOT / ".nox/.cache/link")))

from ansible_collections.livenodes.kubelet.plugins.plugin_utils._inputs.specs import INTERNAL  # found after that line

Options = dict[str, dict[str, t.Any]]
SPECS = "meta/argument_specs.yml"
HEAD = """\
# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Written by tools/generate_roles.py from meta/argument_specs.yml, which describes the variables. All roles have the
# same names, without their prefix. Those with __ are in no specification: roles and playbooks pass them on.
---
"""
SECTION = re.compile(r"^## Tasks (.*)$", re.MULTILINE)
TABLE = re.compile(r"(?<=\| variable \| type \| default \| meaning \|\n\|---\|---\|---\|---\|\n)(?:\|.*\n)+")
OPTION = r"^      ({name}):( &\w+)?{mark}\n((?:        .*\n)+)"
SHARED = re.compile(OPTION.format(name=r"\w+", mark=r"  # as in the role (?P<role>\w+)"), re.MULTILINE)
ROW = re.compile(r"^\| `(\w+)` \|", re.MULTILINE)


def main() -> int:
    """Write or compare the files of all roles."""
    texts = {}
    roles = sorted(path for path in (ROOT / "roles").iterdir() if path.is_dir())
    described = {role.name: (role / SPECS).read_text(encoding="utf-8") for role in roles}
    for role in roles:
        readme = role / "README.md"
        texts[role / SPECS] = with_shared(described[role.name], described)
        entries = entries_of(texts[role / SPECS])
        texts[readme] = with_tables(readme.read_text(encoding="utf-8"), entries)
        absent = {name for options in entries.values() for name in options} - set(ROW.findall(texts[readme]))
        if absent:
            sys.exit(f"{readme.relative_to(ROOT)} has no table for {', '.join(absent)}: add one below `## Tasks`")
        found = defaults(role, entries)
        if found:
            texts[role / "defaults/main.yml"] = HEAD + "".join(found)
    return settle(texts, "tools/generate_roles.py")


def with_shared(text: str, described: dict[str, str]) -> str:
    """Return the argument specs of a role with what it shares with other roles as these describe it."""

    def copied(found: re.Match[str]) -> str:
        name, anchor, role, _former = found.groups()
        original = re.search(OPTION.format(name=name, mark=""), described[role], re.MULTILINE)
        if original is None:
            sys.exit(f"roles/{role}/{SPECS} does not describe {name}, which another role has as in the role {role}")
        return f"      {name}:{anchor or ''}  # as in the role {role}\n{original[3]}"

    return SHARED.sub(copied, text)


def entries_of(text: str) -> dict[str, Options]:
    """Return the variables by tasks file."""
    found = yaml.safe_load(text)["argument_specs"]
    return {name: spec.get("options", {}) for name, spec in found.items()}


def defaults(role: Path, entries: dict[str, Options]) -> list[str]:
    """Return the lines of the defaults: of the variables with one, and of what the tasks read beside them."""
    tasks = "".join(path.read_text(encoding="utf-8") for path in (role / "tasks").glob("*.yml"))
    read = re.findall(r"\b(__kubelet_config_\w+)\b(?!:)", tasks)
    found = {name: INTERNAL[name] for name in read if INTERNAL[name] is not None}
    for options in entries.values():
        found.update({name: option["default"] for name, option in options.items() if "default" in option})
    lines = []
    for name in sorted(found, key=lambda name: name.lstrip("_")):
        lines.append(f"{name}: {value_of(found[name])}  # noqa: var-naming[no-role-prefix]\n")
    return lines


def value_of(value: t.Any) -> str:
    """Return a value as the defaults have it: a word without quotes, if YAML reads it as itself."""
    if isinstance(value, str) and (not value or yaml.safe_load(value) != value):
        return json.dumps(value)
    if isinstance(value, list):
        return f"[{', '.join(map(value_of, value))}]"
    return value if isinstance(value, str) else json.dumps(value)


def with_tables(readme: str, entries: dict[str, Options]) -> str:
    """Return a README with its tables as generated. Raises KeyError for a heading of tasks that do not exist."""
    own = {name for words in SECTION.findall(readme) for name in re.findall(r"`(\w+)`", words)}
    parts, names = [], [name for name in entries if name not in own]
    for number, part in enumerate(SECTION.split(readme)):
        if number % 2:
            names = re.findall(r"`(\w+)`", part)
            part = f"## Tasks {part}"
        options = {name: option for entry in names for name, option in entries[entry].items()}
        rows = "".join(row(name, option) for name, option in options.items())
        parts.append(TABLE.sub(lambda _found, rows=rows: rows, part))
    return "".join(parts)


def row(name: str, option: dict[str, t.Any]) -> str:
    default = str(option.get("default", ""))
    if option["type"] == "bool":
        default = default.lower()
    shown = f"`{default}`" if default else ""
    return f"| `{name}` | {option['type']} | {shown} | {' '.join(option['description'])} |\n"


if __name__ == "__main__":
    sys.exit(main())
