# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The connection to the API server. All requests use fixed paths, so discovery is not needed."""

from __future__ import annotations

import copy
import json
import re
import threading
import typing as t
import urllib.parse
from types import MappingProxyType

from ..._config.values.short_texts import minor_of
from . import (
    answers,
    client_configuration,
    cluster_options,
    kubelet_endpoint,
    kubelet_on_host,
    kubelet_ways,
    library,
    parallel,
    timestamps,
)
from .errors import Accepting, ApiError, ClusterError, persist
from .parallel import Item, Outcome, Value

Json = t.Dict[str, t.Any]
"""An object as JSON has it: one of the API, or the options or the result of a module."""
# How many seconds a request is repeated until the first answer: short, since the address may be wrong.
FIRST_CONTACT = 10.0
# The same for modules that run during a rollout, whose earlier modules have reached the address.
PATIENT_CONTACT = 40.0
# The same after the first answer: longer than the restart of an API server.
_OUTAGE = 60.0
# Seconds to wait for a connection to a kubelet, which is near if its port is open for this controller.
_CONNECT = 3
# The first minor with dry runs by default (KEP-576). Those before 1.12 ignore the parameter, and write.
_FIRST_DRY_RUN = 13


def object_path(api: str, namespace: str, resource: str, name: str = "") -> str:
    """Return the path of one object in a namespace, or of all of a resource there. `api` such as `/api/v1`."""
    path = f"{api}/namespaces/{urllib.parse.quote(namespace, safe='')}/{resource}"
    if name:
        path += f"/{urllib.parse.quote(name, safe='')}"
    return path


def dry_run_query(dry_run: bool) -> list[tuple[str, str]]:
    """Return the query of a request that must not write with `dry_run`."""
    if dry_run:
        return [("dryRun", "All")]
    return []


class Session:
    """A connection to one API server that repeats requests after transient failures.

    `sent` counts all requests, repeats included. `nodes_revision` is where a watch of nodes begins: empty before a
    LIST, None if the user may not watch them.
    `warnings` collects the warnings of the API server (RFC 9111 Warning headers), each once. `seen` has what it has
    read of Nodes, by name, for the ways to their kubelets.
    """

    def __init__(self, options: Json, outage: float = _OUTAGE, first_contact: float = FIRST_CONTACT) -> None:
        library.check()
        options = cluster_options.completed(options)
        self._options = options
        self._configuration = client_configuration.of(options)
        self._headers = client_configuration.headers(options)
        self._client = library.client(self._configuration)
        self._lender: t.Any = None
        self.timeout: t.Any = options.get("request_timeout") or 30
        self._outage = outage
        self._first_contact = first_contact
        self._lock = threading.Lock()
        self._answered = False
        self._lost = False
        self._clock = timestamps.ServerClock()
        self._asking = threading.Lock()
        self._renewing = threading.Lock()
        self._renewal: client_configuration.Renewal | None = client_configuration.Renewal(options)
        self._dry_runs: bool | None = None
        self.concurrency: int = options.get("concurrency") or 8
        self.host = cluster_options.without_login(self._configuration.host)
        self.sent = 0
        self.nodes_revision: str | None = ""
        self.warnings: list[str] = []
        self.seen: dict[str, kubelet_endpoint.Seen] = {}
        self.kubelets: kubelet_endpoint.Kubelets | None = None
        if options.get("read") == kubelet_endpoint.KUBELET:
            if self._headers:
                raise ClusterError("read: a kubelet does not impersonate users; set it to proxy, or omit impersonate_*")
            self.kubelets = kubelet_endpoint.DirectClients(self, options.get("kubelet_ca_cert"))
        elif options.get("read") == kubelet_endpoint.NODE:
            self.kubelets = self.on_hosts(options)
        elif options.get("read") == kubelet_endpoint.AUTO:
            self.kubelets = kubelet_ways.BestKubelets(self, options)

    def on_hosts(self, options: t.Mapping[str, t.Any]) -> kubelet_on_host.HostKubelets:
        """Return the kubelets of nodes, each from its own host."""
        account = options.get("read_service_account") or kubelet_on_host.ACCOUNT
        authorities = options.get("kubelet_ca_cert") or self._configuration.ssl_ca_cert
        verify = bool(self._configuration.verify_ssl)
        return kubelet_on_host.HostKubelets(self, account, authorities, verify, self.timeout)

    @property
    def is_safe_at_kubelets(self) -> bool:
        """Whether a kubelet that receives the credentials cannot use them: a client certificate, and nothing else."""
        plain = self._configuration
        return bool(plain.cert_file) and not plain.api_key and not self._headers

    def at(self, host: str, name: str, ca_cert: str | None) -> Session:
        """Return a session with another server and the same credentials.

        It requires a certificate for `name`, signed by those in the file `ca_cert` or by default as the API server's.
        """
        other = copy.copy(self)
        # First: a thread may renew the credentials meanwhile.
        other._lender = self._client
        other._configuration = configuration = copy.copy(self._configuration)
        configuration.host, configuration.proxy = host, None
        configuration.tls_server_name = name
        configuration.ssl_ca_cert = ca_cert or configuration.ssl_ca_cert
        other._client, other._renewal = library.client(configuration), None
        other.timeout = (min(_CONNECT, self.timeout), self.timeout)
        other._clock = timestamps.ServerClock()
        other._answered = other._lost = False
        other.host, other.kubelets = host, None
        return other

    def with_token(self, token: str) -> Session:
        """Return a session with the same server as the user of a token."""
        other = copy.copy(self)
        other._configuration = configuration = copy.copy(self._configuration)
        configuration.cert_file = configuration.key_file = None
        client_configuration.use(configuration, f"Bearer {token}")
        other._headers, other.kubelets = {}, None
        other._client, other._renewal = library.client(configuration), None
        return other

    def request(
        self,
        method: str,
        path: str,
        query: t.Sequence[tuple[str, t.Any]] = (),
        body: t.Any = None,
        content_type: str = "application/json",
        budget: float | None = None,
    ) -> t.Any:
        """Send one request and return the decoded JSON answer.

        `budget` is the time in seconds in which transient failures are repeated. Raises ApiError.
        """
        content = self._send(method, path, query, body, {"content_type": content_type}, budget)
        try:
            return json.loads(content)
        # RecursionError: what a kubelet answers through the proxy may be nothing but brackets.
        except (ValueError, RecursionError) as error:
            raise ApiError(
                200, f"{self.host} answered {method} {path} with text that is not JSON; is it a Kubernetes API server?"
            ) from error

    def text(self, path: str, budget: float | None = None, query: t.Sequence[tuple[str, t.Any]] = ()) -> str:
        """Return plain text (one GET, gzip), such as a kubelet serves; `budget` as in `request`. Raises ApiError."""
        return self._send("GET", path, query, None, {"headers": {"Accept-Encoding": "gzip"}}, budget).decode(
            "utf-8", "replace"
        )

    def each(
        self, items: t.Iterable[Item], work: t.Callable[[Item], Value], share: int = 1
    ) -> list[Outcome[Item, Value]]:
        """Run `work` for every item, at most `concurrency` at a time; see parallel.each."""
        return parallel.each(list(items), work, self.concurrency, share)

    def find(self, path: str) -> t.Any:
        """Return the object at a path (one GET), None if it does not exist. Raises ApiError."""
        with Accepting(404):
            return self.request("GET", path)
        return None

    def review(self, kind: str, spec: t.Mapping[str, t.Any]) -> Json:
        """Return the status of a review of permissions, such as a SubjectAccessReview (one POST). Raises ApiError."""
        body = {"apiVersion": "authorization.k8s.io/v1", "kind": kind, "spec": spec}
        answer = self.request("POST", f"/apis/authorization.k8s.io/v1/{kind.lower()}s", body=body)
        return answer.get("status") or {}

    def patch(self, path: str, body: t.Any, dry_run: bool = False) -> t.Any:
        """Change the fields of an object that `body` has (one merge patch), and return the object. Raises ApiError."""
        return self.request("PATCH", path, dry_run_query(dry_run), body, "application/merge-patch+json")

    def delete_exactly(self, path: str, preconditions: t.Mapping[str, str], dry_run: bool = False) -> bool:
        """Delete exactly the object that was read; return whether it was there. Raises ApiError, 409 for another."""
        body = {"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": preconditions}
        if dry_run:
            # In the body: if there is a body, the API server ignores the query parameter and really deletes.
            body["dryRun"] = ["All"]
        with Accepting(404):
            self.request("DELETE", path, body=body)
            return True
        return False

    def events(self, path: str, query: t.Sequence[tuple[str, t.Any]]) -> list[t.Any]:
        """Return the events of a watch that has ended (one GET). Raises ApiError."""
        events = []
        for line in self.text(path, query=query).split("\n"):
            try:
                events.append(json.loads(line))
            except ValueError:
                # What follows the last line break is empty, or a part of an event.
                break
        return events

    def server_time(self) -> float:
        """Return the seconds since 1970 by the API server's clock (one GET if it has not answered yet).

        All controllers compare times by this clock, so that a wrong one of their own does no harm. Raises ApiError.
        """
        now = self._clock.now()
        while now is None:
            try:
                self.request("GET", "/version")
            except ApiError as error:
                # Every HTTP answer has a date, also a refusal.
                if not error.status:
                    raise
            now = self._clock.now()
        return now

    def dry_runs(self) -> bool:
        """Return whether the API server has dry runs (one GET, once); if it hides its version, it counts as older.

        For check mode: a write must not be sent to an older one. Raises ApiError.
        """
        with self._asking:
            if self._dry_runs is None:
                try:
                    found = self.request("GET", "/version").get("gitVersion")
                except ApiError as error:
                    if not error.status:
                        raise
                    found = None
                self._dry_runs = (minor_of(found) or 0) >= _FIRST_DRY_RUN
            return self._dry_runs

    def _send(
        self,
        method: str,
        path: str,
        query: t.Sequence[tuple[str, t.Any]],
        body: t.Any,
        more: Json,
        budget: float | None,
    ) -> bytes:
        limit = self._outage if self._answered else self._first_contact
        if self._lost:
            # One request has already waited for the whole time; the requests after it must not wait as long again.
            limit = 0.0

        def once() -> bytes:
            # The body is read with the request, and the connection may break during the read.
            content: bytes = self._received(lambda answer: answer.data, method, path, query, body, self.timeout, **more)
            return content

        try:
            return persist(once, limit if budget is None else min(budget, limit))
        except ApiError as error:
            self._lost = error.status == 0
            raise

    def lines(self, path: str, query: t.Sequence[tuple[str, t.Any]], quiet: float) -> t.Iterator[bytes]:
        """Yield the lines of a GET as they arrive, such as the events of a watch (never repeated).

        `quiet` is the time in seconds after which a connection without a word counts as lost. Raises ApiError.
        """
        answer = self._received(lambda answer: answer, "GET", path, query, None, quiet)
        parts, rest = answer.stream(None), b""
        try:
            for part in self._parts(parts):
                *whole, rest = (rest + part).split(b"\n")
                yield from whole
            if rest:
                yield rest
        finally:
            answer.close()

    def _parts(self, parts: t.Iterator[bytes]) -> t.Iterator[bytes]:
        try:
            yield from parts
        except (library.urllib3.exceptions.HTTPError, OSError) as error:
            raise answers.no_answer(self.host, error) from error

    def renewed_since(self, made: Session) -> bool:
        """Return whether its credentials differ from those of a session that `at` has made, after renewing them once
        if they do not. Raises ApiError.
        """
        return self._renew(made._lender)

    def _received(
        self, read: t.Callable[[t.Any], t.Any], method: str, path: str, *request: t.Any, **more: t.Any
    ) -> t.Any:
        """Do what `_exchanged` does, once more if the credentials were refused and could be renewed.

        Only the API server knows until when it accepts a token or a certificate. Raises ApiError.
        """
        client = self._client
        try:
            return self._exchanged(client, read, method, path, *request, **more)
        except ApiError as error:
            # A kubelet behind the proxy refuses those of the API server.
            if error.status != 401 or "/proxy/" in path or not self._renew(client):
                raise
        return self._exchanged(self._client, read, method, path, *request, **more)

    def _renew(self, refused: t.Any) -> bool:
        """Load the credentials anew; return whether they may differ from those of the client `refused`.

        One thread does this for all. Raises ApiError, transient: a plugin may ask a service that is busy.
        """
        with self._renewing:
            if self._renewal is None:
                return False
            if self._client is not refused:
                return True
            try:
                fresh = self._renewal.other_than(self._configuration)
            except ClusterError as error:
                why = f"{self.host} does not accept these credentials (401), and they could not be renewed: "
                raise ApiError(401, why + error.message, transient=True) from error
            if fresh is not None:
                self._configuration, self._client = fresh, library.client(fresh)
            return fresh is not None

    def _refusal(self, error: t.Any, path: str) -> ApiError:
        if error.status != 401 or "/proxy/" in path or self._renewal is None:
            return answers.refusal(self.host, error)
        return answers.refusal(self.host, error, *cluster_options.user_in_words(self._options))

    def _exchanged(
        self,
        client: t.Any,
        read: t.Callable[[t.Any], t.Any],
        method: str,
        path: str,
        query: t.Sequence[tuple[str, t.Any]],
        body: t.Any,
        seconds: float,
        content_type: str = "application/json",
        headers: t.Mapping[str, str] = MappingProxyType({}),
    ) -> t.Any:
        """Send one request and return what `read` takes of the answer. Raises ApiError, also for the reading."""
        with self._lock:
            self.sent += 1
        try:
            answer = client.request(
                method,
                path,
                body=body,
                query_params=list(query),
                header_params={**self._headers, **headers},
                content_type=content_type,
                serialize=False,
                _request_timeout=seconds,
            )
            content = read(answer)
        except library.kubernetes.client.exceptions.ApiException as error:
            # The library reports some transport failures as an ApiException with status 0.
            if not error.status:
                raise answers.no_answer(self.host, error) from error
            self._answered, self._lost = True, False
            self._note_time(path, error.headers)
            raise self._refusal(error, path) from error
        except (library.urllib3.exceptions.HTTPError, OSError) as error:
            raise answers.no_answer(self.host, error) from error
        except ValueError:
            # http.client quotes the whole header.
            raise ClusterError(
                "the credentials contain a character that no HTTP header can have, such as a line break at the end of "
                "a text block. Correct the token (api_key or that of the kubeconfig), or the name of the user"
            ) from None
        self._answered, self._lost = True, False
        self._note_time(path, answer.headers)
        self._note_warnings(answer)
        return content

    def _note_time(self, path: str, headers: t.Mapping[str, str] | None) -> None:
        # The API server passes the headers of a kubelet on, and with them the kubelet's date.
        if "/proxy/" not in path:
            self._clock.note((headers or {}).get("Date"))

    def _note_warnings(self, answer: t.Any) -> None:
        for text in re.findall(r'299 \S+ "((?:[^"\\]|\\.)*)"', answer.headers.get("Warning") or ""):
            plain = re.sub(r"\\(.)", r"\1", text)
            with self._lock:
                if plain not in self.warnings:
                    self.warnings.append(plain)
