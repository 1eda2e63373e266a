# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The check before an upgrade from 1.28 to 1.36, and the upgrade: what the check names stops the real kubelet."""

from __future__ import annotations

import typing as t

import pytest

from tests.lab.kubeadm import OWN_CONFIG
from tests.lab.lab import Lab
from tests.support.ansible import Ansible
from tests.support.next_kubelet import FLAG, FLAGS, NEXT, Upgrade, names
from tests.support.node_bench import Bench

# Gone since 1.33.
GATE = "AppArmor"


@pytest.fixture
def upgrade(bench: Bench, lab: Lab, ansible: Ansible) -> t.Iterator[Upgrade]:
    """Yield the upgrade; afterwards restore the node's binary and the files of its version."""
    found, version = Upgrade(bench, lab, ansible), bench.node.release.version
    try:
        yield found
    finally:
        lab.upgrade(bench.node.name, version)
        bench.node.run(f"rm -f {NEXT} /opt/kubelet-former; systemctl reset-failed kubelet; systemctl restart kubelet")
        bench.wait(bench.healthy, 60, "healthz of 1.28")


@pytest.mark.parametrize("bench", ["n1"], indirect=True)
@pytest.mark.fault(case=4)
def test_what_the_check_names_stops_the_kubelet_and_nothing_else_does(bench: Bench, upgrade: Upgrade) -> None:
    node = upgrade.node
    upgrade.edit(featureGates={GATE: True}, kubeAPIQPS=61)
    node.run("systemctl restart kubelet")
    bench.wait(bench.healthy, 60, "healthz of 1.28 with the gate")
    before = node.invocation_id()
    stops = {*upgrade.stops, ("gate", GATE)}

    for check in (upgrade.check, upgrade.ask):
        code, output, document = check()
        assert code != 0 and names(document, "stops", "unknown") == stops, output
        assert document["summary"]["would_stop"] == ["n1"] and not document["summary"]["ready"]
        places = {one["name"]: one["where"] for one in document["nodes"]["n1"]["findings"]}
        assert (places[FLAG], places[GATE]) == (f"{FLAGS}, line 1", OWN_CONFIG)
    # The new binary was really asked, without an effect on the kubelet.
    assert ("default", "evictionHard") in names(document, "changes")
    assert node.invocation_id() == before and bench.healthy()

    # As the check found: the kubelet ends, first because of the flag, then because of the gate.
    node.run("cp /usr/bin/kubelet /opt/kubelet-former")
    begun = bench.node.run("date +%s").strip()
    upgrade.start(NEXT)
    bench.wait(lambda: f"unknown flag: {FLAG}" in node.journal(since=float(begun)), 30, "the end because of the flag")
    node.run(rf"sed -i 's/ *{FLAG}=[^ \"]*//' {FLAGS}; systemctl restart kubelet")
    bench.wait(lambda: f"unrecognized feature gate: {GATE}" in node.journal(200, since=float(begun)), 30, "the gate")
    upgrade.start("/opt/kubelet-former")
    bench.wait(bench.healthy, 60, "healthz of 1.28")

    upgrade.edit(featureGates=None, failCgroupV1=False)
    code, output, document = upgrade.ask()
    assert code == 0 and document["summary"]["ready"] and "0 would stop, 0 unknown" in output, output
    upgrade.start(NEXT)
    bench.wait(bench.healthy, 60, "healthz of 1.36")
    live = bench.configz()
    assert node.run("/usr/bin/kubelet --version").split()[1] == upgrade.version
    # The configuration is kept, and the default changes as the check found.
    assert live["kubeAPIQPS"] == 61 and live["evictionHard"]["imagefs.inodesFree"] == "5%"


@pytest.mark.parametrize("bench", ["n1"], indirect=True)
def test_only_the_binary_knows_a_wrong_file(bench: Bench, upgrade: Upgrade) -> None:
    """No rule covers the value; the words of the binary are shown."""
    upgrade.node.run(rf"sed -i 's/ *{FLAG}=[^ \"]*//' {FLAGS}")
    upgrade.edit(failCgroupV1=False, registerWithTaints=[5])
    code, output, document = upgrade.ask()
    assert code != 0 and "cannot unmarshal number" in output, output
    assert names(document, "stops", "unknown") == {("binary", NEXT)}
    without = upgrade.check()
    assert without[0] == 0 and without[2]["summary"]["ready"], without[1]
    reported = upgrade.check("-e", "kubelet_config_upgrade=report", "-e", f"kubelet_config_target_binary={NEXT}")
    assert reported[0] == 0 and reported[2] == document, reported[1]
    # A binary that is not there has not been asked.
    code, output, document = upgrade.check("-e", "kubelet_config_target_binary=/opt/none")
    assert code != 0 and ("binary", "/opt/none") in names(document, "unknown"), output
