# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options, messages, warnings, diffs and secrets of controller modules."""

from __future__ import annotations

import json
import sys
import typing as t
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api import controller_module
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import (
    ClusterError,
    MissingLibrary,
    NodesFailed,
)
from tests.support.server import Answer, Server

Stage = t.Callable[[t.Any, dict[str, t.Any], bool], dict[str, t.Any]]


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("KUBECONFIG", raising=False)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> t.Callable[..., dict[str, t.Any]]:
    """Run a stage in a module with options, as Ansible passes them, and return what the module prints."""

    def runner(stage: Stage, options: dict[str, t.Any] | None = None, **internal: t.Any) -> dict[str, t.Any]:
        given = {"host": "http://127.0.0.1:1", **(options or {})}
        text = json.dumps(
            {"ANSIBLE_MODULE_ARGS": {**given, **{f"_ansible_{name}": value for name, value in internal.items()}}}
        )
        monkeypatch.setattr("ansible.module_utils.basic._ANSIBLE_ARGS", text.encode())
        monkeypatch.setattr("ansible.module_utils.basic._ANSIBLE_PROFILE", "legacy", raising=False)
        monkeypatch.setattr(sys, "argv", ["some_module"])
        with pytest.raises(SystemExit) as caught:
            controller_module.define({"word": {"type": "str"}}, stage).run()
        printed = json.loads(capsys.readouterr().out)
        assert bool(caught.value.code) == bool(printed.get("failed"))
        return t.cast("dict[str, t.Any]", printed)

    return runner


Run = t.Callable[..., dict[str, t.Any]]


def test_options_and_result(run: Run) -> None:
    seen: list[t.Any] = []

    def stage(session: t.Any, options: dict[str, t.Any], check_mode: bool) -> dict[str, t.Any]:
        seen.extend([session.host, options["word"], options["request_timeout"], check_mode])
        return {"changed": True, "nodes": {"n1": 1}}

    result = run(stage, {"word": "given"}, check_mode=True)
    assert seen == ["http://127.0.0.1:1", "given", 30, True]
    assert (result["changed"], result["nodes"]) == (True, {"n1": 1})


@pytest.mark.parametrize("wanted", [True, False])
def test_diff_only_where_it_is_asked_for(run: Run, wanted: bool) -> None:
    result = run(lambda *_given: {"changed": True, "diff": [{"before": "a"}]}, diff=wanted)
    assert ("diff" in result) is wanted


def test_failures_carry_the_result_so_far(run: Run) -> None:
    def stage(*_given: t.Any) -> dict[str, t.Any]:
        raise NodesFailed("assigning", {"n1": "why"}, {"changed": True, "nodes": {"n1": {}}, "diff": []})

    result = run(stage)
    assert result["failed"]
    assert result["msg"] == "assigning: 1 node failed.\nn1: why"
    assert (result["changed"], result["nodes"], "diff" in result) == (True, {"n1": {}}, False)


def test_missing_library(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(*_given: t.Any, **_options: t.Any) -> t.NoReturn:
        raise MissingLibrary("the Python package kubernetes could not be imported")

    monkeypatch.setattr(controller_module, "Session", absent)
    result = run(lambda *_given: {})
    assert "could not be imported. Failed to import the required Python library (kubernetes)" in result["msg"]


def test_no_cluster(run: Run) -> None:
    result = run(lambda *_given: {}, {"host": None})
    assert "no kubeconfig at" in result["msg"]


@pytest.mark.parametrize("fails", [False, True])
def test_warnings_of_the_api_server(run: Run, monkeypatch: pytest.MonkeyPatch, fails: bool) -> None:
    warned: list[str] = []
    monkeypatch.setattr(controller_module.AnsibleModule, "warn", lambda _module, text: warned.append(text))

    def stage(session: t.Any, *_given: t.Any) -> dict[str, t.Any]:
        session.request("GET", "/api")
        if fails:
            raise ClusterError("nothing else")
        return {"changed": False}

    with Server(Answer(headers=[("Warning", '299 - "spec.configSource: deprecated"')])) as server:
        result = run(stage, {"host": server.url})
    assert result.get("failed", False) is fails
    assert warned == ["API server: spec.configSource: deprecated"]


@pytest.mark.parametrize("fails", [False, True])
def test_warnings_of_the_stage(run: Run, monkeypatch: pytest.MonkeyPatch, fails: bool) -> None:
    """They are shown as warnings of Ansible and are not in the result."""
    warned: list[str] = []
    monkeypatch.setattr(controller_module.AnsibleModule, "warn", lambda _module, text: warned.append(text))
    result = {"changed": True, "warnings": ["not in sync"]}

    def stage(*_given: t.Any) -> dict[str, t.Any]:
        if fails:
            raise ClusterError("nothing else", result)
        return result

    assert run(stage).get("failed", False) is fails
    assert warned == ["not in sync"]


def test_secrets_are_in_no_output(run: Run) -> None:
    """Neither secrets in options nor those in a kubeconfig that is set as a mapping."""

    def stage(*_given: t.Any) -> dict[str, t.Any]:
        raise ClusterError("seen hunter2 and swordfish and xyzzy-plugh")

    user = {"token": "swordfish", "client-key-data": "xyzzy-plugh"}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "x",
        "clusters": [{"name": "x", "cluster": {"server": "http://h"}}],
        "users": [{"name": "x", "user": {"token": user["token"]}}, {"name": "y", "user": user}],
        "contexts": [{"name": "x", "context": {"cluster": "x", "user": "x"}}],
    }
    text = json.dumps(run(stage, {"api_key": "hunter2", "kubeconfig": config}))
    assert "seen ****" in text
    assert not [secret for secret in ("hunter2", "swordfish", "xyzzy-plugh") if secret in text]


@pytest.mark.parametrize("kubeconfig", [{"users": "text"}, {"users": ["text"]}, 5])
def test_a_kubeconfig_that_is_none(run: Run, kubeconfig: t.Any) -> None:
    assert "kubeconfig" in run(lambda *_given: {}, {"kubeconfig": kubeconfig, "host": None})["msg"]
