# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Calls the API server with the address and credentials of the kubelet's kubeconfig; standard library only.

The credentials are those of the kubeconfig, of its plugin, and the rotated ones. A kubelet that rotates its certificate
keeps it in its certificate folder and does not update its kubeconfig (client-go util/certificate
getCurrentCertificateOrBootstrap). A certificate inside the kubeconfig is therefore the first one, and expires.
"""

from __future__ import annotations

import base64
import calendar
import contextlib
import ipaddress
import json
import os
import re
import shutil
import socket
import subprocess
import time
from typing import Any, Mapping
from urllib.parse import urlsplit

from ..records import blockyaml
from . import files
from .connection import ApiError, ApiServer, Identity

_NODE_USER = "system:node:"
_EXCEPTION = re.compile(r"(\[.*\]|[^:]*)(?::(\d+))?")
"""An entry of NO_PROXY: a name or an address, and maybe a port."""
CERT_DIR = "/var/lib/kubelet/pki"
"""The kubelet's default of --cert-dir."""
CURRENT = "kubelet-client-current.pem"
# What systemd gives its services. A module has another one, and must find what the guard will find.
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# The validity in a certificate: two times, as UTCTime or GeneralizedTime.
_VALIDITY = re.compile(rb"\x30[\x1e\x20\x22](?:\x17\x0d\d{12}Z|\x18\x0f\d{14}Z)(?:\x17\x0d(\d{12})Z|\x18\x0f(\d{14})Z)")
_CERTIFICATE = re.compile("-----BEGIN CERTIFICATE-----(.*?)-----END CERTIFICATE-----", re.DOTALL)


class PluginError(Exception):
    """The plugin of a kubeconfig did not return credentials; the text names it and the cause."""


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
        """Return what a kubelet would identify with, its first choice first; never empty. Raises ApiError."""
        if self._by_plugin:
            return self._by_plugin
        try:
            if not self.user.get("exec"):
                return self._own_identities()
            # A plugin may take seconds. The few requests of one process need it once.
            self._by_plugin = [self._run_plugin(self.user["exec"])]
            return self._by_plugin
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
        name = subject(self.identities()[0].pem)
        return name[len(_NODE_USER) :] if name.startswith(_NODE_USER) else ""

    def _own_identities(self) -> list[Identity]:
        """Return those of the kubeconfig itself and of the certificate folder. Raises OSError, ValueError, KeyError."""
        token = str(self.user.get("token") or "")
        if self.user.get("tokenFile"):
            token = files.text(self._beside(self.user["tokenFile"])).strip()
        own = self._own_pair()
        if not own:
            return [Identity("", token)]
        found = [Identity(own, token)]
        current = os.path.join(self.cert_dir, CURRENT)
        if os.path.exists(current):
            found.append(Identity(files.text(current), token))
        now = time.time()
        return sorted(found, key=lambda identity: (not_after(identity.pem) or now) < now)

    def _own_pair(self) -> str:
        """Return certificate and key of the user as PEM text, empty when it has none."""
        if not self.user.get("client-certificate-data") and not self.user.get("client-certificate"):
            return ""
        # One file may hold both.
        parts = dict.fromkeys([self._part("client-certificate"), self._part("client-key")])
        return "\n".join(parts)

    def _part(self, name: str) -> str:
        """Return a text that the user holds or names the file of. As client-go: the text comes first."""
        if self.user.get(f"{name}-data"):
            return base64.b64decode(self.user[f"{name}-data"]).decode()
        return files.text(self._beside(self.user[name]))

    def _beside(self, path: str) -> str:
        """Return the path of a file: a relative one starts beside the kubeconfig."""
        return os.path.join(os.path.dirname(self.path), path)

    def _run_plugin(self, plugin: Mapping[str, Any]) -> Identity:
        """Run a plugin (client.authentication.k8s.io ExecCredential) and return its credentials. Raises PluginError."""
        environ = {**os.environ, "PATH": _PATH, **self.environ}
        name = str(plugin["command"])
        # As client-go: a name with a slash is relative to the kubeconfig, any other one is looked up.
        path = self._beside(name) if "/" in name else shutil.which(name, path=environ["PATH"])
        if not path:
            raise PluginError(f"its plugin {name} is not installed in {environ['PATH']}")
        spec: dict[str, Any] = {"interactive": False}
        if plugin.get("provideClusterInfo"):
            spec["cluster"] = dict(self.cluster)
        asked = {"apiVersion": plugin.get("apiVersion"), "kind": "ExecCredential", "spec": spec}
        given = {item["name"]: str(item["value"]) for item in plugin.get("env") or []}
        try:
            done = subprocess.run(  # pylint: disable=ansible-bad-function  # the guard is not a module
                [path, *map(str, plugin.get("args") or [])],
                check=False,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=self.timeout,
                env={**environ, **given, "KUBERNETES_EXEC_INFO": json.dumps(asked)},
            )
        except subprocess.TimeoutExpired:
            raise PluginError(f"its plugin {name} timed out after {self.timeout:g} s") from None
        except OSError as error:
            raise PluginError(f"its plugin {name} cannot run: {error.strerror}") from error
        if done.returncode:
            reason = " ".join(done.stderr.decode("utf-8", "replace").split())[:200]
            raise PluginError(f"its plugin {name} ended with exit status {done.returncode}: {reason or 'no message'}")
        return _credential(done.stdout, name)


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
    name, wanted = entry, ""
    found = _EXCEPTION.fullmatch(entry)
    if found:
        name, wanted = found.groups("")
    if not name or (wanted and int(wanted) != port):
        return False
    if _address(name.strip("[]")):
        return _address(name.strip("[]")) == address
    if name.startswith("*."):
        name = name[1:]
    if name in ("*", host):
        return True
    if not name.startswith("."):
        name = f".{name}"
    return host.endswith(name)


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


def _credential(output: bytes, name: str) -> Identity:
    """Return the credentials in a plugin's output, which is never shown. Raises PluginError."""
    try:
        status = json.loads(output)["status"]
        token, certificate = status.get("token") or "", status.get("clientCertificateData") or ""
        key = status.get("clientKeyData") or ""
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise PluginError(f"its plugin {name} printed no ExecCredential") from None
    if not token and not certificate:
        raise PluginError(f"its plugin {name} returned neither a token nor a certificate")
    return Identity(f"{certificate}\n{key}" if certificate else "", token)


def not_after(pem: str) -> float | None:
    """Return when the first certificate of a PEM text expires, in seconds since the epoch; None if that is unknown."""
    der = _first_certificate(pem)
    found = _VALIDITY.search(der)
    if found is None:
        return None
    text = (found.group(1) or found.group(2)).decode()
    year = int(text[:-10])
    if len(text) == 12:
        # Two digits mean 1950 to 2049 (RFC 5280, 4.1.2.5.1).
        year += 1900 if year >= 50 else 2000
    month, day, hour, minute, second = map(int, re.findall("..", text[-10:]))
    return float(calendar.timegm((year, month, day, hour, minute, second)))


def subject(pem: str) -> str:
    """Return the common name of the first certificate of a PEM text; empty when it has none."""
    der = _first_certificate(pem)
    # Issuer, validity and subject come in this order, so the last commonName before the key is that of the subject.
    names = []
    for at in range(len(der) - 6):
        if der[at : at + 5] == b"\x06\x03\x55\x04\x03":
            names.append(der[at + 7 : at + 7 + der[at + 6]].decode("utf-8", "replace"))
    if len(names) == 1:
        return names[0]
    return next((name for name in names if name.startswith("system:node:")), "")


def _first_certificate(pem: str) -> bytes:
    """Return the first certificate of a PEM text in binary form; empty when there is none."""
    found = _CERTIFICATE.search(pem)
    try:
        return base64.b64decode(found.group(1)) if found else b""
    except ValueError:
        return b""
