# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Making a complete configuration of what ``/configz`` shows."""

from __future__ import annotations

import copy
import ipaddress
from typing import Any, Mapping

from ..values.document import API_VERSION, KIND
from . import fields
from .field_row import Field


def restore(live: Mapping[str, Any]) -> dict[str, Any]:
    """Return the ``kubeletconfig`` object of /configz as a configuration that a kubelet loads to the same /configz.

    /configz leaves out kind and apiVersion, and omits an explicitly empty list or map even where absence means the
    default (``evictionHard: {}``, ``enforceNodeAllocatable: []``). Since defaults are filled in before it is shown, a
    field that has a default and is missing was explicitly empty. Whether the feature gates the kubelet inherited from
    its local file are complete cannot be told from /configz.
    """
    result: dict[str, Any] = {"kind": KIND, "apiVersion": API_VERSION, **copy.deepcopy(dict(live))}
    for field in _HIDDEN_EMPTIES:
        if result.get(field.path) is None:
            result[field.path] = _empty(field)
    return result


def restored(live: Mapping[str, Any]) -> list[str]:
    """Return the paths that restore() adds to this /configz as explicitly empty."""
    return [field.path for field in _HIDDEN_EMPTIES if live.get(field.path) is None]


def machine_specific(config: Mapping[str, Any]) -> list[str]:
    """Return the paths present in a configuration whose value belongs to one machine, sorted.

    An address that names no machine (all interfaces, loopback) is not specific to one.
    """
    return sorted(
        name
        for name, value in config.items()
        if name in _MACHINE and value not in (None, "", [], {}) and not (name in _ADDRESSES and _is_anywhere(value))
    )


_ADDRESSES = ("address", "healthzBindAddress")
_MACHINE = {field.path for field in fields.ALL.values() if field.machine}
# Of the 1.20 defaults that only absence brings in, those that /configz omits when empty: all of them at the top level.
_HIDDEN_EMPTIES = [
    field for field in fields.ALL.values() if field.unset == "nil" and field.zero_omitted and field.default
]


def _empty(field: Field) -> Any:
    return {} if field.type.startswith("map[") else []


def _is_anywhere(value: Any) -> bool:
    try:
        address = ipaddress.ip_address(value)
    except ValueError:
        return False
    return address.is_unspecified or address.is_loopback
