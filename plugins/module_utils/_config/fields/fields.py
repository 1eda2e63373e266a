# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lookups in the field table, which covers 1.12 to the newest minor, and in the table of flags that hide fields."""

from __future__ import annotations

import difflib
from functools import lru_cache

from ..values import paths
from .field_row import Field
from .fields_table import FIELDS, FLAGS, MEANINGS, NEWEST_MINOR, OLDEST_MINOR

__all__ = [
    "ALL",
    "FLAGS",
    "FORMER_SECRETS",
    "MEANINGS",
    "NEWEST_MINOR",
    "OLDEST_MINOR",
    "Field",
    "children",
    "default_known",
    "flags_of",
    "is_secret",
    "lookup",
    "nearest",
    "owner",
]

ALL: dict[str, Field] = {field.path: field for field in FIELDS}
"""Every field by its dotted name."""

FORMER_SECRETS = ("manifestURL", "manifestURLHeader")
"""Former names of staticPodURL and staticPodURLHeader."""


def lookup(path: paths.Path) -> Field | None:
    """Return the field with exactly this path, or None. List positions match the table's ``[]``."""
    return ALL.get(paths.field_path(path))


def owner(path: str | paths.Path) -> Field | None:
    """Return the field that a path belongs to, or None when it is unknown.

    This is the field itself, or the map, list or object that holds the path.
    """
    keys = paths.parse(path) if isinstance(path, str) else path
    for end in range(len(keys), 0, -1):
        field = ALL.get(paths.field_path(keys[:end]))
        if field is not None:
            # A member of a closed object that is not a field itself is unknown; it does not belong to the object.
            return None if end < len(keys) and not _holds_anything(field) else field
    return None


def is_secret(path: str) -> bool:
    """Return whether the value at a path must not be shown."""
    field = owner(path)
    return field.secret if field else path.partition("[")[0].partition(".")[0] in FORMER_SECRETS


def _holds_anything(field: Field) -> bool:
    return field.type.startswith(("map[", "list["))


def default_known(field: Field, minor: int) -> bool:
    """Return whether the table knows what a kubelet of this minor does without the field."""
    known = OLDEST_MINOR <= minor <= NEWEST_MINOR
    return known and field.exists_at(minor) and (field.unknown_since is None or minor < field.unknown_since)


def flags_of(path: str, minor: int | None = None) -> list[str]:
    """Return the names of the flags that set the field of a path on kubelets of this minor (None: of any minor)."""
    field = owner(path)
    return [name for name in field.flags if FLAGS[name].exists_at(minor)] if field else []


@lru_cache(maxsize=None)
def children(path: str) -> tuple[str, ...]:
    """Return the names of the members of an object (``""`` for the top level), in order."""
    start = f"{path}." if path else ""
    return tuple(
        sorted(name[len(start) :] for name in ALL if name.startswith(start) and not set(".[") & set(name[len(start) :]))
    )


@lru_cache(maxsize=1024)
def nearest(path: str) -> str | None:
    """Return the field that a misspelled path most likely means, or None.

    Candidates are tried in this order: a different case, the same parent, any other field.
    """
    lowered = {name.lower(): name for name in ALL}
    if path.lower() in lowered:
        return lowered[path.lower()]
    parent, _dot, name = path.rpartition(".")
    siblings = {child.lower(): child for child in children(parent)}
    close = difflib.get_close_matches(name.lower(), siblings, n=1, cutoff=0.7)
    if close:
        return f"{parent}.{siblings[close[0]]}" if parent else siblings[close[0]]
    last = {full.rpartition(".")[2].lower(): full for full in sorted(ALL, key=lambda full: -full.count("."))}
    close = difflib.get_close_matches(name.lower(), last, n=1, cutoff=0.75)
    return last[close[0]] if close else None
