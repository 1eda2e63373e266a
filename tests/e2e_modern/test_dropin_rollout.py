# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Delivery dropin from the inventory to the kubelet: what lies beside it, and what is refused."""

from __future__ import annotations

import typing as t

import pytest

from tests.support.ansible import Ansible
from tests.support.node_bench import Bench

N3 = ("-e", "kubelet_config_hosts=n3")
# The delivery is the default of this version.
OPTIONS = {"kubelet_config_trial_seconds": 1}


@pytest.mark.parametrize("bench", ["n3"], indirect=True)
def test_what_changes_beside_the_drop_in_is_named(bench: Bench, ansible: Ansible) -> None:
    """As when kubeadm has renewed the file and the kubelet was not restarted since."""
    node, before = bench.node, bench.configz()
    node.run("cp -p /var/lib/kubelet/config.yaml /root/config.yaml")
    try:
        node.run("echo 'containerLogMaxFiles: 9' >> /var/lib/kubelet/config.yaml")
        ansible.variables(workers_a={"kubelet_config": {"kubeAPIQPS": 61}, **OPTIONS})
        plan = ansible.playbook("plan", *N3)
        own = [line for line in plan.output.splitlines() if "(the node's own file changed)" in line]
        assert plan.code == 0 and len(own) == 1 and "containerLogMaxFiles: 5 -> 9" in own[0], plan.output
        run = ansible.playbook("rollout", *N3)
        assert run.code == 0, run.output
        named = "containerLogMaxFiles was 5, now 9 (/var/lib/kubelet/config.yaml changed)"
        assert named in " ".join(run.output.split()), run.output
        assert bench.configz() == {**before, "kubeAPIQPS": 61, "containerLogMaxFiles": 9}
    finally:
        node.run("cp -p /root/config.yaml /var/lib/kubelet/config.yaml")


@pytest.mark.parametrize("bench", ["n3"], indirect=True)
@pytest.mark.parametrize(
    ("declared", "words"),
    [
        ({"evictionHard": None}, "null in a drop-in leaves no eviction threshold at all"),
        ({"maxPodz": 7}, "Did you mean maxPods?"),
        ({"staticPodPath": "manifests"}, "is a relative path"),
    ],
)
def test_what_the_kubelet_would_take_without_a_word_is_refused(
    bench: Bench, ansible: Ansible, declared: dict[str, t.Any], words: str
) -> None:
    invocation = bench.node.invocation_id()
    ansible.variables(workers_a={"kubelet_config": declared, **OPTIONS})
    run = ansible.playbook("rollout", *N3)
    assert run.code and words in run.output.replace("\n", " "), run.output
    assert bench.node.invocation_id() == invocation
