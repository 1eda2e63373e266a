# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What differs between kubelets by their minor: the one door to `legacy.py`, which has the first of them."""

from __future__ import annotations

from . import legacy
from .values.forms import LATER, TABLES, FieldForm, SourceForm

FIRST_NATIVE = legacy.MINORS.start
"""The first minor whose kubelet follows Node.spec.configSource."""
FIRST_WITH_FILE = legacy.FIRST_WITH_FILE
"""The first minor whose kubelet reads a config file."""


def fields_of(minor: int) -> FieldForm:
    """Return the form of the fields of kubelets of a minor, 0 for an unknown one."""
    return legacy.FIELD_FORMS.get(minor, TABLES)


def source_form(minor: int) -> SourceForm:
    """Return the form of the source of kubelets of a minor, 0 for an unknown one."""
    return legacy.SOURCE_FORMS.get(minor, LATER)


def api_versions(minor: int | None) -> tuple[str, ...]:
    """Return the apiVersions that a kubelet of a minor loads (0: unknown, None: any kubelet), the usual one first."""
    if minor is not None:
        return (fields_of(minor).api_version,)
    return (TABLES.api_version, *(one.api_version for one in legacy.FIELD_FORMS.values()))
