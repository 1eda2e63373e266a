# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Calls the API server with the address and credentials of the kubelet's kubeconfig; standard library only."""

from __future__ import annotations

import base64
import contextlib
import ipaddress
import json
import os
import re
import socket
from typing import TYPE_CHECKING, Any, Iterator, Mapping
from urllib.parse import SplitResult, unquote, urlsplit

from ..records import blockyaml
from . import credentials
from .credentials import CERT_DIR, Identity, PluginError

if TYPE_CHECKING:
    import http.client
    import ssl


UNAUTHORIZED = 401
NODE_USER = "system:node:"
_HEADER = re.compile("[ -~]+")
_EXCEPTION = re.compile(r"(\[.*\]|[^:]*)(?::(\d+))?")
"""An entry of NO_PROXY: a name or an address, and maybe a port."""
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


class Kubeconfig:
    """The current context of a kubeconfig, with the rotated certificate in `cert_dir`. `override`: the name that a
    kubelet gives its Node where no certificate has one, empty for the host's. `environ`: the environment of the
    kubelet, which may name a proxy and what its plugin needs; empty if it is not known. Raises ApiError when the file
    has no context that works here.
    """

    def __init__(
        self,
        path: str,
        timeout: float = 10,
        cert_dir: str = CERT_DIR,
        override: str = "",
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self.path, self.timeout, self.cert_dir, self.override = path, timeout, cert_dir, override
        self.environ = environ or {}
        self._by_plugin: list[Identity] = []
        try:
            with open(path, encoding="utf-8") as stream:
                document = blockyaml.load(stream.read())
            name = document["current-context"]
            context = _entry(document, "contexts", name)["context"]
            self.cluster: Mapping[str, Any] = _entry(document, "clusters", context["cluster"])["cluster"]
            self.user: Mapping[str, Any] = _entry(document, "users", context["user"])["user"] or {}
            self.server: str = self.cluster["server"]
            if not isinstance(self.server, str) or not isinstance(self.user, dict):
                raise TypeError("its server is not text, or its user not a mapping")
            if "://" not in self.server:
                # As client-go does.
                self.server = f"https://{self.server}"
        except blockyaml.Unreadable as error:
            raise ApiError(f"{path}: {error.unquoted}") from None
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ApiError(f"{path}: {type(error).__name__}: {error}") from error
        if "auth-provider" in self.user:
            raise ApiError(f"{path}: its credentials come from an auth-provider, which the guard cannot run")

    def _identities(self) -> list[Identity]:
        """Return what to identify with, first choice first. Raises ApiError."""
        if self._by_plugin:
            return self._by_plugin
        try:
            found = credentials.of_user(
                self.user, os.path.dirname(self.path), self.cert_dir, self.cluster, self.timeout, self.environ
            )
            if self.user.get("exec"):
                # A plugin may take seconds. The few requests of one process need it once.
                self._by_plugin = found
            return found
        except (OSError, ValueError, KeyError, TypeError, PluginError) as error:
            raise ApiError(f"{self.path}: {error}") from error

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
        by, address = "proxy-url", self.cluster.get("proxy-url")
        if not address:
            by, address = "HTTPS_PROXY of the kubelet", proxy_of(self.environ, host, port)
        proxy, proxy_port = self._proxy(by, address)
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

    def _proxy(self, by: str, address: str) -> tuple[SplitResult, int | None]:
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
        """Return the decoded answer of one request. Raises ApiError.

        The credentials are read for each request: the kubelet rotates them. If the server does not know one (401), the
        next is tried.
        """
        identities = self._identities()
        for identity in identities[:-1]:
            try:
                return self._call(identity, method, path, body, content_type)
            except ApiError as error:
                if error.status != UNAUTHORIZED:
                    raise
        return self._call(identities[-1], method, path, body, content_type)

    def _call(
        self, identity: Identity, method: str, path: str, body: Mapping[str, Any] | None, content_type: str
    ) -> Any:
        # This import takes a tenth of a second, and the module that installs the guard rarely sends a request.
        import http.client  # pylint: disable=import-outside-toplevel

        try:
            with contextlib.closing(self._connect(identity)) as connection:
                answer = self._sent(connection, identity, method, path, body, content_type)
                text = answer.read().decode("utf-8", "replace")
        except (*_BROKEN, http.client.HTTPException) as error:
            raise ApiError(f"{method} {self.server}{path}: {error}") from error
        if answer.status >= 300:
            raise ApiError(f"{method} {self.server}{path}: {answer.status} {text[:300]}", answer.status)
        if not text:
            return None
        try:
            return json.loads(text)
        except (ValueError, RecursionError) as error:
            # A proxy may answer with a page of its own.
            wrong = f"the answer is not JSON: {text[:100]!r}"
            raise ApiError(f"{method} {self.server}{path}: {wrong}", answer.status) from error

    def _sent(
        self,
        connection: http.client.HTTPConnection,
        identity: Identity,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        content_type: str = "application/json",
    ) -> http.client.HTTPResponse:
        """Send a request and return the beginning of its answer. Raises ApiError for a token that cannot be sent."""
        headers = {"Content-Type": content_type, "Accept": "application/json", "User-Agent": "livenodes.kubelet-guard"}
        if identity.token and not _HEADER.fullmatch(identity.token):
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

    def lines(self, path: str, quiet_seconds: float) -> Iterator[bytes]:
        """Yield the lines of a long answer, such as a watch, until the server ends it. Raises ApiError, also after so
        many seconds without a line, and earlier if the server is not there any more.
        """
        import http.client  # pylint: disable=import-outside-toplevel

        for identity in self._identities():
            try:
                with contextlib.closing(self._connect(identity)) as connection:
                    # An answer that ends its connection takes it over.
                    sock = connection.sock
                    answer = self._sent(connection, identity, "GET", path)
                    if answer.status == UNAUTHORIZED:
                        continue
                    if answer.status >= 300:
                        text = answer.read().decode("utf-8", "replace")
                        raise ApiError(f"GET {self.server}{path}: {answer.status} {text[:300]}", answer.status)
                    sock.settimeout(quiet_seconds)
                    for level, option, value in _KEPT_ALIVE:
                        sock.setsockopt(level, option, value)
                    yield from iter(answer.readline, b"")
                    return
            except (*_BROKEN, http.client.HTTPException) as error:
                raise ApiError(f"GET {self.server}{path}: {error}") from error
        raise ApiError(f"GET {self.server}{path}: the server knows none of its credentials", UNAUTHORIZED)

    def node_name(self) -> str:
        """Return the name of this node's Node: the one in the client certificate (`system:node:<name>`), else that of
        `override`, else the host's name, in lower case. Raises ApiError.
        """
        return self._certified() or (self.override or socket.gethostname()).strip().lower()

    def certified_name(self) -> str:
        """Return the name of the Node in the client certificate, empty without one. A plugin is not run for it.

        Raises ApiError.
        """
        return "" if self.user.get("exec") else self._certified()

    def _certified(self) -> str:
        name = credentials.subject(self._identities()[0].pem)
        return name[len(NODE_USER) :] if name.startswith(NODE_USER) else ""


def proxy_of(environ: Mapping[str, str], host: str, port: int) -> str:
    """Return the proxy that a kubelet with this environment uses for an API server, empty for none.

    As golang.org/x/net/http/httpproxy.
    """
    proxy = environ.get("HTTPS_PROXY") or environ.get("https_proxy") or ""
    address = _address(host)
    if not proxy or host == "localhost" or (address and address.is_loopback):
        return ""
    exceptions = environ.get("NO_PROXY") or environ.get("no_proxy") or ""
    if any(_excepts(entry.strip().lower(), host, port) for entry in exceptions.split(",")):
        return ""
    return proxy if "://" in proxy else f"http://{proxy}"


def _excepts(entry: str, host: str, port: int) -> bool:
    """Return whether an entry of NO_PROXY is about this server."""
    address = _address(host)
    with contextlib.suppress(ValueError):
        network = ipaddress.ip_network(entry, strict=False)
        return address is not None and address in network
    found = _EXCEPTION.fullmatch(entry)
    name, wanted = found.groups() if found else (entry, None)
    if not name or (wanted and int(wanted) != port):
        return False
    if _address(name.strip("[]")):
        return _address(name.strip("[]")) == address
    if name.startswith("*."):
        name = name[1:]
    return name == "*" or host == name or host.endswith(name if name.startswith(".") else f".{name}")


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


def _entry(document: Mapping[str, Any], kind: str, name: str) -> Mapping[str, Any]:
    for item in document[kind]:
        if item["name"] == name:
            return item  # type: ignore[no-any-return]
    raise KeyError(f"{kind}: {name}")
