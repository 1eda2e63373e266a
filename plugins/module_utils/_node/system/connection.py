# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Connections to the API server with an address and credentials that are known; standard library only.

Separate from kubeconfig.py, which reads both: the waiting follower has a connection and no use for the rest. So nothing
here imports `typing`, `tempfile` or a module of ours.
"""

from __future__ import annotations

import base64
import collections
import contextlib
import json
import os
import socket
from urllib.parse import SplitResult, unquote, urlsplit

TYPE_CHECKING = False
if TYPE_CHECKING:
    import http.client
    import ssl
    from typing import Any, Iterator, Mapping, Sequence

_UNAUTHORIZED = 401
_BROKEN = (OSError, ValueError, KeyError, TypeError, AttributeError)
"""What a request raises, beside HTTPException: the last four for values of another type in a kubeconfig."""

_KEPT_ALIVE = (
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 60),
    (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 15),
    (socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 4),
)
"""The kernel asks after a minute of silence whether the server is still there, and gives up after another one."""


class ApiError(Exception):
    """A request to the API server failed; `status` is the HTTP status, 0 when there was no answer."""

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


class Identity(collections.namedtuple("Identity", ("pem", "token"), defaults=("", ""))):
    """What one request identifies itself with: the PEM text of a certificate with its key, or a token, or nothing."""

    pem: str
    token: str

    def load(self, context: ssl.SSLContext) -> None:
        """Make a TLS connection present the certificate. Raises OSError."""
        if not self.pem:
            return
        # The ssl module reads a client certificate only from a file. In memory it cannot fail on a full disk.
        folder = "/run" if os.access("/run", os.W_OK) else os.environ.get("TMPDIR", "/tmp")
        path = os.path.join(folder, f"livenodes-{os.urandom(16).hex()}.pem")
        with open(path, "x", encoding="utf-8", opener=_private) as pair:
            try:
                pair.write(self.pem)
                pair.flush()
                context.load_cert_chain(path)
            finally:
                os.unlink(path)


def _private(path: str, flags: int) -> int:
    """Open a file that only its owner may read."""
    return os.open(path, flags, 0o600)


_ANONYMOUS = Identity()


class ApiServer:
    """An API server and what to identify with there.

    `path`: the kubeconfig that names both, for messages and relative paths. `cluster`: its entry there. `proxy`: what
    names it, and its address. `identities`: the first choice first.
    """

    def __init__(
        self,
        path: str,
        server: str,
        cluster: Mapping[str, Any],
        timeout: float,
        proxy: Sequence[str] = ("proxy-url", ""),
        identities: Sequence[Identity] = (_ANONYMOUS,),
    ) -> None:
        self.path, self.server, self.cluster, self.timeout = path, server, cluster, timeout
        self._proxy, self._identities = proxy, [Identity(*each) for each in identities]

    def proxy(self) -> Sequence[str]:
        """Return what names the proxy, and its address, empty for none. Raises ApiError."""
        return self._proxy

    def identities(self) -> Sequence[Identity]:
        """Return what to identify with, first choice first. Raises ApiError."""
        return self._identities

    def _context(self, identity: Identity) -> ssl.SSLContext:
        import ssl  # pylint: disable=import-outside-toplevel

        authority = self.cluster.get("certificate-authority")
        data = self.cluster.get("certificate-authority-data")
        if data:
            # Python reads no text there that is not ASCII, kubelets skip what is no certificate.
            context = ssl.create_default_context(cadata=base64.b64decode(data).decode("ascii", "ignore"))
        elif authority:
            context = ssl.create_default_context(cafile=os.path.join(os.path.dirname(self.path), authority))
        else:
            context = ssl.create_default_context()
        # Python 3.13 refuses certificates without an authority key identifier, kubelets do not (Go's crypto/x509).
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
        if self.cluster.get("insecure-skip-tls-verify"):
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        identity.load(context)
        return context

    def _connect(self, identity: Identity) -> http.client.HTTPConnection:
        """Return a TLS connection to the API server, through the proxy of the kubelet if it has one.

        Raises ApiError, OSError, ValueError.
        """
        import http.client  # pylint: disable=import-outside-toplevel

        parts = urlsplit(self.server)
        host, port = parts.hostname or "", parts.port or 443
        context = self._context(identity)
        by, address = self.proxy()
        proxy, proxy_port = self._split(by, address)
        if proxy.scheme not in ("", "http"):
            raise ApiError(f"{self.path}: {by}: {proxy.scheme}://{proxy.hostname}:{proxy_port} is not supported")
        if proxy.hostname:
            connection = http.client.HTTPConnection(proxy.hostname, proxy_port or 80, timeout=self.timeout)
            headers = {}
            if proxy.username:
                login = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
                headers["Proxy-Authorization"] = f"Basic {base64.b64encode(login.encode()).decode()}"
            connection.set_tunnel(host, port, headers)
        else:
            connection = http.client.HTTPConnection(host, port, timeout=self.timeout)
        try:
            connection.connect()
            name = self.cluster.get("tls-server-name") or host
            connection.sock = context.wrap_socket(connection.sock, server_hostname=name)
        except BaseException:
            connection.close()
            raise
        return connection

    def _split(self, by: str, address: str) -> tuple[SplitResult, int | None]:
        """Return a proxy and its port; `by`: what names it. Raises ApiError, which does not quote it: it may contain a
        password.
        """
        try:
            proxy = urlsplit(address)
            return proxy, proxy.port
        except ValueError:
            raise ApiError(
                f"{self.path}: {by} is not a URL: write special characters of its user and password as %XX"
            ) from None

    def call(
        self, method: str, path: str, body: Mapping[str, Any] | None = None, content_type: str = "application/json"
    ) -> Any:
        """Return the decoded answer of one request. Raises ApiError."""
        with self._answered(method, path, body, content_type) as (_sock, answer):
            text = answer.read().decode("utf-8", "replace")
        if not text:
            return None
        try:
            return json.loads(text)
        except (ValueError, RecursionError) as error:
            # A proxy may answer with a page of its own.
            wrong = f"the answer is not JSON: {text[:100]!r}"
            raise ApiError(f"{method} {self.server}{path}: {wrong}", answer.status) from error

    def lines(self, path: str, quiet_seconds: float) -> Iterator[bytes]:
        """Yield the lines of a long answer, such as a watch, until the server ends it. Raises ApiError, also after so
        many seconds without a line, and earlier if the server is not there any more.
        """
        with self._answered("GET", path) as (sock, answer):
            sock.settimeout(quiet_seconds)
            for level, option, value in _KEPT_ALIVE:
                sock.setsockopt(level, option, value)
            yield from iter(answer.readline, b"")

    @contextlib.contextmanager
    def _answered(
        self, method: str, path: str, body: Mapping[str, Any] | None = None, content_type: str = "application/json"
    ) -> Iterator[tuple[socket.socket, http.client.HTTPResponse]]:
        """Yield the connection's socket and the beginning of an answer. Raises ApiError, also for what is read of it.

        The credentials are read for each request: the kubelet rotates them. If the server does not know one (401), the
        next is tried.
        """
        # This import takes a tenth of a second, and the module that installs the guard rarely sends a request.
        import http.client  # pylint: disable=import-outside-toplevel

        identities = self.identities()
        for identity in identities:
            opened = contextlib.ExitStack()
            try:
                connection = opened.enter_context(contextlib.closing(self._connect(identity)))
                # An answer that ends its connection takes it over.
                sock = connection.sock
                answer = self._sent(connection, identity, method, path, body, content_type)
                if answer.status < 300:
                    yield sock, answer
                    return
                text = answer.read().decode("utf-8", "replace")
            except (*_BROKEN, http.client.HTTPException) as error:
                raise ApiError(f"{method} {self.server}{path}: {error}") from error
            finally:
                opened.close()
            if answer.status != _UNAUTHORIZED or identity is identities[-1]:
                raise ApiError(f"{method} {self.server}{path}: {answer.status} {text[:300]}", answer.status)

    def _sent(
        self,
        connection: http.client.HTTPConnection,
        identity: Identity,
        method: str,
        path: str,
        body: Mapping[str, Any] | None,
        content_type: str,
    ) -> http.client.HTTPResponse:
        """Send a request and return the beginning of its answer. Raises ApiError for a token that cannot be sent."""
        headers = {"Content-Type": content_type, "Accept": "application/json", "User-Agent": "livenodes.kubelet-guard"}
        if identity.token and not (identity.token.isprintable() and identity.token.isascii()):
            # http.client would quote it.
            raise ApiError(
                f"{self.path}: its token contains a character that no HTTP header can have, such as a line break: "
                "correct it"
            )
        if identity.token:
            headers["Authorization"] = f"Bearer {identity.token}"
        place = urlsplit(self.server).path.rstrip("/") + path
        content = None if body is None else json.dumps(body)
        connection.request(method, place, content, headers)
        return connection.getresponse()
