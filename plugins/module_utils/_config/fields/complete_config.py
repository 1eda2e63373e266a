# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Completing the configuration that ``/configz`` shows."""

from __future__ import annotations

import copy
import ipaddress
from typing import Any, Mapping

from ..values.document import KIND
from ..values.forms import TABLES, FieldForm
from . import fields


def restore(live: Mapping[str, Any], form: FieldForm = TABLES) -> dict[str, Any]:
    """Return the ``kubeletconfig`` object of /configz as a configuration that yields the same /configz when loaded.

    /configz omits kind and apiVersion, and also an explicitly empty list or map whose absence means the default
    (``evictionHard: {}``, ``enforceNodeAllocatable: []``). The kubelet fills in defaults before it shows /configz, so a
    missing field that has a default was explicitly empty. /configz does not show whether the feature gates that the
    kubelet inherited from its local file are complete. ``form`` is that of the kubelet's fields.
    """
    result: dict[str, Any] = {"kind": KIND, "apiVersion": form.api_version, **copy.deepcopy(dict(live))}
    for path in restored(live, form):
        result[path] = {} if fields.ALL[path].type.startswith("map[") else []
    return result


def restored(live: Mapping[str, Any], form: FieldForm = TABLES) -> list[str]:
    """Return the paths that restore() adds to this /configz as explicitly empty fields."""
    if not form.omits_empties:
        return []
    return [field.path for field in _HIDDEN_EMPTIES if live.get(field.path) is None]


def machine_specific(config: Mapping[str, Any]) -> list[str]:
    """Return the paths of a configuration whose value belongs to one machine, sorted.

    An address that names no machine (all interfaces, loopback) is not machine-specific.
    """
    found = []
    for name in fields.MACHINE:
        value = config.get(name)
        if value not in (None, "", [], {}) and not (name in _ADDRESSES and _is_anywhere(value)):
            found.append(name)
    return found


def is_created(path: str, value: Any) -> bool:
    """Return whether a live value is the path of a file which the kubelet creates unless its configuration names one.

    Source: cmd/kubelet/app/server.go InitializeTLS.
    """
    return path in _CREATED and str(value).endswith(_CREATED[path])


_CREATED = {"tlsCertFile": "/kubelet.crt", "tlsPrivateKeyFile": "/kubelet.key"}
_ADDRESSES = ("address", "healthzBindAddress")
# Fields whose 1.20 default applies only to absence and which /configz omits when empty; all are at the top level.
_HIDDEN_EMPTIES = [
    field for field in fields.ALL.values() if field.unset == "nil" and field.zero_omitted and field.default
]


def _is_anywhere(value: Any) -> bool:
    try:
        address = ipaddress.ip_address(value)
    except ValueError:
        return False
    return address.is_unspecified or address.is_loopback
