# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A machine that never saw Ansible boots from the tar of a seed, and joins as a new Node."""

from __future__ import annotations

import io
import json
import tarfile
import time
import typing as t
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.objects import configmaps
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.seed import formats
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.delivery import CHECKPOINT, DROPIN
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import annotation, following
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.install import seed_files
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.install.seed_files import Seed
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.switch import values
from tests.lab.lab import Lab
from tests.support.ansible import Ansible
from tests.support.node_bench import STORE, Bench

GOOD = {"maxPods": 77}
REFUSED = {**GOOD, "kubeAPIQPS": -1}
DEADLY = {**GOOD, "evictionHard": {"memory.available": "lots"}}
HOLD = 20
FIRST_DROPIN = 32


class Machine(Bench):
    """A node of the lab as a machine whose Node does not exist yet. `own`: its own configuration."""

    own: dict[str, t.Any]

    def new(self) -> None:
        """Shut the node down, and remove its Node and the certificate that its kubelet has made."""
        self.node.run("rm -f /var/lib/kubelet/pki/kubelet.crt /var/lib/kubelet/pki/kubelet.key")
        self.node.stop()
        self.lab.kubectl("delete", "node", self.node.name)

    def sow(self, changes: dict[str, t.Any]) -> dict[str, str]:
        """Unpack a seed with these changes on its disk; return the source."""
        source, delivery = self.source(), DROPIN if self.node.release.minor >= FIRST_DROPIN else CHECKPOINT
        declared = {"kind": "KubeletConfiguration", "apiVersion": "kubelet.config.k8s.io/v1beta1"}
        config = {**(self.own if delivery == CHECKPOINT else declared), **changes}
        options = {"source": values.option(source), "data": {"kubelet": json.dumps(config)}, "delivery": delivery}
        self.unpack(formats.tar(seed_files.entries(STORE, "kubelet.service", Seed(options=options))))
        return source

    def unpack(self, tar: bytes) -> None:
        """Unpack the tar of a seed on its disk."""
        with tarfile.open(fileobj=io.BytesIO(tar)) as archive:
            archive.extractall(self.node.folder / "upper")

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

    def ends(self) -> int:
        """Return how often the kubelet has ended in this boot."""
        text = self.node.run("journalctl --boot --unit=kubelet --output=cat")
        return text.count("Main process exited")

    def noted(self, name: str) -> t.Any:
        """Return what an annotation of the Node holds, None without it."""
        notes = self.lab.get(f"/api/v1/nodes/{self.node.name}")["metadata"]["annotations"]
        return json.loads(notes.get(name, "null"))


@pytest.fixture
def machine(static_lab: Lab) -> t.Iterator[Machine]:
    """Yield node n1 as a new machine; make it an old one again."""
    machine = Machine(static_lab, "n1")
    machine.own = machine.local()
    try:
        yield machine
    finally:
        machine.node.start()
        left = f"{seed_files.SERVICE_PATH} /etc/systemd/system/kubelet.service.wants/{seed_files.SERVICE}"
        machine.node.run(f"rm -f {left}")
        machine.bring()
        machine.close()
        machine.wait(machine.joined, 60, "Node that is Ready again", every=0.5)


def test_the_values_of_a_seed_are_live_at_the_first_start_and_become_last_known_good(
    machine: Machine, ansible: Ansible, tmp_path: Path
) -> None:
    # The etcd of the lab is too old for the watches of a later API server.
    follows = machine.node.release.minor < FIRST_DROPIN
    given = {
        "kubelet_config_hosts": "n1",
        "kubelet_config": GOOD,
        "kubelet_config_seed_dest": str(tmp_path),
        "kubelet_config_seed_formats": ["tar"],
        "kubelet_config_seed_follow": follows,
        "kubelet_config_follow_unprotected": True,
        "kubelet_config_trial_seconds": HOLD,
    }
    made = ansible.playbook("seed", "-e", json.dumps(given))
    assert made.code == 0 and made.recap("n1")["changed"] == 1, made.output
    machine.new()
    machine.unpack((tmp_path / "seed.tar.gz").read_bytes())
    machine.boot()
    assert machine.configz()["maxPods"] == 77 and machine.ends() == 0
    assert machine.lab.get("/api/v1/nodes/n1")["status"]["capacity"]["pods"] == "77"
    machine.wait(lambda: machine.noted(annotation.SOURCE), 30, "source on the Node")
    source = machine.noted(annotation.SOURCE)["configMap"]
    assert source["uid"] == machine.lab.get(configmaps.path(source["namespace"], source["name"]))["metadata"]["uid"]
    # No controller confirms it. The guard has seen the Node.
    machine.wait(lambda: "lastKnownGood" in machine.status(), 60 + HOLD, "last-known-good")
    assert machine.status()["lastKnownGood"]["configMap"] == source and not machine.on_trial()
    assert not machine.node.run(f"ls -d {STORE}/seed {seed_files.SERVICE_PATH} 2>/dev/null", check=False)
    if follows:
        # The follower takes what came with the machine as its source, and asks for no ConfigMap.
        machine.wait(lambda: (machine.noted(following.FOLLOWER) or {}).get("configMap") == source, 60, "answer")
        assert "refused" not in machine.noted(following.FOLLOWER)
    first = machine.node.invocation_id()
    machine.node.reboot()
    machine.wait(machine.joined, 60, "Node that is Ready after a reboot", every=0.5)
    assert machine.configz()["maxPods"] == 77 and machine.node.invocation_id() != first


@pytest.mark.parametrize(
    ("changes", "most_ends", "reason"),
    [(REFUSED, 0, "kubeAPIQPS"), (DEADLY, 2, "quantities must match")],
    ids=["refused", "deadly"],
)
def test_a_seed_that_does_not_work_gives_way_to_the_own_file(
    machine: Machine, changes: dict[str, t.Any], most_ends: int, reason: str
) -> None:
    machine.new()
    source = machine.sow(changes)
    seconds = machine.boot()
    assert machine.configz()["maxPods"] == machine.own.get("maxPods", 110) and machine.ends() <= most_ends
    machine.wait(lambda: reason in machine.status().get("error", ""), 60, f"annotation with {reason}")
    machine.wait(lambda: any(reason in event["message"] for event in machine.events()), 30, f"Event with {reason}")
    print(f"\njoined with its own file {seconds:.1f} s after the power was on: {machine.status()}")
    status = machine.status()
    assert "active" not in status and ("assigned" in status) is bool(most_ends)
    if most_ends:
        assert status["assigned"]["configMap"] == source
