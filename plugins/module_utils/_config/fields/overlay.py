# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Merging an override into a configuration."""

from __future__ import annotations

import copy
from typing import Any, Collection, Iterable, Iterator, Mapping

from ..values import document, paths
from . import fields


class OverlayError(ValueError):
    """Two layers cannot be merged. The text names the path, the cause and the remedy."""


def merge(base: Mapping[str, Any], override: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``base`` merged with ``override``; neither is modified or shared.

    A null removes the field or key. Maps and objects are merged key by key; lists and all other values are replaced.
    Maps that the kubelet replaces as a whole (such as ``evictionHard``, see fields-ours.yaml) are replaced here too.
    Raises OverlayError for a mapping that would replace another value or the reverse, and for a null inside a map that
    is replaced as a whole.
    """
    return _merge(base, override, ())


def compose(layers: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return one layer that has the effect of several, in their order, on whatever it is merged into.

    A kubelet merges it into its own file as a JSON merge patch (RFC 7396): every map by its keys, also ``evictionHard``
    and its kind, and a null stays, because it removes what the file has. Raises OverlayError for a mapping that would
    replace another value or the reverse.
    """
    result: dict[str, Any] = {}
    for layer in layers:
        result = _compose(result, layer, ())
    return result


def written(layer: Mapping[str, Any], by_key: bool = False) -> Iterator[tuple[paths.Path, Any]]:
    """Yield what a layer sets: values, lists, and the maps that are replaced as a whole or removed.

    With ``by_key``, as in a drop-in, no map is replaced as a whole. An empty map that is merged by its keys sets
    nothing, unless its field is unknown, or is off without a value (``tracing``).
    """
    return _written(paths.without_header(layer), (), by_key)


def put(config: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return a configuration with values at their paths, None for none. What is equal is shared.

    Without its last member, an object that is off without a value (``tracing``) is removed too.
    """
    result = dict(config)
    for path, value in values.items():
        *parents, name = paths.parse(path)
        inside: Any = result
        above: Any = {}
        for parent in parents:
            below = inside.get(parent)
            if value is None and below is not None and not isinstance(below, dict):
                # Nothing is below a value that is not a mapping.
                break
            inside[parent] = dict(below) if isinstance(below, dict) else {}
            above, inside = inside, inside[parent]
        else:
            if value is not None:
                inside[name] = value
                continue
            inside.pop(name, None)
            if not inside and _is_off_without_value(tuple(parents)):
                del above[parents[-1]]
    return result


def is_set(path: str, names: Collection[str]) -> bool:
    """Return whether a path is one of ``names``, or below one of them."""
    return path in names or not paths.above(path).isdisjoint(names)


def overlaps(path: str, names: Collection[str]) -> bool:
    """Return whether a path is one of ``names``, below one of them, or above one."""
    return is_set(path, names) or any(path in paths.above(name) for name in names)


def is_whole(path: paths.Path) -> bool:
    """Return whether the kubelet replaces the map at this path as a whole."""
    field = fields.lookup(path)
    return field is not None and field.whole


def _merge(base: Mapping[str, Any], override: Mapping[str, Any], at: paths.Path) -> dict[str, Any]:
    result = copy.deepcopy(paths.without(base, override))
    for key, value in override.items():
        path = (*at, key)
        if value is None:
            continue
        old = base.get(key)
        if old is not None and isinstance(old, Mapping) != isinstance(value, Mapping):
            raise OverlayError(_clash(path, old, value))
        if isinstance(value, Mapping):
            result[key] = _whole(value, path) if is_whole(path) else _merge(old or {}, value, path)
        else:
            result[key] = copy.deepcopy(value)
    return result


def _compose(base: Mapping[str, Any], layer: Mapping[str, Any], at: paths.Path) -> dict[str, Any]:
    result = dict(base)
    for key, value in layer.items():
        path, old = (*at, key), base.get(key)
        if isinstance(value, Mapping) and key in base and old is None:
            raise OverlayError(
                f"{paths.show(path)} is null in one layer, and a later layer sets keys of it. A drop-in cannot remove "
                "all keys of the node's own file and set others. Set each key to remove to null, in one layer."
            )
        if None not in (old, value) and isinstance(old, Mapping) != isinstance(value, Mapping):
            raise OverlayError(_clash(path, old, value))
        if isinstance(value, Mapping) and isinstance(old, Mapping):
            result[key] = _compose(old, value, path)
        else:
            result[key] = copy.deepcopy(value)
    return result


def _written(layer: Mapping[str, Any], at: paths.Path, by_key: bool) -> Iterator[tuple[paths.Path, Any]]:
    for key, value in layer.items():
        path = (*at, key)
        merged = isinstance(value, Mapping) and (by_key or not is_whole(path))
        counts_when_empty = fields.lookup(path) is None or _is_off_without_value(path)
        if merged and (value or not counts_when_empty):
            yield from _written(value, path, by_key)
        else:
            yield path, value


def _is_off_without_value(path: paths.Path) -> bool:
    field = fields.lookup(path)
    return field is not None and field.type == "object" and field.unset == "nil"


def _whole(value: Mapping[str, Any], path: paths.Path) -> dict[str, Any]:
    for key, inner in value.items():
        if inner is None:
            raise OverlayError(
                f"{paths.show((*path, key))} is null, but {paths.show(path)} is replaced as a whole, "
                "so there is nothing to remove it from. "
                f"List every key that {paths.show(path)} should have, or set {paths.show(path)} itself to null."
            )
    return copy.deepcopy(dict(value))


def _clash(path: paths.Path, old: Any, new: Any) -> str:
    return (
        f"{paths.show(path)} is a {document.kind(new)} in the new layer and a {document.kind(old)} below it. "
        f"Give a {document.kind(old)}, or set it to null in this layer to remove it."
    )
