# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""playbooks/awx/configure.yml with the real modules of awx.awx: each task gets as far as the connection."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import typing as t
from pathlib import Path

import yaml

AWX = Path(__file__).resolve().parents[2] / "playbooks/awx"
TEXT = (AWX / "configure.yml").read_text(encoding="utf-8")
SETTINGS = {
    "awx_kubelet_project_url": "https://git.example.org/ops/kubelets.git",
    "awx_kubelet_image": "registry.example.org/ee:1",
    "awx_kubelet_kubeconfig": "text",
    "awx_kubelet_credentials": ["ssh"],
}
# Port 9, discard: no server listens there.
NOWHERE = {"CONTROLLER_HOST": "http://127.0.0.1:9", "CONTROLLER_USERNAME": "user", "CONTROLLER_PASSWORD": "none"}
REFUSED = "Connection refused"
WRONG = {
    "Project": ("scm_type: git", "scm_type: hg"),
    "Job templates": ("job_slice_count: 1", "job_slices: 1"),
    "Inventory source": ("update_on_launch: true", "update_on_launch: soon"),
}


class Loader(yaml.SafeLoader):
    """Loads text that Ansible must not render (`!unsafe`) as plain text."""


Loader.add_constructor("!unsafe", lambda loader, node: loader.construct_scalar(t.cast("yaml.ScalarNode", node)))
PLAY: dict[str, t.Any] = yaml.load(TEXT, Loader=Loader)[0]
TASKS = {task["name"]: task for task in PLAY["tasks"]}


def run(home: Path, program: str, *arguments: str) -> str:
    """Return the output of a program of Ansible, with the address of an AWX that does not exist."""
    environment = {
        **{
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("ANSIBLE_", "CONTROLLER_", "TOWER_"))
        },
        **NOWHERE,
        "HOME": str(home),
        "ANSIBLE_HOME": str(home / ".ansible"),
        "ANSIBLE_STDOUT_CALLBACK": "ansible.posix.json",
        "ANSIBLE_LOCALHOST_WARNING": "false",
        "ANSIBLE_INVENTORY_UNPARSED_WARNING": "false",
    }
    done = subprocess.run(
        [str(Path(sys.executable).with_name(program)), *arguments],
        check=False,
        text=True,
        capture_output=True,
        stdin=subprocess.DEVNULL,
        timeout=300,
        env=environment,
        cwd=home,
    )
    assert "{" in done.stdout, done.stdout + done.stderr
    return done.stdout[done.stdout.index("{") :]


def messages(home: Path, text: str) -> dict[str, list[str]]:
    """Run the play to its end, also after failures, and return the messages of each task by name."""
    shutil.copytree(AWX, home / "awx")
    # Failures are collected below.
    text = text.replace("      no_log: true\n", "").replace(
        "  gather_facts: false\n", "  gather_facts: false\n  ignore_errors: true\n"
    )
    (home / "awx/configure.yml").write_text(text, encoding="utf-8")
    found = {}
    for task in json.loads(run(home, "ansible-playbook", "awx/configure.yml", "-e", json.dumps(SETTINGS)))["plays"][0][
        "tasks"
    ]:
        result = task["hosts"]["localhost"]
        found[task["task"]["name"]] = [row["msg"] for row in result.get("results", [result])]
    return found


def test_each_task_gets_as_far_as_awx(tmp_path: Path) -> None:
    """The module accepts all options of the task; only AWX is missing."""
    found = messages(tmp_path, TEXT)
    assert list(found) == list(TASKS)
    assert len(found["Job templates"]) == len(PLAY["vars"]["awx_kubelet_templates"])
    assert [(name, message) for name, rows in found.items() for message in rows if REFUSED not in message] == []


def test_unknown_options_choices_and_types_are_detected(tmp_path: Path) -> None:
    """The test above would detect a wrong option, a wrong choice and a wrong type."""
    text = TEXT
    for right, wrong in WRONG.values():
        assert text.count(f" {right}\n") == 1
        text = text.replace(f" {right}\n", f" {wrong}\n")
    found = messages(tmp_path, text)
    assert {name for name, rows in found.items() if any(REFUSED not in message for message in rows)} == set(WRONG)


def test_the_nodes_of_the_workflow_are_as_documented(tmp_path: Path) -> None:
    """The module does not check them, but its documentation lists their options."""
    module = "awx.awx.workflow_job_template"
    options = json.loads(run(tmp_path, "ansible-doc", "--json", module))[module]["doc"]["options"]
    check(TASKS["Workflow"][module]["workflow_nodes"], options["workflow_nodes"], "workflow_nodes")


def check(value: t.Any, option: dict[str, t.Any], place: str) -> None:
    """Assert that a value matches the documentation of its option."""
    if isinstance(value, list):
        assert option["type"] == "list", place
        for index, item in enumerate(value):
            check(item, {**option, "type": option["elements"]}, f"{place}[{index}]")
    elif isinstance(value, dict):
        assert option["type"] == "dict", place
        assert set(value) <= set(option["suboptions"]), place
        for key, item in value.items():
            check(item, option["suboptions"][key], f"{place}.{key}")
    else:
        assert option["type"] in ("str", "int"), place
        assert value in option.get("choices", [value]), place


def test_the_nodes_of_the_workflow_are_connected() -> None:
    """All named nodes exist; all job templates are created by the play, and none has the workflow's name."""
    workflow = TASKS["Workflow"]["awx.awx.workflow_job_template"]
    nodes = {node["identifier"]: node for node in workflow["workflow_nodes"]}
    order = ["plan"]
    while "related" in nodes[order[-1]]:
        (following,) = nodes[order[-1]]["related"]["success_nodes"]
        order.append(following["identifier"])
    assert order == list(nodes) == ["plan", "approval", "rollout", "verify"]
    templates = {template["name"] for template in PLAY["vars"]["awx_kubelet_templates"]}
    assert {node["unified_job_template"]["name"] for name, node in nodes.items() if name != "approval"} < templates
    assert workflow["name"] not in templates
