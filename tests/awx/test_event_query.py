# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The node count of Automation Platform: its jq over every result of whole runs on the simulated cluster."""

from __future__ import annotations

import json
import typing as t
from pathlib import Path

import jq
import pytest
import yaml

from tests.sim.cluster import Cluster
from tests.support.ansible import ROOT, Ansible
from tests.support.views import eventually

COLLECTION = "livenodes.kubelet"
QUERIES = yaml.safe_load((ROOT / "extensions/audit/event_query.yml").read_text(encoding="utf-8"))
# Writes what the controller reads of an event: the module by its full name, and its result.
RECORDER = """
import json
from ansible.plugins.callback import CallbackBase
class CallbackModule(CallbackBase):
    CALLBACK_VERSION, CALLBACK_TYPE, CALLBACK_NAME = 2.0, "aggregate", "recorder"
    def v2_runner_on_ok(self, result):
        line = json.dumps([result._task.resolved_action, result._result], default=str)
        with open("events", "a") as file:
            file.write(line + "\\n")
    v2_runner_on_failed = lambda self, result, ignore_errors=False: self.v2_runner_on_ok(result)
"""


@pytest.fixture
def cluster() -> t.Iterator[Cluster]:
    """Yield a cluster with three nodes; n2 has a flag that overrides maxPods."""
    with Cluster(scale=20) as running:
        names = ("n1", "n2", "n3")
        for name in names:
            running.simulate(name)
        eventually(
            lambda: all(running.node(name)["status"].get("config") == {} for name in names), 10, "all listen", every=0.1
        )
        yield running


@pytest.fixture
def ansible(cluster: Cluster, tmp_path: Path) -> Ansible:
    """Return Ansible for n1 and n3, which records each result."""
    variables = {"ansible_connection": "local", "kubelet_config_delivery": "native", "kubelet_config_soak_seconds": 0}
    made = Ansible.of_api(tmp_path, cluster.url, {"all": {"vars": variables, "hosts": {"n1": {}, "n3": {}}}})
    (tmp_path / "callbacks").mkdir()
    (tmp_path / "callbacks/recorder.py").write_text(RECORDER)
    made.environment |= {
        "ANSIBLE_CALLBACK_PLUGINS": str(tmp_path / "callbacks"),
        "ANSIBLE_CALLBACKS_ENABLED": "recorder",
    }
    return made


def counted(ansible: Ansible, playbook: str, *arguments: str) -> tuple[set[str], set[str]]:
    """Run a playbook; return the nodes that count, and the modules whose results were read."""
    (ansible.home / "events").unlink(missing_ok=True)
    run = ansible.playbook(playbook, *arguments)
    assert run.code == 0, run.output
    found, modules = set(), set()
    for line in (ansible.home / "events").read_text().splitlines():
        action, result = json.loads(line)
        if action.startswith(f"{COLLECTION}."):
            modules.add(action.rpartition(".")[2])
            for row in jq.compile(QUERIES[f"{COLLECTION}.*"]["query"]).input(result).all():
                assert row["canonical_facts"] == {"host_name": row["name"]} and row["facts"]["device_type"]
                found.add(row["name"])
    return found, modules


def test_only_nodes_that_a_run_changed_count(ansible: Ansible) -> None:
    ansible.variables(all={"kubelet_config": {"eventBurst": 55}})
    changed, modules = counted(ansible, "rollout")
    assert changed == {"n1", "n3"}
    assert modules >= {"kubelet_configz_facts", "kubelet_configmap", "kubelet_rollout_batch"}
    assert counted(ansible, "rollout")[0] == set()
    assert counted(ansible, "rollback", "--limit", "n1")[0] == {"n1"}
