# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reading from the hosts of nodes: each has the connection, the Python and the name that its variables set."""

from __future__ import annotations

import contextlib
import json
import sys
import typing as t
from pathlib import Path

import pytest

from tests.sim.api.kinds import KINDS
from tests.sim.cluster import Cluster
from tests.sim.kubelets.port import Port
from tests.support.ansible import Ansible
from tests.support.reader import ACCOUNT, NAMESPACE, USER, Rule, for_user, reading

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
        python.write_text(f'#!/bin/sh\necho "$*" >>{tmp_path}/ran-{name}\nexec {sys.executable} "$@"\n')
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
    assert not [token for token in cluster.api.tokens.sent if token in run.output]
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
