# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The HTTP server under every stand-in for an API server or a kubelet."""

from __future__ import annotations

import http.server
import socket
import ssl
import threading
import time
import typing as t

Identity = tuple[str, tuple[str, ...]]
"""User and groups."""


class Connection(http.server.BaseHTTPRequestHandler):
    """One connection, kept alive like those of the API server. `user` and `groups` are those of its certificate."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    server: Listener
    upstream: t.Any = None
    """What a proxy keeps for it, and what ends with it."""

    def setup(self) -> None:
        """Do the handshake in this connection's own thread."""
        self.user, self.groups = self.server.everyone
        if self.server.tls:
            self.request.settimeout(30)
            self.request = self.server.tls.wrap_socket(self.request, server_side=True)
            self.request.settimeout(None)
            self.user, self.groups = identity(self.request.getpeercert())
        super().setup()

    def finish(self) -> None:
        """Close both connections of a proxy."""
        if self.upstream:
            self.upstream.close()
        super().finish()

    def date_time_string(self, timestamp: float | None = None) -> str:
        return super().date_time_string(self.server.clock() if timestamp is None else timestamp)

    def log_message(self, *_args: t.Any) -> None:
        """Log nothing."""

    def _handle(self) -> None:
        self.server.serve(self, self.rfile.read(int(self.headers.get("Content-Length") or 0)))

    do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = _handle

    def reply(
        self, status: int, body: bytes, headers: t.Iterable[tuple[str, str]] = (), cut: int | None = None
    ) -> None:
        """Send an answer; with `cut` announce all of its body, and end the connection after so many bytes."""
        self.send_response(status)
        for name, value in (*headers, ("Content-Length", str(len(body)))):
            self.send_header(name, value)
        self.end_headers()
        if cut is not None:
            self.close_connection = True
        self.wfile.write(body[:cut])
        self.wfile.flush()


class Listener(http.server.ThreadingHTTPServer):
    """Calls `serve` with each request and its body. Its clients may come at once, and go as they like.

    `everyone` is who comes without a certificate to a server without `tls`; `clock` is the time in its answers.
    """

    daemon_threads = True
    request_queue_size = 128

    def __init__(
        self,
        serve: t.Callable[[Connection, bytes], None],
        tls: ssl.SSLContext | None = None,
        everyone: Identity = ("", ()),
        clock: t.Callable[[], float] = time.time,
        place: tuple[str, int] = ("127.0.0.1", 0),
    ) -> None:
        self.serve, self.tls, self.everyone, self.clock = serve, tls, everyone, clock
        super().__init__(place, Connection)
        self.url = f"http{'s' if tls else ''}://{place[0]}:{self.server_port}"

    def server_bind(self) -> None:
        """Bind without asking for the name of the address."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = str(self.server_address[0]), int(self.server_address[1])

    def handle_error(self, request: t.Any, client_address: t.Any) -> None:
        """Log nothing: a client that breaks a connection, or has no certificate, is no defect here."""

    def start(self) -> None:
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()

    def close(self) -> None:
        self.shutdown()
        self.server_close()


def identity(certificate: t.Any) -> Identity:
    """Return user and groups of a client certificate (CN and O), empty without one and for one that has expired."""
    if certificate and ssl.cert_time_to_seconds(certificate["notAfter"]) < time.time():
        return "", ()
    parts = [pair for names in (certificate or {}).get("subject", ()) for pair in names]
    users = [value for name, value in parts if name == "commonName"]
    return users[0] if users else "", tuple(value for name, value in parts if name == "organizationName")
