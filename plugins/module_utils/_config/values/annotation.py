# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The prefix of all annotations and labels, and the Node annotations that replace Node.spec.configSource and
Node.status.config on kubelets without these fields.
"""

from __future__ import annotations

import json
from typing import Any, Mapping

PREFIX = "kubelet-config.livenodes.io/"
"""Begins the name of every annotation and label of this collection, on Nodes, ConfigMaps and Leases."""
SOURCE = PREFIX + "source"
"""The source that the node should run, in the shape of Node.spec.configSource. Written by the controller.

Beside `configMap` it names by `machineID` and `nodeUID` the machine and the Node to which it was assigned, if known: a
machine that was installed again or replaced does not have the source on its disk. `delivery` names the delivery, if
it is not that of a checkpoint.
"""
MACHINE = ("machineID", "nodeUID")
STATUS = PREFIX + "status"
"""The assigned, active and last-known-good sources, in the shape of Node.status.config, with `reason`, `time` and
`started`. Written on the node.
"""
PREVIOUS = PREFIX + "previous"
"""The source that the node ran before the last rollout that changed it, in the shape of Node.spec.configSource. Written
by the controller. Without `configMap` it is the local config.

`rollout` names that rollout (`_config/undo/changed_by.py`); assignments outside a rollout name none. `undone` is
true once a rollback of it has begun on this node.
"""
OWN = PREFIX + "own"
"""The node's own values of the fields that sources replaced; see own_values.py. Written by the controller, in the patch
that assigns a source. On the Node, because nodes with different own values can share a ConfigMap. Not on the ConfigMap,
because a change of its metadata changes its resourceVersion, which restarts every kubelet that follows it.
"""
CORDONED = PREFIX + "cordoned"
"""Marks a cordon of this collection: `holder` and `time`. Written by the controller, which removes no other cordon."""

ON_TRIAL = "on trial"
"""`reason` of a config that the controller has not confirmed yet."""
CONFIRMED = "on trial, confirmed"
"""`reason` of a config that is confirmed and whose trial still runs."""


def unconfirmed(reason: Any) -> bool:
    """Return whether this `reason` is that of a config that the controller has not confirmed yet.

    The guard adds what a trial waits for, such as a container runtime, after a semicolon.
    """
    return str(reason or "").partition(";")[0] == ON_TRIAL


def text(value: Mapping[str, Any]) -> str:
    """Return an annotation's value: JSON on one line with sorted keys, so that equal states are equal texts."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
