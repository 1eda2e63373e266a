# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a drop-in holds, and what the kubelet that lays it over the node's own file then runs.

The drop-in holds what is declared and nothing else, so nodes that differ in what is their own share one. Everything
else stays the node's own: a value that is no longer declared reverts by itself.
"""

from __future__ import annotations

from typing import Any, Mapping, NamedTuple, Sequence

from ..fields import compare, merged_dropins, overlay
from ..values import paths
from ..values.document import API_VERSION, KIND
from ..values.own_values import Record
from . import former


class Source(NamedTuple):
    """What a source holds for a node, and its effect."""

    config: dict[str, Any]
    """What the source holds; a drop-in holds kind, apiVersion and what is declared."""
    expected: dict[str, Any]
    """The complete configuration that the kubelet runs then, as far as it is known."""
    changes: list[compare.Change]
    """From the live configuration to the expected one, sorted by path."""
    replaced: Mapping[str, Any]
    """The value that each path to record had before, None if absent. Of a drop-in, every declared path."""
    absent: Sequence[str]
    """The paths that it leaves to the kubelet, whose default is not known."""
    record: Record
    """The node's own values so far; of a drop-in, those of the fields that are still declared."""


def lay(
    live: Mapping[str, Any],
    layers: Sequence[Mapping[str, Any]],
    no_longer: former.Undeclared,
    record: Record,
    minor: int,
) -> Source:
    """Return the drop-in that declares the layers, and its effect on a kubelet with this complete live configuration.

    ``record`` has the node's own values, ``no_longer`` is what of it no layer sets. Raises OverlayError for layers that
    cannot be merged.
    """
    declared = overlay.compose(layers)
    config = {"kind": KIND, "apiVersion": API_VERSION, **declared}
    expected = merged_dropins.merge(former.revert(live, no_longer.known), [declared])
    values = compare.normalise(live, minor, True, True)
    unknown = [compare.Change(path, values.get(path), None, False) for path in no_longer.unknown if path in values]
    found = {change.path: change for change in [*compare.changes(live, expected, minor, True), *unknown]}
    names = {paths.show(path) for path, _value in overlay.written(declared, True)}
    replaced = {path: values.get(path) for path in {*names, *values} if overlay.is_set(path, names)}
    changes = [found[path] for path in sorted(found)]
    absent = [path for path in former.absent_after(changes) if path in replaced]
    kept = {path: held for path, held in record["own"].items() if overlay.is_set(path, names)}
    return Source(config, expected, changes, replaced, absent, {**record, "own": kept})


def is_empty(config: Mapping[str, Any]) -> bool:
    """Return whether a drop-in declares nothing."""
    return set(config) <= set(compare.HEADER)


def is_whole(row: Mapping[str, Any]) -> bool:
    """Return whether the variant of a plan's row is the whole configuration that the node then runs."""
    return bool(row["whole"])


def outcome(
    current: Mapping[str, Mapping[str, Any]], planned: Mapping[str, Mapping[str, Any]], row: Mapping[str, Any]
) -> Mapping[str, Any]:
    """Return the complete configuration that a node runs after its plan, by the variants of dump and plan.

    Unless its variant is whole, changed secrets are masked. Raises KeyError if they do not have those of the row.
    """
    if is_whole(row):
        return planned[row["variant"]]
    return former.revert(current[row["live_variant"]], {change["path"]: change["after"] for change in row["changes"]})
