# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the kubelet on this node reports that it is healthy (its /healthz, which needs no credentials)."""

from __future__ import annotations

import re
import socket
from typing import Any, Mapping, NamedTuple, Sequence

DEFAULT_PORT = 10248
DEFAULT_ADDRESS = "127.0.0.1"
MOST_BYTES = 4096
# A server that listens on all addresses is asked on the loopback address.
_ANYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1", "": DEFAULT_ADDRESS}


class Endpoint(NamedTuple):
    """Where a kubelet serves /healthz. Port 0: the server is switched off."""

    address: str
    port: int


def endpoint(config: Mapping[str, Any], argv: Sequence[str] = ()) -> Endpoint:
    """Return where a kubelet with this config and command line answers. Flags win over the config.

    The defaults are 127.0.0.1 and 10248 (Kubernetes 1.20 defaults.go). Raises ValueError for a port that is not a
    number.
    """
    address = flag(argv, "healthz-bind-address") or str(config.get("healthzBindAddress") or DEFAULT_ADDRESS)
    given = flag(argv, "healthz-port")
    port = config.get("healthzPort") if given is None else given
    return Endpoint(_ANYWHERE.get(address, address), DEFAULT_PORT if port is None else int(port))


def flag(argv: Sequence[str], name: str) -> str | None:
    """Return the last value of a flag in a command line, None when the flag is absent."""
    found = None
    for at, word in enumerate(argv):
        if word == "--":
            break
        key, equals, value = word.partition("=")
        if key.startswith("--") and key[2:].replace("_", "-") == name:
            found = value if equals else (argv[at + 1] if at + 1 < len(argv) else "")
    return found


def healthz(port: int = DEFAULT_PORT, address: str = DEFAULT_ADDRESS, seconds: float = 2.0) -> str:
    """Ask once; return an empty string when the kubelet is healthy, else the cause. Never raises."""
    # Plain HTTP/1.0 over a socket: an HTTP library would double the memory of the guard, which runs as long as a trial.
    try:
        with socket.create_connection((_ANYWHERE.get(address, address), port), seconds) as connection:
            connection.settimeout(seconds)
            connection.sendall(b"GET /healthz HTTP/1.0\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            answer = b""
            while len(answer) < MOST_BYTES:
                part = connection.recv(MOST_BYTES)
                if not part:
                    break
                answer += part
    except OSError as error:
        return f"no answer from http://{address}:{port}/healthz: {error}"
    head, _blank, body = answer.partition(b"\r\n\r\n")
    status = re.match(rb"HTTP/1\.[01] (\d{3})", head)
    if status is None:
        return f"no HTTP answer from http://{address}:{port}/healthz"
    if status.group(1) == b"200":
        return ""
    return f"healthz answers {status.group(1).decode()}: {body[:300].decode('utf-8', 'replace').strip()}"
