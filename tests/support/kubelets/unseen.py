# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""All tables as they were before a minor of Kubernetes was added: data only, no code changes.

Where the code of a rule compares with a minor, it goes on doing so: its condition is not in a table.
"""

from __future__ import annotations

import dataclasses
import re
import sys
import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields import fields, gates
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields.field_row import Field, Flag
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.rules import (
    managers,
    problem,
    start_rules,
    validation,
)

OURS = "ansible_collections.livenodes.kubelet."
CACHES = (fields.children, fields.nearest, gates.lookup, gates.needs)


def end_before(monkeypatch: pytest.MonkeyPatch, minor: int) -> None:
    """Let the tables end before a minor, until the end of the test."""
    for table, row_of in (
        (fields.ALL, _field),
        (fields.FLAGS, _flag),
        (gates.GATES, _gate),
        (gates.NEEDS, _needs),
        (fields.LAST_MINOR, lambda last, minor: last if last < minor - 1 else None),
        (managers.CPU_OPTIONS, _option),
        (managers.TOPOLOGY_OPTIONS, _option),
    ):
        _change(monkeypatch, t.cast("dict[t.Any, t.Any]", table), row_of, minor)
    for name, paths in [*gates.FIELDS_OF.items()]:
        monkeypatch.setitem(gates.FIELDS_OF, name, tuple(path for path in paths if path in fields.ALL))
    monkeypatch.setattr(fields, "MEANINGS", [one for one in fields.MEANINGS if one.since < minor])
    monkeypatch.setattr(problem, "LAST_READ", min(problem.LAST_READ, minor - 1))
    for holder, name in ((validation, "RULES"), (managers, "FATAL"), (start_rules, "FATAL")):
        monkeypatch.setattr(holder, name, tuple(_rules(getattr(holder, name), minor)))
    for name, module in [*sys.modules.items()]:
        if name.startswith(OURS) and hasattr(module, "NEWEST_MINOR"):
            monkeypatch.setattr(module, "NEWEST_MINOR", minor - 1)
    forget()


def forget() -> None:
    """Forget what was computed from the tables."""
    for cache in CACHES:
        cache.cache_clear()


def _change(
    monkeypatch: pytest.MonkeyPatch, table: dict[t.Any, t.Any], row_of: t.Callable[[t.Any, int], t.Any], minor: int
) -> None:
    for key, row in [*table.items()]:
        former = row_of(row, minor)
        if former is None:
            monkeypatch.delitem(table, key)
        elif former != row:
            monkeypatch.setitem(table, key, former)


def _field(row: Field, minor: int) -> Field | None:
    if row.since is not None and row.since >= minor:
        return None
    return dataclasses.replace(
        row,
        until=_before(row.until, minor - 1),
        unknown_since=_before(row.unknown_since, minor),
        nil_since=_before(row.nil_since, minor),
        later_defaults=tuple(one for one in row.later_defaults if one[0] < minor),
        later=tuple(one for one in row.later if one[0] < minor),
    )


def _flag(row: Flag, minor: int) -> Flag | None:
    gone = row.since is not None and row.since >= minor
    return None if gone else dataclasses.replace(row, until=_before(row.until, minor - 1))


def _gate(history: str, minor: int) -> str | None:
    kept = [word for word in history.split() if not re.match(r"\d", word) or int(re.findall(r"\d+", word)[0]) < minor]
    return " ".join(kept) if any(word[0].isdigit() for word in kept) else None


def _needs(history: str, minor: int) -> str | None:
    kept: list[str] = []
    for word in history.split():
        if word.isdigit() and int(word) >= minor:
            break
        kept.append(word)
    return " ".join(kept) or None


def _option(row: managers.Option, minor: int) -> managers.Option:
    """Return an option as it was. Rules name it, so a later one stays, as one that no minor knows."""
    return managers.Option(*(_before(since, minor) for since in row))


def _rules(rules: t.Iterable[problem.Rule], minor: int) -> t.Iterator[problem.Rule]:
    for one in rules:
        if one.since < minor:
            yield one._replace(until=_before(one.until, minor - 1))


def _before(at: int | None, minor: int) -> int | None:
    return at if at is not None and at < minor else None
