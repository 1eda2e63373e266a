# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is declared of a node: the layers that users pass as a mapping, as text or as a list of these, and all of them
together.
"""

from __future__ import annotations

import functools
import json
from typing import Any, Mapping, Sequence

from ..fields import binary_facts, overlay
from ..profile import profiles
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
