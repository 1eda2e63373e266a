# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The values of the module kubelet_checkpoint: its options as the store has them, and what it returns of the store."""

from __future__ import annotations

import os
import typing as t

from ..._config.fields import difftext
from ..._config.values import document
from ..store.meta import Source
from ..store.store import Store
from ..store.store_reader import quietly
from ..store.trial import Trial


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


def trial(armed: Trial) -> dict[str, t.Any]:
    """Return a trial as the module returns it."""
    return {
        "name": armed.name,
        "to": armed.to,
        "revert_to": armed.revert_to,
        "seconds": armed.deadline_seconds,
        "confirmed": armed.confirmed,
        "failed": armed.failed,
        "kubelet_version": armed.kubelet_version,
    }


def active_text(store: Store) -> bytes | None:
    """Return the text of the configuration that `active` leads to, None when there is none."""
    target, known = quietly(store.running), quietly(store.local)
    if target is None or known is None:
        return None
    try:
        return store.fs.load(os.path.join(store.config_dir, target, known.key))
    except OSError:
        return None


def diff(before: bytes | None, after: bytes | None, path: str) -> dict[str, str]:
    """Return Ansible's diff, secrets masked. A text that cannot be read is not shown: it may hold secrets."""
    sides = []
    for data in (before, after):
        try:
            sides.append(document.parse(data, path) if data else None)
        except document.DocumentError as error:
            sides.append({"": f"not shown: {error}"})
    if before == after:
        sides = [None, None]
    return difftext.diff(sides[0], sides[1], f"{path} (before)", f"{path} (after)")
