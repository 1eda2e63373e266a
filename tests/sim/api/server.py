# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The HTTP server of the API: plain HTTP for an administrator, TLS for users with a certificate or a token."""

from __future__ import annotations

import contextlib
import dataclasses
import ssl
import threading
import time

from tests.sim.api.faults import Counter, Fault, Faults
from tests.sim.api.handlers import Answer, Api, Request
from tests.sim.api.listener import Connection, Listener
from tests.sim.api.refusal import Refusal
from tests.sim.api.roles import ADMIN, MASTERS, Asked, is_admin


class Server:
    """Serves an `Api` on the loopback interface. `url` needs no credentials; `tls_url` needs a client certificate."""

    def __init__(self, api: Api, tls: ssl.SSLContext | None = None) -> None:
        self.api = api
        self.faults, self.counter = Faults(), Counter()
        self.down = threading.Event()
        """While it is set, connections are closed without an answer, like those of an API server that is stopped."""
        self._listeners = [self._listen(None), *([self._listen(tls)] if tls else [])]
        self.url = self._listeners[0].url
        self.tls_url = self._listeners[-1].url if tls else ""

    def start(self) -> None:
        for listener in self._listeners:
            listener.start()

    def close(self) -> None:
        self.down.set()
        for listener in self._listeners:
            listener.close()

    def _listen(self, tls: ssl.SSLContext | None) -> Listener:
        return Listener(self.serve, tls, (ADMIN, (MASTERS,)), self._time)

    def _time(self) -> float:
        # A test may give the store another clock at any time.
        return self.api.store.clock()

    def inside(self, request: Request) -> Answer | None:
        """Answer a request that comes from this process; None: no answer."""
        self.counter.note(request.method, request.url, request.user, 0)
        fault = self.faults.of(request.method, request.url, request.user)
        if self.down.is_set() or fault.reset:
            return None
        try:
            if fault.status:
                raise Refusal(fault.status, fault.message, retry_after=fault.retry_after)
            answer = self.api.answer(request)
        except Refusal as error:
            answer = _refused(error)
        return None if fault.lose_answer else answer

    def witness(self, client: Connection, body: bytes) -> None:
        """Do nothing: tests/support/plays/tape.py puts its own method here."""

    def serve(self, client: Connection, body: bytes) -> None:
        self.counter.note(client.command, client.path, client.user, len(body))
        self.witness(client, body)
        fault = self.faults.of(client.command, client.path, client.user)
        if fault.then:
            fault.then()
        if fault.slow:
            time.sleep(fault.slow)
        if self.down.is_set() or fault.reset:
            client.close_connection = True
            return
        user, groups = client.user, client.groups
        certified = user and isinstance(client.request, ssl.SSLSocket)
        if not certified and "Authorization" in client.headers:
            user, groups = self.api.tokens.user(client.headers["Authorization"])
        request = Request(
            client.command, client.path, client.headers.get("Content-Type") or "", body, user, groups, fault.stale,
            fault.drop,
        )  # fmt: skip
        try:
            request = _impersonated(request, client.headers.get("Impersonate-User"))
            if fault.status:
                raise Refusal(fault.status, fault.message, retry_after=fault.retry_after)
            answer = self.api.answer(request)
        except ConnectionError:
            client.close_connection = True
            return
        except Refusal as error:
            answer = _refused(error)
        if fault.lose_answer or self.down.is_set():
            client.close_connection = True
            return
        with contextlib.suppress(ConnectionError, ssl.SSLError):
            sent = _stream(client, answer, fault) if answer.stream else _send(client, answer, fault)
            self.counter.answered(client.user, sent)


def _impersonated(request: Request, user: str | None) -> Request:
    """Return the request as that of the user whom the client names. Raises Refusal (403): only administrators may."""
    if not user:
        return request
    if not is_admin(request.user, request.groups):
        raise Asked("impersonate", "", "users", name=user).refusal(request.user)
    return dataclasses.replace(request, user=user, groups=())


def _refused(error: Refusal) -> Answer:
    headers = {} if error.retry_after is None else {"Retry-After": str(error.retry_after)}
    return Answer(error.status, error.body(), headers)


def _send(client: Connection, answer: Answer, fault: Fault) -> int:
    text = answer.content()
    client.reply(answer.status, text, {"Content-Type": "application/json", **answer.headers}.items(), fault.truncate)
    return len(text)


def _stream(client: Connection, answer: Answer, fault: Fault) -> int:
    client.send_response(answer.status)
    client.send_header("Content-Type", "application/json")
    client.send_header("Transfer-Encoding", "chunked")
    client.end_headers()
    client.wfile.flush()
    sent = 0
    for line in answer.stream or ():
        if line:
            client.wfile.write(f"{len(line):x}\r\n".encode() + line + b"\r\n")
            client.wfile.flush()
            sent += len(line)
        if fault.truncate is not None and sent >= fault.truncate:
            client.close_connection = True
            return sent
    client.wfile.write(b"0\r\n\r\n")
    client.wfile.flush()
    return sent
