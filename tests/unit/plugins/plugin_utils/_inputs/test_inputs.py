# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The variables of a run: their groups, stages and forms, and what several hosts differ in."""

from __future__ import annotations

import json
import re
import typing as t
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.inventory.manager import InventoryManager
from ansible.parsing.dataloader import DataLoader
from ansible.vars.manager import VariableManager

from ansible_collections.livenodes.kubelet.plugins.modules import kubelet_config_inputs
from ansible_collections.livenodes.kubelet.plugins.plugin_utils._inputs import specs, stages
from ansible_collections.livenodes.kubelet.plugins.plugin_utils._inputs.hosts import Groups
from ansible_collections.livenodes.kubelet.plugins.plugin_utils._inputs.inputs import Inputs
from ansible_collections.livenodes.kubelet.plugins.plugin_utils._inputs.rendered import UNKNOWN
from tests.support.plays.ansible import ROOT

KNOWN = specs.known(specs.by_role())
FIRST = "Nothing was changed. Correct the inventory or the -e options, then run again:"


def lines(*hosts: dict[str, t.Any]) -> list[str]:
    """Return the message about hosts n1, n2, ... with these variables."""
    inputs = Inputs(KNOWN, KNOWN)
    for number, variables in enumerate(hosts, 1):
        for name, value in variables.items():
            if inputs.matters(f"kubelet_config_{name}"):
                inputs.add(f"n{number}", f"kubelet_config_{name}", value)
    return inputs.message(len(hosts)).splitlines()


def test_right_variables_have_no_message() -> None:
    """A template that cannot be rendered yet is not wrong."""
    assert lines({"drain": "always", "flags": ["--v=2"], "host": {"maxPods": {}}}, {"pause": "no"}) == []
    assert lines({"drain": UNKNOWN}) == []


@pytest.mark.parametrize(
    ("hosts", "named"),
    [
        ([{"drain": "x"}], "on n1"),
        ([{"drain": "x"}] * 2, "on all hosts"),
        ([{"drain": "x"}, {}], "on n1"),
        ([*[{"drain": "x"}] * 3, {}], "on n1, n2, n3"),
        ([*[{"drain": "x"}] * 5, {}], "on n1, n2, n3 and 2 more hosts"),
    ],
)
def test_hosts_are_named(hosts: list[dict[str, t.Any]], named: str) -> None:
    assert lines(*hosts) == [
        f"1 variable is wrong. {FIRST}",
        f'kubelet_config_drain is "x" {named}: use never, when_needed or always',
    ]


def test_each_value_has_a_line() -> None:
    assert lines({"drain": "x", "pause": [1]}, {"drain": "y", "pause": [1]}) == [
        f"3 variables are wrong. {FIRST}",
        'kubelet_config_drain is "x" on n1: use never, when_needed or always',
        'kubelet_config_drain is "y" on n2: use never, when_needed or always',
        "kubelet_config_pause is [1] on all hosts: use true or false",
    ]


def test_one_and_true_are_different_values() -> None:
    assert lines({"wait_timeout": 1}, {"wait_timeout": True})[1:] == [
        "kubelet_config_wait_timeout is true on n2: use a whole number, 0 or more"
    ]


def test_a_boolean_instead_of_a_word_is_explained() -> None:
    assert lines({"drain": False})[1] == (
        "kubelet_config_drain is false on n1: use never, when_needed or always. "
        "YAML reads a bare no, off, yes or on as a boolean: use quotes"
    )


def test_unknown_names() -> None:
    assert lines({"drain_timout": 1})[1] == (
        "kubelet_config_drain_timout on n1: unknown. Did you mean kubelet_config_drain_timeout? If not, give it a name "
        "that is less like those of this collection"
    )


def test_a_misspelt_main_variable_is_wrong_on_its_hosts() -> None:
    """Otherwise a rollout would revert these hosts, since nothing is declared for them."""
    inputs = Inputs(KNOWN, KNOWN)
    assert inputs.matters("kubelet_confg") and not inputs.matters("kubeconfig")
    for host in ("n1", "n2"):
        inputs.add(host, "kubelet_confg", UNKNOWN)
    assert (
        inputs.message(3).splitlines()[1].startswith("kubelet_confg on n1, n2: unknown. Did you mean kubelet_config?")
    )


def test_names_of_others_are_shown_and_accepted() -> None:
    """A user cannot rename a variable of Kubespray."""
    inputs = Inputs(KNOWN, KNOWN)
    assert inputs.ignored() == ""
    for name in ("kubelet_config_path", "kubelet_config_extra_args"):
        assert inputs.matters(name)
        inputs.add("n1", name, {"maxPods": 5})
    assert inputs.message(1) == ""
    assert inputs.ignored() == (
        "kubelet_config_extra_args, kubelet_config_path: this collection has no such variable and ignores it. If it is "
        "one of yours, give it another prefix than kubelet_config_"
    )


def test_variables_of_another_playbook_are_not_checked() -> None:
    inputs = Inputs(KNOWN, {"kubelet_config_drain"})
    assert inputs.matters("kubelet_config_drain") and not inputs.matters("kubelet_config_pause")


def test_secrets_and_long_values_are_not_shown() -> None:
    found = lines({"auth": "hunter2", "plan": ["hunter2"], "drain": "x" * 100, "pause": {"token": "hunter2"}})
    assert "hunter2" not in str(found)
    assert max(map(len, found)) <= 120
    assert found[1] == "kubelet_config_auth is a text on n1: use a mapping"


def test_the_defaults_of_the_roles_are_known() -> None:
    inputs = Inputs(KNOWN, KNOWN)
    assert inputs.is_default("kubelet_config_drain", "never")
    assert not inputs.is_default("kubelet_config_drain", "always")
    assert not inputs.is_default("kubelet_config_delivery", None)
    assert not inputs.is_default("kubelet_config_x", "never")


FEW, MANY, MORE = {"kubelet_config": {"maxPods": 20}}, {"kubelet_config": {"maxPods": 90}}, {"kubelet_config": "a: 1"}
N1: dict[str, t.Any] = {"n1": {}}


def warning(home: Path, inventory: dict[str, t.Any], files: dict[str, t.Any]) -> str:
    """Return the message on an inventory with these files beside it."""
    source = home / "hosts.yml"
    source.write_text(json.dumps(inventory))
    for name, content in files.items():
        path = home / f"{name}.yml"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(content))
    loader = DataLoader()
    loader.set_basedir(str(home))
    found = InventoryManager(loader, [str(source)])
    manager = VariableManager(loader, found)
    groups = Groups(found, loader)
    for host in found.get_hosts():
        groups.add(host.name, manager.get_vars(host=host, include_hostvars=False).get("kubelet_config"))
    return groups.message(len(found.get_hosts()))


OF_A, OF_B = {"group_vars/a": FEW}, {"group_vars/b": MANY}
OF_C = {"group_vars/c": MORE}
A_AND_B = {"a": {"hosts": N1}, "b": {"hosts": N1}}
FIRST_A = {"a": {"hosts": N1, "vars": {"ansible_group_priority": 5}}}


@pytest.mark.parametrize(
    ("inventory", "files", "counts", "lost"),
    [
        # By name, the last one counts.
        (A_AND_B, {**OF_A, **OF_B}, "b", "a"),
        ({"a": {"hosts": N1, "vars": FEW}, "b": {"hosts": N1, "vars": MANY}}, {}, "b", "a"),
        # Files count more than the inventory.
        ({"a": {"hosts": N1}, "b": {"hosts": N1, "vars": MANY}}, OF_A, "a", "b"),
        # A priority counts more than a name.
        ({**A_AND_B, **FIRST_A}, {**OF_A, **OF_B}, "a", "b"),
        ({**A_AND_B, "c": {"hosts": N1}}, {**OF_A, **OF_B, **OF_C}, "c", "a, b"),
    ],
)
def test_the_group_that_counts(
    tmp_path: Path, inventory: dict[str, t.Any], files: dict[str, t.Any], counts: str, lost: str
) -> None:
    assert warning(tmp_path, inventory, files) == (
        f"groups {lost} and {counts} both set kubelet_config: that of {counts} counts on n1, with nothing of {lost}. "
        "For another order, set ansible_group_priority of a group in the inventory file"
    )


@pytest.mark.parametrize(
    ("inventory", "files"),
    [
        (A_AND_B, OF_A),
        # Equal values lose nothing.
        (A_AND_B, {**OF_A, "group_vars/b": FEW}),
        # A group within the other one, which Ansible's users expect to count.
        ({"a": {"children": {"b": {"hosts": N1}}}}, {**OF_A, **OF_B}),
        ({"b": {"hosts": N1}}, {"group_vars/all": FEW, **OF_B}),
        # A value of the host.
        (A_AND_B, {**OF_A, **OF_B, "host_vars/n1": MORE}),
    ],
)
def test_nothing_is_lost(tmp_path: Path, inventory: dict[str, t.Any], files: dict[str, t.Any]) -> None:
    assert warning(tmp_path, inventory, files) == ""


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
        ("debug", False),
        ("ansible.builtin.free", True),
        ("host_pinned", True),
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


PAGE = (ROOT / "docs/docsite/rst/guide_reference.rst").read_text(encoding="utf-8")


HANDED_ON = specs.HANDED_ON - specs.INTERNAL.keys()
"""Those that users may set in plays of their own."""


@pytest.mark.parametrize(("whose", "names"), [("the host", specs.OF_THE_HOST), ("the roles", HANDED_ON)])
def test_the_table_names_them(whose: str, names: frozenset[str]) -> None:
    row = PAGE.partition(f"  * - {whose}\n    - ")[2]
    assert set(re.findall(r"``(\w+)``", row.partition("\n    - ")[0])) == names


def test_all_of_them_are_known_variables() -> None:
    named = specs.OF_THE_HOST | HANDED_ON
    assert named <= set(specs.known(specs.by_role())) and not specs.OF_THE_HOST & specs.HANDED_ON


def test_internal_variables_are_those_of_the_roles() -> None:
    texts = [path.read_text() for folder in ("roles", "playbooks") for path in (ROOT / folder).rglob("*.yml")]
    assert set(re.findall(r"\b__kubelet_config_\w+", "\n".join(texts))) == set(specs.INTERNAL)


def test_a_variable_that_is_not_named_is_that_of_the_run() -> None:
    assert specs.is_of_the_run("kubelet_config_new") and specs.is_of_the_run(specs.AUTH)
    assert not any(map(specs.is_of_the_run, specs.OF_THE_HOST | specs.HANDED_ON))


def test_all_roles_and_all_entry_points_are_read() -> None:
    found = specs.by_role()
    assert sorted(found) == sorted(path.name for path in (ROOT / "roles").iterdir())
    assert {"kubelet_config_serial", "kubelet_config_variant"} <= set(found["rollout"])
    assert {"type", "default", "choices"} <= set(found["rollout"]["kubelet_config_drain"])


def test_one_entry_point(tmp_path: Path) -> None:
    assert "kubelet_config_prune_access_only" in specs.by_role(entry_point="prune")["push"]
    assert "kubelet_config_immutable" not in specs.by_role(entry_point="prune")["push"]
    # One without options.
    path = tmp_path / "mine/meta/argument_specs.yml"
    path.parent.mkdir(parents=True)
    path.write_text("argument_specs: {main: {short_description: a}}")
    assert specs.by_role(tmp_path) == specs.by_role(tmp_path, "main") == {"mine": {}}


def test_the_module_documents_all_roles() -> None:
    options = yaml.safe_load(kubelet_config_inputs.DOCUMENTATION)["options"]
    assert options["roles"]["choices"] == sorted(specs.by_role())
