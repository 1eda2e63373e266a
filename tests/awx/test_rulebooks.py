# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rulebooks of extensions/eda in a real ansible-rulebook, which needs Java, on the simulated cluster."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import typing as t
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.session import Session
from tests.sim.cluster import Cluster
from tests.support.api.calls import CONFIGMAPS, MERGE, NODES
from tests.support.api.objects import node, place, reference, status
from tests.support.lab.views import eventually
from tools.collection_tree import link

PROGRAM = Path(sys.executable).with_name("ansible-rulebook")
GROUP = {"ansible_connection": "local", "kubelet_config_delivery": "native", "kubelet_config": {"eventBurst": 77}}

pytestmark = [
    pytest.mark.skipif(not shutil.which("java"), reason="ansible-rulebook needs Java"),
    pytest.mark.skipif(not PROGRAM.exists(), reason="ansible-rulebook is not installed"),
]


@pytest.fixture
def cluster() -> t.Iterator[Cluster]:
    """Yield a cluster with the node n1."""
    with Cluster() as running:
        running.simulate("n1")
        eventually(lambda: running.node("n1")["status"].get("config") == {}, 60, "n1 listens", every=0.1)
        yield running


@contextlib.contextmanager
def rulebook(name: str, cluster: Cluster, home: Path) -> t.Iterator[t.Callable[[], str]]:
    """Run a rulebook of the collection, and yield what returns its output once its source has begun."""
    inventory, state, log = home / "inventory", home / "state.json", home / "log"
    (inventory / "group_vars").mkdir(parents=True)
    (inventory / "nodes.livenodes.yml").write_text(
        json.dumps({"plugin": "livenodes.kubelet.nodes", "host_address": ["none"]})
    )
    # An action runs a module on the hosts of the rulebook that are in the inventory.
    (inventory / "local.yml").write_text(json.dumps({"ungrouped": {"hosts": {"localhost": {}}}}))
    (inventory / "group_vars/all.yml").write_text(json.dumps(GROUP))
    (home / "vars.yml").write_text(json.dumps({"state_file": str(state)}))
    environment = {
        **{key: value for key, value in os.environ.items() if not key.startswith(("ANSIBLE_", "K8S_AUTH_"))},
        "PATH": f"{PROGRAM.parent}:{os.environ['PATH']}",
        "HOME": str(home),
        "ANSIBLE_COLLECTIONS_PATH": str(link(home / "collections")),
        "K8S_AUTH_HOST": cluster.url,
    }
    command = [str(PROGRAM), "-r", f"livenodes.kubelet.{name}", "-i", str(inventory), "--vars", str(home / "vars.yml")]

    def output() -> str:
        return log.read_text(encoding="utf-8")

    with (
        log.open("w", encoding="utf-8") as file,
        subprocess.Popen(command, cwd=home, env=environment, stdout=file, stderr=subprocess.STDOUT) as running,
    ):
        try:
            # Java and Drools take minutes to start on a busy machine.
            eventually(state.exists, 300, "the source has begun", output)
            yield output
        finally:
            running.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                running.wait(20)
            running.kill()


def test_a_revert_pauses_rollouts(cluster: Cluster, tmp_path: Path) -> None:
    session = Session({"host": cluster.url})
    reported = {**status(reference("config-b")), "reason": "reverted to local", "error": "it died"}
    notes = node(marked=place("config-b"), reported=reported)["metadata"]["annotations"]

    def paused() -> t.Any:
        found = session.request("GET", CONFIGMAPS)["items"]
        return [item["data"] for item in found if item["metadata"]["name"] == "livenodes-kubelet-rollout"]

    with rulebook("pause_on_revert", cluster, tmp_path) as output:
        assert paused() == []
        session.request("PATCH", f"{NODES}/n1", (), {"metadata": {"annotations": notes}}, MERGE)
        eventually(lambda: bool(paused()), 180, "rollouts are paused", output)
    assert paused() == [{"paused": "true", "reason": "n1 was reverted. it died"}]


def test_a_new_node_is_verified(cluster: Cluster, tmp_path: Path) -> None:
    with rulebook("verify_new_node", cluster, tmp_path) as output:
        cluster.simulate("n2")
        eventually(lambda: "PLAY RECAP" in output(), 240, "a playbook has run", output)
    # ansible-rulebook prints the output of an action that fails once more, if it has the time.
    words, _end, _again = output().partition("PLAY RECAP")
    assert "eventBurst" in words and "n2" in words and "n1" not in words, words
