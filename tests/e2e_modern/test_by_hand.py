# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The play of the guide The workflow by hand on kubelets without native delivery: checkpoints and a drop-in."""

from __future__ import annotations

import json
import typing as t

import pytest

from tests.lab.lab import Lab
from tests.support.lab.views import MANAGED
from tests.support.lab_node.node_bench import Bench
from tests.support.plays import by_hand
from tests.support.plays.ansible import Ansible

# n1 is of a version without drop-ins.
DELIVERIES = {"n1": "auto", "n2": "checkpoint", "n3": "dropin"}


@pytest.fixture
def group(lab: Lab, ansible: Ansible) -> t.Iterator[dict[str, Bench]]:
    """Yield the nodes of the group of the page; afterwards restore their own configuration."""
    found = {name: Bench(lab, name) for name in DELIVERIES}
    workers = {"hosts": {name: {} for name in found}}
    (ansible.inventory / "docs.yml").write_text(json.dumps({"all": {"children": {"workers": workers}}}))
    try:
        yield found
    finally:
        ansible.variables()
        hosts = ("-e", f"kubelet_config_hosts={':'.join(found)}")
        run = ansible.playbook("reset", *hosts, "-e", "kubelet_config_allow_effect=reboot")
        assert run.code == 0, run.output
        lab.kubectl("delete", "configmap", "-n", "kube-system", "-l", MANAGED)


@pytest.mark.parametrize("strategy", ["linear", pytest.param("free", marks=pytest.mark.long)])
def test_five_roles_for_all_deliveries(group: dict[str, Bench], ansible: Ansible, strategy: str) -> None:
    """Checked, one node, all of them, and nothing more to change."""
    check, first, rest, _modules = by_hand.commands()
    # A flag of n2 overrides the field of the page.
    declared = {name: {"eventBurst": 31} if name == "n2" else by_hand.declared() for name in group}
    ansible.variables(workers={"kubelet_config_trial_seconds": 1})
    ansible.host_variables(
        **{
            name: {"kubelet_config_delivery": delivery, "kubelet_config": declared[name]}
            for name, delivery in DELIVERIES.items()
        }
    )
    before = {name: (bench.configz(), bench.node.invocation_id()) for name, bench in group.items()}

    for command, changed in ((check, ()), (first, ("n1",)), (rest, tuple(group))):
        run = by_hand.types(ansible, command, ansible.home, ANSIBLE_STRATEGY=strategy)
        assert run.code == 0, run.output
        after = {name: (bench.configz(), bench.node.invocation_id()) for name, bench in group.items()}
        assert {name for name in group if after[name][1] != before[name][1]} == set(changed), run.output
        assert all(after[name][0] == {**before[name][0], **declared[name]} for name in changed)

    again = by_hand.types(ansible, rest, ansible.home, ANSIBLE_STRATEGY=strategy)
    assert again.code == 0, again.output
    assert {name: bench.node.invocation_id() for name, bench in group.items()} == {
        name: invocation for name, (_configz, invocation) in after.items()
    }
