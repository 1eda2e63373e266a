# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Drop-ins of an earlier minor over an upgrade to 1.36: what the check finds, what is kept and what the guard does."""

from __future__ import annotations

import json
import typing as t

import pytest

from tests.lab.lab import Lab
from tests.support.ansible import Ansible
from tests.support.next_kubelet import NEXT, Upgrade, names
from tests.support.node_bench import STORE, Bench

# The delivery is the default of both versions.
OPTIONS = {"kubelet_config_trial_seconds": 1}
N3 = ("-e", "kubelet_config_hosts=n3")
# 1.33 has this gate, and it was removed in 1.36.
GATE = "LegacySidecarContainers"


@pytest.fixture
def upgrade(earlier: str, bench: Bench, lab: Lab, ansible: Ansible) -> t.Iterator[Upgrade]:
    """Yield the node of the earlier version with the next kubelet beside its own."""
    try:
        found = Upgrade(bench, lab, ansible)
        assert found.version != earlier
        yield found
    finally:
        bench.node.run(f"rm -f {NEXT}")


def roll_out(upgrade: Upgrade, **config: object) -> str:
    """Roll out to n3 and wait until the drop-in is last-known-good; return what `active` leads to."""
    bench = upgrade.bench
    upgrade.ansible.variables(workers_a={"kubelet_config": config, **OPTIONS})
    run = upgrade.ansible.playbook("rollout", *N3)
    assert run.code == 0, run.output
    bench.wait(lambda: bench.node.run(f"cat {STORE}/store/meta/last-known-good"), 60, "graduation", every=1)
    bench.wait(lambda: bench.status().get("reason") == "passed its trial", 30, "the report of it")
    assert bench.node.run(f"readlink {STORE}/conf.d/90-livenodes-kubelet.conf").strip() == f"{STORE}/active/kubelet"
    return bench.active()


def asked(bench: Bench) -> tuple[str, bool]:
    """Return the version of the binary that the guard asked last, and whether its answer was clear."""
    record = json.loads(bench.node.run(f"cat {STORE}/store/binary"))
    return record["version"], record["settled"]


@pytest.mark.parametrize("bench", ["n3"], indirect=True)
def test_the_drop_in_stays_and_what_kubeadm_writes_takes_effect(lab: Lab, upgrade: Upgrade) -> None:
    bench, ansible = upgrade.bench, upgrade.ansible
    active = roll_out(upgrade, kubeAPIQPS=61, evictionHard={"memory.available": "77Mi"})
    before = bench.configz()
    assert (before["kubeAPIQPS"], before["evictionHard"]["memory.available"]) == (61, "77Mi")

    for check in (upgrade.check, upgrade.ask):
        code, output, document = check()
        assert code != 0 and names(document, "stops", "unknown") == upgrade.stops, output
    assert bench.configz() == before

    # As `kubeadm upgrade node`: the kubelet that runs has not read the new file yet.
    lab.upgrade("n3", "v1.36", restart=False)
    upgrade.edit(eventBurst=77)
    bench.node.run("systemctl restart kubelet")
    bench.wait(bench.healthy, 60, "healthz of 1.36")
    bench.reports(upgrade.version)
    live = bench.configz()
    assert bench.active() == active and bench.node.restarts() == 0
    assert (live["kubeAPIQPS"], live["evictionHard"]["memory.available"], live["eventBurst"]) == (61, "77Mi", 77)
    # Since 1.34 kubeadm has the runtime's socket in the file, and no flag for it.
    assert live["containerRuntimeEndpoint"] == upgrade.own()["containerRuntimeEndpoint"]
    assert asked(bench) == (upgrade.version, True)
    assert bench.status().get("error") is None

    drift = ansible.playbook("drift", *N3)
    assert drift.code == 0 and "0 drifted" in drift.output, drift.output
    again = ansible.playbook("rollout", *N3)
    assert again.code == 0 and again.recap("n3")["changed"] == 0, again.output


@pytest.mark.parametrize("bench", ["n3"], indirect=True)
def test_what_the_new_kubelet_refuses_gives_way_to_the_own_file(lab: Lab, upgrade: Upgrade) -> None:
    """The check names it before; without the check, the guard asks the new binary before its first start."""
    bench = upgrade.bench
    roll_out(upgrade, kubeAPIQPS=61, featureGates={GATE: False})
    code, output, document = upgrade.ask()
    assert code != 0 and ("gate", GATE) in names(document, "stops"), output

    lab.upgrade("n3", "v1.36")
    bench.wait(bench.healthy, 60, "healthz of 1.36")
    assert bench.active() == "store/local/config" and bench.node.restarts() == 0
    assert bench.configz()["kubeAPIQPS"] == 50
    bench.wait(lambda: GATE in bench.status().get("error", ""), 60, "the report of it")
    assert f"kubelet {upgrade.version} refuses this configuration" in bench.status()["error"]
