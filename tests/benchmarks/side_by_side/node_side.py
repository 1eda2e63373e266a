# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The node side: seconds until a real kubelet of the lab runs another configuration, and what a bad one leaves behind.

(e) A template with a handler, as Kubespray writes the file, and `kubeadm upgrade node phase kubelet-config`; each ends
with a restart and waits for healthz. Beside them the role `checkpoint`, from its inspection of the node to its
confirmation.
"""

from __future__ import annotations

import dataclasses
import json
import statistics
import tempfile
import time
import typing as t
from pathlib import Path

import yaml

from tests.benchmarks import bench_node
from tests.lab.lab import Lab
from tests.support.lab_node.node_bench import Bench
from tests.support.plays.ansible import Ansible

CONFIG = "/var/lib/kubelet/config.yaml"
FLAGS = "/var/lib/kubelet/kubeadm-flags.env"
CONFIGMAP = ("--namespace=kube-system", "configmap/kubelet-config-1.20")
TURNS = 3
MORE = 3.0
"""Seconds that the role may take in addition to the faster one of the other ways."""
SETTLED = 20
"""Seconds after a run in which a kubelet may end of its configuration, and a guard may revert."""

Config = dict[str, t.Any]
Tasks = list[dict[str, t.Any]]

CONNECT = {"name": "Connect", "ansible.builtin.raw": "true"}
RESTART = {"ansible.builtin.systemd_service": {"name": "kubelet", "state": "restarted", "daemon_reload": True}}
WAIT = {
    "name": "Wait for healthz", "ansible.builtin.uri": {"url": "http://127.0.0.1:10248/healthz"},
    "register": "health", "until": "health.status == 200", "retries": 10, "delay": 1,
}  # fmt: skip


@dataclasses.dataclass
class Bad:
    """A configuration that must not stay: what it is, the changes, and a flag that the kubelet has before."""

    words: str
    changes: Config
    flag: str = ""


BAD = {
    "deadly": Bad("the kubelet dies of the configuration", {"evictionHard": {"memory.available": "lots"}}),
    "refused": Bad("the kubelet refuses the configuration", {"kubeAPIQPS": -1}),
    "unknown": Bad("a field that no kubelet knows", {"maxPodz": 60}),
    "shadowed": Bad("a flag of the kubelet overrides the field", {"maxPods": 60}, "--max-pods=61"),
}


@dataclasses.dataclass
class Took:
    """How long a way took on one node, in seconds: the median of several turns, and the turns."""

    way: str
    seconds: float
    turns: list[float]


@dataclasses.dataclass
class Left:
    """What a bad configuration left: whether the run reported a failure, whether the kubelet is healthy, and whether
    it runs its former configuration.
    """

    way: str
    bad: str
    reported: bool
    runs: bool
    former: bool


class Node:
    """The node n1 of the lab for plays with its file; `restore` writes the node's own configuration again."""

    name = "n1"

    def __init__(self, lab: Lab, home: Path) -> None:
        self.lab, self.home = lab, home
        self.bench = Bench(lab, self.name)
        self.own, self.flags = (self.bench.node.run(f"cat {path}") for path in (CONFIG, FLAGS))
        self.configmap = json.loads(lab.kubectl("get", *CONFIGMAP, "-o", "json"))["data"]["kubelet"]
        self.ansible = Ansible(home / "ansible", lab.kubeconfig, lab.inventory).as_installed()

    def text(self, changes: Config) -> str:
        """Return the node's own configuration with changes."""
        return yaml.safe_dump({**yaml.safe_load(self.own), **changes})

    def play(self, tasks: Tasks) -> tuple[int, float]:
        """Run tasks; return the exit status and the seconds from the second task to the end of the play."""
        handlers = [{"name": "Restart the kubelet", **RESTART}]
        play = [{"hosts": self.name, "gather_facts": False, "tasks": [CONNECT, *tasks], "handlers": handlers}]
        path, log = self.home / "play.yml", self.home / f"{time.monotonic_ns()}.log"
        path.write_text(json.dumps(play))
        run = self.ansible.playbook(str(path), ANSIBLE_LOG_PATH=str(log), ANSIBLE_PIPELINING="1")
        return run.code, _seconds(log.read_text())

    def publish(self, text: str) -> None:
        """Write the ConfigMap from which kubeadm takes the configuration of all nodes."""
        body = {"data": {"kubelet": text}}
        self.lab.kubectl("patch", *CONFIGMAP, "--type=merge", "-p", json.dumps(body))

    def add(self, flag: str) -> None:
        """Start the kubelet with one more flag."""
        self.bench.node.run(f"sed -i 's/\"$/ {flag}\"/' {FLAGS}")
        self.restart()

    def restore(self) -> None:
        """Write the node's own configuration and flags and kubeadm's ConfigMap, and wait for the kubelet."""
        self.publish(self.configmap)
        for path, text in ((CONFIG, self.own), (FLAGS, self.flags)):
            self.bench.node.run(f"cat > {path}", stdin=text)
        self.restart()

    def restart(self) -> None:
        """Restart the kubelet, also one that systemd has given up, and wait for it."""
        self.bench.node.run("systemctl reset-failed kubelet; systemctl restart kubelet", check=False)
        self.bench.wait(self.bench.healthy, 60, "healthz")


def _seconds(log: str) -> float:
    """Return the seconds between the second task of a log of Ansible and its recap."""
    moments = [moment for moment, name in bench_node.marks(log) if name != "Connect"]
    return moments[-1] - moments[0]


def template(node: Node, changes: Config) -> tuple[int, float]:
    """Write the file from a template, with a handler that restarts the kubelet."""
    source = node.home / "kubelet-config.j2"
    source.write_text(node.text(changes))
    wanted = {"src": str(source), "dest": CONFIG, "mode": "0600", "backup": False}
    write = {"name": "Write the file", "ansible.builtin.template": wanted, "notify": "Restart the kubelet"}
    return node.play([write, {"ansible.builtin.meta": "flush_handlers"}, WAIT])


def kubeadm(node: Node, changes: Config) -> tuple[int, float]:
    """Change the ConfigMap of kubeadm, and let it write the file of the node."""
    node.publish(node.text(changes))
    command = "kubeadm upgrade node phase kubelet-config"
    phase = {"name": "Write the file", "ansible.builtin.command": command}
    return node.play([phase, {"name": "Restart the kubelet", **RESTART}, WAIT])


def ours(node: Node, changes: Config) -> tuple[int, float]:
    """Roll the changes out to the node, as a checkpoint."""
    options = {"kubelet_config": changes, "kubelet_config_delivery": "checkpoint", "kubelet_config_hosts": node.name}
    return node.ansible.playbook("rollout", "-e", json.dumps(options)).code, 0.0


RIVALS = {"template": template, "kubeadm": kubeadm}


def times(lab: Lab) -> list[Took]:
    """Return the seconds of each way on n1: the medians of alternating turns for the rivals."""
    found: dict[str, list[float]] = {way: [] for way in RIVALS}
    with tempfile.TemporaryDirectory() as home:
        node = Node(lab, Path(home))
        try:
            for turn in range(TURNS):
                for way, run in RIVALS.items():
                    code, seconds = run(node, {"maxPods": 60 + turn})
                    if code:
                        raise AssertionError(f"{way} failed on its turn {turn}")
                    found[way].append(seconds)
        finally:
            node.restore()
    bench = Bench(lab, Node.name)
    try:
        bench.bring()
        found["role"] = bench_node.switches(bench, TURNS).seconds
    finally:
        bench.close()
    return [Took(way, statistics.median(turns), turns) for way, turns in found.items()]


def left(lab: Lab, way: str, name: str) -> Left:
    """Run one way with one bad configuration."""
    bad = BAD[name]
    with tempfile.TemporaryDirectory() as home:
        node = Node(lab, Path(home))
        try:
            if bad.flag:
                node.add(bad.flag)
            before = node.bench.configz()
            run: t.Callable[[Node, Config], tuple[int, float]] = {**RIVALS, "role": ours}[way]
            code, _seconds_ = run(node, bad.changes)
            time.sleep(SETTLED)
            runs = node.bench.healthy()
            return Left(way, name, code != 0, runs, runs and node.bench.configz() == before)
        finally:
            if way == "role":
                node.ansible.playbook("reset", "-e", json.dumps({"kubelet_config_hosts": node.name}))
            node.restore()


def measure() -> tuple[list[Took], list[Left]]:
    """Measure everything on a lab of one node, and print it. A lab that this brings up stays."""
    lab = Lab.up(nodes=1, dynamic=False)
    took = times(lab)
    for one in took:
        print(f"{one.way:16} {one.seconds:6.2f} s  {' '.join(f'{turn:.2f}' for turn in one.turns)}", flush=True)
    rows = []
    for name in BAD:
        for way in (*RIVALS, "role"):
            rows.append(left(lab, way, name))
            print(rows[-1], flush=True)
    return took, rows


def within(took: t.Sequence[Took]) -> bool:
    """Print and return whether the role took at most `MORE` seconds in addition to the faster one of the others."""
    by_way = {one.way: one.seconds for one in took}
    least = min(by_way[way] for way in RIVALS)
    print(f"node side: {by_way['role'] - least:+.2f} s beside the faster of the others (at most {MORE:+.2f} s)")
    return by_way["role"] <= least + MORE
