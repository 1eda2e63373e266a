# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The annotations of a Node that stand in for Node.spec.configSource and Node.status.config where its kubelet knows
neither.
"""

from __future__ import annotations

import json
from typing import Any, Mapping

SOURCE = "kubelet-config.livenodes.io/source"
"""What the node should run, in the shape of Node.spec.configSource. Written by the controller."""
STATUS = "kubelet-config.livenodes.io/status"
"""What it was told, runs and falls back to, in the shape of Node.status.config with `reason`, `time` and `started`
beside. Written on the node.
"""
PREVIOUS = "kubelet-config.livenodes.io/previous"
"""What it ran before it was last given something else, in the shape of Node.spec.configSource; an empty mapping is its
local config.

Written by the controller.
"""
CORDONED = "kubelet-config.livenodes.io/cordoned"
"""That it was us who cordoned the node, by whom and when: `holder`, `time`. Written by the controller; no other cordon
is ever undone.
"""

ON_TRIAL = "on trial"
"""`reason` of a config that the controller has not confirmed yet."""
CONFIRMED = "on trial, confirmed"
"""`reason` of a config that was confirmed and has to hold for the rest of its trial."""


def text(value: Mapping[str, Any]) -> str:
    """Return an annotation's value: JSON in one line, keys sorted, so that equal states are equal texts."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def parse(value: str | None) -> dict[str, Any] | None:
    """Return what an annotation holds, None when there is none. One that somebody made unreadable says nothing: an
    empty mapping.
    """
    if value is None:
        return None
    try:
        found = json.loads(value)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
