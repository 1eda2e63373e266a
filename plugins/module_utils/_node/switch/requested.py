# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The source and the data in the options of the module kubelet_checkpoint, as the store has them."""

from __future__ import annotations

import typing as t

from ..._config.values import document
from ..store.meta import Source


def source(given: t.Mapping[str, str] | None) -> Source | None:
    """Return the source that the option of this name describes."""
    if not given:
        return None
    return {
        "namespace": given["namespace"],
        "name": given["name"],
        "uid": given["uid"],
        "resourceVersion": given["resource_version"],
        "kubeletConfigKey": given["kubelet_config_key"],
    }


def texts(data: t.Mapping[str, t.Any]) -> dict[str, str]:
    """Return the texts of a ConfigMap's data by key.

    ansible-core before 2.19 turns a template's result that looks like JSON into a mapping. Its text is that of `push`.
    """
    return {key: text if isinstance(text, str) else document.render(text) for key, text in data.items()}
