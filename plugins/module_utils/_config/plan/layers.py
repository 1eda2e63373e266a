# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reading the overrides that users pass as a mapping, as text, or as a list of these."""

from __future__ import annotations

import json
from typing import Any

from ..binary import binary_facts
from ..values.document import DocumentError, accept, parse


class Layers:
    """Reads layers. Equal layers become one object, so that nodes with equal layers are recognised by identity."""

    def __init__(self) -> None:
        self._known: dict[str, dict[str, Any]] = {}

    def read(self, given: Any, origin: str) -> tuple[dict[str, Any], ...]:
        """Return the layers of an option value: none, one, or a list of mappings or texts.

        Raises DocumentError, which names `origin`.
        """
        if given is None:
            return ()
        if isinstance(given, (list, tuple)):
            return tuple(
                layer
                for position, one in enumerate(given, 1)
                for layer in self.read(one, f"{origin} (layer {position})")
            )
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
