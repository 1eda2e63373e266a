# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""References to a key of a ConfigMap, as in Node.spec.configSource.configMap and Node.status.config."""

from __future__ import annotations

from typing import Mapping

PLACE = ("namespace", "name", "kubeletConfigKey")


def same_place(one: Mapping[str, str] | None, other: Mapping[str, str] | None) -> bool:
    """Return whether two references have the same namespace, name and key; uid and resourceVersion may differ.

    None stands for the local config.
    """
    if one is None or other is None:
        return one is other
    return all(one.get(part) == other.get(part) for part in PLACE)


def describe(source: Mapping[str, str] | None) -> str:
    """Return the name of a source for use in a sentence."""
    return (
        f"{source.get('namespace')}/{source.get('name')} key {source.get('kubeletConfigKey')}"
        if source
        else "the local config"
    )
