# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Planted secrets, and a search for them after every playbook: output, logs, results, reports, facts, processes, nodes.

Some files have to contain them: those of the inventory and of the nodes, where the test puts them, and the plan and the
dump that a user asks for. These and the checkpoints are for their owner alone.
"""

from __future__ import annotations

import os
import threading
import typing as t
from pathlib import Path

import pytest
import yaml

from ansible_collections.livenodes.kubelet.plugins.plugin_utils import sealed
from tests.lab import kubeadm
from tests.sim.cluster import Cluster
from tests.sim.nodes.node import SimNode
from tests.support.plays.ansible import ROOT, Ansible, Run

DECLARED, LIVE, FLAG = "planted-declared-4711", "planted-live-4712", "planted-flag-4713"
TOKEN, PASSWORD = "planted-token-4714", "planted-password-4715"
EFFECTS = {"staticPodURLHeader": {"Authorization": [f"Bearer {DECLARED}"], "Cookie": ['a="b"\\' + DECLARED]}}
OPTIONS = {
    "kubelet_config_trial_seconds": 1,
    "kubelet_config_wait_timeout": 60,
    "kubelet_config_upgrade": "report",
    "kubelet_config_drift": "report",
}
GIVEN = {"plan.json", "dump.json", "hosts.yml", "kubeconfig"}
FILES = ("plan.json", "dump.json", "drift.json")


class Processes:
    """`with Processes() as seen`: the command lines of all processes of this machine, looked at again and again."""

    def __enter__(self) -> t.Self:
        self.lines: set[bytes] = set()
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._look)
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._end.set()
        self._thread.join()

    def _look(self) -> None:
        known: set[str] = set()
        while not self._end.wait(0.02):
            now = {name for name in os.listdir("/proc") if name.isdigit()}
            for name in now - known:
                try:
                    self.lines.add(Path("/proc", name, "cmdline").read_bytes())
                except OSError:
                    continue
            known = now


class Searched:
    """What a run of playbooks has left and shown, and where a secret is in it."""

    def __init__(self, home: Path, nodes: t.Mapping[str, SimNode], run: Run, processes: Processes) -> None:
        self.home, self.nodes, self.run, self.processes = home, nodes, run, processes

    def places(self, secret: str) -> list[str]:
        """Return where a secret is and must not be."""
        found = ["output"] if secret in self.run.output else []
        found += ["processes"] if any(secret.encode() in line for line in self.processes.lines) else []
        found += [str(path) for path in self._written() if secret.encode() in path.read_bytes()]
        return found + [str(path) for path in self._open_on_nodes() if secret.encode() in path.read_bytes()]

    def _written(self) -> t.Iterator[Path]:
        """Yield what the run wrote on the controller, except the files that have to contain secrets."""
        for path in self.home.rglob("*"):
            given = path.is_relative_to(self.home / "inventory") or path.is_relative_to(self.home / "collections")
            if path.is_file() and not given and path.name not in GIVEN:
                yield path

    def _open_on_nodes(self) -> t.Iterator[Path]:
        """Yield the files on the nodes that others than root can read, except those that the test wrote itself."""
        given = (kubeadm.OWN_CONFIG, "/etc/kubernetes/kubelet.conf", "/etc/default/kubelet")
        for node in self.nodes.values():
            for path in node.root.rglob("*"):
                if path.is_symlink() or not path.is_file() or path in [node.at(name) for name in given]:
                    continue
                above = [parent.stat().st_mode for parent in path.parents if parent.is_relative_to(node.root)]
                if path.stat().st_mode & 0o077 and all(mode & 0o011 for mode in above):
                    yield path


def planted(ansible: Ansible, cluster: Cluster, nodes: t.Mapping[str, SimNode], tmp_path: Path) -> dict[str, str]:
    """Plant the secrets; return them by what they are."""
    credentials = yaml.safe_load(cluster.kubeconfig(tmp_path / "kubeconfig").read_text())
    user = credentials["users"][0]["user"]
    user.update(token=TOKEN, password=PASSWORD)
    flags = [f"--manifest-url-header=X-Flag:{FLAG}"]
    files = {f"kubelet_config_{name}_file": str(ansible.home / f"{name}.json") for name in ("plan", "dump", "drift")}
    declared = {"kubeAPIQPS": 61, **EFFECTS}
    ansible.variables(
        all={
            **OPTIONS,
            **files,
            "kubelet_config_flags": flags,
            "kubelet_config_auth": {"kubeconfig": credentials},
            "kubelet_config": declared,
        }
    )
    secrets = {"declared": DECLARED, "live": LIVE, "flag": FLAG, "token": TOKEN, "password": PASSWORD}
    secrets["key of the user"] = user["client-key-data"][40:80]
    for name, node in nodes.items():
        own = node.read(kubeadm.OWN_CONFIG)
        if LIVE not in own:
            node.write(kubeadm.OWN_CONFIG, f"{own}staticPodURLHeader:\n  X-Own:\n  - {LIVE}\n")
            node.kill_kubelet()
        found = yaml.safe_load(node.read("/etc/kubernetes/kubelet.conf"))["users"][0]["user"]
        secrets[f"key of {name}"] = found["client-key-data"][40:80]
    for node in nodes.values():
        node.wait(lambda node=node: "X-Own" in str(node.configz()), 60, "configuration with a secret")
    return secrets


def played(ansible: Ansible, nodes: t.Mapping[str, SimNode], playbooks: t.Sequence[str], *arguments: str) -> Searched:
    """Run playbooks in one process, with everything on that keeps or shows results."""
    home = ansible.home
    others = [f"livenodes.kubelet.{name}" for name in playbooks[1:]]
    with Processes() as processes:
        run = ansible.playbook(
            playbooks[0],
            *others,
            *arguments,
            "--diff",
            "-e",
            f"kubelet_config_hosts={':'.join(nodes)} kubelet_config_target_version=1.36",
            ANSIBLE_LOG_PATH=str(home / "ansible.log"),
            ANSIBLE_CACHE_PLUGIN="ansible.builtin.jsonfile",
            ANSIBLE_CACHE_PLUGIN_CONNECTION=str(home / "facts"),
            ANSIBLE_CALLBACK_PLUGINS=str(ROOT / "tests/support/plays/callback"),
            ANSIBLE_CALLBACKS_ENABLED="livenodes.kubelet.rollout,everything",
            LIVENODES_TEST_EVERYTHING=str(home / "everything"),
            LIVENODES_KUBELET_REPORT_JSON=str(home / "report.json"),
            LIVENODES_KUBELET_REPORT_HTML=str(home / "report.html"),
        )
    return Searched(home, nodes, run, processes)


def search(done: Searched, secrets: t.Mapping[str, str]) -> None:
    """The playbooks have succeeded, and no secret is where it must not be."""
    assert done.run.code == 0, done.run.output
    found = {name: places for name, secret in secrets.items() if (places := done.places(secret))}
    assert not found, found
    for node in done.nodes.values():
        # Python makes the folders of its cache itself, below the guard's folder.
        paths = [path for path in node.at("/var/lib/kubelet-config").rglob("*") if "__pycache__" not in path.parts]
        others = [path for path in paths if not path.is_symlink() and path.lstat().st_mode & 0o077]
        assert not others, others
    assert {path.stat().st_mode & 0o777 for path in done.home.glob("*.json") if path.name in FILES} <= {0o600}


@pytest.mark.fault(case=45)
def test_no_playbook_shows_a_secret(
    cluster: Cluster, nodes: dict[str, SimNode], ansible: Ansible, tmp_path: Path
) -> None:
    ansible.host_variables(n1={"kubelet_config_delivery": "checkpoint"}, n2={"kubelet_config_delivery": "dropin"})
    secrets = planted(ansible, cluster, nodes, tmp_path)
    done = played(ansible, nodes, ("dump", "rollout", "upgrade_check"), "-vvv")
    search(done, secrets)
    for node in nodes.values():
        assert DECLARED in str(node.configz()), "the secret has reached the kubelet as it is"
    assert all(secret in (done.home / "plan.json").read_text() for secret in (DECLARED, LIVE))
    assert "maxPods" in (done.home / "everything").read_text() and "n1" in (done.home / "report.html").read_text()
    assert sealed.MARK in done.run.output and "********" in done.run.output, "what is shown instead"


@pytest.mark.long
@pytest.mark.fault(case=45)
def test_no_other_playbook_shows_a_secret(
    cluster: Cluster, nodes: dict[str, SimNode], ansible: Ansible, tmp_path: Path
) -> None:
    """It begins where the other test has ended, or with the own files of the nodes."""
    ansible.host_variables(**{name: {"kubelet_config_delivery": "checkpoint"} for name in nodes})
    secrets = planted(ansible, cluster, nodes, tmp_path)
    search(played(ansible, nodes, ("reset", "plan", "stage", "rollout"), "-vvv"), secrets)
    search(played(ansible, {"n1": nodes["n1"]}, ("drift", "rollback", "prune"), "-v"), secrets)
    ansible.host_variables(n2={"kubelet_config_delivery": "dropin"})
    search(played(ansible, {"n2": nodes["n2"]}, ("migrate", "reset"), "-v"), secrets)
