# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.plugin_utils._inputs.hosts import ANY, NAMED, Run, asked

ALL = ("n1", "n2")
WITHOUT = (
    "A run without hosts would take all nodes. Nothing was changed. Name them with -e kubelet_config_hosts, such as a "
    "group or all, or with --limit."
)
EMPTY = "kubelet_config_hosts is empty. Nothing was changed. Set it to a group or hosts of the inventory."
NONE = (
    "No host matches kubelet_config_hosts=a:b. Set it to a group or hosts of the inventory that represent nodes of the "
    "cluster."
)
OUTSIDE = (
    "No host of kubelet_config_hosts=a is in --limit n2. Nothing was changed. Name hosts that both have, or leave one "
    "of the two out."
)


@pytest.mark.parametrize(
    ("must", "run", "message"),
    [
        (ANY, Run(None, ALL, None, ALL, False), ""),
        (ANY, Run(["a"], ["n1"], None, ALL, True), ""),
        (ANY, Run(["a"], ALL, "n2", ["n2"], True), ""),
        (NAMED, Run(None, ALL, None, ALL, False), WITHOUT),
        (NAMED, Run(None, ALL, "n2", ["n2"], False), ""),
        (NAMED, Run(["all"], ALL, None, ALL, True), ""),
        (ANY, Run([""], [], None, ALL, True), EMPTY),
        (ANY, Run([], [], None, ALL, True), EMPTY),
        (NAMED, Run([" ", ""], [], None, ALL, True), EMPTY),
        (ANY, Run(["a", "b"], [], "n1", ["n1"], True), NONE),
        (ANY, Run(["a"], ["n1"], "n2", ["n2"], True), OUTSIDE),
        # A playbook for several groups names them, and --limit leaves this one out.
        (ANY, Run(["a"], ["n1"], "n2", ["n2"], False), ""),
        (ANY, Run(None, [], None, [], False), NONE.replace("a:b", "all")),
    ],
)
def test_hosts_that_a_run_refuses(must: str, run: Run, message: str) -> None:
    assert run.problem(must) == message


@pytest.mark.parametrize(
    ("given", "patterns"),
    [("a", ["a"]), (["a", "b:!c"], ["a", "b:!c"]), ([["a"], "b"], ["a", "b"]), ("", [""]), ([], [])],
)
def test_the_patterns_of_a_run(given: t.Any, patterns: list[str]) -> None:
    assert asked(given) == patterns
