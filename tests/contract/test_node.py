# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The whole way of both deliveries that need a login, in one group: rollout, again, drift, less declared, reset; and
what a plan refuses before.
"""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest

from tests.contract.machines import Machine, Site
from tests.support.lab.views import eventually
from tests.support.lab_node.node_bench import STORE
from tests.support.lab_node.node_calls import HEADER
from tests.support.plays.ansible import Ansible, Run

LAST_KNOWN_GOOD = f"{STORE}/store/meta/last-known-good"
OPTIONS = {"kubelet_config_trial_seconds": 1, "kubelet_config_wait_timeout": 60, "kubelet_config_serial": 2}


class Group:
    """Nodes that are reached by login, each with its delivery."""

    def __init__(self, site: Site, ansible: Ansible) -> None:
        self.site, self.ansible = site, ansible
        self.deliveries = site.deliveries
        self.machines: dict[str, Machine] = {name: site.machines[name] for name in self.deliveries}
        self.ansible.host_variables(
            **{name: {"kubelet_config_delivery": delivery} for name, delivery in self.deliveries.items()}
        )

    def play(self, name: str, *words: str) -> Run:
        return self.ansible.playbook(name, "-e", f"kubelet_config_hosts={':'.join(self.machines)}", *words)

    def declare(self, config: dict[str, t.Any]) -> None:
        self.ansible.variables(all={"kubelet_config": config, **OPTIONS})

    def configz(self) -> dict[str, dict[str, t.Any]]:
        return {name: machine.configz() for name, machine in self.machines.items()}

    def invocations(self) -> dict[str, str]:
        """Return what changes when kubelets are restarted."""
        return {name: machine.invocation() for name, machine in self.machines.items()}

    def layouts(self) -> dict[str, t.Any]:
        return {name: machine.layout() for name, machine in self.machines.items()}

    def reset(self) -> None:
        run = self.play("reset", "-e", "kubelet_config_allow_effect=reboot")
        assert run.code == 0, run.output


@pytest.fixture
def group(site: Site, tmp_path: Path) -> t.Iterator[Group]:
    """Yield the nodes; afterwards restore their own configuration."""
    found = Group(site, site.cluster.ansible(tmp_path))
    try:
        yield found
    finally:
        found.ansible.variables()
        if any("source" in site.notes(name) for name in found.machines):
            found.reset()
        site.remove_pushed()


def test_rollout_again_less_declared_and_reset(group: Group) -> None:
    layouts, before = group.layouts(), group.configz()
    assert all(before.values()), before
    declared = {
        "kubeAPIQPS": 61,
        "evictionHard": {"memory.available": "77Mi"},
        "failSwapOn": False,
        "registryBurst": 21,
    }
    group.declare(declared)

    run = group.play("rollout")
    assert run.code == 0, run.output
    live = group.configz()
    for name, delivery in group.deliveries.items():
        # A kubelet merges the maps of drop-ins key by key. Nothing else changes.
        kept = before[name]["evictionHard"] if delivery == "dropin" else {}
        assert live[name] == {**before[name], **declared, "evictionHard": {**kept, "memory.available": "77Mi"}}
        source = group.site.notes(name)["source"]
        pushed = group.site.pushed(source["configMap"])
        if delivery == "dropin":
            assert source["delivery"] == "dropin"
            assert pushed == {**HEADER, **declared}
        else:
            assert pushed["kubeAPIQPS"] == 61

    first = group.invocations()
    again = group.play("rollout")
    assert again.code == 0 and not any(again.recap(name)["changed"] for name in group.machines), again.output
    assert group.invocations() == first
    eventually(lambda: all(machine.read(LAST_KNOWN_GOOD) for machine in group.machines.values()), 60, "graduation")
    same = group.play("drift")
    assert same.code == 0 and "0 drifted" in same.output, same.output

    # The node's own file is live again at the next restart, also where a key is no longer declared.
    group.declare({"kubeAPIQPS": 62})
    drifted = group.play("drift")
    assert drifted.code and "no longer declared" in drifted.output and "2 drifted" in drifted.output, drifted.output
    less = group.play("rollout")
    assert less.code == 0, less.output
    assert group.configz() == {name: {**config, "kubeAPIQPS": 62} for name, config in before.items()}

    group.reset()
    assert group.layouts() == layouts
    assert group.configz() == before
    assert not any({"source", "status"} & set(group.site.notes(name)) for name in group.machines)
    assert all(now != first[name] for name, now in group.invocations().items())


@pytest.mark.fault(case=2)
def test_a_plan_refuses_what_would_end_a_kubelet(group: Group) -> None:
    """No kubelet is restarted."""
    first = group.invocations()
    group.declare({"maxPods": -3})
    run = group.play("rollout")
    assert run.code and "maxPods (--max-pods) -3 must not be a negative number" in run.output.replace("\n", " "), (
        run.output
    )
    assert group.invocations() == first


@pytest.mark.long_on_sim
def test_fields_of_late_versions(group: Group) -> None:
    """Both deliveries bring fields that kubelets of 1.20 do not have."""
    late = [name for name, machine in group.machines.items() if machine.minor >= 36]
    if not late:
        pytest.skip("no kubelet of 1.36")
    declared = {"imageMaximumGCAge": "48h0m0s", "crashLoopBackOff": {"maxContainerRestartPeriod": "2m0s"}}
    before = group.configz()
    group.declare(declared)
    run = group.play("rollout", "-e", f"kubelet_config_hosts={':'.join(late)}")
    assert run.code == 0, run.output
    live = group.configz()
    assert {name: live[name] for name in late} == {name: {**before[name], **declared} for name in late}
