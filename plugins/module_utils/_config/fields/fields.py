# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lookups in the field table, which covers 1.12 to the newest minor, and in the table of flags that hide fields; and
what follows from them for the configuration that ``/configz`` shows.
"""

from __future__ import annotations

import copy
import difflib
import ipaddress
import posixpath
import re
from functools import lru_cache
from typing import Any, Mapping

from ..values import paths
from ..values.document import KIND, SECRETS
from ..values.forms import TABLES, FieldForm
from .field_row import Field, Flag
from .fields_table import FIELDS, FLAGS_SINCE, GONE_FLAGS, MEANINGS, NEWEST_MINOR, OLDEST_MINOR

__all__ = ["MEANINGS", "NEWEST_MINOR", "OLDEST_MINOR"]

ALL: dict[str, Field] = {field.path: field for field in FIELDS}
"""Every field by its dotted name."""

MACHINE = tuple(sorted(field.path for field in FIELDS if field.machine))
"""The fields whose value belongs to one machine."""


def _by_flag(table: Mapping[int, str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for minor, names in table.items():
        found.update(dict.fromkeys(names.split(), minor))
    return found


def _flags() -> dict[str, Flag]:
    since = _by_flag(FLAGS_SINCE)
    found = {}
    for field in FIELDS:
        # The flag of an object is that of its only member.
        for name in field.flags if field.type != "object" else ():
            found[name] = Flag(field.path, since.get(name), LAST_MINOR.get(name))
    return dict(sorted(found.items()))


LAST_MINOR = _by_flag(GONE_FLAGS)
"""Flag -> the last minor that knows it. A later kubelet does not start with it."""
FLAGS = _flags()
"""Every flag that sets a field, by its name."""


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
            if end < len(keys) and not field.type.startswith(("map[", "list[")):
                return None
            return field
    return None


def is_secret(path: str) -> bool:
    """Return whether the value at a path must not be shown, whatever its type; also under a former name."""
    field = owner(path)
    if field is None:
        return path.partition("[")[0].partition(".")[0] in SECRETS
    return field.secret


def is_of_machine(path: str) -> bool:
    """Return whether a value belongs to one machine. A kubelet may set such a value itself, as a serving certificate.

    Source: cmd/kubelet/app/server.go InitializeTLS.
    """
    field = owner(path)
    return field is not None and field.machine


def default_known(field: Field, minor: int) -> bool:
    """Return whether the table knows what a kubelet of this minor does without the field."""
    known = OLDEST_MINOR <= minor <= NEWEST_MINOR
    return known and field.exists_at(minor) and (field.unknown_since is None or minor < field.unknown_since)


def flags_of(path: str, minor: int | None = None) -> list[str]:
    """Return the names of the flags that set the field of a path on kubelets of this minor (None: of any minor)."""
    field = owner(path)
    if field is None:
        return []
    return [name for name in field.flags if FLAGS[name].exists_at(minor)]


@lru_cache(maxsize=None)
def children(path: str) -> tuple[str, ...]:
    """Return the names of the members of an object (``""`` for the top level), in order."""
    return tuple(sorted(name.rpartition(".")[2] for name in ALL if name.rpartition(".")[0] == path))


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
    for close in difflib.get_close_matches(name.lower(), siblings, n=1, cutoff=0.7):
        return f"{parent}.{siblings[close]}".lstrip(".")
    last = {full.rpartition(".")[2].lower(): full for full in sorted(ALL, key=lambda full: -full.count("."))}
    for close in difflib.get_close_matches(name.lower(), last, n=1, cutoff=0.75):
        return last[close]
    return None


def restore(live: Mapping[str, Any], form: FieldForm = TABLES) -> dict[str, Any]:
    """Return the ``kubeletconfig`` object of /configz as a configuration that yields the same /configz when loaded.

    /configz omits kind and apiVersion, and also an explicitly empty list or map whose absence means the default
    (``evictionHard: {}``, ``enforceNodeAllocatable: []``). The kubelet fills in defaults before it shows /configz, so a
    missing field that has a default was explicitly empty. /configz does not show whether the feature gates that the
    kubelet inherited from its local file are complete. ``form`` is that of the kubelet's fields.
    """
    result: dict[str, Any] = {"kind": KIND, "apiVersion": form.api_version, **copy.deepcopy(dict(live))}
    for path in restored(live, form):
        result[path] = {} if ALL[path].type.startswith("map[") else []
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
    for name in MACHINE:
        value = config.get(name)
        if value not in (None, "", [], {}) and not (name in _ADDRESSES and _is_anywhere(value)):
            found.append(name)
    return found


def is_created(path: str, value: Any) -> bool:
    """Return whether a live value is the path of a file which the kubelet creates unless its configuration names one.

    Source: cmd/kubelet/app/server.go InitializeTLS.
    """
    return path in _CREATED and str(value).endswith(_CREATED[path])


def resolves_to(path: str, value: Any, live: Any) -> bool:
    """Return whether a relative path of a file can be the one that a kubelet shows as this absolute path.

    The kubelet resolves it against the folder of its config file.
    """
    field = owner(path)
    if field is None or not field.path_ref or not isinstance(value, str) or not isinstance(live, str):
        return False
    if value == "" or value.startswith("/") or not live.startswith("/"):
        return False
    # The kubelet joins both with Go's filepath.Join, which resolves dots.
    return live.endswith(f"/{_UP.sub('', posixpath.normpath(value))}")


_UP = re.compile(r"^(?:\.\./)+")
_CREATED = {"tlsCertFile": "/kubelet.crt", "tlsPrivateKeyFile": "/kubelet.key"}
_ADDRESSES = ("address", "healthzBindAddress")
# Fields whose 1.20 default applies only to absence and which /configz omits when empty; all are at the top level.
_HIDDEN_EMPTIES = [field for field in ALL.values() if field.unset == "nil" and field.zero_omitted and field.default]


def _is_anywhere(value: Any) -> bool:
    try:
        address = ipaddress.ip_address(value)
    except ValueError:
        return False
    return address.is_unspecified or address.is_loopback
