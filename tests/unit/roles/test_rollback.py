# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The playbooks rollback and reset undo what a rollout has done, and no more; or all nodes get one ConfigMap."""

from __future__ import annotations

import json
import typing as t
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import annotation
from tests.sim.played import PlayedCluster, played_ansible
from tests.support.api import objects
from tests.support.plays.ansible import Ansible, Run, extra

NAMES = ("n1", "n2", "n3", "n4")
GOOD, BAD, LOCAL = 90, 80, 110
"""The maxPods of what the nodes run at first, of the rollout, and of their own file."""
KUBEADM = "kubelet-config-1.20"
TARGET = "config-of-n1"


def own(name: str) -> dict[str, t.Any]:
    """Return the values that belong to one machine."""
    return {
        "providerID": f"cloud://{name}",
        "address": f"10.0.0.{name[1:]}",
        "reservedMemory": [{"numaNode": 0, "limits": {"memory": f"{name[1:]}Gi"}}],
        "tlsCertFile": f"/pki/{name}.crt",
        "tlsPrivateKeyFile": f"/pki/{name}.key",
    }


class Fleet(PlayedCluster):
    """A cluster that kubeadm made. Remembers the number of Leases at each push."""

    def __init__(self, *names: str, local: t.Collection[str] = ()) -> None:
        super().__init__(*names, local=local)
        self.leases: list[int] = []
        cluster = {"ClusterConfiguration": "kind: ClusterConfiguration\nkubernetesVersion: v1.20.2\n"}
        self.configmaps["kubeadm-config"] = objects.configmap("kubeadm-config", data=cluster)
        self.configmaps[KUBEADM] = objects.configmap(KUBEADM, objects.text(eventBurst=9))

    def pushing(self, body: dict[str, t.Any]) -> None:
        """Count."""
        self.leases.append(len(self.claims.items))

    def remember(self, **note: t.Any) -> None:
        """Let all nodes have run their own file before what they run."""
        for name in self.nodes:
            self.nodes[name]["metadata"].setdefault("annotations", {})[annotation.PREVIOUS] = annotation.text(note)


@pytest.fixture
def fleet() -> t.Iterator[Fleet]:
    """Four nodes with native delivery, which ran their own file before."""
    with Fleet(*NAMES) as made:
        made.remember()
        yield made


@pytest.fixture
def fresh() -> t.Iterator[Fleet]:
    """Three nodes that run their own file."""
    with Fleet("n1", "n2", "n3", local=("n1", "n2", "n3")) as made:
        yield made


@pytest.fixture
def target() -> t.Iterator[Fleet]:
    """Three nodes with native delivery, and a ConfigMap that was made from n1."""
    with Fleet("n1", "n2", "n3") as made:
        for name in made.live:
            made.live[name] = {**made.live[name], **own(name), "podPidsLimit": 500}
        made.configmaps[TARGET] = objects.configmap(TARGET, json.dumps({**made.local, **own("n1"), "maxPods": 70}))
        yield made


def pods(fleet: Fleet) -> list[int]:
    """Return the live maxPods of all kubelets."""
    return [*fleet.runs().values()]


def playbooks(home: Path, fleet: Fleet) -> Ansible:
    return played_ansible(home, fleet, kubelet_config={"maxPods": BAD}, kubelet_config_soak_seconds=1)


def play(ansible: Ansible, playbook: str, **more: t.Any) -> Run:
    given = {"kubelet_config_gate_timeout": 0, "kubelet_config_max_unavailable": 1, **more}
    return ansible.playbook(playbook, *extra(**given))


@pytest.mark.parametrize(
    ("playbook", "given", "words"),
    [
        ("reset", {}, "nothing to reset"),
        ("migrate", {"kubelet_config_delivery": "checkpoint"}, "nothing to migrate"),
    ],
)
def test_a_run_that_changes_nothing_shows_that(
    tmp_path: Path, fresh: Fleet, playbook: str, given: dict[str, t.Any], words: str
) -> None:
    run = play(playbooks(tmp_path, fresh), playbook, **given)
    assert run.code == 0 and words in run.output and '"msg": []' not in run.output, run.output


def test_nodes_without_a_way_back_are_named_at_the_end(tmp_path: Path, fleet: Fleet) -> None:
    """A rollback that leaves nodes with the bad configuration is no success."""
    ansible = playbooks(tmp_path, fleet)
    assert play(ansible, "rollout").code == 0
    for name in ("n2", "n3"):
        fleet.nodes[name]["metadata"]["annotations"][annotation.PREVIOUS] = "{"
    run = play(ansible, "rollback")
    words = " ".join(run.output.split())
    assert run.code != 0 and pods(fleet) == [GOOD, BAD, BAD, GOOD], run.output
    assert "The rollback leaves nodes with what they run. n2: its previous configuration is unknown; n3: its" in words
    assert fleet.claims.items == {}


@pytest.mark.parametrize("playbook", ["rollback", pytest.param("reset", marks=pytest.mark.long)])
def test_a_undo_plan_has_the_effects_of_its_fields(tmp_path: Path, fresh: Fleet, playbook: str) -> None:
    """As in a rollout, the effect is refused, or accepted and the nodes drained for it."""
    ansible = playbooks(tmp_path, fresh)
    given = {"kubelet_config": {"maxPods": BAD, "clusterDNS": ["10.96.0.99"]}, "kubelet_config_allow_effect": "drain"}
    assert play(ansible, "rollout", **given).code == 0
    fresh.assigned.clear()
    refused = play(ansible, playbook)
    assert refused.code != 0 and "clusterDNS" in refused.output and "allow_effect=drain" in refused.output
    assert (fresh.assigned, {*fresh.cordons}) == (set(), set())
    allowed = play(ansible, playbook, kubelet_config_allow_effect="drain", kubelet_config_drain="when_needed")
    assert (allowed.code, pods(fresh), {*fresh.cordons}) == (0, [LOCAL] * 3, {"n1", "n2", "n3"}), allowed.output


def test_a_node_that_failed_is_first(tmp_path: Path, fresh: Fleet) -> None:
    """If it fails again, no other node is changed."""
    ansible = playbooks(tmp_path, fresh)
    fresh.refusing = {"n2"}
    assert play(ansible, "rollout").code != 0
    fresh.assigned.clear()
    again = play(ansible, "rollout", kubelet_config={"maxPods": 70})
    assert again.code != 0 and fresh.assigned == {"n2"}, again.output


@pytest.mark.parametrize("playbook", ["rollback", pytest.param("reset", marks=pytest.mark.long)])
def test_what_nodes_that_join_get_goes_back_too(tmp_path: Path, fresh: Fleet, playbook: str) -> None:
    """Only what the rollout has written: what others changed since stays, and without permission all stays."""
    ansible = playbooks(tmp_path, fresh)
    update = {"kubelet_config_kubeadm": "update"}
    assert play(ansible, "rollout", kubelet_config={"eventBurst": 31, "maxPods": BAD}, **update).code == 0
    configmap = fresh.configmaps[KUBEADM]
    joined = json.loads(configmap["data"]["kubelet"])
    assert joined == {**objects.HEADER, "eventBurst": 31, "maxPods": BAD}
    configmap["data"]["kubelet"] = json.dumps({**joined, "maxPods": 50, "eventRecordQPS": 7})
    if playbook == "rollback":
        before = json.dumps(configmap["data"])
        checked = play(ansible, playbook, kubelet_config_kubeadm="check")
        assert checked.code == 0 and "eventBurst" in checked.output, checked.output
        assert json.dumps(fresh.configmaps[KUBEADM]["data"]) == before
    back = play(ansible, playbook, **update)
    assert back.code == 0, back.output
    assert json.loads(fresh.configmaps[KUBEADM]["data"]["kubelet"]) == {
        **objects.HEADER,
        "eventBurst": 9,
        "maxPods": 50,
        "eventRecordQPS": 7,
    }
    again = play(ansible, playbook, **update)
    assert again.code == 0 and again.recap("n1")["changed"] == 0, again.output


@pytest.mark.parametrize("gone", [pytest.param("n1", marks=pytest.mark.long), "n4"])
def test_a_kubelet_that_cannot_be_read(tmp_path: Path, fleet: Fleet, gone: str) -> None:
    """What undoes a rollout is read from the Nodes. A node of the rollout is compared by what it was assigned."""
    ansible = playbooks(tmp_path, fleet)
    assert play(ansible, "rollout", kubelet_config_pause=True).code != 0
    assert pods(fleet) == [BAD, GOOD, GOOD, GOOD]
    live = fleet.live.pop(gone)
    back = play(ansible, "rollback", kubelet_config_wait_timeout=15)
    fleet.live.setdefault(gone, live)
    assert (back.code, pods(fleet)) == (0, [GOOD] * 4), back.output
    if gone == "n1":
        assert "its live configuration is not known" in back.output, back.output


@pytest.mark.long
def test_a_rollout_in_several_runs_is_one(tmp_path: Path, fleet: Fleet) -> None:
    ansible = playbooks(tmp_path, fleet)
    assert play(ansible, "rollout", kubelet_config_pause=True).code != 0
    assert play(ansible, "rollout").code == 0
    back = play(ansible, "rollback")
    assert (back.code, pods(fleet)) == (0, [GOOD] * 4), back.output


@pytest.mark.long
@pytest.mark.fault(case=59)
def test_values_of_a_machine_stay_those_of_each_node(tmp_path: Path, target: Fleet) -> None:
    """All other fields are those of the ConfigMap, not those of the inventory; fields that it lacks are removed."""
    ansible, to_target = playbooks(tmp_path, target), {"kubelet_config_variant": TARGET}
    wanted = {name: {**target.local, **own(name), "maxPods": 70} for name in target.live}
    run = play(ansible, "rollback", **to_target)
    assert (run.code, target.live, target.assigned) == (0, wanted, {*wanted}), run.output
    assert "providerID" in run.output and "the node keeps its own" in run.output
    assert target.leases == [1, 1, 1], "a prune could remove what is pushed without a Lease"

    target.assigned.clear()
    again = play(ansible, "rollback", **to_target)
    assert (again.code, target.assigned) == (0, set()), again.output
    assert [again.recap(name)["changed"] for name in target.live] == [0, 0, 0], again.output


@pytest.mark.long
def test_the_effects_of_one_configmap_must_be_allowed(tmp_path: Path, target: Fleet) -> None:
    ansible, before = playbooks(tmp_path, target), {*target.configmaps}
    changed = json.dumps({**target.local, "clusterDNS": ["10.96.0.99"]})
    target.configmaps[TARGET] = objects.configmap(TARGET, changed)
    run = play(ansible, "rollback", kubelet_config_variant=TARGET)
    assert run.code != 0 and "clusterDNS" in run.output and "allow_effect=drain" in run.output, run.output
    assert (target.assigned, {*target.configmaps}) == (set(), before)
    allowed = play(ansible, "rollback", kubelet_config_variant=TARGET, kubelet_config_allow_effect="drain")
    assert (allowed.code, target.assigned) == (0, {"n1", "n2", "n3"}), allowed.output


@pytest.mark.parametrize(
    ("playbook", "arguments", "code"),
    [
        pytest.param("plan", ["--limit", "n1"], 0, id="plan"),
        pytest.param("rollout", ["--check"], 0, id="check mode", marks=pytest.mark.long),
        pytest.param("rollout", [], 2, id="a rollout that fails"),
    ],
)
def test_nodes_that_join_get_only_what_was_rolled_out(
    tmp_path: Path, fresh: Fleet, playbook: str, arguments: list[str], code: int
) -> None:
    """The configuration of kubeadm is that of the group, whatever the limit of a run is."""
    fresh.refusing = {"n2"} if code else set()
    before = json.dumps(fresh.configmaps[KUBEADM]["data"])
    ansible = playbooks(tmp_path, fresh)
    update = extra(kubelet_config_kubeadm="update", kubelet_config_gate_timeout=0)
    run = ansible.playbook(playbook, *arguments, *update)
    assert run.code == code, run.output
    assert json.dumps(fresh.configmaps[KUBEADM]["data"]) == before
