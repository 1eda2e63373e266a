# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a kubelet binary differs from the tables, which describe the releases of Kubernetes."""

from __future__ import annotations

from typing import Iterator

from ..fields import fields, gates
from ..fields.binary_facts import ABSENT, BinaryFacts
from .flags_table import LAST_MINOR


def differences(facts: BinaryFacts) -> list[str]:
    """Return in words where a binary differs from what the tables give to its minor, sorted; none beyond the tables."""
    minor = facts.minor
    if minor is None or not gates.OLDEST_MINOR <= minor <= fields.NEWEST_MINOR:
        return []
    return sorted({*_flags(facts, minor), *_gates(facts, minor), *_other_fields(facts, minor)})


def _flags(facts: BinaryFacts, minor: int) -> Iterator[str]:
    has = {*facts.flags}
    if not has:
        return
    for name, flag in fields.FLAGS.items():
        if flag.exists_at(minor) and name not in has:
            yield f"this kubelet has no flag --{name} that the tables give to 1.{minor}"
    for name in has:
        last = LAST_MINOR.get(name, minor)
        if last < minor:
            yield f"this kubelet has the flag --{name} that the tables end with 1.{last}"


def _gates(facts: BinaryFacts, minor: int) -> Iterator[str]:
    for name, answer in facts.gates.items():
        gate = gates.lookup(name)
        state = gate.at(minor) if gate else None
        if name in gates.GROUPS:
            continue
        if answer == ABSENT:
            if state:
                yield f"this kubelet has no feature gate {name} that the tables give to 1.{minor}"
        elif state is None:
            yield f"this kubelet has the feature gate {name} that the tables do not give to 1.{minor}"
        elif facts.default(name) not in (None, state.default):
            wanted = "on" if facts.default(name) else "off"
            yield f"the feature gate {name} is {wanted} by default in this kubelet, unlike in the tables of 1.{minor}"


def _other_fields(facts: BinaryFacts, minor: int) -> Iterator[str]:
    for path, has in facts.fields.items():
        field = fields.ALL.get(path)
        expected = field is not None and field.exists_at(minor)
        if has != expected:
            yield (
                f"this kubelet has the field {path} that the tables do not give to 1.{minor}"
                if has
                else f"this kubelet has no field {path} that the tables give to 1.{minor}"
            )
