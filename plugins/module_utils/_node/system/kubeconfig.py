# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Calls the API server with the address and credentials of the kubelet's kubeconfig; standard library only."""

from __future__ import annotations

import base64
import json
import os
import socket
import tempfile
from typing import TYPE_CHECKING, Any, Mapping
from urllib.parse import urlsplit

from . import blockyaml

if TYPE_CHECKING:
    import ssl


class ApiError(Exception):
    """A request to the API server failed; `status` is the HTTP status, 0 when there was no answer."""

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


class Kubeconfig:
    """The current context of a kubeconfig. Raises ApiError when the file has none that works without a plugin."""

    def __init__(self, path: str, timeout: float = 10) -> None:
        self.path = path
        self.timeout = timeout
        try:
            with open(path, encoding="utf-8") as stream:
                document = blockyaml.load(stream.read())
            name = document["current-context"]
            context = _entry(document, "contexts", name)["context"]
            self.cluster: Mapping[str, Any] = _entry(document, "clusters", context["cluster"])["cluster"]
            self.user: Mapping[str, Any] = _entry(document, "users", context["user"])["user"] or {}
            self.server: str = self.cluster["server"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ApiError(f"{path}: {type(error).__name__}: {error}") from error
        if "exec" in self.user or "auth-provider" in self.user:
            raise ApiError(f"{path}: its credentials come from a plugin, which the guard cannot run")

    def _path(self, path: str) -> str:
        return os.path.join(os.path.dirname(self.path), path)

    def _context(self) -> ssl.SSLContext:
        import ssl  # pylint: disable=import-outside-toplevel

        authority = self.cluster.get("certificate-authority")
        data = self.cluster.get("certificate-authority-data")
        context = ssl.create_default_context(
            cafile=self._path(authority) if authority and not data else None,
            cadata=base64.b64decode(data).decode() if data else None,
        )
        if self.cluster.get("insecure-skip-tls-verify"):
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if self.user.get("client-certificate-data"):
            # The ssl module reads a client certificate only from a file.
            with tempfile.NamedTemporaryFile("wb", suffix=".pem") as pair:
                for part in ("client-certificate-data", "client-key-data"):
                    pair.write(base64.b64decode(self.user[part]) + b"\n")
                pair.flush()
                context.load_cert_chain(pair.name)
        elif self.user.get("client-certificate"):
            context.load_cert_chain(self._path(self.user["client-certificate"]), self._path(self.user["client-key"]))
        return context

    def call(
        self, method: str, path: str, body: Mapping[str, Any] | None = None, content_type: str = "application/json"
    ) -> Any:
        """Return the decoded answer of one request. Raises ApiError.

        The certificate files are read for each request, because the kubelet rotates them.
        """
        # This import takes a tenth of a second, and the module that installs the guard rarely sends a request.
        import http.client  # pylint: disable=import-outside-toplevel

        parts = urlsplit(self.server)
        headers = {"Content-Type": content_type, "Accept": "application/json", "User-Agent": "livenodes.kubelet-guard"}
        try:
            token = self.user.get("token")
            if self.user.get("tokenFile"):
                with open(self._path(self.user["tokenFile"]), encoding="utf-8") as stream:
                    token = stream.read().strip()
            if token:
                headers["Authorization"] = f"Bearer {token}"
            connection = http.client.HTTPSConnection(
                parts.hostname or "", parts.port or 443, timeout=self.timeout, context=self._context()
            )
            try:
                connection.request(
                    method, parts.path.rstrip("/") + path, json.dumps(body) if body is not None else None, headers
                )
                answer = connection.getresponse()
                text = answer.read().decode("utf-8", "replace")
            finally:
                connection.close()
        except (OSError, ValueError, KeyError, http.client.HTTPException) as error:
            raise ApiError(f"{method} {self.server}{path}: {error}") from error
        if answer.status >= 300:
            raise ApiError(f"{method} {self.server}{path}: {answer.status} {text[:300]}", answer.status)
        return json.loads(text) if text else None

    def node_name(self, override: str = "") -> str:
        """Return the name of this node's Node.

        It is the name in the client certificate (`system:node:<name>`), else `override`, else the host's name, in lower
        case.
        """
        try:
            if self.user.get("client-certificate"):
                subject = _subject(self._path(self.user["client-certificate"]))
                if subject.startswith("system:node:"):
                    return subject[len("system:node:") :]
        except (OSError, ValueError):
            pass
        return (override or socket.gethostname()).strip().lower()


def _entry(document: Mapping[str, Any], kind: str, name: str) -> Mapping[str, Any]:
    for item in document[kind]:
        if item["name"] == name:
            return item  # type: ignore[no-any-return]
    raise KeyError(f"{kind}: {name}")


def _subject(path: str) -> str:
    """Return the common name of a PEM file's first certificate."""
    import ssl  # pylint: disable=import-outside-toplevel

    with open(path, encoding="ascii", errors="replace") as stream:
        der = ssl.PEM_cert_to_DER_cert(_first_certificate(stream.read()))
    # Issuer, validity and subject come in this order, so the last commonName before the key is that of the subject.
    marks = [at for at in range(len(der) - 5) if der[at : at + 5] == b"\x06\x03\x55\x04\x03"]
    names = [der[at + 7 : at + 7 + der[at + 6]].decode("utf-8", "replace") for at in marks]
    return names[-1] if len(names) == 1 else next((name for name in names if name.startswith("system:node:")), "")


def _first_certificate(text: str) -> str:
    begin, end = text.find("-----BEGIN CERTIFICATE-----"), text.find("-----END CERTIFICATE-----")
    if begin < 0 or end < 0:
        raise ValueError("it holds no certificate")
    return text[begin : end + len("-----END CERTIFICATE-----")]
