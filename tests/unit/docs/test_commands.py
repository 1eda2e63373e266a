# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every command of the documentation is run by tests/e2e_fleet/test_docs_commands.py, or has a reason why not."""

from __future__ import annotations

import ast
from pathlib import Path

from tests.support.plays.doc_commands import NOT_TRIED, alike, commands, lines

SCENARIO = Path(__file__).resolve().parents[2] / "e2e_fleet/test_docs_commands.py"


def typed() -> set[str]:
    """Return the commands that the scenario types, read from its source."""
    tree = ast.parse(SCENARIO.read_text(encoding="utf-8"))
    found: set[str] = set()
    for loop in (node for node in ast.walk(tree) if isinstance(node, ast.For) and "types_as_root" in ast.unparse(node)):
        found |= {f"# {one.value}" for one in getattr(loop.iter, "elts", []) if isinstance(one, ast.Constant)}
    for call in (
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args
    ):
        text = call.args[0].value if isinstance(call.args[0], ast.Constant) else None
        if call.func.attr == "types" and text:
            found.add(text)
        elif call.func.attr == "plays" and text:
            name, blank, more = text.partition(" ")
            found.add(
                f"ansible-playbook -i inventory livenodes.kubelet.{name} -e kubelet_config_hosts=workers{blank}{more}"
            )
    return found


def test_every_command_is_typed_or_has_a_reason() -> None:
    """A new or changed command of a page fails this test."""
    wanted = {alike(command): page for command, page in commands().items()}
    assert {command: page for command, page in wanted.items() if command not in typed() | set(NOT_TRIED)} == {}


def test_every_typed_or_excused_command_is_on_a_page() -> None:
    """A command that was removed from the pages must be removed from the list and from the scenario."""
    wanted = {alike(command) for command in commands()}
    assert (set(NOT_TRIED) | typed()) - wanted == set()


def test_what_counts_as_a_command() -> None:
    """Output and comments do not count; continued lines are joined."""
    shown = ["  $ kubectl get node n1 \\", "      -o json    # all of it", "  {}", "  # reboot"]
    assert list(lines("console", shown)) == ["kubectl get node n1 -o json", "# reboot"]
    assert list(lines("sh", ["# first", "make   test  # all"])) == ["make test"]
