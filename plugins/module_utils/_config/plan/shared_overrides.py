# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The common part of the overrides of many nodes, for the configuration of future nodes."""

from __future__ import annotations

import copy
import functools
import itertools
from typing import Any, Iterable, Mapping, Sequence

from ..fields import compare, complete_config, overlay
from ..values import paths


def lay_common(base: Mapping[str, Any], overrides: Iterable[Sequence[Mapping[str, Any]]]) -> dict[str, Any]:
    """Return ``base`` with those changes that the layers of every node make in the same way.

    ``overrides`` holds the layers of each node; equal layers should be the same objects. The removal of a field counts
    as a change. Maps are compared key by key, except those that a kubelet replaces as a whole. kind and apiVersion keep
    their values, and so does every field whose value in ``base`` or in the layers belongs to one machine. The arguments
    are neither modified nor shared. Raises OverlayError when layers cannot be merged into ``base``.
    """
    distinct = {tuple(map(id, layers)): layers for layers in overrides}.values()
    results = [functools.reduce(overlay.merge, layers, dict(base)) for layers in distinct]
    agreed = dict(base)
    if results:
        agreed = _agreed(base, results, ())
    kept = {*compare.HEADER, *complete_config.machine_specific(base), *complete_config.machine_specific(agreed)}
    agreed = {name: value for name, value in agreed.items() if name not in kept}
    return copy.deepcopy({**agreed, **{name: value for name, value in base.items() if name in kept}})


def not_shared(
    base: Mapping[str, Any],
    overrides: Iterable[Sequence[Mapping[str, Any]]],
    others: Mapping[str, Sequence[Mapping[str, Any]]],
    minor: int,
) -> dict[str, list[str]]:
    """Return the changes of ``lay_common(base, overrides)`` that other nodes do not make: those nodes by path.

    ``others`` holds the layers of these nodes by name; a node without layers makes no change. Raises OverlayError.
    """
    own = list(overrides)
    common = lay_common(base, own)
    paths_of: dict[tuple[int, ...], list[str]] = {}
    found: dict[str, list[str]] = {}
    for name, layers in others.items():
        known = tuple(map(id, layers))
        if known not in paths_of:
            paths_of[known] = changed_paths(common, lay_common(base, [*own, layers]), minor)
        for path in paths_of[known]:
            found.setdefault(path, []).append(name)
    return found


def changed_paths(before: Mapping[str, Any], after: Mapping[str, Any], minor: int) -> list[str]:
    """Return the paths at which two configurations mean something different to a kubelet of this minor, sorted.

    Neither configuration is complete: a field that only one of them sets counts, whatever its default.
    """
    old, new = compare.normalise(before, minor), compare.normalise(after, minor)
    return sorted(path for path in {*old, *new} if not compare.same(old.get(path), new.get(path)))


def _agreed(base: Mapping[str, Any], results: Sequence[Mapping[str, Any]], at: paths.Path) -> dict[str, Any]:
    """Return the values that all results agree on, otherwise those of the base. Null is absence, as for the kubelet."""
    agreed: dict[str, Any] = {}
    for key in dict.fromkeys(itertools.chain(base, *results)):
        agreed[key] = _agreed_value((*at, key), base.get(key), [result.get(key) for result in results])
    return paths.present(agreed)


def _agreed_value(path: paths.Path, before: Any, after: Sequence[Any]) -> Any:
    """Return the value that all results agree on, otherwise the one before; maps are compared key by key."""
    if compare.all_same(after):
        return after[0]
    if overlay.is_whole(path) or not all(one is None or isinstance(one, Mapping) for one in (before, *after)):
        return before
    # An empty map that only some of them set is not common.
    agreed = _agreed(before or {}, [one or {} for one in after], path)
    if not agreed and before is None:
        return None
    return agreed
