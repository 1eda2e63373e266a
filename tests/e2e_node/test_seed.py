# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A machine that never saw Ansible gets a seed by the real cloud-init or Ignition, boots, and joins as a new Node."""

from __future__ import annotations

import datetime
import json
import shutil
import tempfile
import time
import typing as t
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.objects import configmaps
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.seed import ignition
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.delivery import CHECKPOINT, DROPIN
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import annotation, following
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.install.seed_files import SERVICE_PATH
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.switch import values
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.switch.seeds import Seed, entries
from tests.lab.console import run
from tests.lab.lab import Lab
from tests.support.lab.pods import Pods
from tests.support.lab_node import provisioners
from tests.support.lab_node.node_bench import STORE, Bench
from tests.support.plays.ansible import Ansible

GOOD = {"maxPods": 77}
REFUSED = {**GOOD, "kubeAPIQPS": -1}
DEADLY = {**GOOD, "evictionHard": {"memory.available": "lots"}}
HOLD = 20
UNIT = "kubelet.service"
FIRST_DROPIN = 32


class Machine(Bench):
    """A node of the lab as a machine whose Node does not exist yet. `own`: its own configuration."""

    def __init__(self, lab: Lab, name: str) -> None:
        super().__init__(lab, name)
        self.own = self.local()
        self.disk = self.node.folder / "upper"
        self.kept = self.node.folder / "kept"

    def new(self) -> None:
        """Stop the kubelet, and remove its Node and the certificate that it has made."""
        self.node.enable_pods()
        self.node.run("systemctl stop kubelet; rm -f /var/lib/kubelet/pki/kubelet.crt /var/lib/kubelet/pki/kubelet.key")
        self.lab.kubectl("delete", "node", self.node.name)
        self.forget_events()

    def ignite(self, changes: dict[str, t.Any], folder: Path) -> dict[str, str]:
        """Switch the machine off, and let Ignition write a seed with these changes to its disk; return the source."""
        source, delivery = self.source(), DROPIN if self.node.release.minor >= FIRST_DROPIN else CHECKPOINT
        declared = {"kind": "KubeletConfiguration", "apiVersion": "kubelet.config.k8s.io/v1beta1"}
        config = {**(self.own if delivery == CHECKPOINT else declared), **changes}
        options = {"source": values.option(source), "data": {"kubelet": json.dumps(config)}, "delivery": delivery}
        seed = folder / "seed.json"
        seed.write_bytes(ignition(entries(STORE, UNIT, Seed(options=options))))
        self.off()
        provisioners.ignite(self.node.cache, self.disk, seed)
        return source

    def off(self) -> None:
        """Switch the machine off, and keep a copy of its disk."""
        self.node.stop()
        copy = self.kept.with_suffix(".new")
        run("cp", "--archive", self.disk, copy)
        copy.rename(self.kept)

    def restore(self) -> None:
        """Boot with the disk as it was before the seed, with a new Node."""
        if self.kept.exists():
            self.node.stop()
            shutil.rmtree(self.disk)
            self.kept.rename(self.disk)
            self.lab.kubectl("delete", "node", "--ignore-not-found", self.node.name)
        self.node.start()
        self.node.run("systemctl start kubelet")
        self.wait(self.joined, 60, "Node that is Ready again", every=0.5)

    def boot(self) -> float:
        """Boot, and return how many seconds after that the new Node was Ready."""
        begun = time.monotonic()
        self.node.start()
        self.wait(self.joined, 60, "new Node that is Ready", every=0.5)
        return time.monotonic() - begun

    def joined(self) -> bool:
        """Return whether there is a Node, and it is Ready."""
        nodes = self.lab.get("/api/v1/nodes")["items"]
        return any(node["metadata"]["name"] == self.node.name for node in nodes) and self.ready()

    def times(self, words: str) -> list[float]:
        """Return when systemd wrote these words about the kubelet in this boot, in seconds since 1970."""
        lines = self.node.run("journalctl --boot --unit=kubelet --output=short-unix").splitlines()
        return [float(line.split()[0]) for line in lines if "systemd[1]" in line and words in line]

    def joined_at(self) -> float:
        """Return when the Node became Ready, in seconds since 1970."""
        conditions = self.lab.get(f"/api/v1/nodes/{self.node.name}")["status"]["conditions"]
        (since,) = (item["lastTransitionTime"] for item in conditions if item["type"] == "Ready")
        return datetime.datetime.fromisoformat(since).timestamp()

    def noted(self, name: str) -> t.Any:
        """Return what an annotation of the Node holds, None without it."""
        notes = self.lab.get(f"/api/v1/nodes/{self.node.name}")["metadata"]["annotations"]
        return json.loads(notes.get(name, "null"))


@pytest.fixture
def machine(static_lab: Lab) -> t.Iterator[Machine]:
    """Yield node n1 as a new machine; make it an old one again."""
    machine = Machine(static_lab, "n1")
    # An interrupted run may have left a seed.
    machine.restore()
    try:
        yield machine
    finally:
        machine.restore()


@pytest.fixture(scope="module")
def seeds(static_lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with what the playbook seed writes for the group, in all formats."""
    home = tmp_path_factory.mktemp("seeds")
    given = {
        "kubelet_config_hosts": "n1",
        "kubelet_config": GOOD,
        "kubelet_config_seed_dest": str(home / "seed"),
        "kubelet_config_seed_follow": _follows(static_lab),
        "kubelet_config_follow_unprotected": True,
        "kubelet_config_trial_seconds": HOLD,
    }
    made = Ansible(home, static_lab.kubeconfig, static_lab.inventory).playbook("seed", "-e", json.dumps(given))
    assert made.code == 0 and made.recap("n1")["changed"] == 1, made.output
    return home / "seed"


def _follows(lab: Lab) -> bool:
    """Return whether followers work: the etcd of the lab is too old for the watches of a later API server."""
    return lab.node("n1").release.minor < FIRST_DROPIN


def test_cloud_init_ignition_and_tar_leave_the_same_files(static_lab: Lab, seeds: Path, tmp_path: Path) -> None:
    cache = static_lab.node("n1").cache
    by_tar, by_ignition = tmp_path / "tar", tmp_path / "ignition"
    by_tar.mkdir()
    run("tar", "-xzf", seeds / "seed.tar.gz", "-C", by_tar)
    provisioners.ignite(cache, by_ignition, seeds / "seed.ignition.json")
    # An overlay needs a disk as that of the nodes.
    with tempfile.TemporaryDirectory(dir=static_lab.settings.folder) as work:
        by_cloud_init = provisioners.run_cloud_init(cache, Path(work), seeds / "seed.cloud-init.yaml")
        found = provisioners.written(by_cloud_init)
    expected = provisioners.written(by_tar)
    assert {entry.path[1:] for entry in entries(STORE, UNIT, Seed())} <= expected.keys()
    assert found == expected
    assert provisioners.written(by_ignition) == expected


def test_the_values_of_a_seed_are_live_before_the_first_pod_and_become_last_known_good(
    machine: Machine, seeds: Path
) -> None:
    """The pod waits for the Node to exist. The only kubelet that has run on the machine starts it, with the values."""
    machine.new()
    with Pods(machine.lab) as pods:
        first = pods.create("first", "n1", owner=("DaemonSet", "agent"), spec={"tolerations": [{"operator": "Exists"}]})
        machine.off()
        provisioners.install_cloud_init(machine.node.cache, machine.disk, seeds / "seed.cloud-init.yaml")
        machine.boot()
        pods.wait_ready(first)
        assert len(machine.times("Started kubelet")) == 1 and machine.configz()["maxPods"] == 77
        assert machine.lab.get("/api/v1/nodes/n1")["status"]["capacity"]["pods"] == "77"
    machine.wait(lambda: machine.noted(annotation.SOURCE), 30, "source on the Node")
    source = machine.noted(annotation.SOURCE)["configMap"]
    assert source["uid"] == machine.lab.get(configmaps.path(source["namespace"], source["name"]))["metadata"]["uid"]
    # No controller confirms it. The guard has seen the Node.
    machine.wait(lambda: "lastKnownGood" in machine.status(), 60 + HOLD, "last-known-good")
    assert machine.status()["lastKnownGood"]["configMap"] == source and not machine.on_trial()
    assert not machine.node.run(f"ls -d {STORE}/seed {SERVICE_PATH} 2>/dev/null", check=False)
    if _follows(machine.lab):
        # The follower takes what came with the machine as its source, and asks for no ConfigMap.
        machine.wait(lambda: (machine.noted(following.FOLLOWER) or {}).get("configMap") == source, 60, "answer")
        assert "refused" not in machine.noted(following.FOLLOWER)
    first_start = machine.node.invocation_id()
    machine.node.reboot()
    machine.wait(machine.joined, 60, "Node that is Ready after a reboot", every=0.5)
    assert machine.configz()["maxPods"] == 77 and machine.node.invocation_id() != first_start


@pytest.mark.parametrize(
    ("changes", "most_ends", "reason"),
    [(REFUSED, 0, "kubeAPIQPS"), (DEADLY, 2, "quantities must match")],
    ids=["refused", "deadly"],
)
def test_a_seed_that_does_not_work_gives_way_to_the_own_file(
    machine: Machine, tmp_path: Path, changes: dict[str, t.Any], most_ends: int, reason: str
) -> None:
    machine.new()
    source = machine.ignite(changes, tmp_path)
    seconds = machine.boot()
    ends = machine.times("Main process exited")
    assert machine.configz()["maxPods"] == machine.own.get("maxPods", 110) and len(ends) <= most_ends
    assert not ends or machine.joined_at() - ends[0] < 60
    machine.wait(lambda: reason in machine.status().get("error", ""), 60, f"annotation with {reason}")
    machine.wait(lambda: any(reason in event["message"] for event in machine.events()), 30, f"Event with {reason}")
    print(f"\njoined with its own file {seconds:.1f} s after the power was on: {machine.status()}")
    status = machine.status()
    assert "active" not in status and ("assigned" in status) is bool(most_ends)
    if most_ends:
        assert status["assigned"]["configMap"] == source
