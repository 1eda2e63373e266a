# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The row of one node: what every stage returns of it, under its name in `nodes`, and nodes in words.

A node that is deleted, replaced or refused is a row, too. A stage adds keys of its own.
"""

from __future__ import annotations

import dataclasses
import re
from typing import Any, Mapping, Sequence

GONE = "gone"
"""There is no such Node: it was deleted, or the name is wrong."""
REPLACED = "replaced"
"""The Node, or the machine behind it, is another one than before."""
ABSENT = (GONE, REPLACED)
"""The states of a node that is no longer there. They never end the batch: its other nodes continue."""
REMOVED = (
    "it was deleted, or the name is wrong. See `kubectl get nodes`, then remove the host from the inventory or set "
    "kubelet_config_node_name"
)
"""Why there is no Node of a name, and what to do."""
RECREATED = (
    "the Node was deleted and created again during the rollout: it may be another machine, with its local config. Run "
    "again, which plans it anew"
)

_SHOWN_NODES = 5
"""How many names a line of text shows."""
# A control sequence of a terminal (ECMA-48), and every control character but tab and newline.
_CONTROL = re.compile(r"(?:\x1b\[[0-9;?]*[ -/]*[@-~]|[\x00-\x08\x0b-\x1f\x7f-\x9f])+")


def printable(text: str) -> str:
    """Return words of others, such as a kubelet's last error, without what a terminal would obey."""
    return _CONTROL.sub(" ", text)


def shown_nodes(names: list[str], noun: str = "node") -> str:
    """Return the number of nodes, or of what the noun names, with the first names."""
    return f"{counted(len(names), noun)} ({first_of(names)})"


def first_of(words: Sequence[str], most: int = _SHOWN_NODES, between: str = ", ", last: str = " and ") -> str:
    """Return the first words, and how many more there are."""
    shown = between.join(words[:most])
    if len(words) > most:
        shown += f"{last}{len(words) - most} more"
    return shown


def counted(number: int, noun: str) -> str:
    """Return a number with its noun."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


@dataclasses.dataclass(frozen=True)
class Row:
    """What every stage returns of a node.

    `ok`: whether the stage succeeded for it. `state`: a word of the stage, or one of ABSENT. `message`: the state in
    words, with cause and remedy. `changed`: whether the stage has changed the node. `delivery`: its name,
    or `none` if it is unknown or there is none. `source`: what the node should run now, None for its local config.
    `error`: the error that the API server, the kubelet or its guard reports, empty without one.
    """

    ok: bool
    state: str
    message: str = ""
    changed: bool = False
    delivery: str = "none"
    source: Mapping[str, str] | None = None
    error: str = ""

    def shown(self, **more: Any) -> dict[str, Any]:
        """Return the row as part of a result, with keys of the stage's own."""
        return {**vars(self), "message": printable(self.message), "error": printable(self.error), **more}


def failures(rows: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Return the message of each row that is not ok, by node."""
    return {name: row["message"] for name, row in rows.items() if not row["ok"]}


def stops(rows: Mapping[str, Mapping[str, Any]]) -> bool:
    """Return whether a failure in these rows ends the batch: not that of a node that is no longer there."""
    return any(not row["ok"] and row["state"] not in ABSENT for row in rows.values())
