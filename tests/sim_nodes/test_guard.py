# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The guard on simulated nodes: it alone returns a node to its last-known-good configuration."""

from __future__ import annotations

import json
import subprocess
import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values.annotation import PREFIX
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system import last_words
from tests.sim.cluster import Cluster
from tests.sim.nodes.calls import Calls
from tests.sim.nodes.node import SimNode

GUARD = "livenodes-kubelet-guard.service"
STATUS = f"{PREFIX}status"
# The guard is the same for both deliveries: one of them in the short tier.
CHECKPOINT, DROPIN = ("n1", "checkpoint"), ("n2", "dropin")
CHECKPOINT_FIRST = [CHECKPOINT, pytest.param(*DROPIN, marks=pytest.mark.long)]
DROPIN_FIRST = [DROPIN, pytest.param(*CHECKPOINT, marks=pytest.mark.long)]
PROGRESS = "/var/lib/kubelet-config/store/progress"
TRIAL = "/var/lib/kubelet-config/store/trial"
FOLLOWER = "/etc/systemd/system/livenodes-kubelet-follow.service"
# From the switch on, and again from a boot on; the switch alone takes seconds on a busy machine.
CONFIRM_SECONDS = 12
DEADLY = {"evictionHard": {"memory.available": "lots"}}
REFUSED = {"maxPods": -3}


def status(cluster: Cluster, name: str) -> dict[str, t.Any]:
    """Return the status annotation of a Node, empty without one."""
    text = cluster.node(name)["metadata"].get("annotations", {}).get(STATUS, "{}")
    return t.cast("dict[str, t.Any]", json.loads(text))


@pytest.mark.parametrize(("name", "delivery"), CHECKPOINT_FIRST)
def test_confirmed_configuration_becomes_last_known_good(
    cluster: Cluster, nodes: dict[str, SimNode], name: str, delivery: str
) -> None:
    node = nodes[name]
    layout, before = node.layout(), node.configz()
    calls = Calls(node, delivery)
    try:
        done = calls.switch({"maxPods": 71}, trial_seconds=1)
        assert done["changed"] and not done["reasons"], done
        node.wait(lambda: node.configz() == {**before, "maxPods": 71}, 20, "the new configuration")
        calls.apply("confirmed", source=done["source"])
        node.wait(lambda: status(cluster, name).get("lastKnownGood"), 30, "a last-known-good")
        assert status(cluster, name)["reason"] == "passed its trial"
        node.wait(lambda: node.show("ActiveState", GUARD) == "inactive", 20, "the end of the guard")
    finally:
        calls.reset()
    assert node.layout() == layout and node.configz() == before


def test_an_older_follower_is_updated_in_the_middle_of_a_trial(cluster: Cluster, nodes: dict[str, SimNode]) -> None:
    """The trial goes on, and its configuration becomes last-known-good. A reset removes the follower too."""
    node = nodes["n1"]
    layout = node.layout()
    calls = Calls(node, "checkpoint", key="kubelet", namespace="kube-system", effect="disrupt")
    try:
        assert calls.apply("followed")["changed"]
        done = calls.switch({"maxPods": 71}, trial_seconds=1)
        trial, service = node.read(TRIAL), node.read(FOLLOWER)
        node.write(FOLLOWER, f"# older\n{service}")
        assert calls.apply("followed")["changed"] and not calls.apply("followed")["changed"]
        assert (node.read(TRIAL), node.read(FOLLOWER)) == (trial, service)
        calls.apply("confirmed", source=done["source"])
        node.wait(lambda: status(cluster, "n1").get("lastKnownGood"), 30, "a last-known-good")
    finally:
        calls.reset()
    assert node.layout() == layout


@pytest.mark.parametrize(("name", "delivery"), DROPIN_FIRST)
@pytest.mark.parametrize(
    ("fields", "words"),
    [
        (DEADLY, "quantities must match the regular expression"),
        pytest.param(REFUSED, "maxPods (--max-pods) -3 must not be a negative number", marks=pytest.mark.long),
    ],
)
@pytest.mark.parametrize("after", ["nothing", pytest.param("a good one", marks=pytest.mark.long)])
@pytest.mark.fault(case=3)
@pytest.mark.fault(case=7)
@pytest.mark.fault(case=16)
def test_guard_reverts_what_ends_the_kubelet(
    cluster: Cluster,
    nodes: dict[str, SimNode],
    name: str,
    delivery: str,
    fields: dict[str, t.Any],
    words: str,
    after: str,
) -> None:
    """No controller is there after the switch, and the API server only at the end. Another value completes."""
    node = nodes[name]
    layout, before = node.layout(), node.configz()
    calls = Calls(node, delivery)
    try:
        good = before
        if after == "a good one":
            done = calls.switch({"maxPods": 71}, trial_seconds=0)
            node.wait(lambda: node.configz().get("maxPods") == 71, 20, "the new configuration")
            calls.apply("confirmed", source=done["source"])
            node.wait(lambda: status(cluster, name).get("lastKnownGood"), 30, "a last-known-good")
            good = {**before, "maxPods": 71}
        cluster.stop()
        ended = node.journal().count(words)
        # The check with the node's own binary would refuse the second one.
        bad = calls.switch(fields, allow_offline_guard=True, unchecked=True)["source"]
        # Not NRestarts: the restart of a revert counts from 0 again, and it may follow the end at once.
        node.wait(lambda: node.journal().count(words) > ended, 20, "an end of the kubelet")
        cluster.start()
        node.wait(lambda: node.configz() == good, 30, "the former configuration")
        node.wait(lambda: status(cluster, name).get("error"), 30, "a report of the guard")
        found = status(cluster, name)
        assert words in found["error"] and "the kubelet refused the configuration" in found["error"]
        # Without a last-known-good the node runs its own file, and both are absent.
        assert found["assigned"]["configMap"]["uid"] == bad["uid"]
        assert found["assigned"] != found.get("active") == found.get("lastKnownGood")
        other = calls.switch({"maxPods": 72})["source"]
        node.wait(lambda: node.configz() == {**before, "maxPods": 72}, 20, "another value")
        node.wait(lambda: "error" not in status(cluster, name), 30, "a report without an error")
        assert status(cluster, name)["assigned"]["configMap"]["uid"] == other["uid"]
    finally:
        cluster.start()
        calls.reset()
    assert node.layout() == layout and node.configz() == before


@pytest.mark.parametrize(("name", "delivery"), DROPIN_FIRST)
@pytest.mark.fault(case=19)
@pytest.mark.fault(case=38)
def test_guard_reverts_what_is_not_confirmed_also_after_a_power_cut(
    cluster: Cluster, nodes: dict[str, SimNode], name: str, delivery: str
) -> None:
    node = nodes[name]
    before = node.configz()
    calls = Calls(node, delivery)
    try:
        calls.switch({"maxPods": 71}, confirm_seconds=CONFIRM_SECONDS)
        node.wait(lambda: node.configz().get("maxPods") == 71, 20, "the new configuration")
        # Otherwise the reboot itself speaks against the configuration.
        node.wait(lambda: '"was_healthy": true' in node.read(PROGRESS, ""), 20, "a look of the guard")
        node.reboot(power_cut=True)
        node.wait(lambda: node.configz().get("maxPods") == 71, 20, "the same configuration after the power cut")
        node.wait(lambda: node.configz() == before, CONFIRM_SECONDS + 20, "the former configuration")
        node.wait(lambda: status(cluster, name).get("error"), 30, "a report of the guard")
        assert "not confirmed within" in status(cluster, name)["error"]
        assert "after the reboot" in status(cluster, name)["error"]
        again = calls.switch({"maxPods": 71}, trial_seconds=1)
        calls.apply("confirmed", source=again["source"])
        node.wait(lambda: status(cluster, name).get("lastKnownGood"), 30, "a last-known-good")
        assert node.configz() == {**before, "maxPods": 71} and "error" not in status(cluster, name)
    finally:
        calls.reset()


@pytest.mark.parametrize(("name", "delivery"), CHECKPOINT_FIRST)
@pytest.mark.fault(case=32)
def test_a_second_change_that_fails_reverts_to_what_ran_before_the_first(
    cluster: Cluster, nodes: dict[str, SimNode], name: str, delivery: str
) -> None:
    """The first one is healthy, and no controller has confirmed it."""
    node = nodes[name]
    before = node.configz()
    calls = Calls(node, delivery)
    try:
        calls.switch({"maxPods": 71})
        node.wait(lambda: node.configz().get("maxPods") == 71, 20, "the first configuration")
        second = calls.switch({"maxPods": 72, **DEADLY}, unchecked=True)["source"]
        node.wait(lambda: node.configz() == before, 30, "the configuration from before both")
        node.wait(lambda: status(cluster, name).get("error"), 30, "a report of the guard")
        assert status(cluster, name)["assigned"]["configMap"]["uid"] == second["uid"]
        assert "quantities must match the regular expression" in status(cluster, name)["error"]
        calls.switch({"maxPods": 72})
        node.wait(lambda: node.configz() == {**before, "maxPods": 72}, 20, "the second one without its fault")
    finally:
        calls.reset()


@pytest.mark.parametrize(("name", "delivery"), CHECKPOINT_FIRST)
@pytest.mark.fault(case=36)
def test_an_end_of_the_kubelet_without_a_reason_is_no_evidence(
    cluster: Cluster, nodes: dict[str, SimNode], name: str, delivery: str
) -> None:
    """A kubelet that is killed once, and one whose container runtime is away, keep their configuration."""
    node = nodes[name]
    calls = Calls(node, delivery)
    try:
        calls.switch({"maxPods": 71})
        node.wait(lambda: node.configz().get("maxPods") == 71, 20, "the new configuration")
        node.stop_runtime()
        invocation = node.show("InvocationID")
        node.kill_kubelet()
        node.wait(lambda: int(node.show("NRestarts")) > 2, 20, "several ends without a runtime")
        away = "on trial; the container runtime is away: "
        node.wait(lambda: status(cluster, name).get("reason", "").startswith(away), 30, "a report that names it")
        node.start_runtime()
        node.wait(lambda: node.configz().get("maxPods") == 71, 20, "the same configuration again")
        assert node.show("InvocationID") != invocation

        def asked(words: t.Sequence[str]) -> subprocess.CompletedProcess[str]:
            """Run a command with a time limit of `timeout`."""
            return subprocess.CompletedProcess(list(words), *node.systemd.answer(list(words[2:])))

        assert last_words.killed("kubelet.service", invocation, asked)
        assert not last_words.killed("kubelet.service", node.show("InvocationID"), asked)
    finally:
        node.start_runtime()
        calls.reset()
