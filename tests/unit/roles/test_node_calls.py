# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The calls of modules on a node, counted in a run of the role `checkpoint` with ansible-playbook.

The modules are stand-ins that write down their calls. Each case is a host of the run. Some hosts are lost.
"""

from __future__ import annotations

import json
import sys
import typing as t
from pathlib import Path

import pytest

from tests.support.plays.ansible import bare, playbook_of
from tests.support.plays.stubs import LOST, collection

STUB = """#!/usr/bin/python
# WANT_JSON
import json, os, sys
given = json.load(open(sys.argv[1]))
name, host = {name!r}, os.environ["TEST_HOST"]
call = name + " " + given.get("state", "")
with open({home!r} + "/" + host + ".log", "a") as log:
    log.write(json.dumps([call, given]) + chr(10))
print(json.dumps({{"changed": False, **{answers!r}[host].get(call, {{}})}}))
"""
# Whether a host is lost after so many calls.
LOSES = """
def lost(host):
    try:
        calls = len(open({home!r} + "/" + host + ".log").readlines())
    except FileNotFoundError:
        calls = 0
    return calls >= {lost!r}[host]
"""
MODULES = ("kubelet_checkpoint", "kubelet_preflight_info")
TASKS = ("main", "reset", "confirm", "revert")
SOURCE = {"name": "a", "namespace": "b", "uid": "u", "resourceVersion": "1", "kubeletConfigKey": "kubelet"}
NEVER = 99

SWITCH, RESTART, CONFIRM = "kubelet_checkpoint assigned", "kubelet_checkpoint restarted", "kubelet_checkpoint confirmed"
ROLL_BACK, RESET, REMOVE = "kubelet_checkpoint rolled_back", "kubelet_checkpoint reset", "kubelet_checkpoint removed"

DONE: dict[str, t.Any] = {"reasons": [], "restart_needed": False, "preflight": {}, "trial": None}
SWITCHED = {**DONE, "changed": True, "restart_needed": True, "trial": {"name": "boot/1.5", "to": SOURCE, "failed": ""}}
ON_TRIAL = {**SWITCHED, "trial": {"name": "boot/2.5", "to": None, "failed": ""}}
FAILED = {"failed": True, "msg": "it did not stay up"}
REVERTED = {"changed": True, "error": "it did not stay up"}
LOSING = {SWITCH: SWITCHED, RESET: ON_TRIAL, ROLL_BACK: REVERTED}
UNREACHED = "its host cannot be reached"


class Case(t.NamedTuple):
    """Tasks of the role, what the modules answer, the expected calls on the node and the expected message.

    Without a message the run succeeds. `lost`: the number of calls after which the host is lost.
    """

    tasks: str
    answers: dict[str, dict[str, t.Any]]
    calls: list[str]
    message: str = ""
    variables: t.Mapping[str, t.Any] = {}
    lost: int = NEVER


CASES = {
    "switch": Case("main", {SWITCH: SWITCHED}, [SWITCH, RESTART, CONFIRM]),
    "later": Case(
        "main",
        {SWITCH: SWITCHED},
        [SWITCH, RESTART],
        variables={"kubelet_config_confirm": False, "kubelet_config_metrics_dir": "/m"},
    ),
    "again": Case("main", {SWITCH: DONE}, [SWITCH, CONFIRM]),
    # Only the guard was updated, so the kubelet is not restarted.
    "guard": Case("main", {SWITCH: {**DONE, "changed": True}}, [SWITCH, CONFIRM]),
    "reset": Case("reset", {RESET: ON_TRIAL}, [RESET, RESTART, REMOVE]),
    "reset-again": Case("reset", {RESET: DONE}, [RESET, REMOVE], variables={"kubelet_config_state_files": "switch"}),
    "confirm": Case("confirm", {}, [CONFIRM]),
    "revert": Case("revert", {ROLL_BACK: REVERTED}, [ROLL_BACK, RESTART]),
    "revert-again": Case("revert", {}, [ROLL_BACK]),
    "refused": Case(
        "main",
        {SWITCH: {**DONE, "reasons": ["maxPods is refused"]}},
        [SWITCH],
        "Node node-1: maxPods is refused. Nothing was changed.",
    ),
    "not-switched": Case(
        "main",
        {SWITCH: {"failed": True, "msg": "installing the guard failed: disk full"}},
        # What is on trial is another run's.
        [SWITCH],
        "Node node-1 was not switched and keeps its configuration: installing the guard failed: disk full",
    ),
    "guard-reverts": Case(
        "main",
        {SWITCH: SWITCHED, RESTART: FAILED, ROLL_BACK: {"changed": False, "error": "the guard reverted it"}},
        [SWITCH, RESTART, ROLL_BACK],
        "Node node-1 was reverted to its previous configuration: the guard reverted it",
    ),
    "not-confirmed": Case(
        "main",
        {SWITCH: SWITCHED, CONFIRM: FAILED, ROLL_BACK: REVERTED},
        [SWITCH, RESTART, CONFIRM, ROLL_BACK, RESTART],
        "Node node-1 was reverted to its previous configuration: it did not stay up",
    ),
    "not-confirmed-again": Case(
        "main",
        {SWITCH: DONE, CONFIRM: FAILED},
        [SWITCH, CONFIRM],
        "Node node-1 was not switched and keeps its configuration: it did not stay up",
    ),
    "reset-refused": Case(
        "reset", {RESET: {**DONE, "reasons": ["refused"]}}, [RESET], "Node node-1: refused. Nothing was changed."
    ),
    "reset-not-begun": Case("reset", {RESET: FAILED}, [RESET], "Node node-1 was not reset: it did not stay up"),
    "reset-reverted": Case(
        "reset",
        {RESET: ON_TRIAL, RESTART: FAILED, ROLL_BACK: {"changed": False, "trial": {"failed": "ended"}, "error": "x"}},
        [RESET, RESTART, ROLL_BACK],
        "Node node-1 was not reset, and was reverted to its previous configuration: x",
    ),
    "not-removed": Case(
        "reset",
        {RESET: ON_TRIAL, REMOVE: {"failed": True, "msg": "removing the guard failed: a"}, ROLL_BACK: {"trial": None}},
        [RESET, RESTART, REMOVE, ROLL_BACK],
        "Node node-1 was not reset: removing the guard failed: a",
    ),
    "main-0": Case("main", LOSING, [], f"Node node-1 was not switched: {UNREACHED}", lost=0),
    "main-1": Case("main", LOSING, [SWITCH], UNREACHED, lost=1),
    "main-2": Case("main", LOSING, [SWITCH, RESTART], UNREACHED, lost=2),
    "reset-0": Case("reset", LOSING, [], f"Node node-1 was not reset: {UNREACHED}", lost=0),
    "reset-1": Case("reset", LOSING, [RESET], UNREACHED, lost=1),
    "reset-2": Case("reset", LOSING, [RESET, RESTART], UNREACHED, lost=2),
    "confirm-0": Case("confirm", {}, [], UNREACHED, lost=0),
    "revert-0": Case("revert", LOSING, [], UNREACHED, lost=0),
    "revert-1": Case("revert", LOSING, [ROLL_BACK], UNREACHED, lost=1),
}


class Seen(t.NamedTuple):
    """The calls on each host with their options, the messages of the failed ones, and all output."""

    calls: dict[str, list[tuple[str, dict[str, t.Any]]]]
    messages: dict[str, str]
    output: str


def play(home: Path, cases: t.Mapping[str, Case], *arguments: str) -> Seen:
    """Run the role on a host for each case."""
    answers = {host: case.answers for host, case in cases.items()}
    stubs = {name: STUB.format(name=name, answers=answers, home=str(home)) for name in MODULES}
    lost = {host: case.lost for host, case in cases.items()}
    collection(home, stubs, LOSES.format(home=str(home), lost=lost))
    given = {
        "ansible_connection": LOST,
        "ansible_python_interpreter": sys.executable,
        "kubelet_config_source": SOURCE,
        "kubelet_config_data": {"kubelet": "{}", "more": "text"},
        "kubelet_config_node_name": "node-1",
        "kubelet_config_reason": "pods were lost",
    }
    hosts = {host: {"tasks_of": case.tasks, **case.variables} for host, case in cases.items()}
    (home / "hosts.json").write_text(json.dumps({"all": {"hosts": hosts, "vars": given}}))
    tasks = [
        {
            "name": "include_role",
            "ansible.builtin.include_role": {"name": "livenodes.kubelet.checkpoint", "tasks_from": name},
            "when": f"tasks_of == '{name}'",
        }
        for name in TASKS
    ]
    environment = {"TEST_HOST": "{{ inventory_hostname }}"}
    mine = playbook_of(home, {"environment": environment, "tasks": tasks})
    output = bare(home, "-i", "hosts.json", mine, *arguments, COLUMNS="1000").output
    calls = {}
    for host in cases:
        log = home / f"{host}.log"
        lines = log.read_text().splitlines() if log.exists() else []
        calls[host] = [tuple(json.loads(line)) for line in lines]
    messages = {}
    for line in output.splitlines():
        if line.startswith("fatal: [") and "]: FAILED! => " in line:
            # The last one: a failure before that was rescued.
            messages[line[len("fatal: [") : line.index("]")]] = str(json.loads(line.partition(" => ")[2])["msg"])
    return Seen(calls, messages, output)


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Seen:
    """Return one run of all cases."""
    return play(tmp_path_factory.mktemp("calls"), CASES)


@pytest.mark.parametrize("name", CASES)
def test_calls_on_the_node_and_the_verdict(seen: Seen, name: str) -> None:
    """A lost host is a failed host with a message, which a rescue gets. An unreachable one would leave without any."""
    case = CASES[name]
    assert [call for call, _options in seen.calls[name]] == case.calls, seen.output
    [recap] = [line for line in seen.output.splitlines() if line.startswith(f"{name} ") and "ok=" in line]
    assert "unreachable=0" in recap and ("failed=0" in recap) == (not case.message), recap
    if case.message:
        message = seen.messages[name]
        assert message == case.message if case.lost == NEVER else case.message in message, message
        assert message.count("node-1") <= 1 and message.count("No route to host") == (case.lost != NEVER), message


def test_what_the_calls_get(seen: Seen) -> None:
    [first, _restart, last] = [options for _name, options in seen.calls["switch"]]
    assert first["state_files"] == "keep"
    assert not any(first[name] for name in ("allow_pending_edits", "allow_unchecked", "allow_offline_guard"))
    assert first["node"] == seen.calls["later"][0][1]["node"] == seen.calls["reset"][0][1]["node"] == "node-1"
    assert set(first["data"]) == {"kubelet", "more"} and first["source"] == last["source"] == SOURCE
    assert int(first["confirm_seconds"]) > 0 and int(first["trial_seconds"]) == 600
    assert "metrics_dir" not in first and seen.calls["later"][0][1]["metrics_dir"] == "/m"
    for host, trial in (("not-confirmed", "boot/1.5"), ("reset-reverted", "boot/2.5"), ("revert", None)):
        [reverted] = [options for name, options in seen.calls[host] if name == ROLL_BACK]
        assert reverted.get("trial") == trial and reverted["unconfirmed_only"]
    [reset, removed] = [options for _name, options in seen.calls["reset-again"]]
    assert reset["state_files"] == removed["state_files"] == "switch"


def test_check_mode_predicts_with_the_same_calls(tmp_path: Path) -> None:
    checked = {name: CASES[name] for name in ("switch", "reset")}
    found = play(tmp_path, checked, "--check").calls
    # A prediction has nothing to confirm.
    assert {name: [call for call, _options in calls] for name, calls in found.items()} == {
        "switch": [SWITCH, RESTART],
        "reset": [RESET, RESTART, REMOVE],
    }
    assert all(options["_ansible_check_mode"] for calls in found.values() for _call, options in calls)
