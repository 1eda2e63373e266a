# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What former sources declared and the inventory does not declare now, and the node's own values of it."""

from __future__ import annotations

from typing import Any, Iterable, Iterator, Mapping, NamedTuple

from ..fields import compare, fields, overlay
from ..rules.problem import WARNING, Problem
from ..values import paths
from ..values.own_values import Record
from .layers import Declared


class Undeclared(NamedTuple):
    """The paths that former sources replaced and no layer sets."""

    known: dict[str, Any]
    """The node's own value, where it differs from the live one; None: absent."""
    unknown: list[str]
    """The paths whose own value is not known."""


NOTHING = Undeclared({}, [])
"""Where no former source matters."""


def undeclared(
    record: Record, declared: Declared, live: Mapping[str, Any], minor: int, by_key: bool = False
) -> Undeclared:
    """Return what a record has of a node that no layer sets. ``live`` is its complete live configuration.

    With ``by_key``, a layer sets of every map only the keys that it names, as in a drop-in.
    """
    values = compare.normalise(live, minor, runs=by_key)
    known: dict[str, Any] = {}
    unknown = []
    for path in no_longer_set(record, declared, by_key):
        held = record["own"][path]
        if not held or not _fits(live, paths.parse(path)):
            unknown.append(path)
        elif not compare.same(held[0], values.get(path)):
            known[path] = held[0]
    return Undeclared(known, unknown)


def no_longer_set(record: Record, declared: Declared, by_key: bool) -> list[str]:
    """Return the paths that a record has and no layer sets. ``by_key`` as in undeclared()."""
    names = declared.paths(by_key)
    return sorted(path for path in record["own"] if not overlay.overlaps(path, names))


def revert(config: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    """Return a configuration with a node's own values; the arguments are not modified, but what is equal is shared."""
    result = dict(config)
    for path, value in known.items():
        *parents, name = paths.parse(path)
        inside: Any = result
        for parent in parents:
            below = inside.get(parent)
            if value is None and below is not None and not isinstance(below, dict):
                # Nothing is below a value that is not a mapping.
                break
            inside[parent] = dict(below) if isinstance(below, dict) else {}
            inside = inside[parent]
        else:
            if value is None:
                inside.pop(name, None)
            else:
                inside[name] = value
    return result


def warnings(unknown: Iterable[str]) -> Iterator[Problem]:
    """Yield a warning for each path that is no longer declared and whose own value is not known."""
    for path in unknown:
        cause = "no longer declared, but the node's own value is not known, so the live value is not changed"
        remedy = "Declare the value that you want, or run the playbook reset for the node."
        yield Problem(WARNING, path, cause, remedy, "no-longer-declared")


def record_after(before: Record, source: str, replaced: Mapping[str, Any], absent: Iterable[str]) -> Record:
    """Return the record of a node to which ``source`` is assigned.

    ``replaced`` has the value that each path had before, ``absent`` the paths that the source leaves to the kubelet.
    """
    own = {path: [value] if before["complete"] and not _is_secret(path) else [] for path, value in replaced.items()}
    return {"complete": before["complete"], "source": source, "absent": [*absent], "own": {**own, **before["own"]}}


def absent_after(changes: Iterable[compare.Change]) -> list[str]:
    """Return the paths whose value is removed and replaced by the kubelet with a default that is not known."""
    return [change.path for change in changes if change.after is None and not change.known]


def _is_secret(path: str) -> bool:
    """Return whether a value must not be on a Node, which more users may read than ConfigMaps.

    What an unknown field holds is not known either.
    """
    field = fields.owner(path)
    return field is None or field.secret


def _fits(config: Any, path: paths.Path) -> bool:
    """Return whether a value can be at this path: all its parents are mappings or absent."""
    for key in path[:-1]:
        if not isinstance(config, Mapping):
            return False
        config = config.get(key)
        if config is None:
            return True
    return isinstance(config, Mapping)
