# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a node writes with its own credentials, annotations and status of its Node, is text to the controller. So is
what the modules on its host return.

No template of it runs, no file of the controller is read, and nothing of it reaches another node.
"""

from __future__ import annotations

import json
import typing as t
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import annotation
from tests.sim.api.handlers import Request
from tests.sim.switched import MODEL, SwitchedCluster, switched_ansible
from tests.support.api import objects

FORGER, OTHER = "n1", "n2"
SECRET = "content-of-a-file-of-the-controller"
OUTSIDE = "../../nodes/n2"


class Fleet(SwitchedCluster):
    """Remembers what was written to Nodes, and what calls on nodes got."""

    def __init__(self) -> None:
        super().__init__(FORGER, OTHER)
        self.written: list[tuple[str, str, t.Any]] = []
        self.given: dict[str, list[t.Any]] = {FORGER: [], OTHER: []}

    def serve(self, method: str, url: str, body: t.Any, request: Request) -> tuple[int, t.Any]:
        """Answer one request."""
        if url.startswith(MODEL):
            self.given[url.rpartition("/")[2]].append(body)
        elif method != "GET":
            self.written.append((method, url.partition("?")[0], body))
        return super().serve(method, url, body, request)


def template(home: Path) -> str:
    """Return a template that would leave a file, and whose value is the content of another one."""
    (home / "secret").write_text(SECRET)
    return (
        "{{ lookup('pipe', 'touch " + str(home / "ran") + "') }}{{ lookup('file', '" + str(home / "secret") + "') }}"
        "{% set x = cycler.__init__.__globals__.os.popen('touch " + str(home / "ran") + "').read() %}"
    )


def free_texts(fleet: Fleet, text: str) -> None:
    """Write a text wherever a text may be: the records stay valid."""
    node = fleet.nodes[FORGER]
    notes = node["metadata"]["annotations"]
    status, source = json.loads(notes[annotation.STATUS]), json.loads(notes[annotation.SOURCE])
    notes[annotation.STATUS] = json.dumps({**status, "reason": text, "more": {text: text}})
    notes[annotation.SOURCE] = json.dumps({**source, text: text})
    notes[annotation.PREVIOUS] = json.dumps({"configMap": objects.place(fleet.BEFORE), text: text})
    notes[text] = text
    node["metadata"]["labels"] = {"kubernetes.io/hostname": text, "node-role.kubernetes.io/x": text}
    for condition in node["status"]["conditions"]:
        condition.update(message=text, reason=text)
    node["status"]["conditions"].append({"type": text, "status": text, "message": text})
    node["status"]["nodeInfo"].update(osImage=text, machineID=text, containerRuntimeVersion=text)
    node["status"]["addresses"] = [{"type": "Hostname", "address": text}, {"type": text, "address": text}]


def checked_fields(fleet: Fleet, text: str) -> None:
    """Write a text, and paths to another node, into each field that has a form."""
    free_texts(fleet, text)
    notes = fleet.nodes[FORGER]["metadata"]["annotations"]
    status = json.loads(notes[annotation.STATUS])
    wrong = {**objects.reference(fleet.BEFORE), "name": OUTSIDE, "namespace": text, "uid": text}
    notes[annotation.STATUS] = json.dumps({**status, "error": text, "active": {"configMap": wrong}, "time": text})
    notes[annotation.OWN] = json.dumps({"own": {"maxPods": text, text: text}})
    notes[annotation.PREVIOUS] = json.dumps({"configMap": {**wrong, "namespace": "kube-system"}})
    notes[annotation.CORDONED] = json.dumps({"holder": text, "time": text, "node": OTHER})


def keys(fleet: Fleet, text: str) -> None:
    """Name keys of ConfigMaps that are paths."""
    notes = fleet.nodes[FORGER]["metadata"]["annotations"]
    for at, key in ((annotation.PREVIOUS, "../../../etc/shadow"), (annotation.SOURCE, "/etc/shadow")):
        notes[at] = json.dumps({"configMap": {**objects.place(fleet.BEFORE), "kubeletConfigKey": key, text: text}})


@pytest.mark.parametrize("playbook", [pytest.param("plan", marks=pytest.mark.long), "drift", "rollout", "rollback"])
@pytest.mark.parametrize(
    "forge",
    [
        free_texts,
        pytest.param(checked_fields, marks=pytest.mark.long),
        pytest.param(keys, marks=pytest.mark.long),
    ],
)
@pytest.mark.fault(case=61)
def test_what_is_forged_stays_text(tmp_path: Path, playbook: str, forge: t.Callable[[Fleet, str], None]) -> None:
    text = template(tmp_path)
    with Fleet() as fleet:
        forge(fleet, text)
        # All nodes in one batch: a forger that fails does not hide what would happen to the other one.
        options = {"kubelet_config_drift": "report", "kubelet_config_serial": 2, "kubelet_config_max_failed": 2}
        run = switched_ansible(tmp_path, fleet).playbook(playbook, "-vvvv", "--diff", "-e", json.dumps(options))
        asked = [path for _method, path in fleet.requests]
        notes = fleet.nodes[OTHER]["metadata"]["annotations"]
    assert not (tmp_path / "ran").exists(), run.output
    assert SECRET not in run.output and "Traceback" not in run.output, run.output
    # The output quotes quotes in several ways.
    assert "lookup(" in run.output or forge is keys, run.output
    # Nothing of it is in a path of the API, and all that another node gets is what it would get without it.
    assert not [path for path in asked if ".." in path or "%2" in path or "lookup" in path or "shadow" in path]
    assert not any(word in json.dumps((fleet.given[OTHER], notes)) for word in ("lookup", "shadow", ".."))
    others = [body for _method, path, body in fleet.written if path.endswith(f"/nodes/{OTHER}")]
    assert not any("lookup" in json.dumps(body) for body in others)
    assert {path.rpartition("/")[2] for _method, path, _body in fleet.written if "/nodes/" in path} <= {FORGER, OTHER}
    if forge is free_texts:
        # What the forger ran before is unknown.
        assert bool(run.code) == (playbook == "rollback"), run.output
        assert bool(fleet.written) == (playbook == "rollout")


class Returning(Fleet):
    """The modules on the host of the forger return facts."""

    def __init__(self, facts: dict[str, t.Any]) -> None:
        super().__init__()
        self.facts = facts

    def _step(self, name: str, module: str, given: dict[str, t.Any]) -> dict[str, t.Any]:
        more = {"ansible_facts": self.facts, "ansible_stats": {"data": self.facts}} if name == FORGER else {}
        return {**super()._step(name, module, given), **more}


def test_what_a_host_returns_is_no_variable(tmp_path: Path) -> None:
    """A variable of this name has the address of the API server for the whole batch, which gets the credentials."""
    with Fleet() as other, Returning({"kubelet_config_auth": {"host": other.url}}) as fleet:
        options = {"kubelet_config_drift_hosts": True, "kubelet_config_serial": 2}
        run = switched_ansible(tmp_path, fleet).playbook("rollout", "-e", json.dumps(options))
        asked = list(other.requests)
    assert asked == []
    assert run.code == 0, run.output
    assert {name for name, calls in fleet.steps.items() if calls} == {FORGER, OTHER}
