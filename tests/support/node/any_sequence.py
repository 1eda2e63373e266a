# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Any sequence of changes and faults on a whole node, and what must hold at its end: the node runs a configuration that
its binary accepts, one that an operator assigned, or its own.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
import tempfile
import typing as t
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tests.support.examples import examples
from tests.support.node.simulated_unit import text
from tests.support.node.versions import OURS, Code
from tests.support.node.whole_node import LONG, WholeNode

EXPLORING = os.environ.get("TIER") == "long"
SLACK = 3
BEHAVIORS = st.sampled_from(["good", "good", "good", "old", "bad", "dies", "deaf"])
POLICIES = st.sampled_from(["none", "none", "none", "static"])
# Where a call of the module is interrupted: after so many changes of the disk, mostly not at all.
CUTS = st.one_of(st.none(), st.none(), st.integers(0, 80))
FAULTS = [errno.ENOSPC, errno.EROFS, "runtime", "api", "dependency", "none"]
RECORDS = [
    *("store/trial", "store/progress", "store/report", "store/meta/assigned", "store/meta/last-known-good"),
    *("store/kept-files", "store/graduated", "store/binary", "guard/settings.json"),
]
AN_HOUR = 3600.0
# Why a trial ends whose configuration was never started.
INTERRUPTED = "the switch was interrupted"


class AnySequence(RuleBasedStateMachine):
    """The rules are what operators, controllers and machines do; `teardown` waits, and looks at what is left.

    `good`: the configuration that became last-known-good, while nothing but faults happened since. `allowed`: how many
    restarts by the guard, and starts with a refused configuration, the other events explain. `torn`: whether a file of
    the store was torn.
    """

    guard: Code = OURS
    module: Code = OURS

    def __init__(self) -> None:
        super().__init__()
        # In memory if possible: the file of the store's lock is a real one, and is written at each look.
        self.folder = Path(tempfile.mkdtemp(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None))
        self.assigned: dict[str, dict[str, str]] = {}
        # What the node's own file has held.
        self.owns = {text("good", "own")}
        # The names of the sources whose last trial has failed.
        self.failed: set[str] = set()
        self.allowed = 0
        self.good = ""
        self.full = self.replaced = self.torn = False

    @initialize(seed=st.integers(0, 2**32), behavior=BEHAVIORS)
    def begin(self, seed: int, behavior: str) -> None:
        self.node = WholeNode(self.folder, seed, self.guard, self.module)
        self.patches = contextlib.ExitStack()
        self.patches.enter_context(self.node.standing_in())
        self.roll_out(behavior, "none", None)

    @rule(behavior=BEHAVIORS, policy=POLICIES, cut=CUTS, power=st.booleans())
    def assign(self, behavior: str, policy: str, cut: int | None, power: bool) -> None:
        """A controller assigns a configuration, and may be lost on the way, alone or with the node."""
        entry, content = self._new(behavior, policy)
        self.node.assign(entry, content, cut, power)

    # The trial of an earlier module may revert to what was on trial, which may not work.
    @precondition(lambda self: self.module is OURS)
    @rule(back=st.integers(0, 3), cut=CUTS, power=st.booleans())
    def assign_again(self, back: int, cut: int | None, power: bool) -> None:
        """A controller assigns one of the last configurations again, and may be lost on the way."""
        content, entry = list(self.assigned.items())[-1 - back % len(self.assigned)]
        self._touched(3 if json.loads(content)["behavior"] in ("bad", "dies") else 1)
        self.node.assign(entry, content, cut, power)

    @rule(behavior=BEHAVIORS, policy=POLICIES, cut=CUTS)
    def roll_out(self, behavior: str, policy: str, cut: int | None) -> None:
        """A whole rollout: it confirms what it sees running."""
        entry, content = self._new(behavior, policy)
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
        done = self.node.call("reset" if reset else "rolled_back", cut=cut)
        if done and connected and self.node.result["restart_needed"]:
            self.node.restart()
            if reset:
                self.node.advance(15)
                if self.node.healthy():
                    self.node.call("confirmed")

    @precondition(lambda self: self._on_trial())
    @rule(how=st.sampled_from(["another trial", "assigned", "rolled_back", "reset", "confirmed"]))
    def second_run(self, how: str) -> None:
        """Another controller undoes its own trial, which is not the current one; or it does not get the lock."""
        node = self.node
        before = node.disk.tree()
        if how != "another trial":
            entry, content = next(iter((entry, content) for content, entry in self.assigned.items()))
            source, data = (entry, {"kubelet": content}) if how == "assigned" else (None, None)
            with node.module.lock.locked(node.config_dir, 1):
                assert not node.call(how, source, data, lock_timeout=0)
        else:
            node.call("rolled_back", trial="boot0/1.0", unconfirmed_only=False)
        assert node.disk.tree() == before, "a second run has changed the trial of the first"

    @rule(seconds=st.sampled_from([1.0, 15.0, 90.0, 400.0]))
    def wait(self, seconds: float) -> None:
        self.node.advance(seconds)

    @rule(after=st.integers(0, 40), power_cut=st.booleans(), seconds=st.sampled_from([15.0, 400.0]))
    def crash(self, after: int, power_cut: bool, seconds: float) -> None:
        """The guard or the node ends in the middle of what the guard does."""
        self.node.crash(after, power_cut, seconds)

    @rule(what=st.sampled_from(["kill", "reboot", "power cut", "binary 1", "binary 2", "binary 2, reboot", "sleep"]))
    def disturb(self, what: str) -> None:
        if what.startswith("binary"):
            self._install(int(what[7]))
        if what == "kill":
            self.node.kill_kubelet()
        elif what == "sleep":
            self.node.slept += AN_HOUR
        elif "reboot" in what or what == "power cut":
            self.node.reboot(power_cut=what == "power cut")

    @invariant()
    def leads_back_to_nothing_that_has_failed(self) -> None:
        """No trial reverts to a source whose own last trial has failed, as far as that was seen."""
        armed = self._quietly(self.node.store().trial)
        if armed is None or armed.to is None:
            return
        name = armed.to["name"]
        if armed.failed and armed.failed != INTERRUPTED:
            self.failed.add(name)
        elif armed.confirmed:
            self.failed.discard(name)
        back = armed.revert_to
        if back is not None and back != armed.to:
            assert back["name"] not in self.failed, "a trial reverts to what has failed"

    @rule(what=st.sampled_from(["stop", "start"]))
    def operate(self, what: str) -> None:
        """An operator stops the kubelet, or starts it."""
        unit = self.node.unit
        if what == "stop" and unit.state[0] != "inactive":
            unit.stopped = unit.order("stop")
        elif what == "start" and unit.state[0] == "inactive":
            unit.order("start")

    @rule(fault=st.sampled_from(FAULTS))
    def fault(self, fault: int | str) -> None:
        """Begin a fault, or end all."""
        node, over = self.node, fault == "none"
        if isinstance(fault, int) or over:
            self.full = fault == errno.ENOSPC
            node.fill(fault if isinstance(fault, int) else 0)
        node.runtime = fault != "runtime" and (over or node.runtime)
        node.api = fault != "api" and (over or node.api)
        node.unit.dependency = fault != "dependency" and (over or node.unit.dependency)

    @rule(looks=st.integers(0, 5), killed=st.booleans())
    def systemd_is_silent(self, looks: int, killed: bool) -> None:
        """One of the next looks at the unit is not answered, with `killed` one that a start of the kubelet needs."""
        # The guard does not know then which configuration this kubelet was started with.
        self.allowed += 1
        self.node.unit.unanswered = looks
        if killed:
            self.node.kill_kubelet()

    @precondition(lambda self: not self.torn)
    @rule(name=st.sampled_from(RECORDS), half=st.booleans())
    def tear(self, name: str, half: bool) -> None:
        """A crash of the host has emptied a file of ours, or left half of it."""
        if self.node.tear(name, half):
            self.torn = True
            # What is not known any more is judged anew: two ends, and a restart.
            self._touched(3)

    def _install(self, version: int) -> None:
        if version != self.node.version:
            self.replaced = True
            self._touched(1)
        self.node.install(version)

    def _new(self, behavior: str, policy: str) -> tuple[dict[str, str], str]:
        """Return a new source and its configuration."""
        # Two ends are the evidence against a configuration; the guard restarts the kubelet once with the former one.
        self._touched(3 if behavior in ("bad", "dies") else 1)
        number = len(self.assigned)
        content = text(behavior, f"c{number}", policy)
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

    def _on_trial(self) -> bool:
        armed = self._quietly(self.node.store().trial)
        return armed is not None and not armed.failed

    def _has_something_to_watch(self) -> bool:
        """Whether a trial is open, or a revert has not ended."""
        return self._on_trial() or self.node._exists(f"{self.node.config_dir}/store/progress")

    def _quietly(self, read: t.Callable[[], t.Any]) -> t.Any:
        """Return what can be read, None for what is absent or cannot be read."""
        try:
            return read()
        except self.module.errors:
            return None

    def _confirm(self, cut: int | None) -> None:
        source = self._quietly(self.node.store().assigned)
        kubelet = self.node.kubelet
        if source and kubelet and self.node.healthy() and self.assigned.get(kubelet.content) == source:
            self.node.call("confirmed", source, cut=cut)

    def _see_good(self) -> None:
        """Note a configuration that has become last-known-good and runs."""
        store = self.node.store()
        source, kubelet = self._quietly(store.last_known_good), self.node.kubelet
        armed = self._quietly(store.trial)
        if (
            source
            and source == self._quietly(store.assigned)
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
        node, unit = self.node, self.node.unit
        node.runtime = node.api = unit.dependency = True
        if unit.stopped:
            node.advance(LONG)
            assert unit.stopped and unit.state == ("inactive", "dead"), "the guard started what an operator stopped"
            unit.order("start")
        if unit.left == unit.invocation and not (node.watching and self._has_something_to_watch()):
            # Without a guard that watches it is the operator's matter, as on a node without us. A guard that is only
            # left to report ends when it has done so.
            unit.order("start")
        if self.full and not self.replaced:
            # A revert needs no free block. Only a new binary may lead to what no trial has prepared.
            node.advance(LONG)
            assert node.healthy(), "no healthy kubelet on a full disk"
        node.fill(0)
        if self.replaced:
            # The process of the former binary may still run; the next start is that of the new one.
            unit.order("start")
        node.advance(LONG)
        assert node.kubelet, "no kubelet runs"
        content = node.kubelet.content
        assert not unit.refuses(content)
        assert content in self.assigned or content in self.owns
        assert node.healthy(), "the kubelet is deaf"
        if self.good:
            assert content == self.good, "a configuration that held was reverted"
        if self._on_trial() and not node.watching:
            # The module was stopped after it had armed the trial, before it started the guard. The next start does.
            store = node.store()
            assert store.running() != store.target(store.trial().to), "no guard watches what is on trial"
            unit.order("start")
            node.advance(LONG)
        assert not self._on_trial(), "a trial never ends"
        assert not node.watching, "the guard never ends"
        assert not unit.disobeyed, "the guard restarted what an operator stopped"
        restarts = unit.guard_restarts + unit.refused_starts
        assert restarts <= self.allowed + unit.failed_orders + SLACK
        unit.order("start")
        assert node.kubelet, "the next start fails"
        same = node.kubelet.content == content or {node.kubelet.content, content} <= self.owns
        assert same, "the next start takes another configuration"


def settings_for(short: int, long: int) -> settings:
    """Return how many sequences a test tries in either tier. A gate must not fail by chance."""
    return settings(
        max_examples=long if EXPLORING else examples(short),
        derandomize=not EXPLORING,
        stateful_step_count=25,
        print_blob=True,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
