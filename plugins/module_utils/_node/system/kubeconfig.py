# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Calls the API server with the address and credentials of the kubelet's kubeconfig; standard library only."""

from __future__ import annotations

import contextlib
import ipaddress
import os
import re
import socket
from typing import Any, Mapping
from urllib.parse import urlsplit

from ..records import blockyaml
from . import credentials
from .connection import ApiError, ApiServer, Identity
from .credentials import CERT_DIR, PluginError

_NODE_USER = "system:node:"
_EXCEPTION = re.compile(r"(\[.*\]|[^:]*)(?::(\d+))?")
"""An entry of NO_PROXY: a name or an address, and maybe a port."""


class Kubeconfig(ApiServer):
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
        self.cert_dir, self.override, self.environ = cert_dir, override, environ or {}
        self._by_plugin: list[Identity] = []
        try:
            with open(path, encoding="utf-8") as stream:
                document = blockyaml.load(stream.read())
            name = document["current-context"]
            context = _entry(document, "contexts", name)["context"]
            cluster = _entry(document, "clusters", context["cluster"])["cluster"]
            self.user: Mapping[str, Any] = _entry(document, "users", context["user"])["user"] or {}
            server = cluster["server"]
            if not isinstance(server, str) or not isinstance(self.user, dict):
                raise TypeError("its server is not text, or its user not a mapping")
            if "://" not in server:
                # As client-go does.
                server = f"https://{server}"
        except blockyaml.Unreadable as error:
            raise ApiError(f"{path}: {error.unquoted}") from None
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ApiError(f"{path}: {type(error).__name__}: {error}") from error
        if "auth-provider" in self.user:
            raise ApiError(f"{path}: its credentials come from an auth-provider, which the guard cannot run")
        super().__init__(path, server, cluster, timeout)

    def identities(self) -> list[Identity]:
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

    def proxy(self) -> tuple[str, str]:
        """Return what names the proxy, and its address, empty for none. Raises ApiError."""
        address = self.cluster.get("proxy-url")
        if address:
            return "proxy-url", address
        try:
            parts = urlsplit(self.server)
            address = proxy_of(self.environ, parts.hostname or "", parts.port or 443)
        except ValueError as error:
            raise ApiError(f"{self.path}: server: {error}") from error
        return "HTTPS_PROXY of the kubelet", address

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
        name = credentials.subject(self.identities()[0].pem)
        return name[len(_NODE_USER) :] if name.startswith(_NODE_USER) else ""


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
