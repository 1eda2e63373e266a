# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""`kubelet_config_read: node`: the hosts of the nodes ask their kubelets, and the tokens are seen nowhere else."""

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
from tests.support.api.reader import NAMESPACE, Rule, reading
from tests.support.plays.ansible import Ansible, Run
from tests.support.plays.permissions import USER, manifest

NAMES = ("n1", "n2")
AUTH = {"read_service_account": f"{NAMESPACE}/kubelet-configz-{{node}}"}


class Fleet:
    """Two nodes with kubelets 1.20, and a user without nodes/proxy. `seen` is what processes on a host show of
    themselves: command line, environment.
    """

    def __init__(self, home: Path, cluster: Cluster) -> None:
        self.home, self.cluster = home, cluster
        self.seen = home / "seen"
        self.python = home / "python"
        self.python.write_text(
            f'#!/bin/sh\n{{ echo "$0 $*"; env; }} >>{self.seen}\nexec {sys.executable} "$@"\n', encoding="utf-8"
        )
        self.python.chmod(0o755)

    def ansible(self) -> Ansible:
        """Return ansible-playbook for the user."""
        given = {
            "ansible_connection": "local",
            "ansible_python_interpreter": str(self.python),
            "kubelet_config": {"maxPods": 80, "address": "127.0.0.1"},
            "kubelet_config_auth": AUTH,
            "kubelet_config_read": "node",
            "kubelet_config_wait_timeout": 60,
        }
        kubeconfig = self.cluster.kubeconfig(self.home / "kubeconfig", USER, "operators")
        return Ansible(self.home, kubeconfig, {"all": {"hosts": dict.fromkeys(NAMES, given)}})

    def leaked(self, run: Run) -> list[str]:
        """Return where a token is, of what a user or another process can see."""
        files = [path for path in self.home.rglob("*") if path.is_file() and not path.is_symlink()]
        places = {str(path): path.read_text(encoding="utf-8", errors="replace") for path in files}
        places["output"] = run.output
        tokens = self.cluster.api.tokens.sent
        assert tokens, "the run made tokens"
        return [name for name, text in places.items() if any(token in text for token in tokens)]


@pytest.fixture
def fleet(tmp_path: Path) -> t.Iterator[Fleet]:
    """Yield it, with all permissions that it needs."""
    with Cluster("v1.20.2", scale=50) as cluster, contextlib.ExitStack() as stack:
        for playbook in ("rollout", "drift"):
            cluster.grant(manifest(playbook))
        makes = Rule(("serviceaccounts/token",), ("create",))
        subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": USER}
        cluster.grant(bound("tokens", subject, makes))
        for name in NAMES:
            cluster.simulate(name, flags={})
            account = AUTH["read_service_account"].partition("/")[2].replace("{node}", name)
            cluster.store.create(KINDS["serviceaccounts"], NAMESPACE, {"metadata": {"name": account}})
            only = Rule(("nodes/proxy",), names=(name,))
            cluster.grant(reading(account, only, Rule(("nodes/metrics",)), Rule(("nodes/stats",))))
            stack.enter_context(Port(cluster, name, 20))
        cluster.counter.forget()
        yield Fleet(tmp_path, cluster)


def bound(name: str, subject: dict[str, str], *rules: Rule) -> list[dict[str, t.Any]]:
    """Return a ClusterRole with its binding."""
    role, binding = reading(name, *rules)
    return [role, {**binding, "subjects": [subject]}]


def test_the_whole_way(fleet: Fleet) -> None:
    """A rollout with a soak, then drift, at the highest verbosity."""
    ansible = fleet.ansible()
    soak = ("-e", "kubelet_config_soak_seconds=1", "-e", "kubelet_config_serial=2")
    run = ansible.playbook("rollout", *soak, "-vvvv")
    assert run.code == 0 and "only its own host reaches the kubelet" in run.output, run.output
    for name in NAMES:
        assert json.loads(fleet.cluster.proxied(name, "/configz").content())["kubeletconfig"]["maxPods"] == 80
    assert "-I -" in fleet.seen.read_text(encoding="utf-8"), "a host ran the program"
    assert fleet.leaked(run) == []
    again = ansible.playbook("drift", "-vvvv")
    assert again.code == 0, again.output
    assert fleet.leaked(again) == []
    assert fleet.cluster.counter.count("GET", "/proxy/") == 0, "nothing asked the API server for a kubelet"
