# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the overrides of many nodes have in common, for a configuration that nodes yet to come will start with."""

from __future__ import annotations

import copy
import functools
from typing import Any, Iterable, Mapping, Sequence

from ..fields import compare, complete_config, overlay
from ..values import paths


def lay_common(base: Mapping[str, Any], overrides: Iterable[Sequence[Mapping[str, Any]]]) -> dict[str, Any]:
    """Return ``base`` with what the layers of every node would change in the same way; nothing given is changed or
    shared.

    ``overrides`` holds the layers of each node, equal ones best as the same objects. Removing a field is a change as
    any other. Maps are looked into key by key, except those a kubelet replaces as a whole. kind and apiVersion stay,
    and so does every field whose value, in ``base`` or in the layers, belongs to one machine. Raises OverlayError when
    layers do not fit ``base``.
    """
    distinct = {tuple(id(layer) for layer in layers): layers for layers in overrides}.values()
    results = [functools.reduce(overlay.merge, layers, dict(base)) for layers in distinct]
    agreed = _agreed(base, results, ()) if results else dict(base)
    kept = {*compare.HEADER, *complete_config.machine_specific(base), *complete_config.machine_specific(agreed)}
    agreed = {name: value for name, value in agreed.items() if name not in kept}
    return copy.deepcopy({**agreed, **{name: value for name, value in base.items() if name in kept}})


def changed_paths(before: Mapping[str, Any], after: Mapping[str, Any], minor: int) -> list[str]:
    """Return the paths at which two configurations mean something else to a kubelet of this minor, sorted.

    Unlike compare.changes, a field that is no longer given counts also where its default is not known: here it is said
    to nodes to come.
    """
    old, new = compare.normalise(before, minor), compare.normalise(after, minor)
    return sorted(path for path in {*old, *new} if not compare.same(old.get(path), new.get(path)))


def _agreed(base: Mapping[str, Any], results: Sequence[Mapping[str, Any]], at: paths.Path) -> dict[str, Any]:
    """Return what all results say, and where they differ what the base says. Null is absence, as to the kubelet."""
    agreed: dict[str, Any] = {}
    for key in dict.fromkeys(key for config in (base, *results) for key in config):
        path = (*at, key)
        before, after = base.get(key), [result.get(key) for result in results]
        value = before
        if all(compare.same(after[0], other) for other in after):
            value = after[0]
        elif not overlay.is_whole(path) and all(one is None or isinstance(one, Mapping) for one in (before, *after)):
            # An empty map that only one of them begins is nothing in common.
            value = _agreed(before or {}, [one or {} for one in after], path) or ({} if before is not None else None)
        if value is not None:
            agreed[key] = value
    return agreed
