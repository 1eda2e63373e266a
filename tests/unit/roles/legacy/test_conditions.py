# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every message and reason of the condition of kubelets 1.8 to 1.10, as the playbooks show it to an operator.

The texts are those of the table in the documentation of 1.9 and of 1.10, "Understanding ConfigOK Conditions", with the
quotes that kubelets 1.8 and 1.9 write around a uid.
"""

from __future__ import annotations

import json
import re
import sys
import time
import typing as t
from pathlib import Path

import pytest

from tests.sim.api.kinds import KINDS
from tests.sim.cluster import Cluster
from tests.sim.kubelets import legacy
from tests.support.plays.ansible import Ansible, Run

VERSIONS = {8: "v1.8.15", 9: "v1.9.11", 10: "v1.10.13"}
MERGE = "application/merge-patch+json"
LOCAL = "current is set to the local default, and no init config was provided"
INIT = "current is set to the local default, and an init config was provided"
DISK = "it cannot write to its --dynamic-config-dir: check the disk and the rights there"
# By what a kubelet fails to do, how a playbook explains it.
SYNC = {
    "informer": "it does not see its own Node yet",
    "look": DISK,
    "download": "it cannot read the ConfigMap",
    "save": DISK,
    "set": DISK,
}
RESET = {"reset": DISK, "default": DISK}
# What an operator wrote: the source of a node becomes this.
MALFORMED = {
    "nil": "its spec.configSource is malformed: configMap has no namespace. Assign a source again.",
    "partial": "its spec.configSource lacks the uid, name or namespace",
    "mismatch": "the ConfigMap was deleted and created again",
}
WORDS = {
    **legacy.FAULTS,
    "download": ('failed to download ConfigMap with name "{name}" from namespace "kube-system"',) * 2,
    "nil": ("invalid NodeConfigSource, exactly one subfield must be non-nil, but all were nil",) * 2,
    "partial": ("invalid ObjectReference, all of UID, Name, and Namespace must be specified",) * 2,
    "mismatch": (
        'invalid ObjectReference, UID "other" does not match UID of downloaded ConfigMap "{uid}"',
        "invalid ConfigSource.ConfigMapRef.UID: other does not match {path}.UID: {uid}",
    ),
}
"""The reasons in 1.8 and 1.9, and in 1.10."""
REFUSED = {
    "load": "it could not read its checkpoint of it",
    "parse": "it could not decode it: a wrong apiVersion, kind or type",
    "validate": "it contains an invalid value",
}


class Table:
    """The cluster with a node for each row of the table; a node is named by minor, group and row."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.names: list[str] = []
        for minor, version in VERSIONS.items():
            steps = [step for step in REFUSED if (minor, step) != (10, "parse")]
            for group, rows in (
                ("default", steps),
                ("init", steps if minor < 10 else ()),
                ("good", steps),
                ("sync", SYNC),
                ("reset", RESET),
                ("malformed", MALFORMED),
            ):
                for row in rows:
                    options = {"init": group == "init", "graduation": 0 if group == "good" else 600}
                    kubelet = cluster.simulate(f"k{minor}-{group}-{row}", version, **options)
                    kubelet.refuses = row if group in ("default", "init") else ""
                    kubelet.fails = row if group == "sync" else ""
                    self.names.append(kubelet.name)
                    if row == "download":
                        cluster.faults.add(403, method="GET", path="/configmaps/", node=kubelet.name)

    def of(self, group: str) -> list[str]:
        """Return the nodes of a group."""
        return [name for name in self.names if name.split("-")[1] == group]

    def seen(self, name: str) -> str:
        """Return the message and the reason that a kubelet reported last."""
        return str(self.cluster.kubelet(name).seen[-1])

    def parts(self, name: str) -> dict[str, str]:
        """Return the parts of the source that a kubelet has or had last, as the texts name them."""
        kubelet = self.cluster.kubelet(name)
        ref = kubelet.current or kubelet.asked
        return {**ref, "path": f"/api/v1/namespaces/kube-system/configmaps/{ref['name']}"} if ref else {}


def words(rows: t.Mapping[str, str], table: Table, name: str) -> tuple[str, str]:
    """Return the reason of a row in the words of a kubelet, and the explanation."""
    minor, row = int(name.split("-", maxsplit=1)[0][1:]), name.rpartition("-")[2]
    return WORDS[row][minor == 10].format(**table.parts(name)), rows[row]


def messages(run: Run) -> dict[str, str]:
    """Return by host with what it failed."""
    found = re.findall(r"^fatal: \[([^ \]]+).*?\]: FAILED! => (\{.*\})$", run.output, re.MULTILINE)
    return {host: str(json.loads(text).get("msg")) for host, text in found}


@pytest.fixture
def table() -> t.Iterator[Table]:
    """All rows, beside a kubelet of 1.20 and one of 1.36."""
    with Cluster("v1.10.13", scale=50, tls=False) as cluster:
        made = Table(cluster)
        cluster.simulate("n20", "v1.20.2")
        cluster.simulate("n36", "v1.36.2")
        yield made


@pytest.fixture
def ansible(tmp_path: Path, table: Table) -> Ansible:
    """ansible-playbook with all of them as hosts; the 1.36 would need a login to change."""
    variables = {
        "ansible_connection": "local",
        "ansible_python_interpreter": sys.executable,
        "kubelet_config_wait_timeout": 3,
        "kubelet_config_serial": "100%",
        "kubelet_config": {"maxPods": 80},
    }
    hosts: dict[str, t.Any] = {name: {} for name in (*table.names, "n20", "n36")}
    return Ansible.of_api(tmp_path, table.cluster.url, {"workers": {"hosts": hosts, "vars": variables}})


def test_every_row(table: Table, ansible: Ansible) -> None:
    """A rollout over all of them, a second one over those that ran the first, what operators wrote, and a reset."""
    for name in table.names:
        minor = int(name.split("-", maxsplit=1)[0][1:])
        if minor == 10:
            expected = "using current: local: when the config source is nil, the Kubelet uses its local config"
        else:
            expected = f"using current (init): {INIT}" if "-init-" in name else f"using current (default): {LOCAL}"
        assert table.seen(name) == expected
    _first(table, ansible)
    _second(table, ansible)
    _malformed(table, ansible)
    _reset(table, ansible)


def _first(table: Table, ansible: Ansible) -> None:
    run = ansible.playbook("rollout", "--limit", "!n36")
    shown = messages(run)
    failed = [*table.of("default"), *table.of("init"), *table.of("sync")]
    assert set(shown) == {*failed}, run.output
    for name in table.of("sync"):
        reason, meaning = words(SYNC, table, name)
        assert any(seen.endswith(f": failed to sync, reason: {reason}") for seen in table.cluster.kubelet(name).seen)
        for text in (f"Node {name}: its kubelet still runs the local config", f"`failed to sync, reason: {reason}`"):
            assert text in shown[name]
        assert f", that is, {meaning}" in shown[name]
    for name in (*table.of("default"), *table.of("init")):
        _refused(table, name, shown[name], "init" if "-init-" in name else "default")
    for name in (set(table.names) - {*failed}) | {"n20"}:
        assert table.cluster.kubelet(name).configz()["maxPods"] == 80
    for name in set(table.names) - {*failed}:
        parts = table.parts(name)
        current = parts["path"] if name.startswith("k10") else f'(UID: "{parts["uid"]}")'
        assert re.fullmatch(rf"using current:? {re.escape(current)}: passing all checks", table.seen(name))


def _refused(table: Table, name: str, shown: str, place: str) -> None:
    """A refusal is in the kubelet's words, with its meaning and with where it reverted to."""
    row, first, good = name.rpartition("-")[2], not name.startswith("k10"), table.cluster.kubelet(name).good
    parts = table.parts(name)
    named = f' (UID: "{parts["uid"]}")' if first else f": {parts['path']}"
    reason = f"failed to {row} current{named}"
    path = f"/api/v1/namespaces/kube-system/configmaps/{good['name']}" if good else "local"
    used = f'UID: "{good["uid"]}"' if good else place
    message = f"using last-known-good ({used})" if first else f"using last-known-good: {path}"
    assert f"{message}: {reason}" in table.cluster.kubelet(name).seen
    where = {
        "default": "its local config",
        "init": "the configuration in its --init-config-dir",
        "good": f"its last-known-good, kube-system/{good['name']} key kubelet" if good else "",
    }
    assert f"Node {name}: its kubelet refused kube-system/{parts['name']} key kubelet and reverted to" in shown
    assert f"reverted to {where[place]}: `{reason}`, that is, {REFUSED[row]}. On the node: journalctl" in shown, shown


def _second(table: Table, ansible: Ansible) -> None:
    """The first configuration is last-known-good: in 1.8 and 1.9 since the last start of the kubelet."""
    for name in table.of("good"):
        table.cluster.kubelet(name).restarted()
    time.sleep(0.2)
    for name in table.of("good"):
        table.cluster.kubelet(name).refuses = name.rpartition("-")[2]
    run = ansible.playbook("rollout", "--limit", "*-good-*", "-e", json.dumps({"kubelet_config": {"maxPods": 70}}))
    shown = messages(run)
    assert set(shown) == {*table.of("good")}, run.output
    for name in table.of("good"):
        _refused(table, name, shown[name], "good")
        assert table.cluster.kubelet(name).configz()["maxPods"] == 80


def _malformed(table: Table, ansible: Ansible) -> None:
    """Drift explains what an operator wrote, and the next rollout repairs it, although no value differs."""
    nodes = KINDS["nodes"]
    for name in table.of("malformed"):
        ref = table.cluster.node(name)["spec"]["configSource"]["configMapRef"]
        ref = {**ref, "uid": "other"} if "mismatch" in name else {part: ref[part] for part in ("namespace", "name")}
        source = {} if name.endswith("nil") else {"configMapRef": ref}
        table.cluster.store.patch(nodes, "", name, MERGE, {"spec": {"configSource": None}})
        table.cluster.store.patch(nodes, "", name, MERGE, {"spec": {"configSource": source}})
    time.sleep(0.5)
    named = ("--limit", "*-malformed-*,n20,n36")
    run = ansible.playbook("drift", *named, "-e", "kubelet_config_drift=report")
    assert run.code == 0, run.output
    text = run.output.replace('\\"', '"')
    for name in table.of("malformed"):
        reason, meaning = words(MALFORMED, table, name)
        assert table.seen(name).endswith(f": failed to sync, reason: {reason}")
        assert meaning in text and (name.endswith("nil") or f"failed to sync, reason: {reason}`, that is, " in text)
    run = ansible.playbook("rollout", "--limit", "*-malformed-*,n20")
    assert run.code == 0, run.output
    for name in table.of("malformed"):
        assert table.seen(name).endswith(": passing all checks")


def _reset(table: Table, ansible: Ansible) -> None:
    for name in table.of("reset"):
        table.cluster.kubelet(name).fails = name.rpartition("-")[2]
    run = ansible.playbook("reset", "--limit", "*-reset-*,*-malformed-*,n20")
    shown = messages(run)
    assert set(shown) == {*table.of("reset")}, run.output
    for name in table.of("reset"):
        reason, meaning = words(RESET, table, name)
        assert f"`failed to sync, reason: {reason}`, that is, {meaning}" in shown[name]
    for name in (*table.of("malformed"), "n20"):
        assert table.cluster.kubelet(name).configz()["maxPods"] != 80
