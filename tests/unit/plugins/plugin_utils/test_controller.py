# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the actions of the controller do before a module runs."""

from __future__ import annotations

import collections
import sys
import types
import typing as t
from pathlib import Path
from typing import Any

import pytest
from ansible import constants as C
from ansible.errors import AnsibleFilterError
from ansible.plugins.action.normal import ActionModule as Normal

from ansible_collections.livenodes.kubelet.plugins.action import kubelet_compliance_check
from ansible_collections.livenodes.kubelet.plugins.filter import node
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.controller_module import Definition
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import MissingLibrary
from ansible_collections.livenodes.kubelet.plugins.plugin_utils import host_table, sealed
from ansible_collections.livenodes.kubelet.plugins.plugin_utils.actions import ControllerAction

HERE, THERE = {"changed": False, "here": True}, {"changed": False, "here": False}


class Action(ControllerAction):
    """The result of a module that reports where it ran."""

    module = Definition({}, lambda *_given: HERE)


def made(spec: dict[str, t.Any], call: t.Callable[..., t.Any]) -> type[ControllerAction]:
    """Return an action with these options that does this."""
    return type("Made", (ControllerAction,), {"module": Definition(spec, call)})


class Run:
    """Runs tasks. `result` and `args` are what callbacks get of the last one."""

    result: dict[str, t.Any]
    args: dict[str, t.Any]

    def __call__(
        self,
        variables: dict[str, t.Any] | None = None,
        action: type[ControllerAction] = Action,
        environment: dict[str, t.Any] | None = None,
        transport: str = "local",
        become: t.Any = None,
        **keywords: t.Any,
    ) -> bool:
        """Run a task and return whether it ran in this process."""
        usual = {"action": "some.module", "args": {}, "check_mode": False, "diff": False, "async_val": 0}
        usual |= {"delegate_to": None, "environment": [environment or {}], "until": [], "retries": None}
        task = types.SimpleNamespace(**{**usual, **keywords})
        shell = types.SimpleNamespace(env_prefix=lambda **_given: "")
        connection = types.SimpleNamespace(transport=transport, become=become, _shell=shell)
        templar = types.SimpleNamespace(template=lambda value: value)
        loader = types.SimpleNamespace(get_basedir=lambda: "/")
        context = types.SimpleNamespace(no_log=False)
        self.result = action(task, connection, context, loader, templar, None).run(task_vars=variables or {})
        self.args = task.args
        assert not self.result.get("failed"), self.result
        # With -vvv, the connection ssh prints what a module has printed.
        assert context.no_log == (transport != "local")
        return bool(self.result["here"])


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setattr(Normal, "run", lambda *_given, **_named: THERE)
    return Run()


def python(path: str) -> dict[str, str]:
    return {"ansible_python_interpreter": path}


def delegated(own: dict[str, str], **variables: t.Any) -> dict[str, t.Any]:
    """Return the keywords of a task on localhost that has variables of its own."""
    return {"delegate_to": "localhost", "variables": {"ansible_delegated_vars": {"localhost": own}, **variables}}


OTHER = python("/other/python")


@pytest.mark.parametrize(
    ("keywords", "here"),
    [
        ({}, True),
        ({"variables": python("auto")}, True),
        ({"variables": python("auto_silent")}, True),
        ({"variables": python(sys.executable)}, True),
        ({"variables": python(str(Path(sys.executable).with_name("python3")))}, True),
        ({"environment": {"K8S_AUTH_HOST": "a"}}, True),
        (delegated({}, **OTHER), True),
        ({"transport": "ssh"}, False),
        ({"become": object()}, False),
        ({"async_val": 5}, False),
        ({"variables": python("python3")}, False),
        ({"variables": OTHER}, False),
        ({"environment": {"PYTHONPATH": "/a"}}, False),
        ({"environment": {"LD_PRELOAD": "/a"}}, False),
        (delegated(OTHER), False),
    ],
)
def test_in_this_process_or_as_a_module(run: Run, keywords: dict[str, t.Any], here: bool) -> None:
    assert run(**keywords) is here


def test_a_check_of_compliance_in_the_background_has_no_page_yet(run: Run) -> None:
    assert not run(action=kubelet_compliance_check.ActionModule, async_val=5) and "html" not in run.result


def test_an_interpreter_of_another_environment_is_another(run: Run, tmp_path: Path) -> None:
    """Though both are links to the same file."""
    link = tmp_path / "python"
    link.symlink_to(sys.executable)
    assert not run(python(str(link)))


def test_without_the_library_ansible_looks_for_a_python_that_has_it(run: Run) -> None:
    def call(*_given: t.Any) -> t.NoReturn:
        raise MissingLibrary("none here")

    assert not run(action=made({}, call))


PLAN = {"nodes": {f"n{number}": {"action": "assign"} for number in range(300)}}


@pytest.mark.parametrize(
    ("keywords", "short"), [({}, True), ({"retries": 3}, False), ({"until": ["some result"]}, False)]
)
def test_large_arguments_do_not_return_with_the_result(run: Run, keywords: dict[str, t.Any], short: bool) -> None:
    """A task that Ansible may run again in this process needs them."""
    run(action=made({"plan": {"type": "dict"}}, lambda *_given: HERE), args={"plan": PLAN}, **keywords)
    assert run.args == {"plan": "(1 entries, not repeated in the result)" if short else PLAN}


CONFIG = {"maxPods": 5, "staticPodURLHeader": {"Authorization": ["Bearer 4711"]}}
SPEC = {"plan": {"type": "dict"}, "api_key": {"type": "str", "no_log": True}, "header": {"type": "dict", "options": {}}}
SPEC["header"]["options"] = {"basic_auth": {"type": "str", "no_log": True}}
TABLE = {"variants": {"a": CONFIG}}


@pytest.mark.parametrize("keywords", [{}, {"become": object()}], ids=["in this process", "as a module"])
def test_results_and_arguments_without_secrets(
    run: Run, monkeypatch: pytest.MonkeyPatch, keywords: dict[str, t.Any]
) -> None:
    """The module gets what another one has returned, sealed. What callbacks get of both has no secret."""
    taken: list[t.Any] = []

    def call(options: dict[str, t.Any], _check_mode: bool) -> dict[str, t.Any]:
        taken.append(options["plan"])
        return {**HERE, "plan": options["plan"], "invocation": {"module_args": {"plan": options["plan"]}}}

    monkeypatch.setattr(Normal, "run", lambda self, *_given, **_named: call(self._task.args, False))
    given = {"plan": sealed.seal(TABLE), "api_key": "token-4711", "header": {"basic_auth": "user:4711"}}
    run(action=made(SPEC, call), args=given, **keywords)
    assert taken == [TABLE]
    assert "4711" not in str((run.result, run.args))
    assert sealed.unseal(run.result["plan"]) == TABLE
    assert run.args["plan"]["variants"]["a"]["maxPods"] == 5


@pytest.mark.parametrize("keywords", [{}, {"become": object()}], ids=["in this process", "as a module"])
def test_credentials_that_are_no_options_are_not_shown(
    run: Run, monkeypatch: pytest.MonkeyPatch, keywords: dict[str, t.Any]
) -> None:
    """An option that the module does not have, the text of a kubeconfig, and the login in an address."""
    given = {"token": "t-4711", "kubeconfig": "token: t-4711\n", "host": "https://u:t-4711@h"}
    refused = {"failed": True, "here": True, "msg": "Unsupported", "invocation": {"module_args": dict(given)}}
    monkeypatch.setattr(Normal, "run", lambda *_given, **_named: refused)
    spec = {"kubeconfig": {"type": "raw"}, "host": {"type": "str"}}
    with pytest.raises(AssertionError, match="Unsupported"):
        run(action=made(spec, lambda *_given: HERE), args=given, **keywords)
    assert "4711" not in str((run.result, run.args))
    assert {"token", "kubeconfig", "host"} <= set(run.args)


def test_a_strategy_whose_workers_share_no_key_hides_the_result(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sealed, "SHARED", False)
    run(action=made({}, lambda *_given: {**HERE, **TABLE}))
    assert without_arguments(run) == {**HERE, **TABLE, "_ansible_no_log": True}
    run()
    assert without_arguments(run) == HERE


def without_arguments(run: Run) -> dict[str, t.Any]:
    """Return the last result without the task's arguments, which ansible-core repeats in it before 2.21 only."""
    return {key: value for key, value in run.result.items() if key != "invocation"}


@pytest.mark.parametrize("name", C.LOCALHOST)
def test_a_host_that_stands_in_for_the_controller_gets_nothing(run: Run, name: str) -> None:
    """The inventory may have it from a Node, which chooses its address itself."""
    with pytest.raises(AssertionError, match="would run there"):
        run({"ansible_delegated_vars": {name: {}}}, transport="ssh", delegate_to=name)
    assert run({"ansible_delegated_vars": {name: {}}}, delegate_to=name)
    # A bastion that a play names itself.
    assert not run({"ansible_delegated_vars": {"bastion": {}}}, transport="ssh", delegate_to="bastion")


def test_node_table() -> None:
    """Hosts keep their order; a column contains only the hosts that set its variable."""
    profile, own = {"kubelet_config_profile": ["cis-1.12"]}, {"kubelet_config_host": "maxPods: 2"}
    group = {**profile, "kubelet_config": {"maxPods": 1}}
    hostvars = {
        "h1": {**group, **own, "kubelet_config_flags": ["--v=2"]},
        "h2": {"kubelet_config_node_name": "n2", "kubelet_config_host": {"maxPods": 3}},
        "h3": {"kubelet_config": {}, "kubelet_config_flags": [], "kubelet_config_delivery": "native"},
        "elsewhere": {"kubelet_config_node_name": "n2"},
    }
    table = host_table.node_table(["h1", "h2", "h3"], hostvars)
    assert table == {
        "hosts": {"h1": "h1", "n2": "h2", "h3": "h3"},
        "configs": {"h1": {**group, **own}, "n2": {"kubelet_config_host": {"maxPods": 3}}},
        "group_configs": {"h1": group, "n2": {}, "h3": {}},
        "flags": {"h1": ["--v=2"]},
        "deliveries": {"h3": "native"},
        "transports": {},
        "profiles": {"h1": ["cis-1.12"]},
        "exceptions": {},
    }
    assert list(table["hosts"]) == ["h1", "n2", "h3"]


def test_two_hosts_for_one_node() -> None:
    with pytest.raises(AnsibleFilterError, match=r"^hosts a, b name the same node b\."):
        host_table.node_table(["a", "b"], {"a": {"kubelet_config_node_name": "b"}, "b": {}})


@pytest.mark.parametrize(
    ("variables", "names"),
    [
        ({"kubelet_config": {}, "kubelet_config_flags": []}, "kubelet_config, kubelet_config_flags"),
        ({"kubelet_config_node_name": "n1", "kubelet_config_wait_timeout": 5}, ""),
    ],
)
def test_variables_that_only_the_task_has(variables: dict[str, Any], names: str) -> None:
    message = host_table.unseen({"inventory_hostname": "h1", **variables}, {"h1": {"kubelet_config_node_name": "n1"}})
    assert message.partition(" is set in the vars of a play")[0] == names, message


class Vaulted(collections.UserString):
    """As AnsibleVaultEncryptedUnicode up to ansible-core 2.18: a sequence that is not a str, and equal to its text."""

    __ENCRYPTED__ = True


class Marked(str):
    """As AnsibleUnsafeText up to ansible-core 2.18."""

    __UNSAFE__ = True


SECRET = Vaulted("Bearer 4711")
NAMED = "{{ nowhere }}"


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (SECRET, "Bearer 4711"),
        ({"staticPodURLHeader": {"A": [SECRET]}}, {"staticPodURLHeader": {"A": ["Bearer 4711"]}}),
        ([{"a": SECRET}, (SECRET,)], [{"a": "Bearer 4711"}, ["Bearer 4711"]]),
        ({"maxPods": 1, "a": None, "b": True, "c": [1.5]}, {"maxPods": 1, "a": None, "b": True, "c": [1.5]}),
        (Marked(NAMED), NAMED),
        ({"a": "only {braces} and {{"}, {"a": "only {braces} and {{"}),
    ],
)
def test_plain_values(monkeypatch: pytest.MonkeyPatch, value: t.Any, found: t.Any) -> None:
    monkeypatch.setattr(host_table, "LENIENT", True)
    given = host_table.of_host("h1", {"kubelet_config": value}, "kubelet_config")
    assert given == found
    assert "Vaulted" not in str(_types(given))


@pytest.mark.parametrize(
    ("value", "place", "quoted"),
    [
        ({"staticPodPath": f"/etc/{NAMED}/"}, "staticPodPath", NAMED),
        ({"staticPodURL": f"http://{NAMED}/"}, "staticPodURL", "a template"),
        ({"clusterDNS": ["10.0.0.1", NAMED]}, "clusterDNS[1]", NAMED),
        ({"staticPodURLHeader": {"A": ["{{ 'secret' ~ nowhere }}"]}}, "staticPodURLHeader.A[0]", "a template"),
        (f"maxPods: 1\nstaticPodPath: {NAMED}\n", "line 2", NAMED),
        ("{% if nowhere %}a: 1{% endif %}", "line 1", "{% if nowhere %}"),
    ],
)
def test_a_template_that_is_left_over(monkeypatch: pytest.MonkeyPatch, value: t.Any, place: str, quoted: str) -> None:
    monkeypatch.setattr(host_table, "LENIENT", True)
    with pytest.raises(AnsibleFilterError) as error:
        host_table.of_host("h1", {"kubelet_config": value}, "kubelet_config")
    start = f"kubelet_config of host h1, {place}: {quoted} names an undefined variable."
    assert str(error.value).startswith(start) and "secret" not in str(error.value)


def test_a_text_of_a_core_that_raises_errors_itself_is_literal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_table, "LENIENT", False)
    assert host_table.of_host("h1", {"kubelet_config": {"a": NAMED}}, "kubelet_config") == {"a": NAMED}


def test_all_variables_of_the_tables_are_read_so() -> None:
    names = {"host": "maxPods: 1", "delivery": "native", "node_name": "n1"}
    variables: dict[str, t.Any] = {f"kubelet_config_{name}": Vaulted(text) for name, text in names.items()}
    hostvars = {"h1": {**variables, "kubelet_config": {"a": SECRET}, "kubelet_config_flags": [Vaulted("--v=2")]}}
    table = {**host_table.node_table(["h1"], hostvars), "others": node.other_configs(["h1"], hostvars)}
    assert "Vaulted" not in str(_types(table)) and list(table["hosts"]) == ["n1"]


def _types(value: t.Any) -> t.Any:
    if isinstance(value, dict):
        return [_types(inner) for pair in value.items() for inner in pair]
    return [_types(inner) for inner in value] if isinstance(value, list) else type(value)


@pytest.mark.parametrize(
    ("value", "why"),
    [
        *(("", "the text is empty"), (" \n", "the text is empty"), ([], r"\[\] is no configuration")),
        *((False, "false is no configuration"), (0, "0 is no configuration")),
    ],
)
def test_nothing_is_declared_by_mistake(value: t.Any, why: str) -> None:
    """A survey without an answer gives an empty text or list. It would revert the values of all nodes."""
    with pytest.raises(AnsibleFilterError, match=rf"^kubelet_config of host h1: {why}.* for none"):
        host_table.of_host("h1", {"kubelet_config": value}, "kubelet_config")
    nothing = {"kubelet_config": {}, "kubelet_config_host": None}
    for name, given in (*nothing.items(), ("kubelet_config_profile", ""), ("kubelet_config_node_name", "")):
        assert host_table.of_host("h1", {name: given}, name) == given
