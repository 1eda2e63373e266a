# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What kubelets answer to the configurations in the tables of the plan's rules: asked on a node, or as it was recorded.

`tests/e2e_modern/test_kubelet_answers.py` asks kubelets, and `python -m tests.support.kubelets.record_facts` records
what they answer in `tests/facts`. A unit test compares the rules with these answers.
"""

from __future__ import annotations

import json
import typing as t

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.rules import feature_gates, validation
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.rules.checks import problems
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system.binary import NOT_CHECKED
from tests.support.lab_node.preflight_node import HEADER, PLACE, Node, archive
from tests.support.plays.ansible import ROOT
from tests.unit.plugins.module_utils._config.rules import test_managers, test_newer_rules

FACTS = ROOT / "tests/facts"
TABLES = (test_managers, test_newer_rules)
# Without those rules that a kubelet checks after it has read its kubeconfig.
ASKED = {*validation.NAMES, *feature_gates.NAMES, "type"}
Fields = dict[str, t.Any]
CONFIGS: list[Fields] = [row[0] for table in TABLES for row in table.REFUSED] + [
    row for table in TABLES for row in table.ACCEPTED
]
Answers = list[tuple[Fields, str]]
"""Configurations, each with the verdict of a kubelet."""


def ask(node: Node, configs: t.Sequence[Fields]) -> Answers:
    # The nodes of the lab have cgroup v1.
    own = {"failCgroupV1": False} if node.minor >= 35 else {}
    complete = [{**HEADER, **own, **config} for config in configs]
    texts = [json.dumps(config) for config in complete]
    node.run(f"mkdir -p {PLACE}")
    node.lab_node.run(f"base64 -d | tar -xz -C {PLACE}", stdin=archive())
    found: list[str] = []
    try:
        # A command on a node has a minute.
        for at in range(0, len(texts), 20):
            found += node.python(f"""
result = [binary.check(text, ["/usr/bin/kubelet"], minor=lambda: {node.minor})[0] for text in {texts[at : at + 20]!r}]
""")
    finally:
        node.run(f"rm -rf {PLACE}")
    return list(zip(complete, found, strict=True))


def wrong(answers: Answers, minor: int) -> list[tuple[Fields, str, list[str]]]:
    """Return the configurations about which kubelet and rules disagree, with the verdict and what the rules refuse.

    Before 1.35 a negative flushFrequency ends in a panic of Go, which is not an answer.
    """
    found = []
    asked = ASKED - {"log-flush-positive"} if minor < 35 else ASKED
    for config, verdict in answers:
        refused = [one.message for one in problems(config, minor) if one.severity == "refusal" and one.rule in asked]
        if (verdict == "invalid") != bool(refused):
            found.append((config, verdict, refused))
    return found


def write(version: str, answers: Answers) -> None:
    """Write the answers of a kubelet into the file of its version, a line for each configuration.

    What it has not answered is left out.
    """
    FACTS.mkdir(exist_ok=True)
    lines = ",\n".join(json.dumps(answer, sort_keys=True) for answer in answers if answer[1] != NOT_CHECKED)
    (FACTS / f"rules-{version}.json").write_text(f"[\n{lines}\n]\n", encoding="utf-8")


def recorded() -> dict[str, Answers]:
    """Return all answers that were recorded, by version."""
    return {
        path.stem.partition("-")[2]: [tuple(answer) for answer in json.loads(path.read_text())]
        for path in sorted(FACTS.glob("rules-*.json"))
    }
