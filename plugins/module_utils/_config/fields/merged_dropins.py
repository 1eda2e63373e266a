# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a kubelet with a drop-in folder (--config-dir) runs: its config file with the drop-ins laid over it.

Source: KEP-3983 and mergeKubeletConfigurations in cmd/kubelet/app/server.go. The kubelet decodes its config file and
fills in the defaults, writes that as JSON, applies each drop-in as a JSON merge patch (RFC 7396), decodes the result
and fills in the defaults again. Its flags win over all of that; `shadow.py` knows them.
"""

from __future__ import annotations

import copy
import posixpath
from typing import Any, Iterable, Mapping

from ..values.paths import without_header

SUFFIX = ".conf"
"""The kubelet reads only files whose names end so."""

EVICTION = "evictionHard"
# The type of its configuration, not a value of it: each drop-in has both.


def merge(base: Mapping[str, Any], layers: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return ``base`` with each layer applied as a JSON merge patch, first to last; nothing is modified or shared.

    A null removes the field or key, so that the kubelet's default applies to it. Maps are merged key by key, also where
    ``overlay.merge`` replaces them as a whole (``evictionHard``); lists and all other values are replaced. A removed
    ``evictionHard`` is empty in the result: its defaults belong to the config file, and no threshold is left.

    No default is filled in: ``effective`` does that. kind and apiVersion stay those of ``base``.
    """
    result: Any = copy.deepcopy(dict(base))
    for layer in layers:
        result = _patched(result, without_header(layer))
        if EVICTION in layer and layer[EVICTION] is None:
            result[EVICTION] = {}
    return dict(result)


def effective(base: Mapping[str, Any], layers: Iterable[Mapping[str, Any]] | None, minor: int) -> dict[str, Any]:
    """Return what a kubelet of this minor runs, with the defaults that are known; ``layers`` None: it has no folder.

    With a folder, also an empty one, the kubelet forgets the lists and maps that its config file sets to empty
    (``enforceNodeAllocatable: []``): they get their default, see ``forgotten``. Those of a drop-in hold.
    """
    from . import compare

    first = compare.with_thresholds(compare.with_defaults(base, minor), minor)
    if layers is None:
        return first
    for name in forgotten(base, minor):
        del first[name]
    return compare.with_defaults(merge(first, layers), minor)


def forgotten(base: Mapping[str, Any], minor: int) -> list[str]:
    """Return the fields whose explicitly empty value a config file loses in a kubelet that has a drop-in folder.

    The kubelet leaves out what is empty when it writes the file as JSON (`omitempty`), and absence means the default.
    An empty ``evictionHard`` holds, because its default is not filled in a second time.
    """
    from . import fields

    return sorted(
        field.path
        for field in fields.ALL.values()
        if field.path in base
        and field.path != EVICTION
        and isinstance(base[field.path], (list, dict))
        and not base[field.path]
        and field.unset_at(minor) == "nil"
        and field.zero_omitted
        and field.default_at(minor)
    )


def in_order(paths: Iterable[str]) -> list[str]:
    """Return the paths of the drop-ins in one folder in the kubelet's order: the last one wins.

    The kubelet walks folder by folder and sorts the names in each, so `a/9.conf` comes before `a.conf`. Other files
    than `*.conf` are left out.
    """
    return sorted((path for path in paths if path.endswith(SUFFIX)), key=lambda path: path.split("/"))


def around(contents: Mapping[str, Any], ours: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the drop-ins, by path, that the kubelet lays before the one at the path ``ours``, and those after it."""
    link = posixpath.normpath(ours)
    ordered = in_order({*contents, link})
    at = ordered.index(link)
    return {path: contents[path] for path in ordered[:at]}, {path: contents[path] for path in ordered[at + 1 :]}


def _patched(target: Any, patch: Any) -> Any:
    """RFC 7396, section 2."""
    if not isinstance(patch, Mapping):
        return copy.deepcopy(patch)
    result = dict(target) if isinstance(target, Mapping) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = _patched(result.get(key), value)
    return result
