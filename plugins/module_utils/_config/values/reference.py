# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""References to a key of a ConfigMap, as in Node.spec.configSource.configMap and Node.status.config."""

from __future__ import annotations

import re
from typing import Any, Mapping

from . import paths
from .short_texts import clipped

PLACE = ("namespace", "name", "kubeletConfigKey")
# Characters of a wrong value that a message shows.
SHOWN = 40
# What a field must match, and what it is. The first three are required; the API server accepts no other names
# (IsDNS1123Label, IsDNS1123Subdomain and IsConfigMapKey of apimachinery), and a path of the API contains them.
_FIELDS = {
    "namespace": (re.compile(r"[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?"), "the name of a namespace"),
    "name": (re.compile(r"[a-z0-9](?:[-.a-z0-9]{0,251}[a-z0-9])?"), "the name of a ConfigMap"),
    "kubeletConfigKey": (re.compile(r"(?!\.\Z|\.\.)[-._A-Za-z0-9]{1,253}"), "a key of a ConfigMap"),
    "uid": (re.compile(r"[ -~]{0,253}"), "a uid"),
    "resourceVersion": (re.compile(r"[ -~]{0,253}"), "a resourceVersion"),
}


def read(holder: Any, where: str = "") -> dict[str, str] | None:
    """Return the reference in `{"configMap": {...}}`, reduced to its five fields; None for the local config.

    `where` is the path of the holder, for a message. Raises ValueError with the field and what is wrong with it.
    """
    if holder is None:
        return None
    if not isinstance(holder, dict):
        raise ValueError(f"{where or 'its value'} is {shown(holder)}, not a mapping")
    path, found = f"{where}.configMap" if where else "configMap", holder.get("configMap")
    if found is None:
        return None
    if not isinstance(found, dict):
        raise ValueError(f"{path} is {shown(found)}, not a mapping")
    _check(found, path)
    return paths.only(found, _FIELDS)


def held(holder: Any) -> dict[str, Any]:
    """Return the reference in a holder, or a reference without a holder as it is; empty for what is no mapping."""
    return dict(holder.get("configMap") or holder) if isinstance(holder, Mapping) else {}


def _check(found: Mapping[str, Any], path: str) -> None:
    for field, (pattern, meaning) in _FIELDS.items():
        value = found.get(field)
        if field not in found and field in PLACE:
            raise ValueError(f"{path} has no {field}")
        if field in found and not (isinstance(value, str) and pattern.fullmatch(value)):
            raise ValueError(f"{path}.{field} is {shown(value)}, not {meaning}")


def shown(value: Any) -> str:
    """Return a wrong value for a message."""
    if isinstance(value, (dict, list)):
        return "a mapping" if isinstance(value, dict) else "a list"
    return clipped(ascii(value), SHOWN)


def same_place(one: Mapping[str, str] | None, other: Mapping[str, str] | None) -> bool:
    """Return whether two references have the same namespace, name and key; uid and resourceVersion may differ.

    None stands for the local config.
    """
    if one is None or other is None:
        return one is other
    return all(one.get(part) == other.get(part) for part in PLACE)


def describe(source: Mapping[str, str] | None) -> str:
    """Return the name of a source for use in a sentence."""
    if not source:
        return "the local config"
    if not source.get("name") and source.get("uid"):
        # Some kubelets name what they run by its uid alone.
        return f"the ConfigMap with uid {source['uid']}"
    return f"{source.get('namespace')}/{source.get('name')} key {source.get('kubeletConfigKey')}"
