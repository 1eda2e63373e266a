# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""After any sequence of changes and faults the node runs a configuration that its binary accepts: one that an operator
assigned, or its own.

300 sequences are tried, the same in every run. The long tier tries 20,000 random ones.
"""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.store.store import Store
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.store.store_reader import quietly
from tests.support.examples import examples
from tests.support.whole_node import LONG, WholeNode, text

EXPLORING = os.environ.get("TIER") == "long"
SLACK = 3
BEHAVIORS = st.sampled_from(["good", "good", "good", "old", "bad", "dies", "deaf"])
# Where a call of the module is interrupted: after so many changes of the disk, mostly not at all.
CUTS = st.one_of(st.none(), st.none(), st.integers(0, 60))


class AnySequence(RuleBasedStateMachine):
    """The rules are what operators, controllers and machines do; `teardown` waits, and looks at what is left.

    `good`: the configuration that became last-known-good, while nothing but faults happened since. `allowed`: how many
    restarts by the guard, and starts with a refused configuration, the other events explain.
    """

    def __init__(self) -> None:
        super().__init__()
        # In memory if possible: the file of the store's lock is a real one, and is written at each look.
        self.folder = Path(tempfile.mkdtemp(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None))
        self.assigned: dict[str, dict[str, str]] = {}
        self.allowed = 0
        self.good = ""
        self.full = self.replaced = False

    @initialize(seed=st.integers(0, 2**32), behavior=BEHAVIORS)
    def begin(self, seed: int, behavior: str) -> None:
        self.node = WholeNode(self.folder, seed)
        self.patches = self.node.standing_in()
        self.roll_out(behavior, None)

    @rule(behavior=BEHAVIORS, cut=CUTS, power=st.booleans())
    def assign(self, behavior: str, cut: int | None, power: bool) -> None:
        """A controller assigns a configuration, and may be lost on the way, alone or with the node."""
        entry, content = self._new(behavior)
        self.node.assign(entry, content, cut, power)

    @rule(behavior=BEHAVIORS, cut=CUTS)
    def roll_out(self, behavior: str, cut: int | None) -> None:
        """A whole rollout: it confirms what it sees running."""
        entry, content = self._new(behavior)
        if self.node.assign(entry, content):
            self.node.advance(15)
            self._confirm(cut)
            self.node.advance(90)
            self._see_good()

    @precondition(lambda self: self.node.healthy())
    @rule(cut=CUTS)
    def confirm(self, cut: int | None) -> None:
        self._confirm(cut)

    @rule(reset=st.booleans(), cut=CUTS, connected=st.booleans())
    def undo(self, reset: bool, cut: int | None, connected: bool) -> None:
        """A controller rolls back or resets, and may be lost before it restarts the kubelet."""
        self._touched(1)
        if self.node.call("reset" if reset else "rolled_back", cut=cut) and connected:
            self.node.start()
            if reset:
                self.node.advance(15)
                if self.node.healthy():
                    self.node.call("confirmed")

    @rule(seconds=st.sampled_from([1.0, 15.0, 90.0, 400.0]))
    def wait(self, seconds: float) -> None:
        self.node.advance(seconds)

    @rule(after=st.integers(0, 40), power_cut=st.booleans(), seconds=st.sampled_from([15.0, 400.0]))
    def crash(self, after: int, power_cut: bool, seconds: float) -> None:
        """The guard or the node ends in the middle of what the guard does."""
        self.node.crash(after, power_cut, seconds)

    @rule(what=st.sampled_from(["kill", "reboot", "power cut", "binary 1", "binary 2", "binary 2, reboot"]))
    def disturb(self, what: str) -> None:
        if what.startswith("binary"):
            self._install(int(what[7]))
        if what == "kill":
            self.node.kill_kubelet()
        elif "reboot" in what or what == "power cut":
            self.node.reboot(power_cut=what == "power cut")

    @rule(fault=st.sampled_from([errno.ENOSPC, errno.EROFS, "runtime", "api", "none"]))
    def fault(self, fault: int | str) -> None:
        """Begin a fault, or end all."""
        if isinstance(fault, int) or fault == "none":
            self.full = fault == errno.ENOSPC
            self.node.fill(fault if isinstance(fault, int) else 0)
        self.node.runtime = fault != "runtime" and (fault == "none" or self.node.runtime)
        self.node.api = fault != "api" and (fault == "none" or self.node.api)

    def _install(self, version: int) -> None:
        if version != self.node.version:
            self.replaced = True
            self._touched(1)
        self.node.install(version)

    def _new(self, behavior: str) -> tuple[dict[str, str], str]:
        """Return a new source and its configuration."""
        # Two ends are the evidence against a configuration; the guard restarts the kubelet once with the former one.
        self._touched(3 if behavior in ("bad", "dies") else 1)
        number = len(self.assigned)
        content = text(behavior, f"c{number}")
        self.assigned[content] = {
            "namespace": "kube-system",
            "name": f"c{number}",
            "uid": f"uid-{number}",
            "resourceVersion": str(10000 + number),
            "kubeletConfigKey": "kubelet",
        }
        return self.assigned[content], content

    def _touched(self, restarts: int) -> None:
        """Note an event that may cost this many restarts and end the time of a good configuration."""
        self.allowed += restarts
        self.good = ""

    def _confirm(self, cut: int | None) -> None:
        source = quietly(Store(self.node.config_dir, self.node.disk).assigned)
        kubelet = self.node.kubelet
        if source and kubelet and self.node.healthy() and self.assigned.get(kubelet.content) == source:
            self.node.call("confirmed", source, cut=cut)

    def _see_good(self) -> None:
        """Note a configuration that has become last-known-good and runs."""
        store = Store(self.node.config_dir, self.node.disk)
        source, kubelet = quietly(store.last_known_good), self.node.kubelet
        armed = quietly(store.trial)
        if (
            source
            and source == quietly(store.assigned)
            and (armed is None or (armed.failed == "" and armed.to != source))
        ):
            self.good = kubelet.content if kubelet and self.assigned.get(kubelet.content) == source else ""

    def teardown(self) -> None:
        try:
            if hasattr(self, "node"):
                self.settle()
        finally:
            if hasattr(self, "patches"):
                self.patches.close()
            shutil.rmtree(self.folder)

    def settle(self) -> None:
        """End every fault but what is assigned and installed, wait, and look at the node."""
        node = self.node
        node.runtime = node.api = True
        if self.full and not self.replaced:
            # A revert needs no free block. Only a new binary may lead to what no trial has prepared.
            node.advance(LONG)
            assert node.healthy(), "no healthy kubelet on a full disk"
        node.fill(0)
        if self.replaced:
            # The process of the former binary may still run; the next start is that of the new one.
            node.start()
        node.advance(LONG)
        assert node.kubelet, "no kubelet runs"
        content = node.kubelet.content
        assert not node.refuses(content)
        assert content in self.assigned or content == node.own.read_text()
        assert node.healthy(), "the kubelet is deaf"
        if self.good:
            assert content == self.good, "a configuration that held was reverted"
        trial = quietly(Store(node.config_dir, node.disk).trial)
        assert trial is None or trial.failed, "a trial never ends"
        assert not node.watching, "the guard never ends"
        assert node.guard_restarts + node.refused_starts <= self.allowed + SLACK
        node.start()
        assert node.kubelet and node.kubelet.content == content, "the next start takes another configuration"


AnySequence.TestCase.settings = settings(
    max_examples=20000 if EXPLORING else examples(300),
    # A gate must not fail by chance.
    derandomize=not EXPLORING,
    stateful_step_count=25,
    print_blob=True,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
TestAnySequence = AnySequence.TestCase
