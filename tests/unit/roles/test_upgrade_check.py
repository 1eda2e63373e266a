# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The playbook `upgrade_check` on hosts whose module on the node is a stand-in; one host is lost."""

from __future__ import annotations

import json
import sys
import typing as t
from pathlib import Path

import pytest

from tests.support.api.upgrading import result
from tests.support.plays.ansible import Run, bare
from tests.support.plays.stubs import LOST, collection

STUB = """#!/usr/bin/python
# WANT_JSON
import json, os, sys
given = json.load(open(sys.argv[1]))
found = {answers!r}[os.environ["TEST_HOST"]]
found["changed"] = False
if given.get("target_binary"):
    found["target"] = {{"binary": given["target_binary"], "version": "v1.36.2", "verdict": "invalid",
        "messages": ["a new rule"], "refused_flags": [], "unknown_fields": []}}
print(json.dumps(found))
"""
PAUSE = "--pod-infra-container-image=pause:3.10"
# Its default changes on the way.
OWN = {"imagePullCredentialsVerificationPolicy": "NeverVerify"}
GOOD, BAD = result("v1.34.1", config=OWN), result("v1.34.1", PAUSE, config=OWN)
BROKEN = {"failed": True, "msg": "systemctl show kubelet.service failed"}


class Nodes:
    """Hosts with these results; `lost` ones cannot be reached."""

    def __init__(self, home: Path, answers: dict[str, dict[str, t.Any]], lost: tuple[str, ...] = ()) -> None:
        self.home = home
        collection(home, {"kubelet_upgrade_info": STUB.format(answers=answers)})
        hosts: dict[str, dict[str, str]] = {name: {"ansible_connection": "local"} for name in answers}
        hosts.update({name: {"ansible_connection": LOST} for name in lost})
        given = {"ansible_python_interpreter": sys.executable, "kubelet_config_upgrade_file": str(home / "found.json")}
        (home / "hosts.json").write_text(json.dumps({"all": {"hosts": hosts, "vars": given}}))

    def check(self, *arguments: str, target: str = "1.35") -> Run:
        words = ["-i", "hosts.json", "livenodes.kubelet.upgrade_check", *arguments]
        words += ["-e", f"kubelet_config_target_version={target}"] if target else []
        return bare(self.home, *words, COLUMNS="1000")

    def found(self) -> dict[str, t.Any]:
        return t.cast("dict[str, t.Any]", json.loads((self.home / "found.json").read_text()))


@pytest.fixture(autouse=True)
def _host_of_a_stub(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_HOST", "n1")


def test_a_node_that_would_stop_ends_the_run_with_an_error(tmp_path: Path) -> None:
    nodes = Nodes(tmp_path, {"n1": BAD}, lost=("n2",))
    run = nodes.check("--check")
    assert run.code != 0 and "1 would stop, 1 unknown" in run.output, run.output
    found = nodes.found()
    assert (found["summary"]["would_stop"], found["summary"]["unknown"]) == (["n1"], ["n2"])
    assert found["nodes"]["n1"]["findings"][0]["name"] == "--pod-infra-container-image"
    assert "its host cannot be reached: " in found["nodes"]["n2"]["findings"][0]["message"]
    assert (tmp_path / "found.json").stat().st_mode & 0o777 == 0o600

    reported = nodes.check("-e", "kubelet_config_upgrade=report")
    assert reported.code == 0 and nodes.found() == found, reported.output


def test_a_node_without_findings_is_ready(tmp_path: Path) -> None:
    nodes = Nodes(tmp_path, {"n1": GOOD})
    run = nodes.check()
    assert run.code == 0 and "1 node, 0 would stop, 0 unknown, 0 would change" in run.output, run.output
    assert nodes.found()["summary"]["ready"]
    # The binary on the node has the last word.
    asked = nodes.check("-e", "kubelet_config_target_binary=/opt/kubelet", target="v1.36.2")
    assert asked.code != 0 and "v1.36.2 refuses: a new rule" in asked.output, asked.output


def test_a_node_that_was_not_examined_and_wrong_variables(tmp_path: Path) -> None:
    nodes = Nodes(tmp_path, {"n1": BROKEN})
    run = nodes.check()
    assert run.code != 0 and "the node was not examined: systemctl show" in run.output, run.output
    assert "kubelet_config_target_version is not set" in nodes.check(target="").output
    assert "put it in quotes" in nodes.check(target="1.3").output
    assert "kubelet_config_upgrade" in nodes.check("-e", "kubelet_config_upgrade=never").output
