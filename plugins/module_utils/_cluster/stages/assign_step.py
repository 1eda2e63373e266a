# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The assignment of one node: what is written to it, and what it notes of what the node ran before. No requests."""

from __future__ import annotations

import dataclasses
import typing as t

from ..._config import delivery as deliveries
from ..._config.plan import own_values
from ..._config.values import annotation, following
from ..._config.values.following import API, SSH, Orders
from ..._config.values.reference import same_place
from ..objects import config_sources, configmaps, nodes
from ..objects.config_sources import Source

# Argument spec of the modules that assign a source to nodes.
TRANSPORT: dict[str, dict[str, t.Any]] = {
    "transport": {"type": "str", "choices": list(following.TRANSPORTS), "default": following.AUTO},
    "trial_seconds": {"type": "int", "default": 600},
    "confirm_seconds": {"type": "int"},
}


@dataclasses.dataclass(frozen=True)
class Step:
    """The assignment of one node.

    `node` is the node as the chosen delivery sees it, `goal` the source to write to its `sides` (deliveries), `notes`
    the annotations to write as well.
    """

    node: nodes.Node
    goal: Source
    sides: t.Sequence[str]
    notes: t.Mapping[str, str | None]
    leaves: str = ""
    """The delivery that the node leaves in a migration."""
    before: t.Mapping[str, t.Any] | None = None
    """What the annotation `previous` must hold, None if that does not matter."""
    orders: Orders | None = None
    """What the annotation `follow` must hold, None for a node without a follower."""
    fault: str = ""
    """Why the requested transport does not reach the node."""

    @property
    def by_follower(self) -> bool:
        """Whether a follower takes the source to the node."""
        return self.orders is not None and self.orders.transport == API

    def reached(self, node: nodes.Node) -> bool:
        """Return whether a node has the goal. An annotation is not one, only its removal, and what a rollout notes."""
        if self.before is not None and self.before != node.previous:
            return False
        if self.orders is not None and self.orders != node.orders:
            return False
        if self.goal is not None and node.reimaged:
            return False
        if self.goal is None:
            for key, text in self.notes.items():
                if text is None and _has(node, key):
                    return False
        return all(self._written(node, side) for side in self.sides)

    def _written(self, node: nodes.Node, side: str) -> bool:
        stored = node.side(side).source
        if node.source_fault(side):
            return False
        if not deliveries.of(side).on_node:
            return node.form.same(stored, self.goal)
        return stored == self.goal and (self.goal is None or node.named(side))

    @property
    def recreated(self) -> bool:
        """Whether the node must run another ConfigMap of the same name, which its status does not distinguish."""
        node = self.node
        return not node.on_node and node.form.by_path and same_place(node.source, self.goal)

    @property
    def previous(self) -> Source:
        """The source that the node can be reverted to. If it already has its goal, an earlier run has recorded it."""
        node = self.node
        if node.previous is not None and self.reached(node):
            return t.cast("Source", node.previous.get("configMap"))
        if node.reimaged:
            return None
        # A node with an error does not run its source.
        active = node.part("active")
        if node.error and (active is None or active.get("name")):
            return active
        return node.source


Configs = t.Dict[str, config_sources.FoundConfig]


def make_step(
    found: nodes.Node, node: nodes.Node, wanted: config_sources.Wanted, configs: Configs, options: t.Mapping[str, t.Any]
) -> Step:
    """Return the assignment of a node. `found` is the node as read, `node` the same as the chosen delivery sees it.

    `options`: those of TRANSPORT.
    """
    step = _without_orders(found, node, wanted, configs)
    asked = _standing_off(found, step) or orders(node, step.goal, wanted.transport, options)
    step = dataclasses.replace(step, orders=asked, fault=problem(node, wanted.transport))
    if asked is None or asked == node.orders:
        return step
    return dataclasses.replace(step, notes={**step.notes, following.FOLLOW: following.text(asked)})


def _without_orders(found: nodes.Node, node: nodes.Node, wanted: config_sources.Wanted, configs: Configs) -> Step:
    undone = None
    if wanted.undoes and found.previous is not None:
        undone = {**found.previous, "undone": True}
    if wanted.source is None:
        return _removal(found, node, wanted.delivery, undone)
    goal = _goal(node, wanted.source, configs)
    own: dict[str, str | None] = {}
    if wanted.own:
        own = {annotation.OWN: own_values.text(wanted.own)}
    before, after = deliveries.of(found.delivery), deliveries.of(node.delivery)
    if wanted.migrates and before.replaces_file and not after.whole:
        # A rollback must not deliver the whole configuration of the checkpoint as a drop-in.
        return Step(node, goal, [node.delivery], {annotation.PREVIOUS: None, **own}, found.delivery)
    if undone:
        return Step(node, goal, [node.delivery], {annotation.PREVIOUS: annotation.text(undone), **own}, before=undone)
    return Step(node, goal, [node.delivery], {**_remembered(found, goal, wanted.rollout), **own})


def _removal(found: nodes.Node, node: nodes.Node, delivery: str, undone: dict[str, t.Any] | None) -> Step:
    if delivery != deliveries.AUTO:
        return Step(node, None, [delivery], {})
    # Without a named delivery, remove both sources: an interrupted migration leaves two.
    places = (deliveries.NATIVE, deliveries.CHECKPOINT)
    both = [side for side in places if node.side(side).source or node.source_fault(side)]
    notes: dict[str, str | None] = {key: None for key in (annotation.PREVIOUS, annotation.OWN) if _has(node, key)}
    if found.reimaged:
        notes[annotation.STATUS] = None
    if undone:
        notes[annotation.PREVIOUS] = annotation.text(undone)
    return Step(node, None, both, notes, before=undone)


def _goal(node: nodes.Node, source: dict[str, str], configs: Configs) -> dict[str, str]:
    """Return a source as it is written to a node.

    An annotation names the revision that is copied to the node; a kubelet with native delivery follows every later one.
    """
    if not node.on_node and not node.form.by_uid:
        return source
    configmap = configs[nodes.describe(source)].configmap
    if configmap is None:
        return source
    return node.as_reported(configmaps.reference(configmap, source["kubeletConfigKey"]))


def _has(node: nodes.Node, key: str) -> bool:
    """Return whether a node has one of our annotations beside that with its source, also a malformed one."""
    found = {annotation.PREVIOUS: node.previous, annotation.OWN: node.own, annotation.STATUS: node.status}
    return found[key] is not None or key in node.malformed


def _remembered(node: nodes.Node, goal: dict[str, str], rollout: str) -> dict[str, str | None]:
    """Return the annotation with what the node ran before the rollout, empty if that is noted or not known.

    A machine other than the one that the annotations describe runs its local config, and has reported nothing. What
    an earlier run of the same rollout has noted stays. A source that failed or is still on trial is not what the node
    ran before: it counts with what was noted before it.
    """
    if node.reimaged:
        return {annotation.PREVIOUS: _record(None, rollout), annotation.STATUS: None}
    noted = node.previous if rollout else None
    known, active = _is_known(node, rollout), node.part("active")
    if noted and noted.get("rollout") == rollout:
        if not noted.get("undone"):
            return {}
        before = noted.get("configMap")
    elif known and same_place(active, goal):
        return {}
    elif known and (not active or active.get("name")):
        before = active
    elif noted is not None:
        before = noted.get("configMap")
    else:
        return {}
    return {annotation.PREVIOUS: _record(before, rollout)}


def _is_known(node: nodes.Node, rollout: str) -> bool:
    """Return whether what a node runs is known, and neither failed nor on trial."""
    on_trial = annotation.unconfirmed((node.status or {}).get("reason"))
    if nodes.settled(node) and not on_trial:
        return True
    return bool(rollout) and nodes.fell_back(node)


def _record(before: Source, rollout: str) -> str:
    held: dict[str, t.Any] = {}
    if before:
        held["configMap"] = before
    if rollout:
        held["rollout"] = rollout
    return annotation.text(held)


def problem(node: nodes.Node, transport: str) -> str:
    """Return why a source cannot reach a node by the requested transport, empty if it can."""
    if not node.on_node:
        return ""
    reported = None if node.follower is None else node.follower.format
    return following.unreached(reported, transport)


def orders(node: nodes.Node, goal: Source, transport: str, options: t.Mapping[str, t.Any]) -> Orders | None:
    """Return what the annotation `follow` must hold with a goal, None for a node without a follower.

    `node` is the node as its delivery sees it. A source that its follower has refused, or that it was reverted from, is
    tried again.
    """
    if node.follower is None or not node.on_node:
        return None
    known = node.orders
    if transport == SSH:
        return known if known.transport == SSH else Orders(SSH, known.attempt)
    if known.transport == API and node.source == goal and not _has_failed(node):
        return known
    trial = options.get("trial_seconds") or following.BY_DEFAULT.trial_seconds
    return Orders(API, known.attempt + 1, trial, options.get("confirm_seconds") or trial)


def _standing_off(found: nodes.Node, step: Step) -> Orders | None:
    """Return the orders with which a follower leaves a node alone that gets Node.spec.configSource, else None.

    The annotation still names what the follower has switched to. It would do so again while Ansible removes that.
    """
    moves = step.goal is not None and not step.node.on_node
    if not moves or not found.by_follower or found.source is None:
        return None
    return Orders(SSH, found.orders.attempt)


def back(node: nodes.Node) -> dict[str, str | None]:
    """Return the annotation with which a follower returns to a source, empty without one that acts."""
    if not node.by_follower:
        return {}
    again = node.orders._replace(attempt=node.orders.attempt + 1, trial="", reason="")
    return {following.FOLLOW: following.text(again)}


def _has_failed(node: nodes.Node) -> bool:
    answer = node.follower
    if answer is None or answer.attempt != node.orders.attempt or answer.source != node.source:
        return False
    return bool(answer.refused) or nodes.fell_back(node)
