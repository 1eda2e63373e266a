# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One message about a node of what several tasks and modules reported."""

from __future__ import annotations

import re
from typing import Any, Sequence

from ...module_utils._config.values.node_row import printable

UNKNOWN = "the task that failed reported no reason"
# What follows the name of the node without a colon.
_PREDICATE = re.compile(r"(?:was|cannot be) ")


def node_message(
    reasons: Any, name: str, host: str = "", then: str = "", untouched: Sequence[str] = (), node: str = "Node"
) -> str:
    """Return the reasons as one message that names the node once, at its beginning.

    Each reason may be a message of its own: the name of the node or of its C(host) at its beginning, and a full stop at
    its end, are removed. Empty reasons, and those that another one contains, are left out. C(then): what followed.
    C(untouched): the hosts that a rollout has not reached. An empty C(node) leaves out the name, for a part of a
    message.
    """
    given = [reasons] if isinstance(reasons, str) else list(reasons or ())
    parts: list[str] = []
    for part in (_bare(str(reason or ""), [name, host]) for reason in [*given, then]):
        if not any(part in other for other in parts):
            parts = [*(other for other in parts if other not in part), part]
    text = with_untouched("; ".join(filter(None, parts)) or UNKNOWN, untouched)
    return f"{node} {name}{'' if _PREDICATE.match(text) else ':'} {text}" if node else text


def with_untouched(text: str, untouched: Sequence[str]) -> str:
    """Return a message with the hosts that a rollout has not reached, if there are any."""
    return f"{text}. Untouched hosts: {', '.join(untouched)}" if untouched else text


def _bare(reason: str, names: Sequence[str]) -> str:
    """Return a reason without the node's name and without its full stop."""
    named = "|".join(re.escape(one) for one in names if one)
    text = " ".join(printable(reason).split())
    while named:
        shorter = re.sub(rf"^(?:Node (?:{named})(?::|(?=\s))|(?:{named}):)\s*", "", text)
        if shorter == text:
            break
        text = shorter
    if named:
        text = re.sub(rf"\bNode (?:{named})(?![\w.-]*\w)", "the Node", text)
    return text.rstrip(". ")
