# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A secret in a configuration or in the kubelet's command line: in no log entry, result or diff of a node's modules.

The rest of the configuration stays out of the log too, and no result loses a value that a secret equals.
"""

from __future__ import annotations

import json
import typing as t
from pathlib import Path

import pytest
from ansible.module_utils import basic

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.host import preflight
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.install import guard_steps
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.switch import one_call
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.unit import unit
from ansible_collections.livenodes.kubelet.plugins.modules import kubelet_checkpoint, kubelet_preflight_info
from tests.unit.plugins.modules.test_kubelet_preflight_info import Node

SECRET = "planted-secret"
# A header may have a value that is also a part of other texts, or a number.
HEADERS = {"Authorization": [f"Bearer {SECRET}"], "User-Agent": ["kubelet"], "X-Try": ["110", "1"]}
CONFIG = {"kind": "KubeletConfiguration", "maxPods": 110, "staticPodURLHeader": HEADERS}
# As text, as a mapping, and as what is neither.
GIVEN = [json.dumps(CONFIG), CONFIG, f"staticPodURLHeader: [{SECRET}\n"]
SOURCE = {"name": "a", "uid": "uid-a", "resource_version": "110"}
PRESENT = guard_steps.present
FLAG = f"--manifest-url-header=Authorization:{SECRET}"


class Seen(t.NamedTuple):
    """What a module wrote to the node's log, and its result."""

    log: str
    result: dict[str, t.Any]


Run = t.Callable[..., Seen]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, run_main: t.Callable[..., dict[str, t.Any]]) -> Run:
    """Run a module at verbosity 4 with diff."""
    log: list[str] = []
    monkeypatch.setattr(basic, "has_journal", False)
    monkeypatch.setattr(basic.AnsibleModule, "_log_to_syslog", lambda _module, text: log.append(text))
    monkeypatch.setattr(basic.AnsibleModule, "warn", lambda _module, _text: None)

    def runner(main: t.Callable[[], None], **options: t.Any) -> Seen:
        given = {**options, "_ansible_verbosity": 4, "_ansible_diff": True, "_ansible_syslog_facility": "LOG_USER"}
        log.clear()
        result = run_main(main, **given)
        return Seen("\n".join(log), result)

    return runner


@pytest.mark.parametrize("given", GIVEN)
def test_preflight(run: Run, monkeypatch: pytest.MonkeyPatch, given: t.Any) -> None:
    found = {
        "kubelet": {"unit": "kubelet.service", "version": "v1.20.11", "config": "/var/lib/kubelet/110"},
        "host": {"state_files": {"cpu": {"path": "/var/lib/kubelet/cpu_manager_state"}}},
        "check": {"messages": [f"cannot read `Bearer {SECRET}`"], "verdict": "invalid"},
        "problems": [{"path": "maxPods", "message": f"Bearer {SECRET} 110", "severity": "warning"}],
        "disk": {"content": {"maxPods": 110}, "unreadable": f"line 3: `Bearer {SECRET}`"},
        "warnings": [f"unknown field: Bearer {SECRET}"],
    }
    monkeypatch.setattr(preflight, "look", lambda *_given, **_named: found)
    seen = run(kubelet_preflight_info.main, config=given)
    assert "Invoked" in seen.log and "local=False" in seen.log
    assert SECRET not in seen.log and "maxPods" not in seen.log
    assert SECRET not in json.dumps(seen.result)
    for part in ("kubelet", "host"):
        assert seen.result[part] == found[part]
    assert (seen.result["disk"]["content"], seen.result["check"]["verdict"]) == ({"maxPods": 110}, "invalid")


def test_preflight_that_fails(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def look(*_given: t.Any, **_named: t.Any) -> dict[str, t.Any]:
        raise unit.UnitError(f"systemctl got Bearer {SECRET}")

    monkeypatch.setattr(preflight, "look", look)
    seen = run(kubelet_preflight_info.main, config=CONFIG)
    assert seen.result["msg"].startswith("systemctl got ") and SECRET not in str(seen)
    seen = run(kubelet_preflight_info.main, config=CONFIG, nosuch=1)
    assert seen.result["failed"] and SECRET not in str(seen)


class Found:
    """What the inspection finds and the guard's steps return, which the module calls on a node."""

    def __init__(self, own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        own.write_text(json.dumps({**CONFIG, "maxPods": 61}))
        self.seen: dict[str, t.Any] = {
            "kubelet": {"version": "v1.20.11", "config": str(own), "local_config": str(own)},
            "check": {"messages": [f"cannot read `Bearer {SECRET}`"], "verdict": "not checked"},
            "warnings": [f"unknown field: Bearer {SECRET}"],
            "reasons": [],
            "state_files": [],
            "reads_store": False,
            "node_proof": True,
        }
        guard = {"changed": True, "diff": [], "invocation_id": "110", "healthy": True}
        monkeypatch.setattr(preflight, "look", lambda *_given, **_named: json.loads(json.dumps(self.seen)))
        for step in ("present", "prepared", "updated"):
            monkeypatch.setattr(guard_steps, step, lambda *_given: guard)


@pytest.fixture
def found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Found:
    return Found(tmp_path / "kubelet.yaml", monkeypatch)


@pytest.mark.parametrize("data", GIVEN)
def test_checkpoint(run: Run, found: Found, tmp_path: Path, data: t.Any) -> None:
    options = {"config_dir": f"{tmp_path}/kubelet", "source": SOURCE}
    found.seen.update(check=None, warnings=[])
    for state in ("staged", "assigned", "confirmed", "rolled_back", "reset"):
        given = {"data": {"kubelet": data}} if state in ("staged", "assigned") else {}
        seen = run(kubelet_checkpoint.main, **options, **given, state=state)
        assert "Invoked" in seen.log and f"state={state}" in seen.log
        assert SECRET not in seen.log and "maxPods" not in seen.log
        assert SECRET not in json.dumps(seen.result)
        assert not seen.result.get("failed"), seen.result
        assert seen.result["config"] == f"{tmp_path}/kubelet/active/kubelet"
        assert seen.result["checkpoint"].endswith("/uid-a/110")
    seen = run(kubelet_checkpoint.main, **options, data={"kubelet": data}, state="assigned", nosuch=1)
    assert seen.result["failed"] and SECRET not in str(seen)


def test_a_switch(run: Run, found: Found, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    options = {"config_dir": f"{tmp_path}/kubelet", "source": SOURCE, "data": {"kubelet": CONFIG}}
    seen = run(kubelet_checkpoint.main, **options)
    assert SECRET not in str(seen)
    assert seen.result["restart_needed"] and seen.result["preflight"]["kubelet"] == found.seen["kubelet"]
    assert "********" in json.dumps(seen.result["diff"])

    found.seen["reasons"] = [f"cannot read `Bearer {SECRET}`"]
    refused = run(kubelet_checkpoint.main, **options)
    assert refused.result["reasons"] and not refused.result["changed"] and SECRET not in str(refused)

    def present(*_given: t.Any) -> t.Any:
        raise unit.UnitError(f"systemctl got Bearer {SECRET}")

    found.seen["reasons"] = []
    monkeypatch.setattr(guard_steps, "present", present)
    failed = run(kubelet_checkpoint.main, **options)
    assert failed.result["step"] == "installing the guard" and SECRET not in str(failed)
    assert failed.result["msg"].startswith("installing the guard failed: systemctl got ")


@pytest.mark.parametrize(
    "flag", [FLAG, f'"{FLAG} {SECRET}"', FLAG.replace("=", " "), f"--manifest_url_header 'A:{SECRET}'"]
)
def test_the_drop_in_of_a_switch(
    run: Run, found: Found, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, flag: str
) -> None:
    line = f"/usr/bin/kubelet --config=/etc/kubelet.yaml {flag} --max-pods=61"
    node = Node(tmp_path)
    found.seen.update(check=None, warnings=[])
    monkeypatch.setattr(guard_steps, "present", PRESENT)
    words = line.replace('"', "").replace("'", "")
    node.shown["ExecStart"] = f"{{ path=/usr/bin/kubelet ; argv[]={words} ; ignore_errors=no }}"
    node.shown["InvocationID"] = "one"
    node.write("/lib/kubelet.service", f"[Service]\nExecStart={line}\n")
    monkeypatch.setattr(one_call, "Unit", lambda name, child: unit.Unit(name, str(tmp_path), node.run))
    options = {"config_dir": f"{tmp_path}/kubelet", "source": SOURCE, "data": {"kubelet": "{}"}}
    seen = run(kubelet_checkpoint.main, _ansible_check_mode=True, **options)
    assert "Invoked" in seen.log
    assert SECRET not in str(seen)
    [dropin] = [entry for entry in seen.result["diff"] if entry["after_header"].endswith("livenodes-kubelet.conf")]
    assert "--config=" in dropin["after"] and "--max-pods=61" in dropin["after"]
    assert "header=********" in dropin["after"] or "header ********" in dropin["after"]
    node.shown["ExecStart"] = "{ path=/other ; argv[]=/other ; ignore_errors=no }"
    seen = run(kubelet_checkpoint.main, _ansible_check_mode=True, **options)
    assert "which is not the kubelet" in seen.result["msg"] and SECRET not in str(seen)
