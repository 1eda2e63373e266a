# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Survey specs match AWX's rules (awx/api/views and awx/main/models/mixins.py) and the roles' variables."""

from __future__ import annotations

import json
import re
import runpy
import subprocess
import sys
import typing as t
from pathlib import Path

import pytest
import yaml
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator

from ansible_collections.livenodes.kubelet.plugins.plugin_utils._inputs.specs import accepted

ROOT = Path(__file__).resolve().parents[3]
AWX = ROOT / "playbooks/awx"
SURVEYS = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted((AWX / "surveys").glob("*.json"))}
QUESTIONS = [
    pytest.param(question, id=f"{name}-{question['variable']}")
    for name, survey in SURVEYS.items()
    for question in survey["spec"]
]
TYPES = {
    "text": str,
    "textarea": str,
    "password": str,
    "multiplechoice": str,
    "multiselect": list,
    "integer": int,
    "float": float,
}


def specs() -> dict[str, list[dict[str, t.Any]]]:
    """Return the specs of each variable in the roles."""
    found: dict[str, list[dict[str, t.Any]]] = {}
    for path in (ROOT / "roles").glob("*/meta/argument_specs.yml"):
        for entry in yaml.safe_load(path.read_text(encoding="utf-8"))["argument_specs"].values():
            for name, option in entry.get("options", {}).items():
                found.setdefault(name, []).append(option)
    return found


SPECS = specs()


@pytest.mark.parametrize("name", SURVEYS)
def test_awx_accepts_the_survey(name: str) -> None:
    """AWX's rules for a survey spec as a whole."""
    survey = SURVEYS[name]
    assert isinstance(survey["name"], str)
    assert isinstance(survey["description"], str)
    variables = [question["variable"] for question in survey["spec"]]
    assert variables
    assert len(set(variables)) == len(variables)


@pytest.mark.parametrize("question", QUESTIONS)
def test_awx_accepts_the_question_and_its_default(question: dict[str, t.Any]) -> None:
    """AWX's rules for a question and an answer; AWX silently drops a default that breaks them."""
    assert {"type", "question_name", "variable", "required"} <= set(question)
    assert isinstance(question["required"], bool)
    default = question["default"]
    # An empty text counts as no default, whatever the type.
    kind = type(default) if default != "" else TYPES[question["type"]]
    assert kind is TYPES[question["type"]]
    choice = question["type"] in ("multiplechoice", "multiselect")
    assert bool(question["choices"]) == choice
    if choice:
        assert default in question["choices"]
    elif default != "":
        assert question["min"] <= (default if question["type"] == "integer" else len(default)) <= question["max"]
    # An empty text counts as a missing answer.
    asked = any(option.get("required") for option in SPECS[question["variable"]])
    assert question["required"] == (default != "" or asked)


@pytest.mark.parametrize("question", QUESTIONS)
def test_each_variable_is_one_of_a_role_with_its_type_choices_and_default(question: dict[str, t.Any]) -> None:
    """Every role with this variable accepts each answer, and the survey has the role's default."""
    for option in SPECS[question["variable"]]:
        validator = ArgumentSpecValidator(
            {"answer": {key: option[key] for key in ("type", "choices") if key in option}}
        )
        for answer in question["choices"] or filter(None, [question["default"]]):
            assert validator.validate({"answer": answer}).error_messages == []
        if option["type"] == "bool":
            assert question["choices"] == ["true", "false"]
        elif "choices" in option:
            assert question["choices"] == option["choices"]
        else:
            assert question["type"] == ("integer" if option["type"] == "int" else "text")
        default = str(option.get("default", ""))
        assert str(question["default"]) == (default.lower() if option["type"] == "bool" else default)


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_playbooks_accept_every_answer(question: dict[str, t.Any]) -> None:
    """The choices, the default, and the least and greatest number."""
    name, numbers = question["variable"], ["min", "max"] if question["type"] == "integer" else []
    # AWX does not start a job without an answer to a question that has no default and needs one.
    defaults = [] if question["required"] and question["default"] == "" else [question["default"]]
    for answer in [*question["choices"], *defaults, *(question[key] for key in numbers)]:
        assert all(accepted(name, option, answer) == "" for option in SPECS[name]), answer
    for number in numbers[:1]:
        assert all(accepted(name, option, question[number] - 1) for option in SPECS[name])


def test_each_question_of_the_generator_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "tools")
    questions = runpy.run_path(str(ROOT / "tools/generate_surveys.py"))["QUESTIONS"]
    assert questions.keys() == {question["variable"] for survey in SURVEYS.values() for question in survey["spec"]}


def test_the_surveys_are_generated_from_the_argument_specs() -> None:
    """The files equal the output of the generator."""
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools/generate_surveys.py"), "--check"],
        check=False,
        text=True,
        capture_output=True,
    )
    assert (done.returncode, done.stdout) == (0, "")


def test_each_job_template_has_its_playbook_and_its_survey() -> None:
    """The playbooks exist in the example project, the surveys beside the playbook that creates the templates."""
    text = (AWX / "configure.yml").read_text(encoding="utf-8")
    rows = re.findall(r"- name: .+\n +playbook: (.+)\n +survey: (.+)\n", text)
    assert {survey for _playbook, survey in rows} == set(SURVEYS)
    assert {playbook for playbook, _survey in rows} == {path.name for path in (AWX / "project").glob("*.yml")}
    for playbook, _survey in rows:
        (play,) = yaml.safe_load((AWX / "project" / playbook).read_text(encoding="utf-8"))
        assert (
            (ROOT / "playbooks" / play["ansible.builtin.import_playbook"].removeprefix("livenodes.kubelet."))
            .with_suffix(".yml")
            .exists()
        )
