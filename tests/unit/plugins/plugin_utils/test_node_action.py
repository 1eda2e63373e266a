# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Modules on nodes: hosts that are lost or let nothing run, what a host may return, and secrets of the arguments."""

from __future__ import annotations

import types
import typing as t

import pytest
from ansible.errors import AnsibleActionSkip, AnsibleConnectionFailure, AnsibleError
from ansible.plugins.action.normal import ActionModule as Normal

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import document
from ansible_collections.livenodes.kubelet.plugins.plugin_utils import sealed
from ansible_collections.livenodes.kubelet.plugins.plugin_utils.actions import NodeAction

CAUSE = "Failed to connect to the host via ssh: No route to host"
WHY = "its host cannot be reached: {}. Run again once it can be reached"
FAILED: dict[str, t.Any] = {"failed": True, "changed": False, "state": "unreachable", "msg": WHY.format(CAUSE)}
UNREACHABLE = {"unreachable": True, "msg": CAUSE}
IGNORED = {"unreachable": True, "changed": False, "msg": f"its host cannot be reached: {CAUSE}"}
"""The rows that quote this message name the remedy."""
DONE = {"changed": True, "state": "assigned"}


def action(ignoring: bool = False) -> NodeAction:
    """Return the action of a task, with its keyword ignore_unreachable."""
    task = types.SimpleNamespace(ignore_unreachable=ignoring, args={}, until=[], retries=None)
    return NodeAction(task, None, None, None, None, None)


def stand_in(monkeypatch: pytest.MonkeyPatch, outcome: t.Any) -> None:
    """Let the module return this, or raise it."""

    def run(*_given: t.Any) -> t.Any:
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    monkeypatch.setattr(Normal, "run", run)


@pytest.mark.parametrize(
    ("outcome", "ignoring", "expected"),
    [
        (DONE, False, DONE),
        (UNREACHABLE, False, FAILED),
        (UNREACHABLE, True, IGNORED),
        ({"unreachable": True}, False, {**FAILED, "msg": WHY.format("the connection failed")}),
        (AnsibleConnectionFailure(f" {CAUSE}.\n"), False, FAILED),
        (AnsibleConnectionFailure(f"{CAUSE}."), True, IGNORED),
        (AnsibleActionSkip("no check mode"), False, AnsibleActionSkip),
    ],
    ids=["reached", "result", "result, ignored", "no cause", "exception", "exception, ignored", "a skip"],
)
def test_a_lost_connection(monkeypatch: pytest.MonkeyPatch, outcome: t.Any, ignoring: bool, expected: t.Any) -> None:
    stand_in(monkeypatch, outcome)
    if isinstance(expected, type):
        with pytest.raises(expected):
            action(ignoring).run()
    else:
        assert action(ignoring).run() == expected


def printed(stderr: str, stdout: str = "") -> dict[str, t.Any]:
    """Return what Ansible makes of words in place of the result of a module."""
    return {"failed": True, "msg": "No start of json char found", "module_stdout": stdout, "module_stderr": stderr}


TTY, CLOSED = "sudo: sorry, you must have a tty to run sudo", "Shared connection to 10.0.0.1 closed.\r\n"
NO_PROMPT = "Timeout (12s) waiting for privilege escalation prompt"
NO_SUDOER = "ops is not in the sudoers file.\nThis was reported.\n"


@pytest.mark.parametrize(
    ("outcome", "cause", "remedy"),
    [
        (AnsibleError("Incorrect sudo password"), "Incorrect sudo password", "ansible_become_password"),
        (AnsibleError("Missing sudo password"), "Missing sudo password", "ansible_become_password"),
        (AnsibleConnectionFailure(f"{NO_PROMPT}: "), NO_PROMPT, "ansible_become_password"),
        (printed(f"{TTY}\n"), TTY, "requiretty"),
        (printed(CLOSED, f"{TTY}\r\n"), TTY, "requiretty"),
        (printed(NO_SUDOER), "ops is not in the sudoers", "sudoers there"),
        (printed("/bin/sh: 1: /opt/python: not found\n"), "/opt/python: not found", "the variables of the host"),
        (printed(f"{'x' * 999}\n"), "x" * 300, "the variables of the host"),
        (printed(""), "No start of json char found", "the variables of the host"),
        (AnsibleError("Failed to transfer file to /x."), "Failed to transfer file to /x. Corr", "of the host"),
    ],
)
@pytest.mark.parametrize("ignoring", [False, True])
def test_a_module_that_cannot_run(
    monkeypatch: pytest.MonkeyPatch, outcome: t.Any, ignoring: bool, cause: str, remedy: str
) -> None:
    """An exception would end the play of the host, in spite of failed_when. The row quotes the message only."""
    stand_in(monkeypatch, outcome)
    found = action(ignoring).run()
    assert found["failed"] is True and "state" not in found
    assert f": {cause}" in found["msg"] and remedy in found["msg"]


@pytest.mark.parametrize("more", [{}, {"failed": True}])
def test_a_node_sets_no_variables(monkeypatch: pytest.MonkeyPatch, more: dict[str, t.Any]) -> None:
    """Facts of any name become variables of the host, with which tasks of the whole batch run on the controller.

    Ansible adds which Python it has found.
    """
    python = {"discovered_interpreter_python": "/usr/bin/python3"}
    returned = {
        **DONE,
        **more,
        "ansible_facts": {"kubelet_config_auth": {"host": "https://evil.example"}, **python},
        "ansible_stats": {"data": {"kubelet_config_auth": {}}},
    }
    monkeypatch.setattr(Normal, "run", lambda *_given: returned)
    assert action().run() == {**DONE, **more, "ansible_facts": python}
    returned["ansible_facts"] = ["kubelet_config_auth"]
    assert action().run() == {**DONE, **more}


@pytest.mark.parametrize("error", [AnsibleConnectionFailure("x"), AnsibleError("x")])
def test_a_connection_lost_in_the_cleanup_keeps_the_result(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def cleanup(*_given: t.Any) -> t.Any:
        raise error

    monkeypatch.setattr(Normal, "cleanup", cleanup)
    if isinstance(error, AnsibleConnectionFailure):
        action().cleanup()
    else:
        with pytest.raises(AnsibleError):
            action().cleanup()


CONFIG = {"staticPodURLHeader": {"Authorization": ["Bearer 4711"]}}


@pytest.mark.parametrize("retries", [None, 3])
def test_a_node_gets_secrets_that_callbacks_do_not(monkeypatch: pytest.MonkeyPatch, retries: int | None) -> None:
    """The text of a ConfigMap is sealed in the result that contains it. A task that runs again needs it."""
    text = document.render(CONFIG)
    given = {"state": "staged", "data": sealed.seal({"configmaps": {"a/b": {"kubelet": text}}})["configmaps"]["a/b"]}
    seen: list[t.Any] = []
    one = action()
    one._task.args, one._task.retries = given, retries
    monkeypatch.setattr(Normal, "run", lambda self, *_given: seen.append(self._task.args) or DONE)
    assert one.run() == DONE
    assert seen == [{"state": "staged", "data": {"kubelet": text}}]
    assert "4711" not in str(one._task.args) and sealed.unseal(one._task.args)["state"] == "staged"
    assert (one._task.args is given) == bool(retries)


def test_a_text_of_another_run_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    one = action()
    one._task.args = {"data": {"kubelet": f"{sealed.MARK}Z0FBQUFB"}}
    monkeypatch.setattr(Normal, "run", lambda *_given: pytest.fail("the node is not reached"))
    assert "sealed by another run" in one.run()["msg"]


def test_what_a_user_gives_directly_is_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    one = action()
    one._task.args = {"data": {"kubelet": document.render(CONFIG)}, "config_dir": "/a"}
    monkeypatch.setattr(Normal, "run", lambda *_given: DONE)
    one.run()
    assert one._task.args == {"data": {"kubelet": "********"}, "config_dir": "/a"}
