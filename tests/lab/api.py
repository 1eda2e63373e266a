# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A minimal API client for the lab's own work: one persistent connection, JSON in and out."""

from __future__ import annotations

import contextlib
import http.client
import json
import ssl
from pathlib import Path
from typing import Any

from .console import LabError


class Api:
    """A connection to the lab's API server. Not thread-safe."""

    def __init__(self, host: str, port: int, authority: Path, certificate: Path, key: Path) -> None:
        context = ssl.create_default_context(cafile=str(authority))
        context.load_cert_chain(certificate, key)
        self._connection = http.client.HTTPSConnection(host, port, context=context, timeout=10)

    def request(
        self, method: str, path: str, body: object = None, content_type: str = "application/json"
    ) -> tuple[int, dict[str, Any]]:
        """Return (HTTP status, decoded answer). Reconnects once if the server has closed the connection."""
        payload = None if body is None else json.dumps(body)
        for attempt in (1, 2):
            try:
                self._connection.request(method, path, payload, {"Content-Type": content_type})
                answer = self._connection.getresponse()
                text = answer.read()
                break
            except (http.client.HTTPException, OSError):
                self._connection.close()
                if attempt == 2:
                    raise
        try:
            return answer.status, json.loads(text)
        except ValueError:
            return answer.status, {"message": text.decode(errors="replace")}

    def call(
        self, method: str, path: str, body: object = None, content_type: str = "application/json"
    ) -> dict[str, Any]:
        """Like `request`, but raise LabError on any status of 400 or more."""
        status, answer = self.request(method, path, body, content_type)
        if status >= 400:
            raise LabError(f"{method} {path}: {status} {answer.get('message')}")
        return answer

    def close(self) -> None:
        self._connection.close()

    def ensure(self, path: str, item: dict[str, Any]) -> None:
        """Create an object unless it exists. Raises LabError."""
        status, answer = self.request("POST", path, item)
        if status >= 400 and status != 409:
            raise LabError(f"creating {item['kind']} {item['metadata']['name']}: {status} {answer.get('message')}")

    def is_ready(self) -> bool:
        """Return whether the API server answers and reports that it is ready."""
        with contextlib.suppress(OSError, http.client.HTTPException):
            return self.request("GET", "/readyz")[0] == 200
        return False
