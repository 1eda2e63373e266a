# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Configurations as readable text: secrets masked, one value per line."""

from __future__ import annotations

from typing import Any, Mapping

from ..values import paths
from ..values.document import render
from . import fields
from .shadow import HIDDEN


def mask(path: str, value: Any) -> Any:
    """Return a value for display: the values of a secret field are hidden, its shape and keys are not."""
    return _hide(value) if fields.is_secret(path) else value


def masked(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return a configuration for display, with secrets masked."""
    return {key: mask(paths.show((key,)), value) for key, value in config.items()}


def diff(
    before: Mapping[str, Any] | None, after: Mapping[str, Any] | None, before_header: str, after_header: str
) -> dict[str, str]:
    """Return an entry of Ansible's ``diff`` for two configurations; None stands for an absent one."""
    return {
        "before": render(masked(before)) if before is not None else "",
        "after": render(masked(after)) if after is not None else "",
        "before_header": before_header,
        "after_header": after_header,
    }


def _hide(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _hide(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return list(map(_hide, value))
    return value if value is None else HIDDEN
