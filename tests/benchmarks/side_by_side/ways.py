# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The ways to assign a configuration to many nodes. Each is a process, so that its CPU time is its own."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
import time
import typing as t
from pathlib import Path

from tests.sim.api.kinds import KINDS
from tests.support.plays.ansible import Ansible, spent

HERE = Path(__file__).resolve().parent
HEADER = {"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration"}
CONFIGMAPS = KINDS["configmaps"]
CONNECTIONS = 8
"""As many requests at once as the modules of this collection send by default."""
MODULE = """
import json, sys, time
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.stages import verify
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.session import Session
# A run imports it once, and uses it for all its batches.
import kubernetes
given = json.load(sys.stdin)
began = time.perf_counter()
session = Session(given["auth"])
options = {"state": "present", "nodes": given["nodes"], "source": given["source"], "sources": None,
           "delivery": "auto", "check_source": True, "wait": False}
result = verify.config_source(session, options, False)
print(time.perf_counter() - began)
"""
READY = "{.status.config.active.configMap.name}"


@dataclasses.dataclass
class Cluster:
    """What each way gets: the address, the names of the nodes, the source to assign, a folder, the tools."""

    url: str
    names: list[str]
    source: dict[str, str]
    home: Path
    kubectl: str = "kubectl"
    rival: Path | None = None
    """The virtual environment with kubernetes.core."""
    files: tuple[str, ...] = ()
    """Authority, certificate and key of an API server with TLS, for `bare`."""
    kubeconfig: str = ""
    """The same for the module; the simulated API server needs none."""


@dataclasses.dataclass
class Took:
    """Seconds of CPU and of time, how many nodes, and how the process ended."""

    cpu: float
    wall: float
    nodes: int
    code: int
    output: str


def run(command: t.Sequence[str], count: int, given: t.Any = None, cwd: Path | None = None, **more: str) -> Took:
    before, began = spent(), time.monotonic()
    done = subprocess.run(
        command, input=None if given is None else json.dumps(given), text=True, check=False, cwd=cwd,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env={**os.environ, **more}, timeout=3600,
        stdin=subprocess.DEVNULL if given is None else None,
    )  # fmt: skip
    return Took(spent() - before, time.monotonic() - began, count, done.returncode, done.stdout)


def bare(cluster: Cluster) -> Took:
    """(a) Merge patches over kept connections."""
    address = cluster.url.partition("//")[2]
    given = {"nodes": cluster.names, "source": cluster.source}
    command = [sys.executable, str(HERE / "bare.py"), address, str(CONNECTIONS), *cluster.files]
    return run(command, len(cluster.names), given)


def module(cluster: Cluster) -> Took:
    """(b) The module node_config_source: it lists, checks, assigns and reads back."""
    auth = {"kubeconfig": cluster.kubeconfig} if cluster.kubeconfig else {"host": cluster.url}
    given = {"auth": auth, "nodes": cluster.names, "source": cluster.source}
    return run([sys.executable, "-c", MODULE], len(cluster.names), given)


def rollout(cluster: Cluster, config: dict[str, t.Any], **options: t.Any) -> Took:
    """(b) The playbook rollout."""
    home = cluster.home / f"ours-{time.monotonic_ns()}"
    hosts = {"all": {"hosts": dict.fromkeys(cluster.names)}}
    playing = Ansible.of_api(home, cluster.url, hosts).as_installed()
    given = {
        "kubelet_config": config, "kubelet_config_serial": "10%", "kubelet_config_max_unavailable": "10%",
        "kubelet_config_soak_seconds": 0, "kubelet_config_wait_timeout": 20, **options,
    }  # fmt: skip
    before, began = spent(), time.monotonic()
    done = playing.playbook("rollout", "-e", json.dumps(given))
    return Took(spent() - before, time.monotonic() - began, len(cluster.names), done.code, done.output)


def kubectl(cluster: Cluster, at_once: int) -> Took:
    """(c) kubectl patch and get for each node, one after the other or with xargs -P."""
    body = json.dumps({"spec": {"configSource": {"configMap": cluster.source}}})
    one = (
        f"{cluster.kubectl} --server={cluster.url} patch node {{}} --type=merge -p '{body}' >/dev/null && "
        f"{cluster.kubectl} --server={cluster.url} get node {{}} -o jsonpath='{READY}'"
    )
    names = cluster.home / "names"
    names.write_text("\n".join(cluster.names) + "\n")
    path = cluster.home / "loop.sh"
    path.write_text(f"xargs -P {at_once} -I '{{}}' sh -ec \"$(cat {cluster.home}/one.sh)\" < {names}\n")
    (cluster.home / "one.sh").write_text(one)
    return run(["sh", "-e", str(path)], len(cluster.names))


def kubernetes_core(cluster: Cluster, retries: int = 20) -> Took:
    """(d) kubernetes.core.k8s and k8s_info, a task a host, as most playbooks are written."""
    assert cluster.rival is not None
    # The simulated API server refuses a token that it has not given out.
    places = {"clusters": [{"name": "c", "cluster": {"server": cluster.url}}], "users": [{"name": "u", "user": {}}]}
    context = {"contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}], "current-context": "c"}
    api = {"kubeconfig": {"apiVersion": "v1", "kind": "Config", **places, **context}}
    wanted = cluster.source["name"]
    body = {
        "apiVersion": "v1", "kind": "Node", "metadata": {"name": "{{ inventory_hostname }}"},
        "spec": {"configSource": {"configMap": cluster.source}},
    }  # fmt: skip
    tasks = [
        {"name": "Assign", "kubernetes.core.k8s": {**api, "state": "patched", "definition": body}},
        {
            "name": "Wait", "kubernetes.core.k8s_info": {**api, "kind": "Node", "name": "{{ inventory_hostname }}"},
            "register": "seen", "retries": retries, "delay": 1,
            "until": f"seen.resources[0].status.config.active.configMap.name | default('') == '{wanted}'",
        },
    ]  # fmt: skip
    play = [{"hosts": "all", "gather_facts": False, "connection": "local", "serial": "10%", "tasks": tasks}]
    (cluster.home / "rival.yml").write_text(json.dumps(play))
    python = str(cluster.rival / "bin/python")
    hosts = {"hosts": {name: {} for name in cluster.names}, "vars": {"ansible_python_interpreter": python}}
    (cluster.home / "rival-hosts.json").write_text(json.dumps({"all": hosts}))
    command = [str(cluster.rival / "bin/ansible-playbook"), "-i", "rival-hosts.json", "rival.yml"]
    clean = dict.fromkeys(("PYTHONPATH", "ANSIBLE_COLLECTIONS_PATH"), "")
    return run(
        command, len(cluster.names), cwd=cluster.home, HOME=str(cluster.home), ANSIBLE_PIPELINING="1",
        ANSIBLE_LOCALHOST_WARNING="false", PYTHONWARNINGS="ignore", **clean,
    )  # fmt: skip
