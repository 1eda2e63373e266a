# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nodes with a follower: whether one takes a source to its node, and what the controller writes for it."""

from __future__ import annotations

import typing as t

from ..._config.values import following
from ..._config.values.following import API, FORMAT, SSH, Orders
from . import nodes

Source = t.Optional[t.Mapping[str, str]]
# Argument spec of the modules that assign a source to nodes.
TRANSPORT: dict[str, dict[str, t.Any]] = {
    "transport": {"type": "str", "choices": list(following.TRANSPORTS), "default": following.AUTO},
    "trial_seconds": {"type": "int", "default": 600},
    "confirm_seconds": {"type": "int"},
}


def problem(node: nodes.Node, transport: str) -> str:
    """Return why a source cannot reach a node by the requested transport, empty if it can."""
    if transport == SSH or not node.on_node:
        return ""
    if node.follower is None:
        if transport == following.AUTO:
            return ""
        return (
            "no follower reports on it, so nothing takes the source to the node. Run the playbook follow for its host, "
            "or set kubelet_config_transport to auto or ssh"
        )
    if node.follower.format != FORMAT:
        return (
            f"its follower writes format {node.follower.format}, and this collection reads format {FORMAT}: update the "
            "follower with the playbook follow"
        )
    return ""


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
    seconds = options["trial_seconds"]
    confirm = options["confirm_seconds"]
    return Orders(API, known.attempt + 1, seconds, seconds if confirm is None else confirm)


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
