# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An upgrade from 1.28 or 1.33 to 1.36: what a check names before it, and what becomes of checkpoints and drop-ins."""

from __future__ import annotations

import json
import shutil
import time
import typing as t

import pytest
import yaml

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values.annotation import PREFIX
from tests.lab import kubeadm, releases
from tests.lab.kubeadm import OWN_CONFIG
from tests.lab.lab import Lab
from tests.support.lab_node.node_bench import STORE, Bench
from tests.support.plays.ansible import Ansible

NEXT = "/opt/kubelet-next"
FLAGS = "/var/lib/kubelet/kubeadm-flags.env"
# Gone since 1.35.
FLAG = "--pod-infra-container-image"
# Gone since 1.33.
GONE = "AppArmor"
# The delivery is the default of both versions.
DROPIN = {"kubelet_config_trial_seconds": 1}
N3 = ("-e", "kubelet_config_hosts=n3")
# 1.33 has this gate, and it was removed in 1.36.
GATE = "LegacySidecarContainers"
CHECKPOINT = {
    "kubelet_config_delivery": "checkpoint",
    "kubelet_config_trial_seconds": 1,
    "kubelet_config_allow_effect": "reboot",
}
# 1.28 accepts this value behind its gate; it was removed in 1.30.
UNLIMITED = {"failSwapOn": False, "featureGates": {"NodeSwap": True}, "memorySwap": {"swapBehavior": "UnlimitedSwap"}}
N1 = ("-e", "kubelet_config_hosts=n1")


class Upgrade:
    """The node, and the kubelet of 1.36. `stops`: what stops that one on every node of kubeadm from 1.28 to 1.34."""

    def __init__(self, bench: Bench, lab: Lab, ansible: Ansible) -> None:
        self.bench, self.node, self.ansible = bench, bench.node, ansible
        release = releases.release(releases.find("v1.36"), lab.cache.binaries)
        self.version = release.version
        self.stops = {("flag", FLAG)}
        if kubeadm.has_cgroup_v1():
            self.stops.add(("cgroup", "failCgroupV1"))
        shutil.copy2(release.folder / "kubelet", f"/proc/{self.node.leader()}/root{NEXT}")

    def check(self, *arguments: str) -> tuple[int, str, dict[str, t.Any]]:
        """Return the exit status of the playbook, its output, and its JSON document."""
        file = self.ansible.home / "upgrade.json"
        file.unlink(missing_ok=True)
        given = {"hosts": self.node.name, "target_version": "1.36", "upgrade_file": str(file)}
        words = [word for name, value in given.items() for word in ("-e", f"kubelet_config_{name}={value}")]
        run = self.ansible.playbook("upgrade_check", *words, *arguments)
        return run.code, run.output, json.loads(file.read_text())

    def ask(self) -> tuple[int, str, dict[str, t.Any]]:
        """Check with the binary too."""
        return self.check("-e", f"kubelet_config_target_binary={NEXT}")

    def own(self) -> dict[str, t.Any]:
        return t.cast("dict[str, t.Any]", yaml.safe_load(self.node.run(f"cat {OWN_CONFIG}")))

    def edit(self, **fields: t.Any) -> None:
        """Change fields of the node's own file; None removes one."""
        config = {**self.own(), **fields}
        text = yaml.safe_dump({name: value for name, value in config.items() if value is not None})
        self.node.run(f"cat > {OWN_CONFIG}", stdin=text)

    def start(self, binary: str) -> None:
        """Put a kubelet in the place of the node's own, as a package does, and restart."""
        self.node.run(f"cp {binary} /usr/bin/kubelet.new && mv /usr/bin/kubelet.new /usr/bin/kubelet")
        self.node.run("systemctl restart kubelet")


def names(document: dict[str, t.Any], *severities: str) -> set[tuple[str, str]]:
    """Return kind and name of the findings of the only node that have these severities."""
    (row,) = document["nodes"].values()
    return {(one["kind"], one["name"]) for one in row["findings"] if one["severity"] in severities}


@pytest.fixture
def from_128(bench: Bench, lab: Lab, ansible: Ansible) -> t.Iterator[Upgrade]:
    """Yield the node of 1.28 with the next kubelet; afterwards restore its binary and the files of its version."""
    found, version = Upgrade(bench, lab, ansible), bench.node.release.version
    try:
        yield found
    finally:
        lab.upgrade(bench.node.name, version)
        bench.node.run(f"rm -f {NEXT} /opt/kubelet-former; systemctl reset-failed kubelet; systemctl restart kubelet")
        bench.wait(bench.healthy, 60, "healthz of 1.28")


@pytest.mark.parametrize("bench", ["n1"], indirect=True)
@pytest.mark.fault(case=4)
def test_what_the_check_names_stops_the_kubelet_and_nothing_else_does(bench: Bench, from_128: Upgrade) -> None:
    node = from_128.node
    from_128.edit(featureGates={GONE: True}, kubeAPIQPS=61)
    node.run("systemctl restart kubelet")
    bench.wait(bench.healthy, 60, "healthz of 1.28 with the gate")
    before = node.invocation_id()
    stops = {*from_128.stops, ("gate", GONE)}

    for check in (from_128.check, from_128.ask):
        code, output, document = check()
        assert code != 0 and names(document, "stops", "unknown") == stops, output
        assert document["summary"]["would_stop"] == ["n1"] and not document["summary"]["ready"]
        places = {one["name"]: one["where"] for one in document["nodes"]["n1"]["findings"]}
        assert (places[FLAG], places[GONE]) == (f"{FLAGS}, line 1", OWN_CONFIG)
    # The new binary was really asked, without an effect on the kubelet.
    assert ("default", "evictionHard") in names(document, "changes")
    assert node.invocation_id() == before and bench.healthy()

    # As the check found: the kubelet ends, first because of the flag, then because of the gate.
    node.run("cp /usr/bin/kubelet /opt/kubelet-former")
    begun = bench.node.run("date +%s").strip()
    from_128.start(NEXT)
    bench.wait(lambda: f"unknown flag: {FLAG}" in node.journal(since=float(begun)), 30, "the end because of the flag")
    node.run(rf"sed -i 's/ *{FLAG}=[^ \"]*//' {FLAGS}; systemctl restart kubelet")
    bench.wait(lambda: f"unrecognized feature gate: {GONE}" in node.journal(200, since=float(begun)), 30, "the gate")
    from_128.start("/opt/kubelet-former")
    bench.wait(bench.healthy, 60, "healthz of 1.28")

    from_128.edit(featureGates=None, failCgroupV1=False)
    code, output, document = from_128.ask()
    assert code == 0 and document["summary"]["ready"] and "0 would stop, 0 unknown" in output, output
    from_128.start(NEXT)
    bench.wait(bench.healthy, 60, "healthz of 1.36")
    live = bench.configz()
    assert node.run("/usr/bin/kubelet --version").split()[1] == from_128.version
    # The configuration is kept, and the default changes as the check found.
    assert live["kubeAPIQPS"] == 61 and live["evictionHard"]["imagefs.inodesFree"] == "5%"


@pytest.fixture
def from_133(earlier: str, bench: Bench, lab: Lab, ansible: Ansible) -> t.Iterator[Upgrade]:
    """Yield the node of the earlier version with the next kubelet beside its own."""
    try:
        found = Upgrade(bench, lab, ansible)
        assert found.version != earlier
        yield found
    finally:
        bench.node.run(f"rm -f {NEXT}")


def roll_out(bench: Bench, ansible: Ansible, options: dict[str, t.Any], **config: object) -> None:
    """Roll out to the node and wait until its configuration is last-known-good."""
    ansible.variables(workers_a={"kubelet_config": config, **options})
    run = ansible.playbook("rollout", "-e", f"kubelet_config_hosts={bench.node.name}")
    assert run.code == 0, run.output
    bench.wait(lambda: bench.node.run(f"cat {STORE}/store/meta/last-known-good"), 60, "graduation", every=1)
    bench.wait(lambda: bench.status().get("reason") == "passed its trial", 30, "the report of it")


def asked(bench: Bench) -> tuple[str, bool]:
    """Return the version of the binary that the guard asked last, and whether its answer was clear."""
    record = json.loads(bench.node.run(f"cat {STORE}/store/binary"))
    return record["version"], record["settled"]


@pytest.mark.parametrize("bench", ["n3"], indirect=True)
def test_the_drop_in_stays_and_what_kubeadm_writes_takes_effect(lab: Lab, from_133: Upgrade) -> None:
    bench, ansible = from_133.bench, from_133.ansible
    roll_out(bench, ansible, DROPIN, kubeAPIQPS=61, evictionHard={"memory.available": "77Mi"})
    active = bench.active()
    assert bench.node.run(f"readlink {STORE}/conf.d/90-livenodes-kubelet.conf").strip() == f"{STORE}/active/kubelet"
    before = bench.configz()
    assert (before["kubeAPIQPS"], before["evictionHard"]["memory.available"]) == (61, "77Mi")

    for check in (from_133.check, from_133.ask):
        code, output, document = check()
        assert code != 0 and names(document, "stops", "unknown") == from_133.stops, output
    assert bench.configz() == before

    # As `kubeadm from_133 node`: the kubelet that runs has not read the new file yet.
    lab.upgrade("n3", "v1.36", restart=False)
    from_133.edit(eventBurst=77)
    bench.node.run("systemctl restart kubelet")
    bench.wait(bench.healthy, 60, "healthz of 1.36")
    bench.reports(from_133.version)
    live = bench.configz()
    assert bench.active() == active and bench.node.restarts() == 0
    assert (live["kubeAPIQPS"], live["evictionHard"]["memory.available"], live["eventBurst"]) == (61, "77Mi", 77)
    # Since 1.34 kubeadm has the runtime's socket in the file, and no flag for it.
    assert live["containerRuntimeEndpoint"] == from_133.own()["containerRuntimeEndpoint"]
    assert asked(bench) == (from_133.version, True)
    assert bench.status().get("error") is None

    drift = ansible.playbook("drift", *N3)
    assert drift.code == 0 and "0 drifted" in drift.output, drift.output
    again = ansible.playbook("rollout", *N3)
    assert again.code == 0 and again.recap("n3")["changed"] == 0, again.output


@pytest.mark.parametrize("bench", ["n3"], indirect=True)
def test_what_the_new_kubelet_refuses_gives_way_to_the_own_file(lab: Lab, from_133: Upgrade) -> None:
    """The check names it before; without the check, the guard asks the new binary before its first start."""
    bench = from_133.bench
    roll_out(bench, from_133.ansible, DROPIN, kubeAPIQPS=61, featureGates={GATE: False})
    code, output, document = from_133.ask()
    assert code != 0 and ("gate", GATE) in names(document, "stops"), output

    lab.upgrade("n3", "v1.36")
    bench.wait(bench.healthy, 60, "healthz of 1.36")
    assert bench.active() == "store/local/config" and bench.node.restarts() == 0
    assert bench.configz()["kubeAPIQPS"] == 50
    bench.wait(lambda: GATE in bench.status().get("error", ""), 60, "the report of it")
    assert f"kubelet {from_133.version} refuses this configuration" in bench.status()["error"]


def edit(bench: Bench, **fields: object) -> None:
    config = {**yaml.safe_load(bench.node.run(f"cat {OWN_CONFIG}")), **fields}
    bench.node.run(f"cat > {OWN_CONFIG}", stdin=yaml.safe_dump(config))


@pytest.mark.parametrize("bench", ["n1"], indirect=True)
def test_a_rollback_to_a_source_of_another_minor_is_checked_again(bench: Bench, lab: Lab, ansible: Ansible) -> None:
    """It was last-known-good on 1.28. On 1.36 it is refused before anything restarts."""
    roll_out(bench, ansible, CHECKPOINT, kubeAPIQPS=60, **UNLIMITED)
    former = json.loads(lab.kubectl("get", "node", "n1", "-o", "json"))["metadata"]["annotations"]
    name = json.loads(former[f"{PREFIX}source"])["configMap"]["name"]
    roll_out(bench, ansible, CHECKPOINT, kubeAPIQPS=61)
    lab.upgrade("n1", "v1.36")
    bench.wait(bench.healthy, 60, "healthz of 1.36")
    before, active = bench.node.invocation_id(), bench.active()
    for arguments in ((), ("-e", f"kubelet_config_variant={name}")):
        run = ansible.playbook("rollback", *N1, "-e", "kubelet_config_allow_effect=reboot", *arguments)
        print(run.output[-3000:])
        assert run.code != 0 and "swapBehavior" in run.output, run.output
        assert (bench.node.invocation_id(), bench.active()) == (before, active)
        assert bench.healthy()


@pytest.mark.parametrize("bench", ["n1"], indirect=True)
def test_a_checkpoint_stays_in_place_and_drift_reports_what_kubeadm_wrote(
    bench: Bench, lab: Lab, ansible: Ansible
) -> None:
    """The own file gets a field for the new version before the upgrade, as the check asks for on cgroup v1."""
    edit(bench, failCgroupV1=False)
    roll_out(bench, ansible, CHECKPOINT, kubeAPIQPS=61)
    active = bench.active()
    assert "checkpoints" in active, active
    lab.upgrade("n1", "v1.36")
    bench.wait(bench.healthy, 60, "healthz of 1.36")
    live = bench.configz()
    assert bench.active() == active and (live["kubeAPIQPS"], live["failCgroupV1"]) == (61, False)
    version = lab.node("n1").release.version
    bench.reports(version)

    # As the next version of kubeadm does.
    edit(bench, eventBurst=77)
    drift = ansible.playbook("drift", *N1)
    print(drift.output[-3000:])
    assert drift.code != 0 and "own file changed" in drift.output and "eventBurst" in drift.output, drift.output
    assert bench.configz()["eventBurst"] != 77

    run = ansible.playbook("rollout", *N1)
    assert run.code == 0, run.output
    live = bench.configz()
    assert (live["eventBurst"], live["kubeAPIQPS"]) == (77, 61)
    again = ansible.playbook("drift", *N1)
    assert again.code == 0 and "0 drifted" in again.output, again.output


@pytest.mark.parametrize("bench", ["n1"], indirect=True)
@pytest.mark.fault(case=24)
def test_a_refused_last_known_good_makes_room_for_the_own_file(bench: Bench, lab: Lab, ansible: Ansible) -> None:
    """The guard asks the new binary before its first start: the kubelet runs, and the Node reports why."""
    roll_out(bench, ansible, CHECKPOINT, **UNLIMITED)
    assert bench.configz()["memorySwap"] == {"swapBehavior": "UnlimitedSwap"}

    begun = time.monotonic()
    lab.upgrade("n1", "v1.36")
    bench.wait(bench.healthy, 60, "healthz")
    print(f"\nupgrade to healthz: {time.monotonic() - begun:.1f} s, {lab.node('n1').restarts()} restarts")
    assert bench.active() == "store/local/config" and lab.node("n1").restarts() <= 3
    bench.wait(lambda: bench.status().get("error"), 60, "annotation")
    print(json.dumps(bench.status(), indent=2))
    version = lab.node("n1").release.version
    assert f"kubelet {version} refuses this configuration" in bench.status()["error"]
    assert "swapBehavior" in bench.status()["error"]
    bench.reports(version)
    bench.wait(lambda: "n1" in lab.ready_nodes(), 60, "Ready")
    # kubeadm has renewed the node's own file for the new version, and that is what runs.
    assert "failCgroupV1" in bench.configz() and "swapBehavior" not in bench.configz()["memorySwap"]
    assert bench.node.run(f"cat {STORE}/active/*") == bench.node.run(f"cat {OWN_CONFIG}")
