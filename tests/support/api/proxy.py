# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A proxy on the loopback interface before an API server that counts requests and injects faults."""

from __future__ import annotations

import dataclasses
import http.client
import http.server
import ssl
import threading
import typing as t

import kubernetes.client
import kubernetes.config


@dataclasses.dataclass
class Fault:
    """What the proxy does with a request instead of passing it on, or afterwards."""

    status: int = 0
    """Answer with this status and do not pass the request on; 0 passes it on."""
    retry_after: int | None = None
    lose_answer: bool = False
    """Pass the request on and close the connection without returning the answer."""


class Proxy:
    """`with Proxy(kubeconfig) as proxy:` - `proxy.url` needs no credentials.

    `fault(method, path, count)` is called for each request, with the number of requests of that method so far.
    """

    def __init__(self, kubeconfig: str) -> None:
        configuration = kubernetes.client.Configuration()
        kubernetes.config.load_kube_config(kubeconfig, client_configuration=configuration)
        scheme, self._target = configuration.host.split("://")
        self._context: ssl.SSLContext | None = None
        if scheme == "https":
            self._context = ssl.create_default_context(cafile=configuration.ssl_ca_cert)
            self._context.load_cert_chain(configuration.cert_file, configuration.key_file)
        self._lock = threading.Lock()
        self.requests: list[tuple[str, str]] = []
        self.fault: t.Callable[[str, str, int], Fault | None] = lambda method, path, count: None
        proxy = self

        class Handler(http.server.BaseHTTPRequestHandler):
            """One client connection, and one persistent connection to the API server."""

            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True
            upstream: http.client.HTTPConnection | None = None

            def log_message(self, *_args: t.Any) -> None:
                """Log nothing."""

            def _handle(self) -> None:
                proxy.handle(self)

            do_GET = do_POST = do_PATCH = do_DELETE = do_PUT = _handle

            def finish(self) -> None:
                """Close both connections."""
                if self.upstream:
                    self.upstream.close()
                super().finish()

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Proxy:
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def count(self, method: str = "", containing: str = "") -> int:
        """Return how many requests of a method (any by default) had a path that contains a text."""
        return sum(method in ("", one) and containing in path for one, path in self.requests)

    def forget(self) -> None:
        """Reset the count."""
        self.requests.clear()

    def handle(self, client: t.Any) -> None:
        """Serve one request."""
        body = client.rfile.read(int(client.headers.get("Content-Length") or 0))
        with self._lock:
            self.requests.append((client.command, client.path))
            fault = self.fault(client.command, client.path, self.count(client.command))
        if fault and fault.status:
            extra = {"Retry-After": str(fault.retry_after)} if fault.retry_after is not None else {}
            self._answer(client, fault.status, b'{"kind": "Status", "message": "made by the test"}', extra)
            return
        status, text, headers = self._pass_on(client, body)
        if fault and fault.lose_answer:
            client.close_connection = True
            return
        self._answer(client, status, text, headers)

    def _pass_on(self, client: t.Any, body: bytes) -> tuple[int, bytes, dict[str, str]]:
        headers = {name: client.headers[name] for name in ("Content-Type", "Accept") if client.headers.get(name)}
        for attempt in (1, 2):
            if client.upstream is None:
                client.upstream = self._connection()
            try:
                client.upstream.request(client.command, client.path, body, headers)
                answer = client.upstream.getresponse()
                return (
                    answer.status,
                    answer.read(),
                    {
                        name: value
                        for name, value in answer.getheaders()
                        if name in ("Content-Type", "Warning", "Retry-After")
                    },
                )
            except (http.client.HTTPException, OSError):
                client.upstream.close()
                client.upstream = None
                if attempt == 2:
                    return 503, b'{"kind": "Status", "message": "the API server is away"}', {}
        raise AssertionError("unreachable")

    def _connection(self) -> http.client.HTTPConnection:
        if self._context is None:
            return http.client.HTTPConnection(self._target, timeout=30)
        return http.client.HTTPSConnection(self._target, context=self._context, timeout=30)

    @staticmethod
    def _answer(client: t.Any, status: int, text: bytes, headers: dict[str, str]) -> None:
        client.send_response(status)
        for name, value in {"Content-Type": "application/json", **headers, "Content-Length": str(len(text))}.items():
            client.send_header(name, value)
        client.end_headers()
        client.wfile.write(text)
