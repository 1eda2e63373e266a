# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which defaults change with the minor version, for the fields that a node leaves to its kubelet, and which values
of others change their meaning.
"""

from __future__ import annotations

from typing import Any, Iterator, Mapping

from ..fields import compare, fields
from ..fields.field_row import Field
from .finding import CHANGES, DEFAULT, STAYS, VALUE, Finding
from .node_facts import Facts, at

# It matters on hosts with version 1 cgroup controllers only: host_findings.py.
_OF_THE_HOST = {"failCgroupV1"}


def check(facts: Facts, target: int) -> Iterator[Finding]:
    """Yield the defaults that differ between the kubelet's minor and the target, unless a file or flag sets the field.

    A value that only a checkpoint of this collection sets, and that equals the old default, is named too: without the
    collection it would change.
    """
    if facts.minor is None:
        return
    newest = min(target, fields.NEWEST_MINOR)
    merged = facts.merged(newest)
    for field in fields.ALL.values():
        if field.path in _OF_THE_HOST or not (
            fields.default_known(field, facts.minor) and fields.default_known(field, newest)
        ):
            continue
        # Both as the newer kubelet shows them.
        before, after = (compare.canonical(field.default_at(minor), field, newest) for minor in (facts.minor, newest))
        if compare.same(before, after):
            continue
        value = at(merged, field.path)
        if not _given(value, field, newest):
            yield Finding(
                CHANGES,
                DEFAULT,
                field.path,
                f"the default changes: {_difference(before, after)}",
                "Declare the value that you want, or accept the new default.",
            )
        elif _pinned(facts, value, before, field, newest):
            yield Finding(
                STAYS,
                DEFAULT,
                field.path,
                f"only the checkpoint sets it, to the old default; the new default is not used: "
                f"{_difference(before, after)}",
                "Declare the value that you want. Without a declared value, the next rollout decides.",
                facts.checkpoint,
            )


def meanings(facts: Facts, target: int) -> Iterator[Finding]:
    """Yield the values of a node that a kubelet of the target takes for something else than the running one."""
    merged = facts.merged(min(target, fields.NEWEST_MINOR))
    for one in fields.MEANINGS:
        if facts.minor is not None and facts.minor < one.since <= target and at(merged, one.path) == one.value:
            yield Finding(
                CHANGES,
                VALUE,
                one.path,
                f"{one.value} means {one.after} from 1.{one.since} on, and {one.before} before",
                "Declare the value that you want, or accept the new meaning.",
                facts.places(one.path, target),
            )


def _given(value: Any, field: Field, minor: int) -> bool:
    return value is not None and not (field.unset_at(minor) == "zero" and compare.is_zero(value, field))


def _pinned(facts: Facts, value: Any, before: Any, field: Field, minor: int) -> bool:
    if facts.own is None or _given(at(facts.own.content, field.path), field, minor):
        return False
    return facts.is_only_in(facts.checkpoint, field.path, minor) and compare.same(
        compare.canonical(value, field, minor), before
    )


def _difference(before: Any, after: Any) -> str:
    if not (isinstance(before, Mapping) and isinstance(after, Mapping)):
        return " -> ".join("unset" if value is None else str(value) for value in (before, after))
    keys = [key for key in sorted({*before, *after}) if before.get(key) != after.get(key)]
    return ", ".join(f"{key} {before.get(key, 'absent')} -> {after.get(key, 'absent')}" for key in keys)
