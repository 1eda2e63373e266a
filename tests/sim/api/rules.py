# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the API server checks, fills in and drops when it stores an object (pkg/registry, pkg/apis/core/validation)."""

from __future__ import annotations

import re
import typing as t

from tests.sim.api.kinds import Kind, has_first_form
from tests.sim.api.refusal import Refusal

if t.TYPE_CHECKING:
    from tests.sim.api.store import Store

Item = dict[str, t.Any]
HEADER = ("kind", "apiVersion")
LAST_DYNAMIC = 23
_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_KEY = re.compile(r"[-._a-zA-Z0-9]+")


def created(kind: Kind, item: Item, store: Store) -> None:
    """Change a new object to what is stored. Raises Refusal (422)."""
    if kind.plural == "nodes":
        item.setdefault("spec", {})
        item.setdefault("status", {})
        _drop_sources(item, None, store)


def updated(kind: Kind, old: Item, new: Item, sub: str, store: Store) -> None:
    """Change a changed object to what is stored: without `sub` the status stays, with `status` the spec.

    Raises Refusal (422).
    """
    if kind.plural in ("nodes", "pods", "poddisruptionbudgets"):
        kept = "spec" if sub == "status" else "status"
        if kept in old:
            new[kept] = old[kept]
        else:
            new.pop(kept, None)
    if kind.plural == "nodes":
        _drop_sources(new, old, store)
        if store.strict:
            _check_sources(new)
    if kind.plural == "configmaps" and old.get("immutable"):
        for field in ("data", "binaryData", "immutable"):
            if new.get(field) != old.get(field):
                name = old["metadata"]["name"]
                raise Refusal(
                    422,
                    f'ConfigMap "{name}" is invalid: {field}: Forbidden: field is immutable when `immutable` is set',
                )


def _drop_sources(new: Item, old: Item | None, store: Store) -> None:
    """Without the feature gate the fields are dropped, unless the object has them (registry/core/node/strategy.go)."""
    if store.dynamic:
        return
    for part, field in (("spec", "configSource"), ("status", "config")):
        if field in (new.get(part) or {}) and field not in ((old or {}).get(part) or {}):
            new[part] = {key: value for key, value in new[part].items() if key != field}


def _check_sources(item: Item) -> None:
    name, causes = item["metadata"]["name"], list(_source_faults(item))
    if causes:
        raise Refusal(422, f'Node "{name}" is invalid: {causes[0] if len(causes) == 1 else causes}')


def _source_faults(item: Item) -> t.Iterator[str]:
    source = item["spec"].get("configSource")
    # The API servers of the first form leave it to the kubelet, whatever it holds.
    if source is not None and not has_first_form(item):
        yield from _reference_faults(source, "spec.configSource", in_spec=True)
    for part, given in ((item.get("status") or {}).get("config") or {}).items():
        if part != "error" and given is not None:
            yield from _reference_faults(given, f"status.config.{part}", in_spec=False)


def _reference_faults(source: Item, path: str, in_spec: bool) -> t.Iterator[str]:
    place = source.get("configMap")
    if place is None:
        yield f"{path}: Invalid value: exactly one reference subfield must be non-nil"
        return
    for field in ("uid", "resourceVersion"):
        if in_spec and place.get(field):
            yield f"{path}.configMap.{field}: Forbidden: {field} must not be set in spec"
        if not in_spec and not place.get(field):
            yield f"{path}.configMap.{field}: Required value: {field} must be set in status"
    for field, form in (("namespace", _LABEL), ("name", _NAME), ("kubeletConfigKey", _KEY)):
        value = place.get(field)
        if not value:
            yield f"{path}.configMap.{field}: Required value: {field} must be set"
        elif not form.fullmatch(value):
            yield f'{path}.configMap.{field}: Invalid value: "{value}"'
