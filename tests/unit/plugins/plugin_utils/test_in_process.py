# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How modules run: in Ansible's own process, and on hosts that a run asks."""

from __future__ import annotations

import contextlib
import datetime
import json
import os
import sys
import typing as t
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.controller_module import Definition
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import ClusterError
from ansible_collections.livenodes.kubelet.plugins.plugin_utils import actions
from tests.sim.api.kinds import KINDS
from tests.sim.cluster import Cluster
from tests.sim.kubelets.port import Port
from tests.support.api.reader import ACCOUNT, NAMESPACE, USER, Rule, for_user, reading
from tests.support.plays.ansible import Ansible

SPEC: dict[str, t.Any] = {
    "word": {"type": "str"},
    "secret": {"type": "str", "no_log": True},
    "old": {"type": "str", "removed_in_version": "9.0.0", "removed_from_collection": "livenodes.kubelet"},
    "any": {"type": "raw"},
}


def run(
    call: t.Callable[..., t.Any], verbosity: int = 0, invocation: bool = False, **arguments: t.Any
) -> dict[str, t.Any]:
    return actions.run(
        Definition(SPEC, call),
        "some.module",
        arguments,
        check_mode=False,
        diff=False,
        verbosity=verbosity,
        invocation=invocation,
    )


def test_a_defect_is_a_failure_with_its_traceback_and_without_secrets() -> None:
    def call(options: dict[str, t.Any], _check: bool) -> t.NoReturn:
        raise KeyError(options["secret"])

    result = run(call, secret="hunter2")
    assert result["failed"] and result["msg"].startswith("KeyError: ")
    assert "test_in_process.py" in result["exception"]
    assert "hunter2" not in str(result)


def test_a_result_that_is_no_json_is_a_defect() -> None:
    assert run(lambda *_given: {"nodes": {1, 2}})["msg"].startswith("TypeError: ")


@pytest.mark.parametrize(("verbosity", "shown"), [(2, False), (3, True)])
def test_the_traceback_of_a_failure_is_for_those_who_ask(verbosity: int, shown: bool) -> None:
    def call(*_given: t.Any) -> t.NoReturn:
        raise ClusterError("why", {"changed": True})

    result = run(call, verbosity)
    assert (result["failed"], result["msg"], result["changed"], "exception" in result) == (True, "why", True, shown)


def test_what_is_true_or_null_is_not_taken_for_a_secret() -> None:
    result = run(lambda *_given: {"changed": True, "none": None, "text": "a True b"}, secret="True")
    assert (result["changed"], result["none"], result["text"]) == (True, None, "a ******** b")


def test_deprecations() -> None:
    (deprecation,) = run(lambda *_given: {}, old="x")["deprecations"]
    assert "'old'" in deprecation["msg"] and deprecation["version"] == "9.0.0"


def test_arguments_are_what_a_module_would_get() -> None:
    class Text(str):
        """As Ansible marks what it must not template."""

    seen: list[t.Any] = []
    run(
        lambda options, _check: seen.append(options) or {},
        word=Text("a"),
        any={1: (datetime.date(2026, 1, 2), Text("b"))},
    )
    assert seen[0]["any"] == {"1": ["2026-01-02", "b"]}
    # pylint: disable-next=unidiomatic-typecheck  # a subclass will not do
    assert type(seen[0]["word"]) is str and type(seen[0]["any"]["1"][1]) is str


def test_surroundings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """The task's own for as long as it runs, also when it fails."""
    monkeypatch.setenv("LIVENODES_A", "before")
    before, place = dict(os.environ), os.getcwd()
    with pytest.raises(ValueError), actions.surroundings({"LIVENODES_A": "a", "LIVENODES_B": 5}, str(tmp_path)):
        print("noise", file=sys.stdout)
        print("noise", file=sys.stderr)
        assert (os.environ["LIVENODES_A"], os.environ["LIVENODES_B"], os.getcwd()) == ("a", "5", str(tmp_path))
        assert not sys.stdout.isatty()
        raise ValueError("out of here")
    assert (dict(os.environ), os.getcwd()) == (before, place)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("value", "large"),
    [
        ({str(number): number for number in range(actions.LARGE + 1)}, True),
        ({str(number): number for number in range(actions.LARGE)}, False),
        ({"nodes": [[{"a": 1}] * actions.LARGE]}, True),
        ([f"n{number}" for number in range(5000)], False),
        ("text" * 5000, False),
        ({}, False),
        (None, False),
    ],
)
def test_large_mappings_are_not_repeated(value: t.Any, large: bool) -> None:
    """Lists of names are: the report reads them."""
    shown = actions.brief({"given": value, "other": {"a": 1}})
    assert shown["other"] == {"a": 1}
    assert (shown["given"] == value) is not large
    assert not large or len(str(shown)) < 100


def test_the_invocation_of_a_large_plan_is_short() -> None:
    plan = {f"n{number}": {"variant": "a", "changes": []} for number in range(1000)}
    arguments = run(lambda *_given: {}, invocation=True, any=plan, word="w")["invocation"]["module_args"]
    assert (arguments["word"], arguments["any"]) == ("w", "(1000 entries, not repeated in the result)")


@pytest.mark.parametrize("name", sorted(actions.PATHS))
def test_a_relative_kubeconfig_is_that_of_the_working_directory(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    """A module runs in the folder of the playbook, which is that of the collection."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(name, "one:~/two::/three")
    monkeypatch.setenv("HOME", "/home/me")
    with actions.surroundings({}, "/"):
        assert os.environ[name] == f"{tmp_path}/one:/home/me/two:/three"
    assert os.environ[name] == "one:~/two::/three"


NAMES = ("n1", "n2", "n3", "n4", "n5")
CLOSED = 1
# What a connection without pipelining looks like to an action.
CONNECTION = """
from ansible.plugins.connection.local import Connection as Local
DOCUMENTATION = '''
name: slow
short_description: a connection without pipelining
description: [None.]
'''
class Connection(Local):
    transport = 'slow'
    has_pipelining = False
"""
# With -vvv, ssh prints what a program on the host has printed, unless its context forbids that.
TALKING = """
from ansible.plugins.connection.local import Connection as Local
from ansible.utils.display import Display
DOCUMENTATION = '''
name: talking
short_description: a connection that prints what it gets
description: [None.]
'''
class Connection(Local):
    transport = 'talking'
    def exec_command(self, *given, **named):
        found = super().exec_command(*given, **named)
        Display().vvv('the host printed: ' + ('censored' if self._play_context.no_log else str(found)))
        return found
"""
HOSTS: dict[str, dict[str, t.Any]] = {
    # Its node has another name; its Python is the one of a template that only its own variables can render.
    "first": {"kubelet_config_node_name": "n1", "ansible_python_interpreter": "{{ mine }}", "mine": "PYTHON-first"},
    "n2": {"ansible_python_interpreter": "{{ mine }}", "mine": "PYTHON-n2", "ansible_connection": "talking"},
    "n3": {"ansible_connection": "ssh", "ansible_host": "127.0.0.1", "ansible_port": CLOSED},
    "n4": {"ansible_connection": "slow"},
}
MESSAGES = {
    "n3": "n3: its host cannot be reached: ",
    "n4": "n4: read: node needs a connection that has pipelining, such as ssh, and that of its host is slow",
    "n5": "n5: read: node needs the host of the node, and the inventory has none of this name",
}


@pytest.fixture(scope="module")
def cluster() -> t.Iterator[Cluster]:
    """A cluster with five kubelets and the permissions."""
    with Cluster("v1.36.2") as made, contextlib.ExitStack() as stack:
        made.grant([*for_user(), *reading(ACCOUNT, Rule(("nodes/configz",)))])
        made.store.create(KINDS["serviceaccounts"], NAMESPACE, {"metadata": {"name": ACCOUNT}})
        for name in NAMES:
            made.simulate(name)
            stack.enter_context(Port(made, name, 36))
        yield made


def played(tmp_path: Path, cluster: Cluster, nodes: t.Sequence[str], **play: t.Any) -> str:
    """Return the output of a play that reads these nodes once."""
    hosts = json.loads(json.dumps(HOSTS))
    for name in ("first", "n2"):
        python = tmp_path / f"python-{name}"
        noted = f'echo "$*" >>{tmp_path}/ran-{name}; env >>{tmp_path}/environment-{name}'
        python.write_text(f'#!/bin/sh\n{noted}\nexec {sys.executable} "$@"\n')
        python.chmod(0o755)
        hosts[name]["mine"] = str(python)
    inventory = tmp_path / "hosts.yml"
    inventory.write_text(json.dumps({"all": {"hosts": hosts}}))
    (tmp_path / "connections").mkdir()
    (tmp_path / "connections/slow.py").write_text(CONNECTION)
    (tmp_path / "connections/talking.py").write_text(TALKING)
    options = {"nodes": [*nodes], "read": "node", "request_timeout": 10}
    task = {"livenodes.kubelet.kubelet_configz_facts": options, "delegate_to": "localhost", "run_once": True}
    whole = {"hosts": "all", "gather_facts": False, "tasks": [{**task, "become": False}], **play}
    (tmp_path / "play.yml").write_text(json.dumps([whole]))
    ansible = Ansible(tmp_path, cluster.kubeconfig(tmp_path / "kubeconfig", USER, "operators"), inventory)
    run = ansible.playbook(
        str(tmp_path / "play.yml"),
        "-vvv",
        ANSIBLE_CONNECTION_PLUGINS=str(tmp_path / "connections"),
        ANSIBLE_SSH_RETRIES="0",
    )
    shown = [run.output, *(path.read_text() for path in tmp_path.glob("environment-*"))]
    assert not [token for token in cluster.api.tokens.sent if any(token in text for text in shown)]
    return run.output


def ran(folder: Path, name: str) -> list[str]:
    """Return the command lines of the Python of a host."""
    path = folder / f"ran-{name}"
    return path.read_text().splitlines() if path.exists() else []


def test_each_host_has_its_own_variables(tmp_path: Path, cluster: Cluster) -> None:
    """The connection is one of the play: such variables override those of hosts, and hostvars lack them."""
    output = played(tmp_path, cluster, ["n1", "n2"], vars={"ansible_connection": "local"})
    assert "failed=0" in output, output
    assert ran(tmp_path, "first") == ["-I -"]
    assert ran(tmp_path, "n2") == ["-I -"]


def test_hosts_that_cannot_be_asked(tmp_path: Path, cluster: Cluster) -> None:
    """Each is named with its reason, and no token was sent there."""
    before = len(cluster.api.tokens.sent)
    output = played(tmp_path, cluster, [*MESSAGES]).replace("\\n", "\n")
    assert "3 nodes failed" in output, output
    for words in MESSAGES.values():
        assert words in output, output
    assert len(cluster.api.tokens.sent) == before + 1


def test_what_a_host_answers_is_not_printed(tmp_path: Path, cluster: Cluster) -> None:
    """It is a configuration, with its secrets."""
    output = played(tmp_path, cluster, ["n2"])
    assert "failed=0" in output and "the host printed: censored" in output, output
    assert "the host printed: (" not in output, output
