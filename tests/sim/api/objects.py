# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The objects of a store as a mapping, for tests that look at them and change them in place."""

from __future__ import annotations

import collections.abc
import copy
import typing as t

from tests.sim.api.kinds import KINDS
from tests.sim.api.store import Entry, Store


class Objects(collections.abc.MutableMapping[str, dict[str, t.Any]]):
    """The objects of one kind and namespace, or of all namespaces (None), by name."""

    def __init__(self, store: Store, plural: str, namespace: str | None = "") -> None:
        self._store, self._kind, self._namespace = store, KINDS[plural], namespace

    def add(self, *items: dict[str, t.Any]) -> None:
        self.update({item["metadata"]["name"]: item for item in items})

    def _table(self) -> dict[tuple[str, str], Entry]:
        return self._store.tables.setdefault(self._kind.plural, {})

    def _key(self, name: str) -> tuple[str, str]:
        if self._namespace is not None:
            return self._namespace, name
        return next((key for key in self._table() if key[1] == name), ("", name))

    def __getitem__(self, name: str) -> dict[str, t.Any]:
        entry = self._table()[self._key(name)]
        entry.fluid = True
        return entry.item

    def __setitem__(self, name: str, item: dict[str, t.Any]) -> None:
        meta = {"uid": f"uid-{name}", "resourceVersion": "1", **item["metadata"]}
        namespace = meta["namespace"] if self._namespace is None else self._namespace
        whole = {"kind": self._kind.kind, "apiVersion": self._kind.version, **item, "metadata": meta}
        self._table()[(namespace, name)] = Entry(whole)

    def __delitem__(self, name: str) -> None:
        del self._table()[self._key(name)]

    def __iter__(self) -> t.Iterator[str]:
        with self._store.lock:
            return iter([name for namespace, name in self._table() if self._namespace in (None, namespace)])

    def __len__(self) -> int:
        return len(list(iter(self)))

    def __deepcopy__(self, memo: dict[int, t.Any]) -> dict[str, t.Any]:
        return copy.deepcopy(dict(self), memo)
