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
    """The objects of one kind and namespace by name."""

    def __init__(self, store: Store, plural: str, namespace: str = "") -> None:
        self._store, self._kind, self._namespace = store, KINDS[plural], namespace

    def _table(self) -> dict[tuple[str, str], Entry]:
        return self._store.tables.setdefault(self._kind.plural, {})

    def __getitem__(self, name: str) -> dict[str, t.Any]:
        entry = self._table()[(self._namespace, name)]
        entry.fluid = True
        return entry.item

    def __setitem__(self, name: str, item: dict[str, t.Any]) -> None:
        header = {"kind": self._kind.kind, "apiVersion": self._kind.version}
        item["metadata"] = {"uid": f"uid-{name}", "resourceVersion": "1", **item["metadata"]}
        self._table()[(self._namespace, name)] = Entry({**header, **item})

    def __delitem__(self, name: str) -> None:
        del self._table()[(self._namespace, name)]

    def __iter__(self) -> t.Iterator[str]:
        with self._store.lock:
            return iter([name for namespace, name in self._table() if namespace == self._namespace])

    def __len__(self) -> int:
        return len(list(iter(self)))

    def __deepcopy__(self, memo: dict[int, t.Any]) -> dict[str, t.Any]:
        return copy.deepcopy(dict(self), memo)
