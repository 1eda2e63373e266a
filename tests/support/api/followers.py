# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A Node with a follower, and what it reports."""

from __future__ import annotations

import typing as t

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import following
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values.following import (
    Answer,
    Orders,
)
from tests.support.api.objects import node, reference

A, B = reference("config-a"), reference("config-b")
TRIAL = "boot/7.0"
UNUSED = Answer()
"""That of a follower that was just installed."""
RUNS_B = {"assigned": {"configMap": B}, "active": {"configMap": B}}
RUNS_A = {"assigned": {"configMap": A}, "active": {"configMap": A}, "reason": "on trial"}


def followed(
    source: dict[str, str] | None = None, orders: Orders | None = None, answer: Answer | None = UNUSED, **more: t.Any
) -> dict[str, t.Any]:
    """Return a Node with a follower."""
    found = node("n1", version="v1.28.0", marked=source, **more)
    notes = found["metadata"].setdefault("annotations", {})
    if orders is not None:
        notes[following.FOLLOW] = following.text(orders)
    if answer is not None:
        notes[following.FOLLOWER] = following.text(answer)
    found["metadata"]["uid"] = "uid-n1"
    return found
