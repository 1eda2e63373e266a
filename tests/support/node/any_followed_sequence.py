# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Any sequence of changes and faults on a whole node with a follower, also with runs over ssh in between, and what must
hold at its end beside what AnySequence demands.
"""

from __future__ import annotations

import contextlib
import typing as t

from hypothesis import strategies as st
from hypothesis.stateful import initialize, rule

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import annotation, following
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system import lock
from tests.support.node.any_sequence import AN_HOUR, BEHAVIORS, CUTS, POLICIES, AnySequence
from tests.support.node.followed_node import FollowedNode
from tests.support.node.simulated_unit import text

# Where the process of a look ends: before so many of its requests and steps, mostly nowhere.
STEPS = st.one_of(st.none(), st.none(), st.none(), st.integers(0, 12))


class AnyFollowedSequence(AnySequence):
    """The rules of a node without a follower are those of runs over ssh here."""

    node: FollowedNode

    def __init__(self) -> None:
        super().__init__()
        self.confirmed: set[str] = set()

    @initialize(seed=st.integers(0, 2**32), behavior=BEHAVIORS)
    def begin(self, seed: int, behavior: str) -> None:
        self.node = FollowedNode(self.folder, seed)
        self.patches = contextlib.ExitStack()
        self.patches.enter_context(self.node.standing_in())
        self.point(behavior, "none", True)

    @rule(behavior=BEHAVIORS, policy=POLICIES, looked_at=st.booleans())
    def point(self, behavior: str, policy: str, looked_at: bool) -> None:
        """A controller assigns a configuration through the API."""
        source, content = self._new(behavior, policy)
        self.node.push(source, content)
        self.node.point(source)
        if looked_at:
            self.look(None, None, False)

    @rule(behavior=BEHAVIORS, before=st.booleans())
    def point_by_hand(self, behavior: str, before: bool) -> None:
        """A person assigns a configuration by name, a new one or that before the trial, and changes nothing else."""
        source = self._before() if before else None
        if source is None:
            source, content = self._new(behavior, "none")
            self.node.push(source, content)
        self._touched(3)
        named = {part: source[part] for part in ("namespace", "name", "kubeletConfigKey")}
        self.node.cluster.note(annotation.SOURCE, annotation.text({"configMap": named}))

    @rule(cut=CUTS, steps=STEPS, power=st.booleans())
    def look(self, cut: int | None, steps: int | None, power: bool) -> None:
        """The follower looks. Its process, with `power` the node, may end on the way."""
        self._touched(3)
        self.node.look(cut, steps, power)

    @rule(requests=st.integers(0, 3))
    def look_without_answer(self, requests: int) -> None:
        """The API server is lost after so many requests of a look."""
        self._touched(3)
        self.node.cluster.fails_after = requests
        self.node.look()
        self.node.cluster.fails_after = None

    @rule(reason=st.sampled_from(["", "", "slow"]), looked_at=st.booleans())
    def judge(self, reason: str, looked_at: bool) -> None:
        """The controller confirms or reverts what is on trial, as far as the follower has reported it."""
        if self.node.answer().trial:
            self._touched(1)
            armed = self._quietly(self.node.store().trial)
            if not reason and armed is not None and armed.name == self.node.answer().trial:
                self._note_confirmed()
            self.node.judge(reason)
            if looked_at:
                self.look(None, None, False)

    @rule(before=st.booleans(), looked_at=st.booleans())
    def go_back(self, before: bool, looked_at: bool) -> None:
        """The controller removes the source, or assigns the one that the node runs as active."""
        self._touched(1)
        active = self._quietly(self.node.store().active_source) if before else None
        self.node.point(active)
        if looked_at:
            self.look(None, None, False)

    @rule()
    def try_again(self) -> None:
        """The controller assigns the same source again."""
        source = annotation.records(self.node.cluster.notes, None, None).source
        self._touched(3)
        self.node.point(source)

    @rule(what=st.sampled_from(["delete", "recreate", "relabel"]))
    def change_configmaps(self, what: str) -> None:
        found = self.node.cluster.configmaps
        if what == "delete":
            found.clear()
        for configmap in found.values():
            if what == "relabel":
                configmap["metadata"]["labels"] = {}
            else:
                configmap["metadata"]["uid"] += "-again"

    @rule()
    def recreate_node(self) -> None:
        """The Node is deleted, and its kubelet creates it again."""
        self.node.cluster.create_node()

    @rule(seconds=st.sampled_from([-AN_HOUR, AN_HOUR]))
    def set_clock(self, seconds: float) -> None:
        self.node.set_by += seconds

    @rule(number=st.integers(0, 3))
    def edit_own_file(self, number: int) -> None:
        content = text("good", f"own{number}")
        self.owns.add(content)
        self.node.own.write_text(content)

    def undo(self, reset: bool, cut: int | None, connected: bool) -> None:
        self.node.point(None if reset else self._before(), following.SSH)
        super().undo(reset, cut, connected)

    def settle(self) -> None:
        """Let the follower look once. No later look, as by a new process, may change anything."""
        self.node.cluster.fails_after = None
        super().settle()
        self._touched(100)
        self._look_well()
        super().settle()
        assert not self._changes(), "a follower that starts again changes the node"
        with lock.locked(self.node.config_dir, 0):
            pass
        if not self.torn:
            self._check_confirmed()
            self._check_answer()

    def _changes(self) -> bool:
        """Look once; return whether that has changed anything."""
        before = self._all()
        self._look_well()
        return before != self._all()

    def _look_well(self) -> None:
        assert self.node.look(), "a look fails"

    def _all(self) -> t.Any:
        """Return everything that a look may change. Its answer also follows the node's own file."""
        node = self.node
        return node.disk.tree(), node.answer()._replace(facts={}), node.unit.invocation

    def _check_confirmed(self) -> None:
        kubelet = self.node.kubelet
        assert kubelet is not None
        assert kubelet.content in self.owns | self.confirmed, "what was never confirmed runs"

    def _check_answer(self) -> None:
        node = self.node
        store, answer, orders = node.store(), node.answer(), following.orders(node.cluster.notes)[0]
        source = annotation.records(node.cluster.notes, None, None).source
        if orders.transport == following.SSH or answer.refused or not orders.attempt:
            return
        assert (answer.source, answer.attempt) == (source, orders.attempt), "a change is not answered"
        if source is None:
            assert not node.dropin and not store.running(), "a reset has left something"
            return
        assigned, armed = store.assigned(), store.trial()
        back = armed.revert_to if armed is not None and armed.failed else None
        assert following.fits(source, assigned) or following.fits(source, back), "another source is assigned"

    def _before(self) -> t.Any:
        armed = self._quietly(self.node.store().trial)
        return armed.revert_to if armed else None

    def _confirm(self, cut: int | None) -> None:
        self._note_confirmed()
        super()._confirm(cut)

    def _note_confirmed(self) -> None:
        """Note what is on trial as confirmed."""
        armed = self._quietly(self.node.store().trial)
        if armed is not None:
            self.confirmed |= {content for content, entry in self.assigned.items() if entry == armed.to}
