# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every status, reason and error of a node, a guard or a rollout has a row in the guide about status and errors."""

from __future__ import annotations

import ast
import itertools
import re
import typing as t
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.objects import nodes
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.rollout import revert
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.stages import verdict
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import annotation
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.report import textfile

ROOT = Path(__file__).resolve().parents[3]
PLUGINS = ROOT / "plugins" / "module_utils"
PAGE = (ROOT / "docs/docsite/rst/guide_status.rst").read_text(encoding="utf-8")
NAMES = {"annotation.ON_TRIAL": annotation.ON_TRIAL, "annotation.CONFIRMED": annotation.CONFIRMED}
ANYTHING = ".*"
FAULTS = (
    ("_node/guard/decide.py", "_fault"),
    ("_node/guard/decide.py", "_overdue"),
    ("_node/guard/decide.py", "_reboots"),
    ("_node/guard/new_binary.py", "_wrong"),
    ("_node/guard/without_trial.py", "crash"),
)


def rows(section: str) -> dict[str, list[str]]:
    """Return the literals in the first column of a section's tables, each with the other cells of its row."""
    _before, _title, rest = PAGE.partition(f"\n{section}\n{'-' * len(section)}\n")
    assert rest, f"no section {section}"
    body = re.split(r"\n[^\n]+\n-{4,}\n", rest)[0]
    found = {}
    for row in re.split(r"^  \* - ", body, flags=re.MULTILINE)[1:]:
        first, *others = re.split(r"^    - ", row, flags=re.MULTILINE)
        for literal in re.findall(r"``(.+?)``", " ".join(first.split())):
            found[literal] = [" ".join(other.split()) for other in others]
    return found


def patterns(node: ast.expr, known: t.Mapping[str, list[str]]) -> list[str]:
    """Return the texts an expression can produce, as regular expressions; parts not in the source match anything.

    `known`: the texts of local variables.
    """
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [re.escape(node.value)]
    if isinstance(node, ast.JoinedStr):
        parts = [patterns(part, known) for part in node.values]
        return ["".join(words) for words in itertools.product(*parts)]
    if isinstance(node, ast.FormattedValue) and isinstance(node.value, ast.Name):
        return patterns(node.value, known)
    if isinstance(node, ast.BinOp):
        return [left + right for left in patterns(node.left, known) for right in patterns(node.right, known)]
    if isinstance(node, ast.IfExp):
        return [*patterns(node.body, known), *patterns(node.orelse, known)]
    if isinstance(node, ast.BoolOp):
        return [one for value in node.values for one in patterns(value, known)]
    if isinstance(node, ast.Name) and node.id in known:
        return known[node.id]
    return [re.escape(NAMES[ast.unparse(node)])] if ast.unparse(node) in NAMES else [ANYTHING]


def variables(function: ast.FunctionDef) -> dict[str, list[str]]:
    """Return the texts that each local variable can hold, in the order of the lines."""
    known: dict[str, list[str]] = {}
    changes = [node for node in ast.walk(function) if isinstance(node, (ast.Assign, ast.AugAssign))]
    for node in sorted(changes, key=lambda change: change.lineno):
        target = node.target if isinstance(node, ast.AugAssign) else node.targets[0]
        before = known.get(ast.unparse(target), [])
        if isinstance(node, ast.AugAssign):
            before += [text + end for text in before for end in patterns(node.value, known)]
        elif isinstance(target, ast.Name):
            known[target.id] = [*before, *patterns(node.value, known)]
    return known


def functions(file: str) -> list[ast.FunctionDef]:
    """Return the functions and methods of a file."""
    tree = ast.parse((PLUGINS / file).read_text(encoding="utf-8"))
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]


def returned(places: t.Iterable[tuple[str, str]]) -> set[str]:
    """Return the texts that these functions (file, name) can return."""
    found: set[str] = set()
    for file, name in places:
        function = next(one for one in functions(file) if one.name == name)
        known = variables(function)
        for node in ast.walk(function):
            if isinstance(node, ast.Return) and node.value:
                found.update(patterns(node.value, known))
    return found


def calls(file: str, names: t.Collection[str]) -> t.Iterator[tuple[ast.Call, dict[str, list[str]]]]:
    """Yield the calls of functions or methods with these names, and what is known of the variables there."""
    for function in functions(file):
        for node in ast.walk(function):
            if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in names:
                yield node, variables(function)


def guard_calls(name: str) -> t.Iterator[tuple[ast.Call, dict[str, list[str]]]]:
    """Yield the calls of one of the guard's methods."""
    for path in sorted((PLUGINS / "_node/guard").glob("*.py")):
        yield from calls(f"_node/guard/{path.name}", [name])


def decided(names: t.Collection[str], what: t.Collection[str]) -> set[str]:
    """Return the reasons of actions, by the functions that make them and their first arguments."""
    found: set[str] = set()
    for call, known in calls("_node/guard/decide.py", names):
        if ast.unparse(call.args[0]) in what:
            for word in call.args[1:]:
                found.update(patterns(word, known))
    return found


def guard_reasons() -> set[str]:
    """Return every `reason` that the guard can report."""
    reported = {one for call, known in guard_calls("queue_report") for one in patterns(call.args[0], known)}
    # The reason of a waiting action becomes the stage.
    waits = decided(["Action"], ("WAIT", "ASK"))
    return (reported | returned([("_node/guard/decide.py", "stage")]) | waits) - {ANYTHING, ""}


def guard_errors() -> set[str]:
    """Return every `error` that the guard itself can report."""
    reported = {
        one
        for call, known in guard_calls("queue_report")
        for keyword in call.keywords
        if keyword.arg == "error"
        for one in patterns(keyword.value, known)
    }
    return (reported | returned(FAULTS) | decided(["Action", "_revert"], ("REVERT", "KEEP", "terms"))) - {ANYTHING, ""}


def soak_states() -> set[str]:
    """Return the states that only a soak sets."""
    return {
        call.args[1].value
        for call, _known in calls("_cluster/stages/soak.py", ["_fail"])
        if isinstance(call.args[1], ast.Constant)
    }


def test_every_state_has_a_cause_and_a_remedy() -> None:
    """The page lists all states of verdicts, soaks and reverts, and no others."""
    found = rows("Verdicts")
    assert set(verdict.STATES) | soak_states() | {
        revert.REVERTED,
        revert.NOT_REVERTED,
        revert.REASSIGNED,
        revert.REFUSED,
    } == {word for word, cells in found.items() if re.fullmatch("[a-z_]+", word) and len(cells) == 2}
    assert soak_states() > {"pods_lost", "restarted"}


def test_every_error_of_a_kubelet_has_a_row() -> None:
    """The texts known to the verdict, alone and after a failed sync."""
    found = rows("Native delivery: status.config.error")
    assert set(verdict.MEANING) <= set(found)
    assert [text for text in found if text.startswith(nodes.SYNC)]


@pytest.mark.parametrize("kind, texts", [("reason", guard_reasons()), ("error", guard_errors())])
def test_every_report_of_the_guard_has_a_row(kind: str, texts: set[str]) -> None:
    """Each text that the source can produce matches a row of the page."""
    found = rows("Deliveries with a guard: the status annotation")
    assert len(texts) > 5, f"the texts of {kind} were not found in the source"
    assert sorted(text for text in texts if not any(re.fullmatch(text, row) for row in found)) == []


def test_the_sample_of_the_metrics_is_what_a_guard_writes() -> None:
    block = PAGE.partition("In this example a node was reverted to its local configuration:")[2]
    sample = "".join(f"{line.strip()}\n" for line in block.partition("\n\n* ")[0].splitlines() if "kubelet_" in line)
    source = {
        "namespace": "kube-system",
        "name": "livenodes-kubelet-77ddfg9d4c",
        "uid": "5e3f4186-241c-491b-b181-8e698d5e2282",
        "resourceVersion": "533",
        "kubeletConfigKey": "kubelet",
    }
    written = textfile.metrics({"assigned": {"configMap": source}, "error": "it ended"})
    assert sample == "".join(line for line in written.splitlines(keepends=True) if not line.startswith("#"))
