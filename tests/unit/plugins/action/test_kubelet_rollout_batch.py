# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action of a step: which batch it works on, what it hands to the module, and what callbacks get."""

from __future__ import annotations

import copy
import types
import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.action import kubelet_rollout_batch
from ansible_collections.livenodes.kubelet.plugins.plugin_utils._rollout.batch import Found
from tests.support.api.objects import place

TOKEN = {"api_key": "secret"}
ROW = {"ok": True, "state": "assigned", "message": "", "delivery": "native", "source": place("a"), "changed": True}


class Task:
    """The part of a task that the action reads."""

    async_val, check_mode, action = 0, False, "livenodes.kubelet.kubelet_rollout_batch"

    def __init__(self, **args: t.Any) -> None:
        self.args: dict[str, t.Any] = {**TOKEN, **args}

    def copy(self) -> Task:
        return copy.copy(self)

    def get_play(self) -> t.Any:
        return types.SimpleNamespace(strategy="linear")


class Called:
    """Stands for the actions of the modules: it remembers the calls, and returns one result."""

    def __init__(self, result: dict[str, t.Any]) -> None:
        self.result, self.calls = result, []  # type: ignore[var-annotated]

    def has_plugin(self, _name: str) -> bool:
        return True

    def get(self, name: str, task: Task, **_rest: t.Any) -> t.Any:
        self.calls.append((name, dict(task.args)))
        # As ControllerAction does.
        task.args = {key: value for key, value in task.args.items() if key not in TOKEN}
        return types.SimpleNamespace(run=lambda task_vars: dict(self.result))


def run(task: Task, called: Called, **variables: t.Any) -> dict[str, t.Any]:
    """Run the action on the host h1, which is the node h1."""
    templar = types.SimpleNamespace(template=lambda value: value)
    shell = types.SimpleNamespace(_shell=types.SimpleNamespace(tmpdir="/tmp"))
    action = kubelet_rollout_batch.ActionModule(task, shell, types.SimpleNamespace(), None, templar, None)
    # ansible-core 2.19 and later take the loaders from elsewhere.
    action._shared_loader_obj = types.SimpleNamespace(action_loader=called)
    hosts = {"ansible_play_batch": ["h1"], "ansible_play_hosts_all": ["h1"], "inventory_hostname": "h1"}
    return action.run(None, {**hosts, "hostvars": {"h1": {}}, "ansible_forks": 5, **variables})


PLAN = {"nodes": {"h1": {"action": "assign", "changes": [], "source": place("a")}}}
BY_HAND = {"kubelet_config_plan": PLAN}
FAILED = {"h1": {"ok": False, "message": "refused"}}
UNCHANGED: dict[str, t.Any] = {"names": ["h1"], "sources": {}, "expected": {}, "texts": {}, "soak": 0, "done": 1}


def test_an_unknown_step_names_the_others() -> None:
    found = run(Task(step="nothing"), Called({}))
    assert found["failed"] and found["msg"].startswith("step is one of gate, drain, assign")


def test_the_module_gets_the_options_and_the_credentials() -> None:
    task, called = Task(step="assign"), Called({"nodes": {"h1": ROW}, "configmaps": {}, "changed": True})
    found = run(task, called, **BY_HAND)
    ((name, options),) = called.calls
    assert name == "livenodes.kubelet.node_config_source" and options["api_key"] == "secret"
    assert list(options["sources"]) == ["h1"] and Found.of(found["batch"]).rows["h1"]["state"] == "assigned"
    assert task.args["step"] == "assign" and not TOKEN.keys() & task.args.keys(), "callbacks get these"


def test_a_step_without_a_call_shows_no_credentials() -> None:
    task, called = Task(step="soak"), Called({})
    found = run(task, called, **BY_HAND)
    assert (found["skipped"], task.args, called.calls) == (True, {"step": "soak"}, [])


@pytest.mark.parametrize(("stop", "failed"), [(False, False), (True, True)])
def test_single_nodes_that_fail_do_not_fail_the_step(stop: bool, failed: bool) -> None:
    result = {"failed": True, "stop": stop, "nodes": FAILED, "msg": "why", "configmaps": {}}
    found = run(Task(step="assign"), Called(result), **BY_HAND)
    assert found["failed"] is failed and Found.of(found["batch"]).rows["h1"]["message"] == "refused"


@pytest.mark.parametrize(("begun", "asked"), [(True, ["h1"]), (False, [])])
def test_what_a_rollout_of_the_same_run_has_found_out_ends_with_it(begun: bool, asked: list[str]) -> None:
    """A play that lists the roles itself would not verify a node that had failed in the rollout."""
    called = Called({"nodes": {}})
    run(Task(step="verify", batch=Found(begun=begun, rows=FAILED).passed()), called, **BY_HAND)
    assert list(called.calls[0][1]["sources"]) == asked


def test_nodes_are_uncordoned_after_all_hosts_have_failed() -> None:
    """Ansible has removed them from the batch then."""
    rollout = {"batches": [{"hosts": {"h1": "h1"}, "drain": ["h1"], **UNCHANGED}], "failed": {}, "max_failed": 0}
    rollout.update(lease={}, group="all", name="r", undoes=None, hosts=["h1"])
    task, called = Task(step="uncordon", batch=Found(begun=True, drained=True).passed()), Called({"nodes": {}})
    run(task, called, __kubelet_config_rollout=rollout, ansible_play_batch=[])
    assert called.calls == [("livenodes.kubelet.node_drain", {**TOKEN, "state": "restored", "nodes": ["h1"]})]
    stopped = run(Task(step="stop", reason="why"), called, __kubelet_config_rollout=rollout, ansible_play_batch=[])
    assert list(stopped) == ["changed", "failed", "msg"] and "all stopped at h1: why" in stopped["msg"]


def test_a_plan_that_no_role_can_read_is_a_failure() -> None:
    """Such as variables in the play that belong to the hosts."""
    found = run(Task(step="assign"), Called({}), kubelet_config={"maxPods": 1}, **BY_HAND)
    assert found["failed"] and "kubelet_config is set in the vars of a play" in found["msg"]
