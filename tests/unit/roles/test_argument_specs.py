# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The argument specs and tasks of a role describe the same variables; what the messages of tasks have."""

from __future__ import annotations

import json
import re
import typing as t
from pathlib import Path

import pytest
import yaml

from ansible_collections.livenodes.kubelet.plugins.action.kubelet_rollout_batch import STEPS
from ansible_collections.livenodes.kubelet.plugins.plugin_utils import host_table
from ansible_collections.livenodes.kubelet.plugins.plugin_utils._inputs.specs import OF_THE_HOST

ROOT = Path(__file__).resolve().parents[3]
# These modules run on the node itself, host by host.
ON_THE_NODE = {
    "livenodes.kubelet.kubelet_checkpoint",
    "livenodes.kubelet.kubelet_preflight_info",
    "livenodes.kubelet.kubelet_upgrade_info",
}
BATCH = "livenodes.kubelet.kubelet_rollout_batch"
ROLES = sorted(path.name for path in (ROOT / "roles").iterdir())
# node_table reads this variable of each host.
OF_THE_FILTER = {"kubelet_config_node_name"}
OF_CALLERS = {
    *("assign/write.yml", "dump/capacity.yml", "dump/read.yml", "edit/plan.yml", "push/write.yml", "verify/watch.yml"),
}
"""Tasks files without run_once: their callers set it, except where a host works alone."""


def specs(role: str) -> dict[str, dict[str, t.Any]]:
    found = yaml.safe_load((ROOT / "roles" / role / "meta/argument_specs.yml").read_text())["argument_specs"]
    return {name: spec.get("options", {}) for name, spec in found.items()}


def test_roles() -> None:
    stages = ["dump", "edit", "push", "assign", "verify"]
    assert sorted([*stages, "checkpoint", "comply", "drift", "rollout", "upgrade_check"]) == ROLES


def tasks(role: str, name: str) -> tuple[str, set[str]]:
    """Return the text of a tasks file with the files it includes, and the variables that it sets for other roles.

    A name of the role for a variable counts as that variable.
    """
    text = (ROOT / "roles" / role / "tasks" / f"{name}.yml").read_text()
    text = text.replace("checkpoint_name", "kubelet_config_node_name")
    handed = set(re.findall(r"^ +(kubelet_config_\w+): ", text, re.MULTILINE))
    for other in re.findall(r"(?:import|include)_tasks: (\w+)\.yml", text):
        more, further = tasks(role, other)
        text, handed = text + more, handed | further
    return text, handed


@pytest.mark.parametrize("role", ROLES)
def test_each_tasks_file_uses_exactly_the_variables_of_its_spec(role: str) -> None:
    for name, options in specs(role).items():
        text, handed = tasks(role, name)
        # What a role returns as a fact of the same name is an option, too.
        used = set(re.findall(r"(?<![.\w])kubelet_config(?:_\w+)?\b", text)) - (handed - set(options))
        if "node_table" in text:
            used |= OF_THE_FILTER
        for step in re.findall(r"^ +step: (\w+)$", text, re.MULTILINE):
            used.update(STEPS[step].reads)
        if re.search(r"(?:_table|node_table\(hostvars\)\))\.flags", text):
            used.add("kubelet_config_flags")
        if re.search(r"(?:_batch|_table|node_table\(hostvars\)\))\.deliveries", text):
            used.add("kubelet_config_delivery")
        if "_batch.profiles" in text:
            used |= {"kubelet_config_profile", "kubelet_config_exceptions"}
        if "group_configs" in text:
            used |= {"kubelet_config_profile", "kubelet_config"}
        if "_batch.configs" in text:
            # The filter reads these too.
            used |= {"kubelet_config_profile", "kubelet_config", "kubelet_config_host", "kubelet_config_flags"}
        assert used == set(options), f"{role}/tasks/{name}.yml"


@pytest.mark.parametrize("role", ROLES)
def test_tasks_have_no_other_defaults_than_the_spec(role: str) -> None:
    for name, options in specs(role).items():
        text = tasks(role, name)[0]
        found = {
            option: yaml.safe_load(value)
            for option, value in re.findall(r"(kubelet_config_\w+) \| default\(('[^']*'|\d+|true|false)\)", text)
        }
        assert found.items() <= {option: spec.get("default") for option, spec in options.items()}.items(), (
            f"{role}/tasks/{name}.yml"
        )


def test_every_tasks_file_has_a_spec() -> None:
    """Files that other files of the role import or include need none."""
    for role in ROLES:
        files = {path.stem: path.read_text() for path in (ROOT / "roles" / role / "tasks").glob("*.yml")}
        parts = {name for text in files.values() for name in re.findall(r"(?:import|include)_tasks: (\w+)\.yml", text)}
        assert set(specs(role)) <= set(files), role
        assert set(files) - set(specs(role)) <= parts, role


def test_a_variable_is_the_same_in_every_role() -> None:
    """Its type and default do not differ."""
    seen: dict[str, set[tuple[str, str]]] = {}
    for role in ROLES:
        for options in specs(role).values():
            for name, option in options.items():
                seen.setdefault(name, set()).add((option["type"], str(option.get("default"))))
    assert {name: kinds for name, kinds in seen.items() if len(kinds) > 1} == {}


def flat(found: list[dict[str, t.Any]]) -> t.Iterator[dict[str, t.Any]]:
    """Yield all tasks of a file, including those in blocks."""
    for task in found:
        yield task
        for part in ("block", "rescue", "always"):
            yield from flat(task.get(part, []))


@pytest.mark.parametrize("role", ROLES)
def test_one_call_serves_the_batch(role: str) -> None:
    """Every task that uses the API or writes on the controller runs there, once and not as root."""
    for path in (ROOT / "roles" / role / "tasks").glob("*.yml"):
        for task in flat(yaml.safe_load(path.read_text())):
            if any(
                (key.startswith("livenodes.kubelet.") and key not in ON_THE_NODE) or key == "ansible.builtin.copy"
                for key in task
            ):
                if str((task.get(BATCH) or {}).get("step")).startswith("report_"):
                    # Each host reports its own node, without a request.
                    continue
                once = task.get("run_once", f"{role}/{path.name}" in OF_CALLERS)
                assert (task["delegate_to"], once, task["become"]) == ("localhost", True, False), (
                    f"{path}: {task['name']}"
                )


@pytest.mark.parametrize("role", ROLES)
def test_a_task_for_all_hosts_reads_no_variable_of_one_host(role: str) -> None:
    """It would be that of the first host. The table of the nodes has those in host_table.OF_THE_HOST host by host."""
    for path in (ROOT / "roles" / role / "tasks").glob("*.yml"):
        for task in flat(yaml.safe_load(path.read_text())):
            words = set(re.findall(r"(?<![.\w])kubelet_config(?:_\w+)?\b", json.dumps(task)))
            of_one_host = words & OF_THE_HOST - host_table.OF_THE_HOST.keys()
            once = task.get("run_once", f"{role}/{path.name}" in OF_CALLERS)
            assert once is not True or not of_one_host, f"{path}: {task['name']}"


def callers() -> t.Iterator[tuple[str, str, dict[str, t.Any]]]:
    """Yield each call of a tasks file: the file that calls, the file that it calls, and the task."""
    for path in sorted(
        [
            *(ROOT / "roles").glob("*/tasks/*.yml"),
            *(ROOT / "playbooks").glob("*.yml"),
            *(ROOT / "playbooks/tasks").glob("*.yml"),
        ]
    ):
        parts = path.relative_to(ROOT).parts
        found = yaml.safe_load(path.read_text())
        plays = found if isinstance(found, list) else []
        for task in flat([inner for play in plays for inner in play.get("tasks", [play])]):
            for key, given in task.items():
                call = given if isinstance(given, dict) else {"file": given}
                if key.endswith(("include_tasks", "import_tasks")) and parts[0] == "roles":
                    yield path.name, f"{parts[1]}/{call['file']}", {**task, **call.get("apply", {})}
                elif key.endswith(("include_role", "import_role")):
                    name = f"{call['name'].rpartition('.')[2]}/{call.get('tasks_from', 'main.yml')}"
                    # Of a role, only what is applied reaches its tasks.
                    applied = task if "import" in key else {**task, "run_once": None}
                    yield path.name, name, {**applied, **call.get("apply", {})}


def test_who_calls_them_makes_one_call_serve_the_batch() -> None:
    """Ansible gives the result of a task with run_once to all hosts, so a host that works alone must not set it."""
    seen = [(where, name, task) for where, name, task in callers() if name in OF_CALLERS]
    assert {name for _where, name, _task in seen} == OF_CALLERS
    for where, name, task in seen:
        alone = where == "alone.yml" or str(task.get("when")).endswith("_checked.alone")
        assert (task.get("run_once") is True) is not (alone and "not " not in str(task.get("when"))), (where, name)


@pytest.mark.parametrize("role", ROLES)
def test_a_decision_reads_a_text_as_a_boolean(role: str) -> None:
    """The text false, as -e and an INI inventory pass it, is true in a condition. Modules read it by themselves."""
    flags = {name for options in specs(role).values() for name, option in options.items() if option["type"] == "bool"}
    for path in sorted((ROOT / "roles" / role / "tasks").glob("*.yml")):
        text = re.sub(r'"\{\{ \w+ \}\}"', "", path.read_text())
        found = re.findall(r"\b(kubelet_config_\w+)\b(?!: | \| bool)", text)
        assert flags.isdisjoint(found), path


def test_the_name_of_a_node_is_a_text() -> None:
    """Also if it has only digits, which YAML reads as a number."""
    paths = [*(ROOT / "roles").glob("*/tasks/*.yml"), *(ROOT / "playbooks").glob("**/*.yml")]
    named = [text for path in paths for text in re.findall(r"kubelet_config_node_name (.*)", path.read_text())]
    assert named and all(text.startswith("| default(inventory_hostname, true) | string") for text in named), named


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
