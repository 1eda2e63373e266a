# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The node count of Automation Platform: its jq over results of every module, beside what the API server was asked."""

from __future__ import annotations

import dataclasses
import json
import re
import typing as t
from pathlib import Path

import jq
import pytest
import yaml

from tests.sim.api.kinds import KINDS
from tests.sim.cluster import Cluster
from tests.sim.nodes.node import SimNode
from tests.support.api.objects import pod
from tests.support.lab.views import eventually
from tests.support.plays.ansible import ROOT, Ansible

COLLECTION = "livenodes.kubelet"
MODULES = sorted(path.stem for path in (ROOT / "plugins/modules").glob("*.py"))
QUERIES = yaml.safe_load((ROOT / "extensions/audit/event_query.yml").read_text(encoding="utf-8"))
CALLS = Path(__file__).with_name("every_module.yml")
PLAYBOOKS = ("rollout", "drift", "upgrade_check", "seed", "comply")
"""Those that run what every_module.yml does not call. The last one fails: the node does not comply."""
DECLARED = {
    "kubelet_config": {"eventBurst": 55},
    "kubelet_config_profile": "cis-1.12",
    "kubelet_config_allow_effect": "drain",
    "kubelet_config_target_version": "1.36",
}
WRITTEN = re.compile(r"/api/v1/nodes/([^/]+)")
"""What a kubelet reports of its node goes to another path."""
EVICTED = re.compile(r"/api/v1/namespaces/([^/]+)/pods/([^/]+)/eviction")


@dataclasses.dataclass
class Event:
    """A result as the controller gets it, the nodes that it counts, and those that were written meanwhile."""

    module: str
    failed: bool
    check_mode: bool
    result: dict[str, t.Any]
    records: list[dict[str, t.Any]]
    written: set[str]

    @property
    def counted(self) -> set[str]:
        """The names of the nodes that count."""
        return {record["name"] for record in self.records}


class Recorded:
    """Runs playbooks, and records what they return and write."""

    def __init__(self, cluster: Cluster, ansible: Ansible) -> None:
        self._cluster, self._ansible = cluster, ansible
        self._folder = ansible.home / "results"
        self._folder.mkdir()
        self._written: dict[int, set[str]] = {}
        """By the number of results before the write."""
        ansible.environment["LIVENODES_TAPE"] = str(self._folder)
        # Made to be replaced, as the tape does.
        cluster.server.witness = self._witness  # type: ignore[method-assign]

    def _witness(self, client: t.Any, body: bytes) -> None:
        """Note the node of a write. The guards of nodes are other users."""
        path, _mark, query = client.path.partition("?")
        forecast = "dryRun" in query or b"dryRun" in body
        if client.command == "GET" or client.user.startswith("system:node:") or forecast:
            return
        evicted, written = EVICTED.fullmatch(path), WRITTEN.fullmatch(path)
        if evicted:
            node = self._cluster.store.get(KINDS["pods"], evicted[2], evicted[1]).item["spec"]["nodeName"]
        elif written:
            node = written[1]
        else:
            return
        self._written.setdefault(len(self._lines()), set()).add(node)

    def _lines(self) -> list[str]:
        return "".join(path.read_text(encoding="utf-8") for path in sorted(self._folder.iterdir())).splitlines()

    def run(self, playbook: str, *arguments: str, code: int = 0) -> list[Event]:
        """Run a playbook, which must end with this exit status; return the results of this collection."""
        before = len(self._lines())
        run = self._ansible.playbook(playbook, *arguments)
        assert run.code == code, run.output
        found = []
        for number, line in enumerate(self._lines()[before:], before):
            _task, head, (action, check_mode), result = json.loads(line)
            collection, _dot, module = action.rpartition(".")
            if collection == COLLECTION:
                query = QUERIES.get(action) or QUERIES[f"{COLLECTION}.*"]
                records = jq.compile(query["query"]).input(result).all()
                written = self._written.get(number, set())
                found.append(Event(module, head[-1] != "ok", check_mode, result, records, written))
        return found


@pytest.fixture(scope="module")
def native(tmp_path_factory: pytest.TempPathFactory) -> t.Iterator[Recorded]:
    """Yield a cluster with three nodes; n2 has a flag that overrides maxPods."""
    home, names = tmp_path_factory.mktemp("native"), ("n1", "n2", "n3")
    with Cluster(scale=20) as cluster:
        for name in names:
            cluster.simulate(name)
        eventually(
            lambda: all(cluster.node(name)["status"].get("config") == {} for name in names), 60, "all listen", every=0.1
        )
        variables = {
            "ansible_connection": "local",
            "kubelet_config_delivery": "native",
            "kubelet_config_soak_seconds": 0,
        }
        ansible = Ansible.of_api(home, cluster.url, {"all": {"vars": variables, "hosts": {"n1": {}, "n3": {}}}})
        ansible.variables(all={"kubelet_config": {"eventBurst": 55}})
        yield Recorded(cluster, ansible)


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> list[Event]:
    """Return results of every module, on a node with a login and one with a follower."""
    home = tmp_path_factory.mktemp("every")
    with Cluster("v1.36.2", scale=20) as cluster, SimNode(cluster, home, "n1", "v1.36.2") as node:
        node.wait(node.healthy, 60, "healthz")
        cluster.simulate("f1", "v1.36.2", followed=True, flags={})
        for name in ("web-0", "web-1"):
            cluster.store.create(KINDS["pods"], "default", pod(name, "f1", owner=("ReplicaSet", "web")))
        ansible = Ansible.of_api(home, cluster.url, {"all": {"hosts": {"n1": node.variables()}}})
        ansible.variables(all={**DECLARED, "kubelet_config_seed_dest": str(home / "seeds")})
        recorded = Recorded(cluster, ansible)
        found = recorded.run(str(CALLS))
        whole = [{"ansible.builtin.import_playbook": f"{COLLECTION}.{name}"} for name in PLAYBOOKS]
        (home / "whole.yml").write_text(json.dumps(whole))
        return found + recorded.run(str(home / "whole.yml"), code=2)


@pytest.mark.parametrize("module", MODULES)
def test_a_result_counts_the_nodes_that_its_module_wrote(events: list[Event], module: str) -> None:
    """One that only reads, forecasts or fails before it writes counts none."""
    own = [event for event in events if event.module == module]
    assert any(not event.failed for event in own), "no run here has a result of it: call it in every_module.yml"
    wrong = [event for event in own if event.counted != event.written]
    assert wrong == []


def test_the_runs_write_forecast_and_fail(events: list[Event]) -> None:
    """The test above has something to compare."""
    writers = {event.module for event in events if event.written}
    assert writers == {"kubelet_rollout_batch", "node_config_revert", "node_config_source", "node_drain"}
    forecasts = {event.module for event in events if event.check_mode and event.result["changed"]}
    assert forecasts == writers - {"kubelet_rollout_batch"}
    assert {bool(event.written) for event in events if event.failed} == {True, False}


def test_a_node_is_one_record_whatever_module_counts_it(events: list[Event]) -> None:
    """The controller compares canonical facts: those of one node are equal."""
    records = [record for event in events for record in event.records]
    assert {record["name"] for record in records} == {"f1", "n1"}
    for record in records:
        assert record["canonical_facts"] == {"host_name": record["name"]}
        assert record["facts"] == {"device_type": "Kubernetes node"}


def test_only_nodes_that_a_run_changed_count(native: Recorded) -> None:
    for arguments, nodes in ((["--check"], set()), ([], {"n1", "n3"}), ([], set())):
        events = native.run("rollout", *arguments)
        assert all(event.counted == event.written for event in events)
        assert set().union(*(event.counted for event in events)) == nodes
    back = native.run("rollback", "--limit", "n1")
    assert set().union(*(event.counted for event in back)) == {"n1"}
