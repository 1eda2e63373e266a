# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A proxy on the loopback interface before an API server that counts requests and injects faults."""

from __future__ import annotations

import http.client
import ssl
import typing as t

import kubernetes.client
import kubernetes.config

from tests.sim.api.faults import Counter, Fault
from tests.sim.api.listener import Connection, Listener


class Proxy(Counter):
    """`with Proxy(kubeconfig) as proxy:` - `proxy.url` needs no credentials.

    `fault(method, path, count)` is called for each request, with the number of requests of that method so far. Of a
    fault it has `status`, `retry_after` and `lose_answer`.
    """

    def __init__(self, kubeconfig: str) -> None:
        super().__init__()
        configuration = kubernetes.client.Configuration()
        kubernetes.config.load_kube_config(kubeconfig, client_configuration=configuration)
        scheme, self._target = configuration.host.split("://")
        self._context: ssl.SSLContext | None = None
        if scheme == "https":
            self._context = ssl.create_default_context(cafile=configuration.ssl_ca_cert)
            self._context.load_cert_chain(configuration.cert_file, configuration.key_file)
        self.fault: t.Callable[[str, str, int], Fault | None] = lambda method, path, count: None
        self._listener = Listener(self._serve)
        self.url = self._listener.url

    def __enter__(self) -> Proxy:
        self._listener.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._listener.close()

    def _serve(self, client: Connection, body: bytes) -> None:
        self.note(client.command, client.path, "", len(body))
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

    def _pass_on(self, client: Connection, body: bytes) -> tuple[int, bytes, dict[str, str]]:
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
    def _answer(client: Connection, status: int, text: bytes, headers: dict[str, str]) -> None:
        client.reply(status, text, {"Content-Type": "application/json", **headers}.items())
