# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every module has an action. A module of the controller runs the same in Ansible's process and as a module."""

from __future__ import annotations

import dataclasses
import importlib
import json
import sys
import typing as t
from pathlib import Path

import pytest
import yaml

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.controller_module import Definition
from ansible_collections.livenodes.kubelet.plugins.plugin_utils.actions import ControllerAction, NodeAction
from tests.support.api.objects import HEADER, configmap, items, live, node, text
from tests.support.api.server import Answer, Server
from tests.support.plays.ansible import ROOT, Ansible, playbook_of

PLUGINS = "ansible_collections.livenodes.kubelet.plugins"
GROUP = set(yaml.safe_load((ROOT / "meta/runtime.yml").read_text())["action_groups"]["cluster"])


ON_NODES = {"kubelet_checkpoint", "kubelet_preflight_info", "kubelet_upgrade_info"}
# There is no module to run, only its documentation: a module does not have the variables of other hosts.
WITHOUT_MODULE = {"kubelet_config_inputs", "kubelet_rollout_batch"}
ON_CONTROLLER = sorted({path.stem for path in (ROOT / "plugins/modules").glob("*.py")} - ON_NODES - WITHOUT_MODULE)


@pytest.mark.parametrize("name", sorted(path.stem for path in (ROOT / "plugins/modules").glob("kubelet_*.py")))
def test_each_module_on_nodes_has_its_action(name: str) -> None:
    """Without an action, a lost connection ends the batch of the last host without its verdict."""
    source = (ROOT / f"plugins/modules/{name}.py").read_text()
    assert ("module_utils._node" in source) == (name in ON_NODES)
    if name in ON_NODES:
        assert issubclass(importlib.import_module(f"{PLUGINS}.action.{name}").ActionModule, NodeAction)


@pytest.mark.parametrize("name", ON_CONTROLLER)
def test_each_module_on_the_controller_has_its_action(name: str) -> None:
    """Without an action, each call starts a Python process that imports the API client."""
    assert (ROOT / f"plugins/action/{name}.py").is_file(), (
        f"give {name} an action: copy plugins/action/node_config_info.py and put its name in"
    )
    action = importlib.import_module(f"{PLUGINS}.action.{name}").ActionModule
    assert issubclass(action, ControllerAction)
    assert action.module is importlib.import_module(f"{PLUGINS}.modules.{name}").MODULE


class Refused(t.NamedTuple):
    """The message of a call, and the defaults among its arguments."""

    message: str
    defaults: set[str]


@pytest.fixture(scope="module")
def refused(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Refused]:
    """Each module called by its full name and by its short one. Its defaults are options that no module has."""
    home = tmp_path_factory.mktemp("refused")
    names = [*ON_CONTROLLER, *sorted(ON_NODES)]
    called = [*names, *(f"livenodes.kubelet.{name}" for name in names)]
    play = {
        "hosts": "localhost",
        "ignore_errors": True,
        "collections": ["livenodes.kubelet"],
        "module_defaults": {
            "group/livenodes.kubelet.cluster": {"of_group": 1},
            **{f"livenodes.kubelet.{name}": {f"of_{name}": 1} for name in names},
        },
        "tasks": [{"name": name, name: {}} for name in called],
    }
    (home / "hosts").write_text("{}")
    ansible = Ansible(home, home / "nothing", home / "hosts")
    run = ansible.playbook(playbook_of(home, play), LIVENODES_TAPE=str(home), ANSIBLE_INJECT_INVOCATION="1")
    lines = next(home.glob("*[0-9]")).read_text().splitlines()
    assert len(lines) == len(called), run.output
    found = {}
    for name, line in zip(called, lines):
        result = json.loads(line)[-1]
        arguments = result["invocation"]["module_args"]
        found[name] = Refused(result["msg"], {option for option in arguments if option.startswith("of_")})
    return found


@pytest.mark.parametrize("prefix", ["", "livenodes.kubelet."])
@pytest.mark.parametrize("name", [*ON_CONTROLLER, *sorted(ON_NODES)])
def test_a_module_gets_its_own_defaults(refused: dict[str, Refused], name: str, prefix: str) -> None:
    """With redirects in meta/runtime.yml in place of action files, each module would get the defaults of all."""
    of_group = {"of_group"} if name in GROUP else set()
    assert refused[prefix + name].defaults == {f"of_{name}"} | of_group


@pytest.mark.parametrize("prefix", ["", "livenodes.kubelet."])
@pytest.mark.parametrize("name", ["kubelet_configz_facts", "kubelet_preflight_info"])
def test_a_message_names_the_module_as_the_task_does(refused: dict[str, Refused], name: str, prefix: str) -> None:
    assert f"Unsupported parameters for ({prefix}{name}) module: of_" in refused[prefix + name].message


@dataclasses.dataclass
class Case:
    """A task, its expected result, the answers of the API server, and the number of requests."""

    module: str
    options: dict[str, t.Any]
    expect: t.Callable[[dict[str, t.Any]], bool]
    answers: tuple[Answer, ...] = (Answer(),)
    requests: int = 0
    keywords: dict[str, t.Any] = dataclasses.field(default_factory=dict)
    named: bool = True


def given(seen: dict[str, t.Any]) -> dict[str, t.Any]:
    """Return the options of a call, with defaults."""
    return t.cast("dict[str, t.Any]", seen["invocation"]["module_args"])


def hidden(seen: dict[str, t.Any]) -> bool:
    """Whether a message hides the secret that it quotes."""
    return "hunter2" not in str(seen) and "****" in seen["msg"]


def current() -> dict[str, t.Any]:
    facts: dict[str, t.Any] = {"machine_specific": [], "restored": [], "source": None, "status": {}}
    row = {"variant": "v1", "kubelet_version": "v1.20.2", **facts}
    return {"variants": {"v1": {**HEADER, **live(maxPods=110)}}, "nodes": {"n1": row}}


UNSUPPORTED = "Unsupported parameters for (livenodes.kubelet.node_config_info) module: nodez. Supported parameters"
NODES = Answer(body=items(node("n1")))
QUOTED = Answer(400, {"message": "seen hunter2-long"})
OLD = Answer(body=items(node("n1")), headers=[("Warning", '299 - "old"')])
CASES = {
    "success": Case(
        "node_config_info",
        {"concurrency": "3", "verify_ssl": True, "validate_certs": "no"},
        lambda seen: (
            seen["nodes"]["n1"]["ready"]
            and (given(seen)["concurrency"], given(seen)["request_timeout"]) == (3, 7)
            and all(words in str(seen["warnings"]) for words in ("verify_ssl", "API server: old"))
        ),
        (OLD,),
        1,
    ),
    "facts": Case(
        "kubelet_configz_facts",
        {"nodes": ["n1"]},
        lambda seen: bool(seen["ansible_facts"]["kubelet_configz"]["nodes"]["n1"]["variant"]),
        (NODES, Answer(body={"kubeletconfig": live(maxPods=110)})),
        2,
    ),
    "refusal": Case(
        "node_config_source",
        {"nodes": ["gone"], "source": {"name": "a", "kubeletConfigKey": "a", "kubelet_config_key": "b"}},
        lambda seen: "gone" in seen["msg"] and "kubeletConfigKey" in str(seen["warnings"]),
        (Answer(body=items()),),
        1,
    ),
    "refusal, with a result": Case(
        "kubelet_config_plan",
        {"current": current(), "config": {"maxPodz": 1}, "node_configs": {1: None}},
        lambda seen: seen["plan"]["refused"] and given(seen)["node_configs"] == {"1": None},
    ),
    "unknown option": Case("node_config_info", {"nodez": ["n1"]}, lambda seen: seen["msg"].startswith(UNSUPPORTED)),
    "bad value": Case("node_config_info", {"concurrency": "many"}, lambda seen: "concurrency" in seen["msg"]),
    "options that need others": Case(
        "kubelet_configmap", {"state": "kubeadm"}, lambda seen: "node_configs" in seen["msg"]
    ),
    "secrets": Case("node_config_info", {"api_key": "hunter2-long"}, hidden, (QUOTED,), 1),
    "environment": Case(
        "node_config_info",
        {},
        hidden,
        (QUOTED,),
        1,
        {"environment": {"K8S_AUTH_API_KEY": "hunter2-long", "K8S_AUTH_HOST": "URL"}},
        named=False,
    ),
    "no_log": Case(
        "node_config_info", {}, lambda seen: "censored" in seen and "nodes" not in seen, (NODES,), 1, {"no_log": True}
    ),
    "check mode, diff, a file beside the playbook": Case(
        "kubelet_configmap",
        {"src": ["kubelet.json"]},
        lambda seen: seen["changed"] and "maxPods" in str(seen["diff"]),
        (Answer(404), Answer(201, configmap(content=text(maxPods=5)))),
        2,
        {"check_mode": True, "diff": True},
    ),
    "no diff": Case(
        "kubelet_config_plan",
        {"current": current(), "config": {"maxPods": 50}, "name": "base"},
        lambda seen: "diff" not in seen and not seen["plan"]["refused"],
    ),
    "loop": Case(
        "node_config_info",
        {"nodes": ["{{ item }}"]},
        lambda seen: ["gone" in row.get("msg", "") for row in seen["results"]] == [False, True],
        (NODES,),
        2,
        {"loop": ["n1", "gone"]},
    ),
}


class Way:
    """Plays all cases and keeps results and requests by name."""

    def __init__(self, home: Path, servers: dict[str, Server], python: str) -> None:
        play = home / "play"
        play.mkdir(parents=True)
        inventory = home / "hosts"
        inventory.write_text("{}")
        (play / "kubelet.json").write_text(text(maxPods=5))
        cases = {
            "hosts": "localhost",
            "gather_facts": False,
            "ignore_errors": True,
            "vars": {"ansible_python_interpreter": python},
            "module_defaults": {"group/livenodes.kubelet.cluster": {"request_timeout": 7}},
            "tasks": [self._task(name, case, servers[name].url) for name, case in CASES.items()],
        }
        # Keys of JSON are texts.
        (play / "play.yml").write_text(yaml.safe_dump([cases]))
        before = {name: len(server.seen) for name, server in servers.items()}
        for name, case in CASES.items():
            servers[name].answer(*case.answers)
        # Each case has its own server.
        ansible = Ansible(home, home / "nothing", inventory)
        self.run = ansible.playbook(
            str(play / "play.yml"),
            LIVENODES_TAPE=str(play),
            ANSIBLE_INJECT_INVOCATION="1",
            ANSIBLE_PIPELINING="1",
            K8S_AUTH_KUBECONFIG="",
        )
        lines = next(play.glob("*[0-9]")).read_text().splitlines()
        assert len(lines) == len(CASES), self.run.output
        self.results = {name: json.loads(line)[-1] for name, line in zip(CASES, lines)}
        self.requests = {
            name: [(seen.method, seen.path) for seen in server.seen[before[name] :]] for name, server in servers.items()
        }

    @staticmethod
    def _task(name: str, case: Case, url: str) -> dict[str, t.Any]:
        options = {**({"host": url} if case.named and case.module != "kubelet_config_plan" else {}), **case.options}
        keywords = json.loads(json.dumps(case.keywords).replace("URL", url))
        return {"name": name, f"livenodes.kubelet.{case.module}": options, "register": "result", **keywords}


@pytest.fixture(scope="module")
def ways(tmp_path_factory: pytest.TempPathFactory) -> t.Iterator[tuple[Way, Way]]:
    """All cases in Ansible's own process, and through another interpreter."""
    home = tmp_path_factory.mktemp("ways")
    other = home / "python"
    other.write_text(f'#!/bin/sh\necho "$*" >>{home}/started\nexec {sys.executable} "$@"\n')
    other.chmod(0o755)
    servers = {name: Server() for name in CASES}
    try:
        for server in servers.values():
            server.__enter__()
        here = Way(home / "here", servers, "auto")
        assert not (home / "started").exists()
        there = Way(home / "there", servers, str(other))
        # The loop calls the module twice.
        assert len((home / "started").read_text().splitlines()) == len(CASES) + 1
        yield here, there
    finally:
        for server in servers.values():
            server.__exit__()


@pytest.mark.parametrize("name", CASES)
def test_both_ways_have_the_same_result(ways: tuple[Way, Way], name: str) -> None:
    here, there = ways
    assert CASES[name].expect(here.results[name]), here.results[name]
    assert here.results[name] == there.results[name]
    assert here.requests[name] == there.requests[name]
    assert len(here.requests[name]) == CASES[name].requests
    assert "hunter2" not in here.run.output


@pytest.mark.parametrize("strategy", ["linear", "free"])
def test_the_api_client_is_imported_once_per_run(tmp_path: Path, strategy: str) -> None:
    """Ansible loads an action before it forks its workers."""
    (tmp_path / "sitecustomize.py").write_text(
        "import os, sys\n"
        "class Watch:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'kubernetes':\n"
        f"            open({str(tmp_path / 'imports')!r}, 'a').write(f'{{os.getpid()}}\\n')\n"
        "sys.meta_path.insert(0, Watch())\n"
    )
    hosts = {"hosts": {"a": None, "b": None}, "vars": {"ansible_connection": "local"}}
    (tmp_path / "inventory").write_text(json.dumps({"all": hosts}))
    home = tmp_path / "home"
    home.mkdir()
    options = {"host": "URL", "kubeconfig": "/nowhere"}
    task = {"livenodes.kubelet.kubelet_configz_facts": options, "ignore_errors": True}
    play = playbook_of(home, {"strategy": strategy, "tasks": [task, task]})
    ansible = Ansible(home, tmp_path / "kubeconfig", tmp_path / "inventory")
    with ansible.start(play, PYTHONPATH=str(tmp_path)) as process:
        output, _nothing = process.communicate(timeout=120)
    assert output.count("no kubeconfig at /nowhere") >= 4, output
    assert (tmp_path / "imports").read_text().split() == [str(process.pid)]


MODULES = [importlib.import_module(f"{PLUGINS}.modules.{name}").MODULE for name in sorted(GROUP - WITHOUT_MODULE)]


@pytest.mark.parametrize(
    ("module", "name"),
    [(module, name) for module in MODULES for name, option in module.spec.items() if option.get("type") == "int"],
)
def test_a_negative_number_is_refused_before_a_request(module: Definition, name: str) -> None:
    """Such a soak ended at once, and such an age overflowed."""
    result, _warnings = module.outcome({name: -1}, False, False, 0)
    assert result == {"failed": True, "msg": f"{name} is -1: use a number of at least 0"}
