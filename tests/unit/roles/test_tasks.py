# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tasks of roles: a message names its node once, also when it quotes one that does; `checkpoint` only branches."""

from __future__ import annotations

import re
import typing as t
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[3]
NODE_MESSAGE = "livenodes.kubelet.node_message"
# Texts that come from other tasks or modules.
COLLECTED = re.compile(r"_failures?\b|_reasons\b|\.reasons\b|\.message\b|\.error\b")
# The errors of a kubelet, which name no node.
NAMELESS = {"assign_row.error"}
# These filters write the name, which is their argument, into a message that quotes another one.
FAILURES = re.compile(r"livenodes\.kubelet\.(?:switch|reset|revert)_failure\(checkpoint_name,")

DECIDING = re.compile(r"startswith|selectattr|\bselect\(|is (match|search)\b|\.problems\b|\.check\b|\.host\b|\.form\b")
"""Searches in texts and in lists of problems, and facts from which a task would have to decide."""


def messages(tasks: t.Any) -> t.Iterator[str]:
    """Yield the messages of all failures in a list of tasks and its blocks, without those that a rescue quotes."""
    for task in tasks or ():
        fail = task.get("ansible.builtin.fail")
        if fail:
            yield fail["msg"]
        quoted = any(FAILURES.search(text) for text in messages(task.get("rescue")))
        for part in ("rescue", "always") if quoted else ("block", "rescue", "always"):
            yield from messages(task.get(part))


FOUND = [
    (f"{path.relative_to(ROOT)}: {text}", text)
    for path in sorted((ROOT / "roles").glob("*/tasks/*.yml"))
    for text in messages(yaml.safe_load(path.read_text()))
]


@pytest.mark.parametrize("text", [text for _name, text in FOUND], ids=[name for name, _text in FOUND])
def test_a_message_that_quotes_others_goes_through_the_filter(text: str) -> None:
    for expression in re.findall(r"\{\{.*?\}\}", text, re.DOTALL):
        for word in NAMELESS:
            expression = expression.replace(word, "")
        assert not COLLECTED.search(expression) or NODE_MESSAGE in expression or FAILURES.search(expression), text
    # The filter writes the name, unless it is asked not to.
    assert text.count("Node {{") + text.count(NODE_MESSAGE) - text.count("node=''") <= 1


def test_there_are_messages_of_both_sorts() -> None:
    assert sum(NODE_MESSAGE in text for _name, text in FOUND) >= 1
    assert sum(bool(FAILURES.search(text)) for _name, text in FOUND) == 3


@pytest.mark.parametrize("path", sorted((ROOT / "roles/checkpoint/tasks").glob("*.yml")), ids=lambda path: path.name)
def test_no_task_searches_in_what_the_preflight_found(path: Path) -> None:
    """The preflight decides, and the tasks branch on its decisions."""
    assert [line for line in path.read_text().splitlines() if DECIDING.search(line)] == []
