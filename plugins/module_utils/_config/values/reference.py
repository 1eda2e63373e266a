# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""References to a key of a ConfigMap, as Node.spec.configSource.configMap and Node.status.config have them."""

from __future__ import annotations

from typing import Mapping

PLACE = ("namespace", "name", "kubeletConfigKey")


def same_place(one: Mapping[str, str] | None, other: Mapping[str, str] | None) -> bool:
    """Tell whether two references name the same namespace, name and key, whatever the uid and resourceVersion. None is
    the local config.
    """
    if one is None or other is None:
        return one is other
    return all(one.get(part) == other.get(part) for part in PLACE)


def describe(source: Mapping[str, str] | None) -> str:
    """Name a source in a sentence."""
    return (
        f"{source.get('namespace')}/{source.get('name')} key {source.get('kubeletConfigKey')}"
        if source
        else "the local config"
    )
