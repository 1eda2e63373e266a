# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The playbook stage restarts nothing, and the rollout after it finds all of its work."""

from __future__ import annotations

import collections
import copy
import typing as t
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values.annotation import PREFIX
from tests.sim.api.handlers import Request
from tests.sim.switched import REACH, SwitchedCluster, switched_ansible
from tests.support.plays.ansible import Ansible

NATIVE, COPIED = "n1", "n2"
STAGED = "kubelet_checkpoint staged"
LABEL = f"{PREFIX}staged-until"


class Fleet(SwitchedCluster):
    """Remembers the requests: method, address without its query, and whether it was a dry run."""

    def __init__(self) -> None:
        super().__init__(NATIVE, COPIED, native=(NATIVE,))
        self.sent: list[tuple[str, str, bool]] = []

    def serve(self, method: str, url: str, body: t.Any, request: Request) -> tuple[int, t.Any]:
        """Answer one request."""
        if not url.startswith(REACH):
            path, _mark, query = url.partition("?")
            self.sent.append((method, path, "dryRun" in query))
        return super().serve(method, url, body, request)

    def counted(self) -> collections.Counter[tuple[str, str]]:
        """Return how often each Node and ConfigMap was written since the last call."""
        found = collections.Counter(
            (method, path)
            for method, path, _dry in self.sent
            if method != "GET" and ("/configmaps" in path or "/nodes/" in path)
        )
        self.sent.clear()
        return found


Stand = tuple[Ansible, Fleet]


@pytest.fixture
def stand(tmp_path: Path) -> t.Iterator[Stand]:
    with Fleet() as fleet:
        yield switched_ansible(tmp_path, fleet), fleet


def test_it_writes_one_configmap_and_the_stores_of_nodes_only(stand: Stand) -> None:
    ansible, fleet = stand
    nodes, live = copy.deepcopy(fleet.nodes), copy.deepcopy(fleet.live)
    run = ansible.playbook("stage")
    assert run.code == 0, run.output
    # Neither an assignment, nor a Lease, nor a restart.
    assert (fleet.nodes, fleet.live, fleet.claims.items) == (nodes, live, {})
    writes = [(method, path, dry) for method, path, dry in fleet.sent if method not in ("GET", "POST")]
    assert all(dry for *_request, dry in writes) and {path.split("/")[-1] for _method, path, _dry in writes} == {
        NATIVE,
        COPIED,
    }
    assert [call for call in fleet.steps[COPIED] if "preflight" not in call] == [STAGED]
    assert not fleet.steps[NATIVE]
    pushed = [item for name, item in fleet.configmaps.items() if name != fleet.BEFORE]
    assert len(pushed) == 1 and LABEL in pushed[0]["metadata"]["labels"]
    # Nothing is left to do, and prune keeps it.
    again = ansible.playbook("stage")
    assert again.code == 0 and all(again.recap(host)["changed"] == 0 for host in (NATIVE, COPIED)), again.output
    pruned = ansible.playbook("prune")
    assert pruned.code == 0 and pushed[0]["metadata"]["name"] in fleet.configmaps, pruned.output
    assert "Removed: no ConfigMap. 2 of this collection are in use or staged." in pruned.output, pruned.output


@pytest.mark.long
def test_the_rollout_after_it_has_less_to_do(stand: Stand, tmp_path: Path) -> None:
    """The same tasks and requests, without the creation of the ConfigMap."""
    ansible, fleet = stand
    assert ansible.playbook("stage").code == 0
    fleet.counted()
    after = ansible.playbook("rollout")
    assert after.code == 0, after.output
    assert fleet.runs() == {NATIVE: 80, COPIED: 80}
    staged, steps = fleet.counted(), list(fleet.steps[COPIED])
    with Fleet() as other:
        (tmp_path / "other").mkdir()
        alone = switched_ansible(tmp_path / "other", other).playbook("rollout")
        assert alone.code == 0, alone.output
        [created] = (other.counted() - staged).items()
        assert created[0][0] == "POST" and created[0][1].endswith("/configmaps") and created[1] == 1
        assert steps[steps.index(STAGED) + 1 :] == other.steps[COPIED]
    assert after.output.count("TASK [") == alone.output.count("TASK [")


def test_a_node_that_refuses_fails_alone_and_nothing_restarts(stand: Stand) -> None:
    ansible, fleet = stand
    fleet.reasons[COPIED] = ["its kubelet refuses maxPods"]
    live = copy.deepcopy(fleet.live)
    run = ansible.playbook("stage")
    assert run.code != 0 and "its kubelet refuses maxPods. Nothing was changed" in run.output, run.output
    assert run.recap(NATIVE)["failed"] == 0 and run.recap(COPIED)["failed"] == 1 and fleet.live == live


def test_a_dry_run_writes_nothing(stand: Stand) -> None:
    ansible, fleet = stand
    run = ansible.playbook("stage", "--check", "--diff")
    assert run.code == 0, run.output
    assert all(dry for method, _path, dry in fleet.sent if method != "GET" and "model" not in _path)
    assert set(fleet.configmaps) == {fleet.BEFORE}
