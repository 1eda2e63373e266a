# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a role of the stages takes from the ones before it, and which of them it misses."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.livenodes.kubelet.plugins.plugin_utils._inputs import stages

NAMES = ["n1", "n2"]
DUMP: dict[str, Any] = {"dump_result": {"kubelet_configz": {"nodes": {"n1": {}, "n2": {}}, "variants": {}}}}
PLAN: dict[str, Any] = {"edit_result": {"plan": {"nodes": {"n1": {"action": "assign"}, "n2": {"action": "none"}}}}}
NOTHING: dict[str, Any] = {"edit_result": {"plan": {"nodes": {"n1": {"action": "none"}, "n2": {"action": "none"}}}}}
SKIPPED: dict[str, Any] = {"dump_result": {"skipped": True}, "edit_result": {"failed": True}}
OF_THE_MODULE: dict[str, Any] = {"ansible_facts": {"kubelet_configz": DUMP["dump_result"]["kubelet_configz"]}}
GIVEN: dict[str, Any] = {"kubelet_config_plan": PLAN["edit_result"]["plan"]}
SOURCES: dict[str, Any] = {"kubelet_config_sources": {"n1": {}}}


@pytest.mark.parametrize(
    ("stage", "variables"),
    [
        ("dump", {}),
        ("edit", DUMP),
        ("edit", OF_THE_MODULE),
        ("edit", {"kubelet_config_current": DUMP["dump_result"]["kubelet_configz"]}),
        ("push", PLAN),
        ("push", GIVEN),
        ("assign", {**PLAN, "push_result": {}}),
        ("assign", GIVEN),
        ("assign", SOURCES),
        ("assign", NOTHING),
        # By itself it verifies what is assigned.
        ("verify", {}),
        ("verify", {**PLAN, "assign_result": {}}),
        ("verify", NOTHING),
        ("verify", {**PLAN, **SOURCES}),
    ],
)
def test_nothing_is_missing(stage: str, variables: dict[str, Any]) -> None:
    assert stages.missing(stage, variables, NAMES) == ""


@pytest.mark.parametrize(
    ("stage", "variables", "first", "words"),
    [
        ("edit", {}, "dump", "has read nothing of n1, n2"),
        ("edit", {**SKIPPED, "kubelet_config_current": None}, "dump", "or set kubelet_config_current"),
        ("edit", {"kubelet_config_current": {"nodes": {"n1": {}}}}, "dump", "has read nothing of n2:"),
        ("push", DUMP, "edit", "or set kubelet_config_plan"),
        ("push", SKIPPED, "edit", "has planned nothing for n1, n2"),
        ("assign", {}, "edit", "or set kubelet_config_plan or kubelet_config_sources"),
        ("assign", PLAN, "push", "has pushed nothing for n1:"),
        ("verify", PLAN, "assign", "has assigned nothing to n1:"),
    ],
)
def test_the_role_to_run_first_is_named(stage: str, variables: dict[str, Any], first: str, words: str) -> None:
    message = stages.missing(stage, variables, NAMES)
    assert words in message and f"run livenodes.kubelet.{first} first" in message, message
    assert f"livenodes.kubelet.{stage} " in message and message.endswith("Nothing was changed"), message


@pytest.mark.parametrize(
    ("strategy", "alone"),
    [
        ("linear", False),
        ("ansible.builtin.free", True),
        ("host_pinned", True),
        ("debug", False),
        ("mitogen_free", True),
    ],
)
def test_strategies_without_common_steps(strategy: str, alone: bool) -> None:
    assert strategy.endswith(stages.ALONE) is alone


def test_a_file_for_all_hosts_is_refused_where_each_works_alone() -> None:
    """Otherwise the last host would overwrite those of the others."""
    for stage, name in stages.FILES.items():
        assert stages.unshared(stage, {name: "all.json"}).startswith(f"{name} is one file for all hosts")
    assert stages.unshared("edit", {"kubelet_config_dump_file": "all.json"}) == ""
    assert stages.unshared("push", {}) == ""


def test_what_was_given_goes_before_what_was_found() -> None:
    assert stages.found({"nodes": {}}, "dump", DUMP) == {"nodes": {}}
    assert stages.found(None, "dump", DUMP) == DUMP["dump_result"]["kubelet_configz"]
    assert stages.found({}, "edit", SKIPPED) == {}
