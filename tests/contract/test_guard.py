# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The guard alone returns a node to its last-known-good configuration, and reports it. Each case ends with the node as
it was before.
"""

from __future__ import annotations

import json
import typing as t

import pytest

from tests.contract.machines import Machine, Site
from tests.support.lab_node.node_bench import STORE
from tests.support.lab_node.node_calls import NodeCalls

# The nodes by delivery. The guard is the same for both: one of them in the short tier.
PLACES = {
    "sim": {"checkpoint": "n1", "dropin": "n2"},
    "lab": {"checkpoint": "n1"},
    "modern": {"checkpoint": "n1", "dropin": "n1"},
}
FOLLOWER = "/etc/systemd/system/livenodes-kubelet-follow.service"
TRIAL, PROGRESS = f"{STORE}/store/trial", f"{STORE}/store/progress"
# From the switch on, and again from a boot on; the switch alone takes seconds on a busy machine.
CONFIRM_SECONDS = {"sim": 20, "lab": 30}
DEADLY = {"evictionHard": {"memory.available": "lots"}}
REFUSED = {"maxPods": -3}


class Guarded:
    """One node, with one delivery."""

    def __init__(self, site: Site, name: str, delivery: str) -> None:
        self.site, self.name, self.delivery = site, name, delivery
        self.machine: Machine = site.machines[name]
        self.calls: NodeCalls = self.machine.calls(delivery)
        self.wait = self.machine.wait
        self.confirm_seconds = CONFIRM_SECONDS[site.cluster.kind]
        self.own = self.machine.configz()
        assert self.own, f"the kubelet of {name} does not answer"

    def status(self) -> dict[str, t.Any]:
        return t.cast("dict[str, t.Any]", self.site.notes(self.name).get("status", {}))

    def switch(self, fields: dict[str, t.Any], **options: t.Any) -> dict[str, str]:
        """Switch to fields, which the node accepts; return the source."""
        done = self.calls.switch(fields, **options)
        assert not done.get("failed") and done["changed"] and not done["reasons"], done
        return t.cast("dict[str, str]", done["source"])

    def wait_live(self, what: str, **fields: t.Any) -> None:
        """Wait until the kubelet runs its own configuration with these fields."""
        self.wait(lambda: self.machine.configz() == {**self.own, **fields}, 60, what)

    def wait_reverted(self, source: dict[str, str]) -> None:
        """Wait until the kubelet runs something else, without asking the API server."""
        self.wait(lambda: source["uid"] not in self.machine.active() and self.machine.healthy(), 60, "revert")

    def wait_error(self, *words: str) -> dict[str, t.Any]:
        """Wait for a report with an error, which has these words; return it."""
        self.wait(lambda: self.status().get("error"), 120, "a report of the guard")
        found = self.status()
        assert [word for word in words if word not in found["error"]] == []
        return found

    def graduate(self, source: dict[str, str]) -> None:
        """Confirm, as the controller does, and wait for the end of the trial."""
        self.calls.apply("confirmed", source=source)
        self.wait(lambda: self.status().get("lastKnownGood"), 60, "a last-known-good")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """The short tier has reverts of drop-ins where there are any, and otherwise checkpoints."""
    if "guarded" not in metafunc.fixturenames:
        return
    deliveries = sorted(PLACES[metafunc.config.getoption("on")], reverse="reverts" in metafunc.function.__name__)
    rare = [pytest.param(delivery, marks=pytest.mark.long) for delivery in deliveries[1:]]
    metafunc.parametrize("guarded", [deliveries[0], *rare], indirect=True)


@pytest.fixture(scope="module")
def few() -> bool:
    """As in tests/contract/conftest.py."""
    return True


@pytest.fixture
def guarded(site: Site, request: pytest.FixtureRequest) -> t.Iterator[Guarded]:
    """Yield the node; return it to its own files, which are as before then."""
    found = Guarded(site, PLACES[request.config.getoption("on")][request.param], request.param)
    layout = found.machine.layout()
    try:
        yield found
    finally:
        found.machine.set_runtime(True)
        try:
            site.cluster.start()
        finally:
            found.calls.reset()
    assert found.machine.layout() == layout
    found.wait_live("its own configuration")


@pytest.mark.long_on_lab
def test_an_older_follower_is_updated_in_the_middle_of_a_trial(guarded: Guarded) -> None:
    """The trial goes on, and its configuration becomes last-known-good. A reset removes the follower too."""
    machine = guarded.machine
    calls = machine.calls(guarded.delivery, key="kubelet", namespace="kube-system", effect="disrupt")
    assert calls.apply("followed")["changed"]
    source = guarded.switch({"maxPods": 71}, trial_seconds=1)
    trial, service = machine.read(TRIAL), machine.read(FOLLOWER)
    machine.write(FOLLOWER, f"# older\n{service}")
    assert calls.apply("followed")["changed"] and not calls.apply("followed")["changed"]
    assert (machine.read(TRIAL), machine.read(FOLLOWER)) == (trial, service)
    guarded.graduate(source)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        (DEADLY, "quantities must match the regular expression"),
        pytest.param(REFUSED, "maxPods (--max-pods) -3 must not be a negative number", marks=pytest.mark.long),
    ],
)
@pytest.mark.parametrize(
    "after",
    [
        pytest.param("nothing", marks=pytest.mark.long_on_lab),
        pytest.param("a good one", marks=pytest.mark.long_on_sim),
    ],
)
@pytest.mark.fault(case=3)
@pytest.mark.fault(case=7)
@pytest.mark.fault(case=16)
def test_guard_reverts_what_ends_the_kubelet(
    guarded: Guarded, fields: dict[str, t.Any], words: str, after: str
) -> None:
    """No controller is there after the switch, and the API server only at the end. Another value completes."""
    good: dict[str, t.Any] = {}
    if after == "a good one":
        good = {"maxPods": 71}
        source = guarded.switch(good, trial_seconds=0)
        guarded.wait_live("the new configuration", **good)
        guarded.graduate(source)
    guarded.site.cluster.stop()
    # The check with the node's own binary would refuse the second one.
    bad = guarded.switch(fields, allow_offline_guard=True, unchecked=True)
    guarded.wait_reverted(bad)
    guarded.site.cluster.start()
    guarded.wait_live("the former configuration", **good)
    found = guarded.wait_error(words, "the kubelet refused the configuration")
    # Without a last-known-good the node runs its own file, and both are absent.
    assert found["assigned"]["configMap"]["uid"] == bad["uid"]
    assert found["assigned"] != found.get("active") == found.get("lastKnownGood")
    other = guarded.switch({"maxPods": 72})
    guarded.wait_live("another value", maxPods=72)
    guarded.wait(lambda: "error" not in guarded.status(), 120, "a report without an error")
    assert guarded.status()["assigned"]["configMap"]["uid"] == other["uid"]


@pytest.mark.long
@pytest.mark.fault(case=19)
@pytest.mark.fault(case=38)
def test_guard_reverts_what_is_not_confirmed_also_after_a_power_cut(guarded: Guarded) -> None:
    source = guarded.switch({"maxPods": 71}, confirm_seconds=guarded.confirm_seconds)
    guarded.wait_live("the new configuration", maxPods=71)
    # Otherwise the reboot itself speaks against the configuration.
    guarded.wait(lambda: '"was_healthy": true' in guarded.machine.read(PROGRESS), 60, "a look of the guard")
    guarded.machine.power_cut()
    guarded.wait(guarded.machine.healthy, 60, "healthz after the power cut")
    assert source["uid"] in guarded.machine.active()
    guarded.wait_live("the former configuration")
    guarded.wait_error("not confirmed within", "after the reboot")
    guarded.graduate(guarded.switch({"maxPods": 71}, trial_seconds=1))
    guarded.wait_live("the same configuration again", maxPods=71)
    assert "error" not in guarded.status()


@pytest.mark.long_on_lab
@pytest.mark.fault(case=36)
def test_an_end_of_the_kubelet_without_a_reason_is_no_evidence(guarded: Guarded) -> None:
    """A kubelet that is killed once, and one whose container runtime is away, keep their configuration."""
    machine = guarded.machine
    guarded.switch({"maxPods": 71})
    guarded.wait_live("the new configuration", maxPods=71)
    machine.set_runtime(False)
    invocation = machine.invocation()
    machine.kill_kubelet()
    guarded.wait(lambda: machine.restarts() > 2, 60, "several ends without a runtime")
    away = "on trial; the container runtime is away: "
    guarded.wait(lambda: guarded.status().get("reason", "").startswith(away), 120, "a report that names it")
    machine.set_runtime(True)
    guarded.wait_live("the same configuration again", maxPods=71)
    starts = json.dumps([invocation, machine.invocation()])
    killed = guarded.calls.python(f"""
import json
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system import last_words
print(json.dumps([last_words.killed(start) for start in {starts}]))
""")
    assert killed == [True, False]
