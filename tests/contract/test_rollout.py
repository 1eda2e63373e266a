# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The playbooks, as users run them."""

from __future__ import annotations

import re

import pytest

from tests.contract.clusters import CONFIGMAPS, NAMES, Contracted
from tests.support.lab.views import View
from tests.support.plays.ansible import Ansible

ALL = ("-e", "kubelet_config_hosts=workers_a:workers_b")
GROUP_A = ("-e", "kubelet_config_hosts=workers_a")
GROUP_B = ("-e", "kubelet_config_hosts=workers_b")
WANTED_A = {
    "maxPods": 55,
    "evictionHard": {
        "memory.available": "150Mi",
        "nodefs.available": "8%",
        "nodefs.inodesFree": "4%",
        "imagefs.available": "12%",
    },
}
WANTED_B = {"evictionPressureTransitionPeriod": "4m", "kubeReserved": {"memory": "64Mi"}}


def views(cluster: Contracted) -> dict[str, View]:
    return {name: cluster.look(name) for name in NAMES}


@pytest.mark.long_on_sim
def test_two_groups_check_rollout_again_reset_prune(cluster: Contracted, ansible: Ansible) -> None:
    """The whole life of a change: predicted, rolled out, found in place, reset, pruned."""
    ansible.variables(workers_a={"kubelet_config": WANTED_A}, workers_b={"kubelet_config": WANTED_B})
    local = views(cluster)

    checked = ansible.playbook("rollout", *ALL, "--check", "--diff")
    assert checked.code == 0, checked.output
    assert views(cluster) == local
    assert cluster.managed() == []
    for text in ("maxPods: 110 -> 55", "4m0s", "+spec.configSource: kube-system/livenodes-kubelet-"):
        assert text in checked.output

    first = ansible.playbook("rollout", *ALL)
    assert first.code == 0, first.output
    assert {name: first.recap(name)["changed"] for name in NAMES} == {
        name: checked.recap(name)["changed"] for name in NAMES
    }
    now = views(cluster)
    for name in ("n1", "n3"):
        assert (now[name].configz["maxPods"], now[name].configz["evictionHard"]) == (55, WANTED_A["evictionHard"])
    assert now["n2"].configz["evictionPressureTransitionPeriod"] == "4m0s"
    assert now["n2"].configz["kubeReserved"]["memory"] == "64Mi"
    for name in NAMES:
        assert (
            now[name].spec is not None
            and now[name].name_of("active") == now[name].name_of("assigned") == now[name].spec["name"]
        )
        assert (now[name].invocation != local[name].invocation, now[name].error) == (True, "")
        # The machine's own values are kept: paths, and all fields that are not declared.
        assert now[name].configz.get("resolvConf") == local[name].configz.get("resolvConf")
    # n3 has another resolvConf, so one group has two variants.
    assert now["n1"].configz["resolvConf"] != now["n3"].configz["resolvConf"]
    assert now["n1"].spec != now["n3"].spec

    again = ansible.playbook("rollout", *ALL)
    assert again.code == 0, again.output
    assert [again.recap(name)["changed"] for name in NAMES] == [0, 0, 0]
    assert views(cluster) == now

    pushed = cluster.managed()
    assert ansible.playbook("prune").recap("n1")["changed"] == 0
    assert cluster.managed() == pushed

    back = ansible.playbook("reset", *ALL)
    assert back.code == 0, back.output
    for name, view in views(cluster).items():
        assert (view.spec, view.status, view.configz) == (None, {}, local[name].configz)
        assert view.invocation != now[name].invocation
    again = ansible.playbook("reset", *ALL)
    assert [again.recap(name)["changed"] for name in NAMES] == [0, 0, 0], again.output

    cluster.apply("livenodes-kubelet-by-hand", {})
    checked = ansible.playbook("prune", "--check")
    assert checked.recap("n1")["changed"] == 1 and "To remove: livenodes-kubelet-" in checked.output, checked.output
    assert cluster.managed() == pushed
    assert ansible.playbook("prune").recap("n1")["changed"] == 1
    assert cluster.managed() == []
    assert cluster.get(f"{CONFIGMAPS}/livenodes-kubelet-by-hand")["metadata"]["name"] == "livenodes-kubelet-by-hand"


@pytest.mark.long_on_sim
@pytest.mark.fault(case=3)
def test_a_bad_value_stops_at_the_first_node(cluster: Contracted, ansible: Ansible) -> None:
    """The kubelet refuses the value; the error names node, field and remedy; the next node is not changed."""
    ansible.variables(workers_a={"kubelet_config": {"kubeAPIQPS": -1}, "kubelet_config_allow_invalid": True})
    before = views(cluster)
    run = ansible.playbook("rollout", *GROUP_A)
    assert run.code != 0
    now = views(cluster)
    assert now["n1"].error == "failed to validate config, see Kubelet log for details"
    assert now["n1"].name_of("active") is None
    assert now["n1"].configz == before["n1"].configz
    assert (now["n3"], now["n2"]) == (before["n3"], before["n2"])
    for text in (
        "Node n1",
        "kubeAPIQPS",
        "must not be a negative number",
        "reverted to its local config",
        "Untouched hosts: n3",
    ):
        assert text in run.output, run.output
    ansible.variables(workers_a={"kubelet_config": {"kubeAPIQPS": 7}})
    better = ansible.playbook("rollout", *GROUP_A)
    assert better.code == 0, better.output
    assert {cluster.look(name).configz["kubeAPIQPS"] for name in ("n1", "n3")} == {7}


@pytest.mark.parametrize(
    "runs", [pytest.param(1, marks=pytest.mark.long_on_sim), pytest.param(2, marks=pytest.mark.long)]
)
@pytest.mark.fault(case=10)
def test_a_shadowed_field_fails_and_names_the_flag_every_time(cluster: Contracted, ansible: Ansible, runs: int) -> None:
    """n2 has --max-pods on its command line: the assignment succeeds, the value never becomes live, and the node is
    reverted.
    """
    ansible.variables(workers_b={"kubelet_config": {"maxPods": 50}})
    for _run in range(runs):
        run = ansible.playbook("rollout", *GROUP_B)
        assert run.code != 0
        for text in ("Node n2", "maxPods is 61, not 50", "--max-pods", "systemctl cat kubelet"):
            assert text in run.output, run.output
        # The node runs its previous configuration again.
        now = cluster.look("n2")
        assert (now.configz["maxPods"], now.error, now.spec, now.name_of("active")) == (61, "", None, None)
    # Without the field, or with the value of the flag, the same rollout completes.
    ansible.variables(workers_b={"kubelet_config": {"maxPods": 61}})
    run = ansible.playbook("rollout", *GROUP_B)
    assert run.code == 0, run.output


@pytest.mark.long_on_lab
def test_one_task_a_host(cluster: Contracted, ansible: Ansible) -> None:
    """In a successful batch of three, every task runs once, also tasks for some of the hosts only."""
    ansible.variables(all={"kubelet_config": {"eventBurst": 31}})
    run = ansible.playbook("rollout", *ALL, "-e", "kubelet_config_serial=3")
    assert run.code == 0, run.output
    hosts = {
        block.splitlines()[0]: set(re.findall(r"^(?:ok|changed|skipping|failed|fatal): \[(n\d)", block, re.MULTILINE))
        for block in run.output.split("TASK [")[1:]
    }
    assert [title.partition("]")[0] for title, names in hosts.items() if len(names) > 1] == []
    assert len(hosts) > 20
