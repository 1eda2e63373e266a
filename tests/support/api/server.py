# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A real HTTP server on the loopback interface that answers each request with the next of its answers."""

from __future__ import annotations

import dataclasses
import http.server
import json
import ssl
import threading
import typing as t


@dataclasses.dataclass
class Answer:
    """An answer of the server. `cut`: announce the whole text but close after that many bytes; -1: close at once."""

    status: int = 200
    body: t.Any = dataclasses.field(default_factory=dict)
    headers: t.Sequence[tuple[str, str]] = ()
    cut: int | None = None


@dataclasses.dataclass(frozen=True)
class Seen:
    """A received request."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


class Server:
    """`with Server(Answer(...), ...) as server:` - the last answer is repeated."""

    def __init__(self, *answers: Answer, tls: ssl.SSLContext | None = None) -> None:
        self._answers = list(answers) or [Answer()]
        self._lock = threading.Lock()
        self.seen: list[Seen] = []
        owner = self

        class Handler(http.server.BaseHTTPRequestHandler):
            """One connection, kept alive like those of the API server."""

            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def log_message(self, *_args: t.Any) -> None:
                """Log nothing."""

            def _handle(self) -> None:
                owner._serve(self)

            do_GET = do_POST = do_PATCH = do_DELETE = _handle

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        if tls:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self.url = f"http{'s' if tls else ''}://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Server:
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def answer(self, *answers: Answer) -> None:
        """Use these answers from now on."""
        with self._lock:
            self._answers = list(answers)

    def _serve(self, client: http.server.BaseHTTPRequestHandler) -> None:
        body = client.rfile.read(int(client.headers.get("Content-Length") or 0))
        with self._lock:
            self.seen.append(
                Seen(client.command, client.path, {name.lower(): value for name, value in client.headers.items()}, body)
            )
            answer = self._answers[0] if len(self._answers) == 1 else self._answers.pop(0)
        text = answer.body if isinstance(answer.body, bytes) else json.dumps(answer.body).encode()
        client.close_connection = answer.cut is not None
        if answer.cut == -1:
            return
        client.send_response(answer.status)
        for name, value in [*answer.headers, ("Content-Length", str(len(text)))]:
            client.send_header(name, value)
        client.end_headers()
        client.wfile.write(text[: answer.cut])


def kubeconfig(servers: t.Mapping[str, str], user: t.Any) -> dict[str, t.Any]:
    """Return a kubeconfig with a context for each server by its name, the first of them the current one."""
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": next(iter(servers)),
        "clusters": [{"name": name, "cluster": {"server": server}} for name, server in servers.items()],
        "users": [{"name": "u", "user": user}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": "u"}} for name in servers],
    }
