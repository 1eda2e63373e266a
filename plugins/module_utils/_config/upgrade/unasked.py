# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is unknown of a target beyond the tables as long as no binary of it was asked."""

from __future__ import annotations

from typing import Iterator, Mapping, Sequence

from ..fields import fields
from ..values import paths
from .finding import FIELD, FLAG, GATE, UNKNOWN, VERSION, Finding
from .flags_table import LAST_MINOR
from .node_facts import Facts, leaves

_GATES = "featureGates"
_SHOWN = 8
_WORDS = {FLAG: "flags", GATE: "feature gates", FIELD: "fields"}


def check(facts: Facts, target: int) -> Iterator[Finding]:
    """Yield one finding for the flags, one for the gates and one for the fields that this node sets.

    A node that sets none has one all the same. What a binary answered, binary_findings.py weighs.
    """
    newest = fields.NEWEST_MINOR
    if target <= newest or facts.check is not None:
        return
    end = f"the tables end with 1.{newest}, and no binary of 1.{target} was asked"
    remedy = f"Set kubelet_config_target_binary to a kubelet of 1.{target} on the nodes, and run again."
    given = {kind: names for kind, names in _given(facts).items() if names}
    for kind, names in given.items():
        message = f"{end}: whether it accepts the {_WORDS[kind]} of this node is not known ({_shown(names)})"
        yield Finding(UNKNOWN, kind, "", message, remedy)
    if not given:
        yield Finding(UNKNOWN, VERSION, "", end, remedy)


def _given(facts: Facts) -> Mapping[str, Sequence[str]]:
    """Return the names that the node sets, by kind; of the flags those that an earlier minor has not lost already."""
    flags = [f"--{flag.name}" for flag in facts.flags if flag.name not in LAST_MINOR]
    gates = facts.merged(fields.NEWEST_MINOR).get(_GATES)
    set_paths = [keys for one in facts.files for keys in leaves(one.content)]
    names = [paths.show(keys) for keys in set_paths if keys and keys[0] != _GATES]
    return {
        FLAG: sorted(set(flags)),
        GATE: sorted(gates) if isinstance(gates, dict) else [],
        FIELD: sorted(set(names)),
    }


def _shown(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
