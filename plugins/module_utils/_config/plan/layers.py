# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is declared of a node: the layers that users pass as a mapping, as text or as a list of these, and all of them
together; and what the layers of many nodes have in common, for the configuration of future nodes.
"""

from __future__ import annotations

import copy
import functools
import itertools
import json
from typing import Any, Iterable, Mapping, Sequence

from .. import profiles
from ..fields import binary_facts, compare, fields, overlay
from ..values import paths
from ..values.document import DocumentError, accept, parse

PROFILE, GROUP = "kubelet_config_profile", "kubelet_config"
OF_HOSTS = (PROFILE, GROUP, "kubelet_config_host")
"""The variables of the inventory that hold layers, in the order in which they apply. The first names profiles."""


class Declared:
    """What is declared of a node, layer over layer.

    `names`: the paths that a layer sets; a map that the kubelet replaces as a whole is one path. `keys`: the same as in
    a drop-in, where each key of every map is a path.
    """

    def __init__(self, layers: Sequence[Mapping[str, Any]]) -> None:
        self.layers = tuple(layers)
        self.names = self._paths(by_key=False)
        self.keys = self._paths(by_key=True)

    def paths(self, by_key: bool) -> frozenset[str]:
        """Return `keys` or `names`."""
        if by_key:
            return self.keys
        return self.names

    def over(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """Return a configuration with what is declared. Raises OverlayError."""
        return functools.reduce(overlay.merge, self.layers, dict(config))

    def as_dropin(self) -> dict[str, Any]:
        """Return one layer with the effect of all, which a kubelet lays over its own file. Raises OverlayError."""
        return overlay.compose(self.layers)

    def _paths(self, by_key: bool) -> frozenset[str]:
        return frozenset(paths.show(path) for layer in self.layers for path, _value in overlay.written(layer, by_key))


class Layers:
    """Reads layers. Equal layers become one object, so that nodes with equal layers are recognised by identity."""

    def __init__(self) -> None:
        self._known: dict[str, dict[str, Any]] = {}

    def of_nodes(
        self, configs: Mapping[str, Any], minors: Mapping[str, int | None]
    ) -> dict[str, tuple[dict[str, Any], ...]]:
        """Return the layers of nodes: of option values, or of mappings of these by their variables, OF_HOSTS.

        ``minors``: those of the kubelets, as far as they are known. Raises DocumentError, which names the node, and the
        variable where that is known.
        """
        return {name: self._of_node(name, given, minors.get(name)) for name, given in configs.items()}

    def _of_node(self, name: str, given: Any, minor: int | None) -> tuple[dict[str, Any], ...]:
        if not (isinstance(given, Mapping) and given and given.keys() <= set(OF_HOSTS)):
            return self.read(given, f"the configuration of node {name}")
        found: tuple[dict[str, Any], ...] = ()
        for variable in OF_HOSTS:
            value, origin = given.get(variable), f"{variable} of node {name}"
            if variable == PROFILE:
                asked_for = profiles.named(value, origin)
                value = profiles.layer(asked_for, minor) if asked_for else None
            found += self.read(value, origin)
        return found

    def read(self, given: Any, origin: str) -> tuple[dict[str, Any], ...]:
        """Return the layers of an option value: none, one, or a list of mappings or texts.

        Raises DocumentError, which names `origin`.
        """
        if given is None:
            return ()
        if isinstance(given, (list, tuple)):
            name = "entry {} of " if len(given) > 1 else ""
            found: tuple[dict[str, Any], ...] = ()
            for number, one in enumerate(given, 1):
                found += self.read(one, f"{name.format(number)}{origin}")
            return found
        layer = None if isinstance(given, str) else accept(given, origin)
        text = given if layer is None else json.dumps(layer, sort_keys=True)
        if text not in self._known:
            self._known[text] = parse(text, origin) if layer is None else layer
        return (self._known[text],)


def asked(given: Any) -> list[str]:
    """Return the fields and gates in layers that the binary of a node is asked about; none if they cannot be read.

    The plan reports what cannot be read.
    """
    try:
        layers = Layers().read(given, "the configuration")
    except DocumentError:
        return []
    return sorted({name for layer in layers for name in binary_facts.asked_of(layer)})


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
    kept = {*paths.HEADER, *fields.machine_specific(base), *fields.machine_specific(agreed)}
    return copy.deepcopy({**paths.without(agreed, kept), **paths.without(base, base.keys() - kept)})


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
