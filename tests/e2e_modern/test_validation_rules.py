# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a plan refuses by a rule of a newer kubelet's validation, that kubelet refuses too, and nothing else."""

from __future__ import annotations

import json
import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.rules import feature_gates, validation
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.rules.checks import problems
from tests.lab.lab import Lab
from tests.support.preflight_node import HEADER, PLACE, Node, archive
from tests.unit.plugins.module_utils._config.rules import test_logs, test_managers, test_newer_rules

TABLES = (test_logs, test_managers, test_newer_rules)
ASKED = {*validation.NAMES, *feature_gates.NAMES, "type"}
CONFIGS = [row[0] for table in TABLES for row in table.REFUSED] + [row for table in TABLES for row in table.ACCEPTED]


@pytest.mark.parametrize("name", ["n1", "n2"])
@pytest.mark.parametrize(
    "configs",
    [
        pytest.param(CONFIGS[::6], id="some"),
        pytest.param(CONFIGS, id="all", marks=pytest.mark.long),
    ],
)
def test_the_rules_of_the_plan_are_those_of_the_kubelet(lab: Lab, name: str, configs: list[dict[str, t.Any]]) -> None:
    """Except those that a kubelet checks after it has read its kubeconfig."""
    node = Node(lab, lab.node(name))
    minor = int(node.lab_node.release.version.split(".")[1])
    # The nodes of the lab have cgroup v1.
    own = {"failCgroupV1": False} if minor >= 35 else {}
    complete = [{**HEADER, **own, **config} for config in configs]
    texts = [json.dumps(config) for config in complete]
    node.run(f"mkdir -p {PLACE}")
    node.lab_node.run(f"base64 -d | tar -xz -C {PLACE}", stdin=archive())
    try:
        found = node.python(f"""
result = [binary.check(text, ["/usr/bin/kubelet"], minor=lambda: {minor})[:2] for text in {texts!r}]
""")
    finally:
        node.run(f"rm -rf {PLACE}")
    wrong = []
    for config, (verdict, messages) in zip(complete, found, strict=True):
        refused = [one.message for one in problems(config, minor) if one.severity == "refusal" and one.rule in ASKED]
        # Before 1.35 a negative flushFrequency ends in a panic of Go, which is no answer.
        if (verdict == "invalid") != bool(refused):
            wrong.append((config, verdict, messages, refused))
    assert wrong == []
