# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the API server answers to a request, without HTTP."""

from __future__ import annotations

import dataclasses
import json
import time
import typing as t
import urllib.parse

from tests.sim.api import discovery, evictions, reviews, roles
from tests.sim.api.kinds import FIRST_DRY_RUN, FIRST_SERVED, LAST_OLD_PROXY, Kind, Route, not_served, route
from tests.sim.api.refusal import Refusal, missing
from tests.sim.api.store import Entry, Page, Store, Tables
from tests.sim.api.tokens import RULES, Tokens

# Seconds that a watch waits for the next change before it looks whether it has to end.
TICK = 0.2
WATCH = 300
PROTOBUF = b"k8s\0"
"""How a body in protobuf begins, which kubectl sends to create objects that it knows
(apimachinery/pkg/runtime/serializer/protobuf/protobuf.go).
"""


@dataclasses.dataclass(frozen=True)
class Request:
    """One request of a user. `stale` and `drop` are those of its fault."""

    method: str
    url: str
    content_type: str = "application/json"
    body: t.Any = b""
    """Bytes of JSON, or an object."""
    user: str = ""
    groups: tuple[str, ...] = ()
    stale: Tables | None = None
    drop: tuple[str, ...] = ()

    @property
    def path(self) -> str:
        return self.url.partition("?")[0]

    @property
    def query(self) -> dict[str, str]:
        return dict(urllib.parse.parse_qsl(self.url.partition("?")[2], keep_blank_values=True))

    def json(self) -> t.Any:
        """Return the body. Raises Refusal: 400, 415 for protobuf."""
        if not isinstance(self.body, bytes):
            return self.body
        if self.body.startswith(PROTOBUF):
            raise Refusal(
                415,
                "the simulated API server reads JSON alone. Let kubectl print the object and apply it: "
                "kubectl create ... --dry-run=client -o yaml | kubectl apply -f -",
            )
        try:
            return json.loads(self.body) if self.body else {}
        except ValueError as error:
            raise Refusal(400, f"the object provided is unrecognized: {error}") from None


@dataclasses.dataclass
class Answer:
    """An answer: an object, a page, or the bytes of a kubelet; or the lines of a watch."""

    status: int = 200
    body: t.Any = None
    headers: dict[str, str] = dataclasses.field(default_factory=dict)
    stream: t.Iterator[bytes] | None = None

    def content(self) -> bytes:
        if isinstance(self.body, bytes):
            return self.body
        if isinstance(self.body, Entry):
            return _whole(self.body)
        if isinstance(self.body, Page):
            page = self.body
            head = {"kind": f"{page.kind.kind}List", "apiVersion": page.kind.version, "metadata": page.metadata}
            return json.dumps(head)[:-1].encode() + b', "items": [' + b",".join(e.text for e in page.entries) + b"]}"
        return json.dumps(self.body).encode()


Proxied = t.Callable[[str, str], Answer]


class Api:
    """Answers requests. `kubelet(name, path)` is the answer of a kubelet; it raises Refusal when there is none."""

    def __init__(self, store: Store, version: str, kubelet: Proxied) -> None:
        self.store, self.version, self.kubelet = store, version, kubelet
        self.tokens = Tokens(store)
        self.asked: dict[str, set[tuple[str, str, str, str]]] = {}
        """By user, the permissions that its requests needed: verb, API group, resource, namespace."""

    def answer(self, request: Request) -> Answer:
        """Return the answer of a request. Raises Refusal."""
        if not request.user:
            raise Refusal(401, "Unauthorized")
        return self._about_itself(request.path) or self._review(request) or self._at_place(request)

    def _about_itself(self, path: str) -> Answer | None:
        """Return what the server answers about its health, version and API; None for other paths."""
        if path in ("/readyz", "/healthz", "/livez"):
            return Answer(200, b"ok", {"Content-Type": "text/plain"})
        if path == "/version":
            major, minor = self.version.lstrip("v").split(".")[:2]
            return Answer(200, {"major": major, "minor": minor, "gitVersion": self.version, "platform": "linux/amd64"})
        found = discovery.answer(path, self.store.minor)
        return Answer(200, found) if found else None

    def _review(self, request: Request) -> Answer | None:
        """Return what a user may do; None for other requests. Raises Refusal."""
        if request.method != "POST":
            return None
        user, groups = request.user, request.groups
        if request.path == reviews.PATH:
            self._permit(request, roles.Asked("create", "authorization.k8s.io", "subjectaccessreviews"))
            return Answer(201, reviews.review(self.store, request.json()))
        if request.path == reviews.OWN:
            return Answer(201, reviews.own(self.store, user, groups, request.json()))
        if request.path == RULES:
            return Answer(201, self.tokens.rules(user, groups, request.json()))
        return None

    def _at_place(self, request: Request) -> Answer:
        """Return the answer for an object, a collection or a kubelet. Raises Refusal."""
        path = request.path
        if path.startswith("/api/v1/proxy/nodes/") and self.store.minor <= LAST_OLD_PROXY:
            _empty, _api, _v1, _proxy, _nodes, name, *rest = path.split("/")
            self._permit(request, roles.Asked("proxy", "", "nodes", name=name))
            return self._proxied(Route(_NODES, "", name, "proxy", "/".join(rest)), request)
        place = route(path)
        if self.store.minor < FIRST_SERVED.get(place.kind.plural, 0):
            return Answer(404, b"404 page not found\n", {"Content-Type": "text/plain"})
        reviews.permit(request.user, request.method, place)
        self._permit(request, roles.asked(request.method, place, request.query))
        if place.sub == "proxy" and place.kind.plural == "nodes":
            return self._proxied(place, request)
        if place.sub == "token" and place.kind.plural == "serviceaccounts" and request.method == "POST":
            return Answer(201, self.tokens.create(place, request.json()))
        if place.sub not in ("", "status", "eviction"):
            raise not_served()
        return self._object(place, request) if place.name else self._collection(place, request)

    def _permit(self, request: Request, wanted: roles.Asked) -> None:
        """Note what a user asks for. Raises Refusal (403)."""
        self.asked.setdefault(request.user, set()).add(wanted.rule())
        roles.permit(self.store, request.user, request.groups, wanted)

    def _proxied(self, place: Route, request: Request) -> Answer:
        if self.store.find("nodes", place.name) is None:
            raise missing("nodes", place.name)
        query = request.url.partition("?")[2]
        return self.kubelet(place.name, f"/{place.rest}{'?' if query else ''}{query}")

    def _collection(self, place: Route, request: Request) -> Answer:
        kind, query = place.kind, request.query
        if request.method == "POST":
            body = request.json()
            roles.check_grant(self.store, request.user, request.groups, kind.plural, place.namespace, body)
            return Answer(201, self.store.create(kind, place.namespace, _less(body, request.drop), self._dry(query)))
        if request.method != "GET":
            raise Refusal(405, "the server does not allow this method on the requested resource")
        if query.get("watch") in ("true", "1"):
            return Answer(200, stream=self._watched(kind, place.namespace, query))
        return Answer(200, self.store.page(kind, place.namespace, query, request.stale))

    def _object(self, place: Route, request: Request) -> Answer:
        kind, dry = place.kind, self._dry(request.query)
        if request.method == "GET":
            return Answer(200, self.store.get(kind, place.name, place.namespace, request.stale))
        body = request.json()
        if place.sub == "eviction" and request.method == "POST":
            return Answer(201, evictions.evict(self.store, place, body))
        if request.method == "PATCH":
            body = _less(body, request.drop)
            roles.check_grant(self.store, request.user, request.groups, kind.plural, place.namespace, body)
            kind_of_patch = request.content_type.partition(";")[0]
            where = (kind, place.namespace, place.name)
            return Answer(200, self.store.patch(*where, kind_of_patch, body, place.sub, dry))
        if request.method == "PUT":
            return Answer(200, self.store.update(kind, place.namespace, place.name, body, place.sub, dry))
        if request.method == "DELETE":
            # With a body the API server ignores the query.
            dry = self._dry(body) if body else dry
            self.store.delete(kind, place.namespace, place.name, body, dry)
            return Answer(200, {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"})
        raise Refusal(405, "the server does not allow this method on the requested resource")

    def _dry(self, given: t.Mapping[str, t.Any]) -> bool:
        """Return whether a query or DeleteOptions ask for a dry run. API servers before 1.12 ignore that."""
        return bool(given.get("dryRun")) and self.store.minor >= FIRST_DRY_RUN

    def _watched(self, kind: Kind, namespace: str, query: dict[str, str]) -> t.Iterator[bytes]:
        chosen = self.store.selected(kind.plural, query)
        end = time.monotonic() + float(query.get("timeoutSeconds") or WATCH)
        at = int(query.get("resourceVersion") or 0)
        if not at:
            page = self.store.page(kind, namespace, query)
            at = int(page.metadata["resourceVersion"])
            for entry in page.entries:
                yield _line("ADDED", entry)
        left = 1.0
        while left > 0:
            left = end - time.monotonic()
            try:
                changes = self.store.since(at, min(TICK, max(0.0, left)))
            except Refusal as error:
                yield json.dumps({"type": "ERROR", "object": error.body()}).encode() + b"\n"
                return
            if not changes:
                # Lets the server notice that the client is gone.
                yield b""
            for change in changes:
                at = change.revision
                item = change.entry.item
                if change.plural != kind.plural or namespace not in ("", item["metadata"].get("namespace", "")):
                    continue
                now = change.kind != "DELETED" and chosen(item)
                before = change.before is not None and chosen(change.before.item)
                if now:
                    yield _line("MODIFIED" if before else "ADDED", change.entry)
                elif before:
                    yield _line("DELETED", change.entry)


_NODES = route("/api/v1/nodes").kind


def _line(what: str, entry: Entry) -> bytes:
    return b'{"type": "' + what.encode() + b'", "object": ' + _whole(entry) + b"}\n"


def _whole(entry: Entry) -> bytes:
    head = {key: entry.item[key] for key in ("kind", "apiVersion")}
    return json.dumps(head)[:-1].encode() + b", " + entry.text[1:]


def _less(body: t.Any, dropped: tuple[str, ...]) -> t.Any:
    """Return an object or merge patch without these fields."""
    for path in dropped:
        *parents, last = path.split(".")
        place = body
        for parent in parents:
            place = place.get(parent) or {}
        place.pop(last, None)
    return body
