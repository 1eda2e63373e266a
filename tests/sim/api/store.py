# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The objects of the API in memory, with revisions, preconditions, pages and a history for watches."""

from __future__ import annotations

import base64
import collections
import copy
import dataclasses
import datetime
import json
import threading
import time
import typing as t
import uuid

from tests.sim.api import patches, rules, selectors
from tests.sim.api.kinds import Kind
from tests.sim.api.refusal import Refusal, missing

Item = dict[str, t.Any]
# How many changes a watch can look back.
HISTORY = 20000


def stamp(seconds: float, micro: bool = False) -> str:
    """Return a time as metav1.Time, or as metav1.MicroTime."""
    moment = datetime.datetime.fromtimestamp(seconds, datetime.UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ" if micro else "%Y-%m-%dT%H:%M:%SZ")


class Entry:
    """One revision of an object. Only a test changes `item`, so that readers need no copy of it."""

    def __init__(self, item: Item) -> None:
        self.item = item
        self.fluid = False
        """Whether a test may change `item` at any time."""
        self._text: bytes | None = None

    @property
    def text(self) -> bytes:
        """Return the object as JSON without kind and apiVersion, as a LIST shows it."""
        if self._text is None or self.fluid:
            self._text = json.dumps({key: part for key, part in self.item.items() if key not in rules.HEADER}).encode()
        return self._text


@dataclasses.dataclass(frozen=True)
class Change:
    """An event of a watch: ADDED, MODIFIED or DELETED."""

    revision: int
    kind: str
    plural: str
    entry: Entry
    before: Entry | None


@dataclasses.dataclass(frozen=True)
class Page:
    """One page of a LIST."""

    kind: Kind
    entries: list[Entry]
    metadata: dict[str, t.Any]


Tables = dict[str, dict[tuple[str, str], Entry]]


class Store:
    """All objects. `minor` is the minor version of the API server, `clock` its clock in seconds since 1970.

    `dynamic`: whether its feature gate DynamicKubeletConfig is on. `strict`: whether it validates what it stores, so
    that no Node holds a malformed source. `listeners` are called after each change, while no
    other change can happen.
    """

    def __init__(self, minor: int, clock: t.Callable[[], float] = time.time) -> None:
        self.minor, self.clock = minor, clock
        self.dynamic = minor <= rules.LAST_DYNAMIC
        self.strict = True
        self.lock = threading.RLock()
        self.changed = threading.Condition(self.lock)
        self.revision = 1
        self.tables: Tables = {}
        self.history: collections.deque[Change] = collections.deque(maxlen=HISTORY)
        self.listeners: list[t.Callable[[Change], None]] = []

    # Reading

    def snapshot(self) -> Tables:
        """Return all objects as they are now."""
        with self.lock:
            return {plural: dict(table) for plural, table in self.tables.items()}

    def find(self, plural: str, name: str, namespace: str = "", tables: Tables | None = None) -> Entry | None:
        """Return an object, None if there is none."""
        with self.lock:
            return (self.tables if tables is None else tables).get(plural, {}).get((namespace, name))

    def get(self, kind: Kind, name: str, namespace: str = "", tables: Tables | None = None) -> Entry:
        """Return an object. Raises Refusal (404)."""
        found = self.find(kind.plural, name, namespace, tables)
        if found is None:
            raise missing(kind.resource, name)
        return found

    def page(self, kind: Kind, namespace: str, query: t.Mapping[str, str], tables: Tables | None = None) -> Page:
        """Return a LIST, or the page of it that `limit` and `continue` ask for. Raises Refusal (400, 410)."""
        with self.lock:
            table = (self.tables if tables is None else tables).get(kind.plural, {})
            rows = sorted((key, entry) for key, entry in table.items() if namespace in ("", key[0]))
            about: dict[str, t.Any] = {"resourceVersion": str(self.revision)}
        chosen = self.selected(kind.plural, query)
        if query.get("continue"):
            after = _opened(query["continue"])
            rows = [row for row in rows if row[0] > after]
        limit = int(query.get("limit") or 0)
        if not query.get("labelSelector") and not query.get("fieldSelector"):
            entries = rows
        else:
            entries = [row for row in rows if chosen(row[1].item)]
        if limit and len(entries) > limit:
            left = len(entries) - limit
            entries = entries[:limit]
            about["continue"] = _sealed(entries[-1][0])
            if len(rows) - limit == left:
                about["remainingItemCount"] = left
        return Page(kind, [entry for _key, entry in entries], about)

    @staticmethod
    def selected(plural: str, query: t.Mapping[str, str]) -> t.Callable[[Item], bool]:
        """Return whether a LIST with these selectors includes an object. Raises Refusal (400)."""
        by_label = selectors.labels(query.get("labelSelector") or "")
        by_field = selectors.fields(query.get("fieldSelector") or "", plural)
        return lambda item: by_label(item) and by_field(item)

    def since(self, revision: int, seconds: float) -> list[Change]:
        """Return the changes after a revision; wait for the first. Raises Refusal (410) when they are forgotten."""
        with self.lock:
            if self.history.maxlen == len(self.history) and self.history[0].revision > revision + 1:
                raise Refusal(410, f"too old resource version: {revision} ({self.history[0].revision})")
            if self.revision <= revision:
                self.changed.wait(seconds)
            found = []
            for change in reversed(self.history):
                if change.revision <= revision:
                    break
                found.append(change)
            return found[::-1]

    # Writing

    def create(self, kind: Kind, namespace: str, body: Item, dry_run: bool = False) -> Entry:
        """Create an object. Raises Refusal: 409 if it exists, 422 if it is invalid."""
        item = copy.deepcopy(body)
        meta = item.setdefault("metadata", {})
        if not meta.get("name") and meta.get("generateName"):
            meta["name"] = meta["generateName"] + uuid.uuid4().hex[:5]
        with self.lock:
            if kind.namespaced:
                meta["namespace"] = namespace
            key = (namespace, meta["name"])
            if key in self.tables.get(kind.plural, {}):
                raise Refusal(409, f'{kind.resource} "{meta["name"]}" already exists', "AlreadyExists")
            meta.setdefault("uid", str(uuid.uuid4()))
            meta["creationTimestamp"] = stamp(self.clock())
            item.update(kind=kind.kind, apiVersion=kind.version)
            rules.created(kind, item, self)
            return self._stored(kind, key, item, None, dry_run)

    def patch(
        self,
        kind: Kind,
        namespace: str,
        name: str,
        content_type: str,
        body: t.Any,
        sub: str = "",
        dry_run: bool = False,
    ) -> Entry:
        """Patch an object or its status. Raises Refusal: 404, 409 for another resourceVersion or uid, 415, 422."""
        with self.lock:
            before = self.get(kind, name, namespace)
            item = patches.apply(content_type, before.item, body)
            return self._replaced(kind, (namespace, name), before, item, sub, dry_run)

    def update(self, kind: Kind, namespace: str, name: str, body: Item, sub: str = "", dry_run: bool = False) -> Entry:
        """Replace an object or its status. Raises Refusal, as `patch`."""
        with self.lock:
            return self._replaced(
                kind, (namespace, name), self.get(kind, name, namespace), copy.deepcopy(body), sub, dry_run
            )

    def delete(self, kind: Kind, namespace: str, name: str, options: t.Mapping[str, t.Any], dry_run: bool) -> Entry:
        """Delete an object and return its last state. Raises Refusal: 404, 409 if a precondition does not hold."""
        with self.lock:
            before = self.get(kind, name, namespace)
            for key, value in (options.get("preconditions") or {}).items():
                have = before.item["metadata"].get(key)
                if have != value:
                    what = "UID" if key == "uid" else "ResourceVersion"
                    raise Refusal(
                        409,
                        f'Operation cannot be fulfilled on {kind.resource} "{name}": Precondition failed: {what} in '
                        f"precondition: {value}, {what} in object meta: {have}",
                    )
            if not dry_run:
                self.revision += 1
                del self.tables[kind.plural][(namespace, name)]
                self._note("DELETED", kind, before, before)
            return before

    def _replaced(self, kind: Kind, key: tuple[str, str], before: Entry, item: Item, sub: str, dry_run: bool) -> Entry:
        old, meta = before.item["metadata"], item.setdefault("metadata", {})
        wanted = meta.get("resourceVersion")
        if wanted and wanted != old["resourceVersion"]:
            raise Refusal(
                409,
                f'Operation cannot be fulfilled on {kind.resource} "{key[1]}": the object has been modified; please '
                "apply your changes to the latest version and try again",
            )
        if meta.get("uid", old["uid"]) != old["uid"]:
            raise Refusal(
                409,
                f'Operation cannot be fulfilled on {kind.resource} "{key[1]}": Precondition failed: UID in '
                f"precondition: {meta['uid']}, UID in object meta: {old['uid']}",
            )
        for name in ("uid", "resourceVersion", "creationTimestamp", "name", "namespace"):
            if name in old:
                meta[name] = old[name]
        item.update(kind=kind.kind, apiVersion=kind.version)
        rules.updated(kind, before.item, item, sub, self)
        if item == before.item:
            # The API server writes nothing, and the revision stays.
            return before
        return self._stored(kind, key, item, before, dry_run)

    def _stored(self, kind: Kind, key: tuple[str, str], item: Item, before: Entry | None, dry_run: bool) -> Entry:
        if dry_run:
            return Entry(item)
        self.revision += 1
        item["metadata"] = {**item["metadata"], "resourceVersion": str(self.revision)}
        entry = Entry(item)
        self.tables.setdefault(kind.plural, {})[key] = entry
        self._note("MODIFIED" if before else "ADDED", kind, entry, before)
        return entry

    def _note(self, what: str, kind: Kind, entry: Entry, before: Entry | None) -> None:
        change = Change(self.revision, what, kind.plural, entry, before)
        self.history.append(change)
        self.changed.notify_all()
        for listener in self.listeners:
            listener(change)


def _sealed(key: tuple[str, str]) -> str:
    return base64.urlsafe_b64encode(json.dumps(key).encode()).decode()


def _opened(token: str) -> tuple[str, str]:
    try:
        namespace, name = json.loads(base64.urlsafe_b64decode(token))
    except ValueError:
        raise Refusal(400, "continue key is not valid") from None
    return namespace, name
